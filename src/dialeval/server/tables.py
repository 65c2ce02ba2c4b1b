"""The tables: what the server keeps."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Date,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, deferred, mapped_column, relationship
from sqlalchemy.types import TypeDecorator


class Moment(TypeDecorator[datetime]):
    """A point in time; SQLite keeps no time zone, so all are kept in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """The base of all tables. Constraints have names, so that migrations can change them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {
        datetime: Moment,
        date: Date,
        dict[str, Any]: JSON,
        list[int]: JSON,
        bytes: LargeBinary,
    }


class Organiser(Base):
    """A person who runs tasks."""

    __tablename__ = "organisers"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(200), unique=True)
    password_hash: Mapped[str] = mapped_column(String(200))
    token_digest: Mapped[str | None] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]


class Invitation(Base):
    """A link that makes one organiser, once."""

    __tablename__ = "invitations"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Team(Base):
    """A participant. A baseline is a team without token that organisers submit for."""

    __tablename__ = "teams"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    name_key: Mapped[str] = mapped_column(String(200), unique=True)
    information: Mapped[dict[str, Any]]
    token_digest: Mapped[str | None] = mapped_column(String(64), unique=True)
    baseline: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[datetime]


class SignIn(Base):
    """A session of a browser."""

    __tablename__ = "sign_ins"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id"))
    organiser_id: Mapped[int | None] = mapped_column(ForeignKey("organisers.id"))
    expires_at: Mapped[datetime] = mapped_column(index=True)


class Attempts(Base):
    """How often somebody tried something in the current stretch of time."""

    __tablename__ = "attempts"

    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    stretch: Mapped[int] = mapped_column(Integer)
    count: Mapped[int] = mapped_column(Integer)


class Task(Base):
    """A collection in one or more languages, a rubric, phases, and the rules."""

    __tablename__ = "tasks"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    description: Mapped[str] = mapped_column(Text)
    rubric: Mapped[str] = mapped_column(Text)
    time_zone: Mapped[str] = mapped_column(String(60))
    visible: Mapped[bool]
    rule: Mapped[str] = mapped_column(String(20))
    best_by: Mapped[str] = mapped_column(String(100))
    entries: Mapped[int]
    reference: Mapped[bool]
    version: Mapped[int] = mapped_column(default=0)
    """Goes up with every change that a leaderboard could show."""
    created_at: Mapped[datetime]

    collections: Mapped[list[TaskCollection]] = relationship(
        back_populates="task", order_by="TaskCollection.language"
    )
    phases: Mapped[list[Phase]] = relationship(back_populates="task", order_by="Phase.opens_at")


class TaskCollection(Base):
    """The dialogues and votes of a task in one language. They never leave the server."""

    __tablename__ = "task_collections"
    __table_args__ = (UniqueConstraint("task_id", "language"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id"))
    language: Mapped[str] = mapped_column(String(20))
    content: Mapped[bytes] = deferred(mapped_column(LargeBinary))
    """Gzipped JSONL."""
    dialogues: Mapped[int]
    half: Mapped[list[int]] = deferred(mapped_column(JSON))
    """The places of the dialogues that the development phase scores."""
    revision: Mapped[int] = mapped_column(default=1)

    task: Mapped[Task] = relationship(back_populates="collections")


class Phase(Base):
    """A time in which teams submit."""

    __tablename__ = "phases"
    __table_args__ = (UniqueConstraint("task_id", "kind"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id"))
    kind: Mapped[str] = mapped_column(String(20))
    opens_at: Mapped[datetime]
    closes_at: Mapped[datetime | None]
    daily: Mapped[int]
    total: Mapped[int]
    visibility: Mapped[str] = mapped_column(String(20))

    task: Mapped[Task] = relationship(back_populates="phases")


class Submission(Base):
    """A run that a team sent, with its scores. There is no row without scores."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("team_id", "idempotency_key"),
        Index("ix_submissions_quota", "team_id", "phase_id", "day"),
        Index("ix_submissions_board", "phase_id", "language", "counting"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(32), unique=True)
    """Its name in addresses: random, so that nobody can count through them."""
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id"))
    phase_id: Mapped[int] = mapped_column(ForeignKey("phases.id"))
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"))
    language: Mapped[str] = mapped_column(String(20))
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    day: Mapped[date]
    """The day in the task's time zone: what the daily quota counts."""
    scores: Mapped[dict[str, Any]]
    remarks: Mapped[str] = mapped_column(Text)
    listed: Mapped[bool]
    status: Mapped[str] = mapped_column(String(20))
    reason: Mapped[str] = mapped_column(Text, default="")
    chosen: Mapped[bool] = mapped_column(default=False)
    counting: Mapped[bool] = mapped_column(default=False)
    """Whether the task's rule puts it on the leaderboard; kept by `services/counting.py`."""
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    sha256: Mapped[str] = mapped_column(String(64))

    task: Mapped[Task] = relationship()
    team: Mapped[Team] = relationship()
    phase: Mapped[Phase] = relationship()


class SubmissionFile(Base):
    """The file as it was sent, compressed."""

    __tablename__ = "submission_files"

    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), primary_key=True)
    content: Mapped[bytes]


class Publication(Base):
    """Official results of a task."""

    __tablename__ = "publications"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("tasks.id"), index=True)
    created_at: Mapped[datetime]
    boards: Mapped[dict[str, Any]]
    """By language: the ranked runs with their scores and groups."""


class PublishedFile(Base):
    """A file of official results: the report, a table, a picture."""

    __tablename__ = "published_files"

    publication_id: Mapped[int] = mapped_column(ForeignKey("publications.id"), primary_key=True)
    path: Mapped[str] = mapped_column(String(200), primary_key=True)
    content: Mapped[bytes]


class Event(Base):
    """What an organiser or a team did, for the organisers to read."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    task_id: Mapped[int | None] = mapped_column(ForeignKey("tasks.id"), index=True)
    actor: Mapped[str] = mapped_column(String(120))
    action: Mapped[str] = mapped_column(String(60))
    detail: Mapped[str] = mapped_column(Text)
