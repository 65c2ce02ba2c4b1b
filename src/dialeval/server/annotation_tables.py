"""The tables of the annotation workbench."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, deferred, mapped_column, relationship

from dialeval.server.tables import Base


class Project(Base):
    """Dialogues that people judge by a rubric."""

    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    instructions: Mapped[str] = mapped_column(Text)
    rubric: Mapped[str] = mapped_column(Text)
    language: Mapped[str] = mapped_column(String(20))
    """Of the dialogues, and of the questions where the rubric has them in it."""
    content: Mapped[bytes] = deferred(mapped_column(LargeBinary))
    """Gzipped JSONL: the dialogues with the votes they came with."""
    practice: Mapped[bytes | None] = deferred(mapped_column(LargeBinary))
    """The same for practice: dialogues whose votes are shown after the annotator's own."""
    votes: Mapped[int | None]
    """How many people judge each dialogue; None: everyone."""
    repeats: Mapped[int]
    """Of a hundred dialogues that an annotator has judged, how many come again, unannounced."""
    idle_hours: Mapped[int]
    """After so long without a click a dialogue goes back to the pool."""
    seed: Mapped[int] = mapped_column(BigInteger)
    open: Mapped[bool]
    created_at: Mapped[datetime]


class Item(Base):
    """A dialogue of a project, and how many people have it or have judged it."""

    __tablename__ = "items"
    __table_args__ = (Index("ix_items_pool", "project_id", "practice", "taken"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    place: Mapped[int]
    """In the project's collection, or in its practice collection."""
    practice: Mapped[bool]
    taken: Mapped[int]


class Annotator(Base):
    """A person who judges dialogues of one project, known by a pseudonym."""

    __tablename__ = "annotators"
    __table_args__ = (UniqueConstraint("project_id", "pseudonym"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    pseudonym: Mapped[str] = mapped_column(String(60))
    token_digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]

    project: Mapped[Project] = relationship()


class Assignment(Base):
    """A dialogue given to an annotator. Round 2 is a hidden repeat."""

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("item_id", "annotator_id", "round"),
        Index("ix_assignments_state", "project_id", "status", "last_at"),
        Index("ix_assignments_annotator", "annotator_id", "status"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id"))
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotators.id"))
    round: Mapped[int]
    status: Mapped[str] = mapped_column(String(20))
    """`open`, `done`, `skipped`, or `released` when it went back to the pool."""
    opened_at: Mapped[datetime]
    last_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    seconds: Mapped[float]
    """Time spent on it; long pauses do not count."""
    comment: Mapped[str] = mapped_column(Text)

    item: Mapped[Item] = relationship()


class Vote(Base):
    """The label that an annotator gave; `turn` is -1 for the whole dialogue."""

    __tablename__ = "votes"

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    criterion: Mapped[str] = mapped_column(String(100), primary_key=True)
    turn: Mapped[int] = mapped_column(primary_key=True)
    label: Mapped[str] = mapped_column(String(100))
    sequence: Mapped[int] = mapped_column(BigInteger)
    """When the annotator clicked, by the clock of the browser: an older click changes nothing."""
