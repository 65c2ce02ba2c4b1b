"""Live tests."""

import sqlalchemy as sa
from alembic import op

from dialeval.server.tables import Moment

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "live_tests",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("language", sa.String(length=20), nullable=False),
        sa.Column("openings", sa.JSON(), nullable=False),
        sa.Column("most_turns", sa.Integer(), nullable=False),
        sa.Column("talks", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_live_tests")),
        sa.UniqueConstraint("slug", name=op.f("uq_live_tests_slug")),
    )
    op.create_table(
        "systems",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("live_test_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("url", sa.String(length=500), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=500), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["live_test_id"], ["live_tests.id"], name=op.f("fk_systems_live_test_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_systems")),
        sa.UniqueConstraint("live_test_id", "name", name=op.f("uq_systems_live_test_id_name")),
    )
    op.create_table(
        "testers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("live_test_id", sa.Integer(), nullable=False),
        sa.Column("pseudonym", sa.String(length=60), nullable=False),
        sa.Column("token_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("revoked_at", Moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["live_test_id"], ["live_tests.id"], name=op.f("fk_testers_live_test_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_testers")),
        sa.UniqueConstraint(
            "live_test_id", "pseudonym", name=op.f("uq_testers_live_test_id_pseudonym")
        ),
        sa.UniqueConstraint("token_digest", name=op.f("uq_testers_token_digest")),
    )
    op.create_table(
        "talks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("live_test_id", sa.Integer(), nullable=False),
        sa.Column("system_id", sa.Integer(), nullable=False),
        sa.Column("tester_id", sa.Integer(), nullable=False),
        sa.Column("opening", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=False),
        sa.Column("started_at", Moment, nullable=False),
        sa.Column("ended_at", Moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["live_test_id"], ["live_tests.id"], name=op.f("fk_talks_live_test_id")
        ),
        sa.ForeignKeyConstraint(["system_id"], ["systems.id"], name=op.f("fk_talks_system_id")),
        sa.ForeignKeyConstraint(["tester_id"], ["testers.id"], name=op.f("fk_talks_tester_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_talks")),
        sa.UniqueConstraint("key", name=op.f("uq_talks_key")),
    )
    with op.batch_alter_table("talks", schema=None) as batch_op:
        batch_op.create_index(
            "ix_talks_plan", ["live_test_id", "status", "opening", "system_id"], unique=False
        )

    op.create_table(
        "said",
        sa.Column("talk_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=True),
        sa.Column("failures", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["talk_id"], ["talks.id"], name=op.f("fk_said_talk_id")),
        sa.PrimaryKeyConstraint("talk_id", "number", name=op.f("pk_said")),
    )


def downgrade() -> None:
    op.drop_table("said")
    with op.batch_alter_table("talks", schema=None) as batch_op:
        batch_op.drop_index("ix_talks_plan")

    op.drop_table("talks")
    op.drop_table("testers")
    op.drop_table("systems")
    op.drop_table("live_tests")
