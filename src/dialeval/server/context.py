"""What every service works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dialeval.server.database import Database
from dialeval.server.kept import Kept
from dialeval.server.scoring import Golds
from dialeval.server.settings import Settings


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


@dataclass
class Context:
    """The database, the settings, the clock, and the collections in memory."""

    database: Database
    settings: Settings
    now: Callable[[], datetime] = now
    golds: Golds = field(default_factory=Golds)
    boards: Kept[tuple[Any, ...], list[Any]] = field(default_factory=lambda: Kept(most=128))
    """Ranked leaderboards, by everything that they depend on."""
