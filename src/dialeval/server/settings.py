"""What the server is told when it starts; worker processes read it from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dialeval.core.errors import UsageError

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Rate:
    """So many attempts in so many seconds."""

    attempts: int
    seconds: int


@dataclass(frozen=True)
class Settings:
    """Where the state lies, and the limits."""

    database_url: str
    body_limit: int = 10 * MEGABYTE
    collection_limit: int = 200 * MEGABYTE
    """What a compressed collection may hold once it is unpacked."""
    registrations: Rate = Rate(20, 3600)
    """Of one address."""
    sign_ins: Rate = Rate(10, 300)
    """Failed ones of one address."""
    trials: int = 5000
    """Trials of the significance test when results are published."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """`DATABASE_URL`, and limits as `DIALEVAL_REGISTRATIONS=20/3600`."""
        url = environment.get("DATABASE_URL", "")
        if not url:
            raise UsageError("DATABASE_URL: found nothing, expected the address of a database")
        return cls(
            database_url=url,
            registrations=_rate(environment, "DIALEVAL_REGISTRATIONS", cls.registrations),
            sign_ins=_rate(environment, "DIALEVAL_SIGN_INS", cls.sign_ins),
            trials=_whole(environment, "DIALEVAL_TRIALS", cls.trials),
        )


def sqlite_url(folder: Path) -> str:
    """The address of the database in a folder."""
    return f"sqlite:///{folder.resolve() / 'dialeval.sqlite'}"


def _rate(environment: Mapping[str, str], name: str, default: Rate) -> Rate:
    text = environment.get(name)
    if text is None:
        return default
    attempts, _, seconds = text.partition("/")
    if not (attempts.isdigit() and seconds.isdigit() and int(seconds) > 0):
        raise UsageError(f"{name}: found {text!r}, expected attempts/seconds, such as 20/3600")
    return Rate(int(attempts), int(seconds))


def _whole(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, str(default))
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"{name}: found {text!r}, expected a whole number of 1 or more")
    return int(text)
