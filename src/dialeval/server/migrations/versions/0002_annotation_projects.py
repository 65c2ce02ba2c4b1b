"""Annotation projects."""

import sqlalchemy as sa
from alembic import op

from dialeval.server.tables import Moment

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("rubric", sa.Text(), nullable=False),
        sa.Column("language", sa.String(length=20), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("practice", sa.LargeBinary(), nullable=True),
        sa.Column("votes", sa.Integer(), nullable=True),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("idle_hours", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
        sa.UniqueConstraint("slug", name=op.f("uq_projects_slug")),
    )
    op.create_table(
        "annotators",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("pseudonym", sa.String(length=60), nullable=False),
        sa.Column("token_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("revoked_at", Moment, nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_annotators_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotators")),
        sa.UniqueConstraint(
            "project_id", "pseudonym", name=op.f("uq_annotators_project_id_pseudonym")
        ),
        sa.UniqueConstraint("token_digest", name=op.f("uq_annotators_token_digest")),
    )
    op.create_table(
        "items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("practice", sa.Boolean(), nullable=False),
        sa.Column("taken", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_items_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
    )
    with op.batch_alter_table("items", schema=None) as batch_op:
        batch_op.create_index("ix_items_pool", ["project_id", "practice", "taken"], unique=False)

    op.create_table(
        "assignments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("annotator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("opened_at", Moment, nullable=False),
        sa.Column("last_at", Moment, nullable=False),
        sa.Column("finished_at", Moment, nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["annotator_id"], ["annotators.id"], name=op.f("fk_assignments_annotator_id")
        ),
        sa.ForeignKeyConstraint(["item_id"], ["items.id"], name=op.f("fk_assignments_item_id")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_assignments_project_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_assignments")),
        sa.UniqueConstraint(
            "item_id",
            "annotator_id",
            "round",
            name=op.f("uq_assignments_item_id_annotator_id_round"),
        ),
        sa.UniqueConstraint("key", name=op.f("uq_assignments_key")),
    )
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.create_index("ix_assignments_annotator", ["annotator_id", "status"], unique=False)
        batch_op.create_index(
            "ix_assignments_state", ["project_id", "status", "last_at"], unique=False
        )

    op.create_table(
        "votes",
        sa.Column("assignment_id", sa.Integer(), nullable=False),
        sa.Column("criterion", sa.String(length=100), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(length=100), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assignment_id"], ["assignments.id"], name=op.f("fk_votes_assignment_id")
        ),
        sa.PrimaryKeyConstraint("assignment_id", "criterion", "turn", name=op.f("pk_votes")),
    )


def downgrade() -> None:
    op.drop_table("votes")
    with op.batch_alter_table("assignments", schema=None) as batch_op:
        batch_op.drop_index("ix_assignments_state")
        batch_op.drop_index("ix_assignments_annotator")

    op.drop_table("assignments")
    with op.batch_alter_table("items", schema=None) as batch_op:
        batch_op.drop_index("ix_items_pool")

    op.drop_table("items")
    op.drop_table("annotators")
    op.drop_table("projects")
