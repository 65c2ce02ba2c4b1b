"""Reading a partition of posts: bad ones are counted, names found, lines spilled by thread."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path

import msgspec

from dialeval.engine import Partition, spilling, without_cycles
from dialeval.mine.accounts import Account, Found
from dialeval.mine.counts import Step
from dialeval.mine.posts import Batch, PostReader
from dialeval.mine.settings import Settings


class Scan(msgspec.Struct, frozen=True):
    """A partition of posts to read."""

    partition: Partition
    settings: Settings
    folder: str = ""
    buckets: int = 0


class Scanned(msgspec.Struct):
    """What was in a partition of posts."""

    step: Step
    names: list[Account]
    """The sought accounts, by their names as they are spelt."""


class _Names:
    """Which sought accounts write and are mentioned in a partition, and how often."""

    def __init__(self, settings: Settings) -> None:
        self.found = Found(settings.sought)
        self._authors: Counter[str] = Counter()
        self._mentions: Counter[str] = Counter()

    def add(self, batch: Batch) -> None:
        self._authors.update(self.found.among(batch.authors))
        self._mentions.update(chain.from_iterable(batch.mentions))

    def sought(self) -> list[Account]:
        names = sorted(self._authors.keys() | self._mentions.keys())
        return [
            Account(name, self._authors[name], self._mentions[name])
            for name in names
            if self.found[name]
        ]


@without_cycles
def find_names(task: Scan) -> Scanned:
    """Count the posts of a partition and find the names that are sought."""
    reader, names = PostReader(task.settings, task.partition.origin), _Names(task.settings)
    for block in task.partition.blocks():
        names.add(reader.read(block))
    return Scanned(reader.step, names.sought())


@without_cycles
def scan(task: Scan) -> Scanned:
    """The same, and lines go to the buckets of their threads, and beside them the names of the
    threads in which a sought account is mentioned."""
    reader, names = PostReader(task.settings, task.partition.origin), _Names(task.settings)
    lines_file, marks_file = spill_files(Path(task.folder), task.partition.number)
    with spilling(lines_file, task.buckets) as lines, spilling(marks_file, task.buckets) as marks:
        for block in task.partition.blocks():
            batch = reader.read(block)
            names.add(batch)
            lines.add(batch.threads, batch.lines)
            marked = sorted(_marked(batch, names.found, task.settings.tickets))
            marks.add(marked, [b""] * len(marked))
    return Scanned(reader.step, names.sought())


def spill_files(folder: Path, number: int) -> tuple[Path, Path]:
    """Where a partition's lines go, and the threads that are marked."""
    return folder / f"lines-{number:05}.spill", folder / f"marks-{number:05}.spill"


def _marked(batch: Batch, found: Found, tickets: bool) -> set[str]:
    """The threads in which a sought account is mentioned or, with tickets, writes."""
    if tickets:
        return {t for t, author in zip(batch.threads, batch.authors, strict=True) if found[author]}
    return {
        thread
        for thread, named in zip(batch.threads, batch.mentions, strict=True)
        if named and any(map(found.__getitem__, named))
    }
