"""What the server refuses, and how it says so: RFC 9457 problem documents, or a page."""

from __future__ import annotations

from typing import Any

from dialeval.core.errors import DataError, DialevalError


class Problem(DialevalError):
    """A request that is not carried out; `code` is for programs, `detail` for people."""

    def __init__(self, status: int, code: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.more = status, code, detail, more
        self.headers: dict[str, str] = {}

    def to_json(self) -> dict[str, Any]:
        """The document of RFC 9457."""
        return {
            "type": f"urn:dialeval:{self.code}",
            "title": TITLES.get(self.code, "The request was refused"),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            **self.more,
        }


TITLES = {
    "bad-file": "The file is refused",
    "bad-request": "The request is not right",
    "conflict": "That is taken",
    "forbidden": "This is not for you",
    "not-found": "There is nothing here",
    "phase-closed": "The task takes no submissions now",
    "quota": "The quota is used up",
    "sign-in": "Sign in first",
    "too-large": "That is too large",
    "too-many": "Too many attempts",
    "unavailable": "The server cannot do this at the moment",
}


def not_found(what: str = "page") -> Problem:
    """The same for what does not exist and for what is somebody else's."""
    return Problem(404, "not-found", f"there is no such {what}")


def bad_request(detail: str) -> Problem:
    """Values that do not go together."""
    return Problem(422, "bad-request", detail)


def bad_file(error: DialevalError) -> Problem:
    """A file that the validator refuses, with the place where."""
    if isinstance(error, DataError):
        expected = error.expected.partition(" (--")[0]  # options of a command are no help here
        said = DataError(error.source, error.place, error.found, expected)
        where = {"place": error.place, "found": error.found, "expected": expected}
        return Problem(422, "bad-file", str(said), **where)
    return Problem(422, "bad-file", str(error))


def unavailable() -> Problem:
    """The database is gone, or its disk is full: nothing was done, try again."""
    detail = "the database cannot be reached or written; nothing was changed, try again later"
    return Problem(503, "unavailable", detail)
