"""The first tables."""

import sqlalchemy as sa
from alembic import op

from dialeval.server.tables import Moment

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "attempts",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("stretch", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_attempts")),
    )
    op.create_table(
        "invitations",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment, nullable=False),
        sa.Column("used_at", Moment, nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_invitations")),
    )
    op.create_table(
        "organisers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("name_key", sa.String(length=200), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=False),
        sa.Column("token_digest", sa.String(length=64), nullable=True),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organisers")),
        sa.UniqueConstraint("name_key", name=op.f("uq_organisers_name_key")),
        sa.UniqueConstraint("token_digest", name=op.f("uq_organisers_token_digest")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.String(length=60), nullable=False),
        sa.Column("visible", sa.Boolean(), nullable=False),
        sa.Column("rule", sa.String(length=20), nullable=False),
        sa.Column("best_by", sa.String(length=100), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.Column("reference", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("slug", name=op.f("uq_tasks_slug")),
    )
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("name_key", sa.String(length=200), nullable=False),
        sa.Column("information", sa.JSON(), nullable=False),
        sa.Column("token_digest", sa.String(length=64), nullable=True),
        sa.Column("baseline", sa.Boolean(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("name_key", name=op.f("uq_teams_name_key")),
        sa.UniqueConstraint("token_digest", name=op.f("uq_teams_token_digest")),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=True),
        sa.Column("actor", sa.String(length=120), nullable=False),
        sa.Column("action", sa.String(length=60), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_events_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_task_id"), ["task_id"], unique=False)

    op.create_table(
        "phases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("opens_at", Moment, nullable=False),
        sa.Column("closes_at", Moment, nullable=True),
        sa.Column("daily", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("visibility", sa.String(length=20), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_phases_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phases")),
        sa.UniqueConstraint("task_id", "kind", name=op.f("uq_phases_task_id_kind")),
    )
    op.create_table(
        "publications",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("boards", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_publications_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_publications")),
    )
    with op.batch_alter_table("publications", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_publications_task_id"), ["task_id"], unique=False)

    op.create_table(
        "sign_ins",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("organiser_id", sa.Integer(), nullable=True),
        sa.Column("expires_at", Moment, nullable=False),
        sa.ForeignKeyConstraint(
            ["organiser_id"], ["organisers.id"], name=op.f("fk_sign_ins_organiser_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_sign_ins_team_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sign_ins")),
    )
    with op.batch_alter_table("sign_ins", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sign_ins_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "task_collections",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("language", sa.String(length=20), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("dialogues", sa.Integer(), nullable=False),
        sa.Column("half", sa.JSON(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_task_collections_task_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_collections")),
        sa.UniqueConstraint(
            "task_id", "language", name=op.f("uq_task_collections_task_id_language")
        ),
    )
    op.create_table(
        "published_files",
        sa.Column("publication_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(length=200), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["publication_id"], ["publications.id"], name=op.f("fk_published_files_publication_id")
        ),
        sa.PrimaryKeyConstraint("publication_id", "path", name=op.f("pk_published_files")),
    )
    op.create_table(
        "submissions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("phase_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("language", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("remarks", sa.Text(), nullable=False),
        sa.Column("listed", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("counting", sa.Boolean(), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_submissions_phase_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_submissions_task_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_submissions_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
        sa.UniqueConstraint("key", name=op.f("uq_submissions_key")),
        sa.UniqueConstraint(
            "team_id", "idempotency_key", name=op.f("uq_submissions_team_id_idempotency_key")
        ),
    )
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.create_index(
            "ix_submissions_board", ["phase_id", "language", "counting"], unique=False
        )
        batch_op.create_index("ix_submissions_quota", ["team_id", "phase_id", "day"], unique=False)

    op.create_table(
        "submission_files",
        sa.Column("submission_id", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_submission_files_submission_id")
        ),
        sa.PrimaryKeyConstraint("submission_id", name=op.f("pk_submission_files")),
    )


def downgrade() -> None:
    op.drop_table("submission_files")
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_index("ix_submissions_quota")
        batch_op.drop_index("ix_submissions_board")

    op.drop_table("submissions")
    op.drop_table("published_files")
    op.drop_table("task_collections")
    with op.batch_alter_table("sign_ins", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_sign_ins_expires_at"))

    op.drop_table("sign_ins")
    with op.batch_alter_table("publications", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_publications_task_id"))

    op.drop_table("publications")
    op.drop_table("phases")
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_events_task_id"))

    op.drop_table("events")
    op.drop_table("teams")
    op.drop_table("tasks")
    op.drop_table("organisers")
    op.drop_table("invitations")
    op.drop_table("attempts")
