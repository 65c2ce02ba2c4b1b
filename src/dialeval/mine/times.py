"""Times of posts, in the forms that exports have them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from dialeval.mine.tries import mapped

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_MILLISECONDS = 1e11
"""Numbers above are times in milliseconds: in seconds they would be of the year 5138."""


def seconds_of(times: Sequence[Any]) -> list[float]:
    """Times as seconds since 1970: numbers (also milliseconds), ISO 8601, RFC 2822, Twitter's.

    >>> seconds_of(["2018-10-10T20:19:24Z", 1539202764000, "Wed Oct 10 20:19:24 +0000 2018"])
    [1539202764.0, 1539202764.0, 1539202764.0]
    """
    try:
        return [(moment - _EPOCH) / _SECOND for moment in map(datetime.fromisoformat, times)]
    except (TypeError, ValueError, OverflowError):  # numbers, no zone, another format
        return [*map(_seconds, times)]


def _seconds(time: str | float) -> float:
    if isinstance(time, str):
        try:
            moment = datetime.fromisoformat(time)
        except ValueError:
            moment = _mail_time(time)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    seconds = time / 1000 if abs(time) > _MILLISECONDS else float(time)
    datetime.fromtimestamp(seconds, UTC)  # a year that exists
    return seconds


def _mail_time(time: str) -> datetime:
    parts = time.split()
    if len(parts) == 6:  # Wed Oct 10 20:19:24 +0000 2018
        time = " ".join([parts[2], parts[1], parts[5], parts[3], parts[4]])
    return parsedate_to_datetime(time)


def rows_without_time(times: Sequence[Any]) -> list[int]:
    """The rows whose time nobody can read.

    >>> rows_without_time(["2018-10-10", "yesterday", 1539202764, 1e300])
    [1, 3]
    """
    wrong: list[int] = []

    def look_closer(row: int, _error: Exception) -> Any:
        try:
            _seconds(times[row])
        except (ValueError, TypeError, OverflowError, OSError):
            wrong.append(row)

    mapped(datetime.fromisoformat, times, (TypeError, ValueError), look_closer)
    return wrong


def iso_time(seconds: float) -> str:
    """
    >>> iso_time(1539202764.0)
    '2018-10-10T20:19:24+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat()
