"""Input in partitions: ranges of lines or rows, that depend on the files alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from gzip import GzipFile
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO

import msgspec

from dialeval.core.errors import DataError, UsageError
from dialeval.core.files import Format, format_of, opened
from dialeval.core.records import Origin, Record, read_records

SIZE = 1 << 26
"""Bytes of a partition, about."""
ROWS = 200_000
"""Rows of a partition of a Parquet file, or elements of a JSON array."""
BLOCK = 1 << 17
"""Bytes that are read at once: few enough for the processor's own memory."""
LONGEST_LINE = 1 << 26
PACKED = 6
"""How much larger text is than its gzipped or Parquet file, about."""
ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet", ".json", ".json.gz")


class Partition(msgspec.Struct, frozen=True, dict=True):
    """A range of a file: bytes of JSONL (the lines that begin in it), rows of Parquet, or elements
    of a JSON array."""

    number: int
    path: str
    """In full, so that workers elsewhere find it."""
    source: str
    """As the user named it."""
    start: int = 0
    end: int | None = None
    weight: int = 0
    """About how many bytes of text it holds."""

    @property
    def format(self) -> Format:
        """What the file's name says."""
        return format_of(Path(self.path))

    @cached_property
    def origin(self) -> Origin:
        """For errors: it knows the numbers that records have in the whole file."""
        if self.format == "jsonl":
            return _Lines(self.source, lines=True, path=self.path, start=self.start)
        return Origin(self.source)

    def blocks(self) -> Iterator[bytes]:
        """JSON text in blocks of whole lines, one record a line.

        A line of more than 64 MB is cut, and what is left of it is no JSON.
        """
        if self.format == "parquet":
            from dialeval.core.parquet import read_parquet

            yield from _joined(read_parquet(Path(self.path), self.start, self.end))
        else:
            with opened(Path(self.path)) as stream:
                yield from _line_blocks(stream, self.start, self.end)

    def records(self) -> Iterator[Record]:
        """Each record, numbered as `origin` counts: from the start of a range of lines."""
        if self.format == "json":
            yield from islice(read_records(Path(self.path))[1], self.start, self.end)
            return
        number = self.start if self.format == "parquet" else 0
        for block in self.blocks():
            for line in lines_of(block):
                if line.strip():
                    yield number, line
                number += 1


class _Lines(Origin, frozen=True, kw_only=True):
    """Lines of a part of a file; those before it are counted when an error needs their number."""

    path: str
    start: int

    def place(self, record: int, path: str = "") -> str:
        return super().place(record + self._before(), path)

    def _before(self) -> int:
        count, left = 0, self.start
        with Path(self.path).open("rb") as stream:
            last = b"\n"
            while left and (block := stream.read(min(BLOCK, left))):
                count += block.count(b"\n")
                left -= len(block)
                last = block[-1:]
        return count + (last != b"\n")


def partitions(paths: Iterable[Path], *, size: int = SIZE, rows: int = ROWS) -> list[Partition]:
    """The partitions of files, and of folders of files: the same for any number of workers.

    A gzipped JSONL file is one partition: reading cannot begin in the middle of it. A JSON array is
    read whole for each of its partitions.
    """
    found: list[Partition] = []
    for given in paths:
        for file in _files(given):
            for start, end, weight in _ranges(file, size, rows):
                path = str(file.resolve())
                found.append(Partition(len(found), path, str(file), start, end, weight))
    return found


def _files(given: Path) -> list[Path]:
    """A file, or those of a folder in the order of their names; not `.name` and `_name`."""
    if not given.is_dir():
        return [given]
    try:
        inside = sorted(path for path in given.iterdir() if path.is_file())
    except OSError as error:
        raise UsageError(f"{given}: cannot be read ({error.strerror})") from None
    kept = [p for p in inside if p.name.lower().endswith(ENDINGS) and p.name[0] not in "._"]
    if not kept:
        raise DataError(str(given), "", "a folder without data", f"files: {', '.join(ENDINGS)}")
    return kept


def _ranges(file: Path, size: int, rows: int) -> Iterator[tuple[int, int | None, int]]:
    """Start, end and weight of a file's partitions."""
    if format_of(file) != "jsonl":
        total = _count(file)
        starts = range(0, max(total, 1), rows)
        weight = file.stat().st_size * PACKED // len(starts)
        yield from ((start, min(start + rows, total), weight) for start in starts)
        return
    with opened(file) as stream:
        zipped = isinstance(stream, GzipFile)
        total = file.stat().st_size
    if zipped:
        yield 0, None, total * PACKED
        return
    for start in range(0, max(total, 1), size):
        end = min(start + size, total)
        yield start, end, end - start


def _count(file: Path) -> int:
    """How many records a file has that is not JSONL."""
    if format_of(file) == "parquet":
        from dialeval.core.parquet import count_rows

        return count_rows(file)
    return sum(1 for _ in read_records(file)[1])


def lines_of(block: bytes) -> list[bytes]:
    """The lines of a block, with their ends.

    >>> lines_of(b"a\\n\\nb\\n")
    [b'a\\n', b'\\n', b'b\\n']
    """
    return BytesIO(block).readlines()  # much faster than to split it


def _line_blocks(stream: IO[bytes], start: int, end: int | None) -> Iterator[bytes]:
    """The lines that begin in a range of bytes; the last has an end even where the file has not."""
    at = start
    if start:  # the line before begins in another range, and is read there
        stream.seek(start - 1)
        at += _skip_line(stream) - 1
    while end is None or at < end:
        block = stream.read(BLOCK if end is None else min(BLOCK, end - at))
        if not block:
            return
        at += len(block)
        if not block.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE)
            at += len(rest)
            if not rest.endswith(b"\n"):
                at += _skip_line(stream)
                rest += b"\n"
            block += rest
        yield block


def _skip_line(stream: IO[bytes]) -> int:
    """Go to the end of the line; gives the number of bytes on the way."""
    count = 0
    while piece := stream.readline(BLOCK):
        count += len(piece)
        if piece.endswith(b"\n"):
            break
    return count


def _joined(rows: Iterable[bytes]) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    for row in rows:
        lines.append(row)
        size += len(row)
        if size >= BLOCK:
            yield b"\n".join(lines) + b"\n"
            lines, size = [], 0
    if lines:
        yield b"\n".join(lines) + b"\n"
