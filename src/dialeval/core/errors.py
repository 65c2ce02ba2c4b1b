"""Everything that can be wrong with what a user hands over.

Code raises these, never a bare `ValueError`, so that the command line and the server can
answer with one clear line and a status of their own.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DialevalError(Exception):
    """Base of all errors that are about the user's input, not about our code."""


class DataError(DialevalError):
    """A file holds something it should not.

    >>> str(DataError("run.json", '[12].quality.A["2"]', "-0.1", "a number of 0 or more"))
    'run.json: [12].quality.A["2"]: found -0.1, expected a number of 0 or more'
    """

    def __init__(self, source: str, place: str, found: str, expected: str) -> None:
        self.source, self.place, self.found, self.expected = source, place, found, expected
        where = f"{source}: {place}" if place else source
        super().__init__(f"{where}: found {found}, expected {expected}")


class UsageError(DialevalError):
    """Arguments that do not go together, or a name that nothing carries."""


class MissingExtraError(DialevalError):
    """A feature needs packages that come with one of the optional extras.

    >>> str(MissingExtraError("Parquet files", "data"))
    "Parquet files need an extra: pip install 'dialeval[data]'"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} need an extra: pip install 'dialeval[{extra}]'")


class DataWarning(UserWarning):
    """Input that is read, but not quite what it should be."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not in a list, with the nearest one that is.

    >>> str(unknown_name("measure", "nmb", ["nmd", "jsd"]))
    "unknown measure 'nmb' (did you mean 'nmd'?); known: jsd, nmd"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return UsageError(f"unknown {kind} {name!r}{hint}; known: {', '.join(names)}")


def shown(value: object, limit: int = 60) -> str:
    """A value as an error message shows it: on one line, and short.

    >>> shown("a\\nb")
    '"a\\\\nb"'
    """
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
