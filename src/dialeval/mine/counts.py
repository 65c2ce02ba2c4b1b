"""What each step of mining kept and dropped, and why: nothing is lost without a count."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

READ, GATHER, ACTIVE, EXTRACT = "read", "threads", "active", "dialogues"


class Count(msgspec.Struct, omit_defaults=True):
    """Numbers of posts, threads and dialogues."""

    posts: int = 0
    threads: int = 0
    dialogues: int = 0

    def more(self, posts: int) -> None:
        """One more thread, of so many posts."""
        self.posts += posts
        self.threads += 1

    def add(self, other: Count) -> None:
        """Add another count to this one."""
        self.posts += other.posts
        self.threads += other.threads
        self.dialogues += other.dialogues


class Step(msgspec.Struct):
    """One step: what came, what stayed, and by reason what went or was put right."""

    given: Count = msgspec.field(default_factory=Count)
    kept: Count = msgspec.field(default_factory=Count)
    dropped: dict[str, Count] = {}
    noted: dict[str, Count] = {}
    """Kept in spite of something."""

    def drop(self, why: str, posts: int = 0, threads: int = 0) -> None:
        """Count what is left out."""
        count = self.dropped.setdefault(why, Count())
        count.posts += posts
        count.threads += threads

    def note(self, what: str, posts: int = 1) -> None:
        """Count what is kept, but not as it came."""
        self.noted.setdefault(what, Count()).posts += posts

    def add(self, other: Step) -> None:
        """Add the numbers of another part of the same step."""
        self.given.add(other.given)
        self.kept.add(other.kept)
        for mine, others in ((self.dropped, other.dropped), (self.noted, other.noted)):
            for why, count in others.items():
                mine.setdefault(why, Count()).add(count)

    def in_order(self) -> Step:
        """The reasons in the order of the alphabet, so that reports are the same."""
        return Step(
            self.given,
            self.kept,
            dict(sorted(self.dropped.items())),
            dict(sorted(self.noted.items())),
        )


def total(parts: Iterable[Step]) -> Step:
    """The numbers of a step over all partitions.

    >>> first, second = Step(), Step()
    >>> first.drop("broken line", posts=2), second.drop("broken line", posts=1)
    (None, None)
    >>> total([first, second]).dropped["broken line"].posts
    3
    """
    whole = Step()
    for part in parts:
        whole.add(part)
    return whole.in_order()
