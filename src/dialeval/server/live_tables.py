"""The tables of live tests: people talk with systems that they cannot tell apart."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from dialeval.server.tables import Base


class LiveTest(Base):
    """Systems under test, and sentences to begin with."""

    __tablename__ = "live_tests"

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    instructions: Mapped[str] = mapped_column(Text)
    rubric: Mapped[str] = mapped_column(Text)
    language: Mapped[str] = mapped_column(String(20))
    openings: Mapped[dict[str, Any]]
    """`{"sentences": [...]}`: a talk begins with one of them."""
    most_turns: Mapped[int]
    talks: Mapped[int]
    """How many talks each system has from each sentence."""
    seed: Mapped[int] = mapped_column(BigInteger)
    open: Mapped[bool]
    created_at: Mapped[datetime]

    systems: Mapped[list[System]] = relationship(order_by="System.id")


class System(Base):
    """A system under test. Its key goes to its own address and nowhere else."""

    __tablename__ = "systems"
    __table_args__ = (UniqueConstraint("live_test_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    live_test_id: Mapped[int] = mapped_column(ForeignKey("live_tests.id"))
    name: Mapped[str] = mapped_column(String(60))
    kind: Mapped[str] = mapped_column(String(20))
    """`openai`: chat completions; `json`: a simple bot."""
    url: Mapped[str] = mapped_column(String(500))
    model: Mapped[str] = mapped_column(String(200))
    key: Mapped[str] = mapped_column(String(500))
    seconds: Mapped[int]
    """How long a reply may take."""


class Tester(Base):
    """A person who talks with the systems of one live test."""

    __tablename__ = "testers"
    __table_args__ = (UniqueConstraint("live_test_id", "pseudonym"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    live_test_id: Mapped[int] = mapped_column(ForeignKey("live_tests.id"))
    pseudonym: Mapped[str] = mapped_column(String(60))
    token_digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]

    test: Mapped[LiveTest] = relationship()


class Talk(Base):
    """A talk of a tester with a system."""

    __tablename__ = "talks"
    __table_args__ = (Index("ix_talks_plan", "live_test_id", "status", "opening", "system_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(32), unique=True)
    live_test_id: Mapped[int] = mapped_column(ForeignKey("live_tests.id"))
    system_id: Mapped[int] = mapped_column(ForeignKey("systems.id"))
    tester_id: Mapped[int] = mapped_column(ForeignKey("testers.id"))
    opening: Mapped[int]
    """The place of its first sentence."""
    status: Mapped[str] = mapped_column(String(20))
    """`open`, `ended`, or `failed`: then the system gets another talk from the sentence."""
    reason: Mapped[str] = mapped_column(String(200))
    """Why it ended: `turns`, `tester`, `system`, or what failed."""
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

    system: Mapped[System] = relationship()
    test: Mapped[LiveTest] = relationship()


class Said(Base):
    """What a tester said and what the system replied: one turn of a talk."""

    __tablename__ = "said"

    talk_id: Mapped[int] = mapped_column(ForeignKey("talks.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    reply: Mapped[str | None] = mapped_column(Text)
    """None until the system has answered."""
    milliseconds: Mapped[int | None]
    failures: Mapped[dict[str, Any]]
    """`{"reasons": [...]}`: every attempt at a reply that failed."""
