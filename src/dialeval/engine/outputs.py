"""Output in partitions: one file, or a folder of parts, that appear when all of them are whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from dialeval.core.errors import UsageError, unknown_name
from dialeval.core.files import format_for_writing, opened, replacing, writing
from dialeval.core.parquet import write_parquet

PART_FORMATS = ("jsonl", "jsonl.gz", "parquet")
MANIFEST = "_manifest.json"
"""Stands in a folder of parts: how many rows each part has."""


class Manifest(msgspec.Struct, frozen=True):
    """What a folder of parts holds."""

    parts: dict[str, int]
    """Rows by name."""
    rows: int


class Output(msgspec.Struct, frozen=True):
    """Where rows go: a file if its name says a format, else a folder of parts.

    >>> Output.at(Path("dialogues.json")).part(Path("work"), 3).as_posix()
    'work/part-00003.jsonl'
    >>> Output.at(Path("dialogues"), "parquet").part(Path("work"), 3).as_posix()
    'work/part-00003.parquet'
    """

    path: Path
    parts: str
    """The format of the parts."""
    folder: bool
    columns: dict[str, str] = {}
    """The types of columns, for Parquet."""

    @classmethod
    def at(
        cls, path: Path, parts: str | None = None, columns: dict[str, str] | None = None
    ) -> Output:
        """The output at a path; `parts` is the format in a folder, `jsonl.gz` unless told."""
        if parts is not None and parts not in PART_FORMATS:
            raise unknown_name("format of parts", parts, PART_FORMATS)
        if path.is_dir() or not path.suffix:
            _check_folder(path)
            return cls(path, parts or "jsonl.gz", True, columns or {})
        if parts is not None:
            raise UsageError(f"{path}: one file; a format of parts is for a folder")
        format_for_writing(path)
        zipped = path.name.endswith(".jsonl.gz")
        return cls(path, "jsonl.gz" if zipped else "jsonl", False, columns or {})

    def as_lines(self) -> Output:
        """The same with parts of lines, for rows whose columns are not known yet."""
        return msgspec.structs.replace(self, parts="jsonl") if self.parts == "parquet" else self

    def part(self, folder: Path, number: int) -> Path:
        """The file of a part in the folder where work is kept."""
        return folder / f"part-{number:05}.{self.parts}"

    def write_part(self, folder: Path, number: int, rows: Iterable[bytes]) -> int:
        """Write the JSON rows of a part, whole or not at all; gives their number."""
        counted = _Counted(rows)
        path = self.part(folder, number)
        if self.parts == "parquet":
            write_parquet(path, counted, self.columns)
        else:
            with writing(path) as stream:
                stream.writelines(row + b"\n" for row in counted)
        return counted.number

    def publish(self, folder: Path, rows: Sequence[int]) -> None:
        """Make the output of all parts, in their order; `rows` are what `write_part` gave."""
        parts = [self.part(folder, number) for number in range(len(rows))]
        if self.folder:
            self._publish_folder(folder / "published", parts, rows)
        elif format_for_writing(self.path) == "parquet":
            write_parquet(self.path, _lines(parts), self.columns)
        elif format_for_writing(self.path) == "json":
            with writing(self.path) as stream:
                for place, line in enumerate(_lines(parts)):
                    stream.write((b",\n" if place else b"[\n") + line)
                stream.write(b"\n]\n" if sum(rows) else b"[]\n")
        else:
            with replacing(self.path) as temporary, temporary.open("wb") as stream:
                for part in parts:  # gzipped files one after another are a gzipped file
                    with part.open("rb") as source:
                        shutil.copyfileobj(source, stream, 1 << 20)

    def _publish_folder(self, new: Path, parts: Sequence[Path], rows: Sequence[int]) -> None:
        """The parts go into a new folder, which then takes the place of the old one.

        They stay where they were, too: whoever is stopped here can publish them again.
        """
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            for part in parts:
                _link(part, new / part.name)
            counts = {part.name: count for part, count in zip(parts, rows, strict=True)}
            manifest = msgspec.json.encode(Manifest(counts, sum(rows)))
            (new / MANIFEST).write_bytes(msgspec.json.format(manifest, indent=2) + b"\n")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _check_folder(self.path)
            if self.path.exists():
                shutil.rmtree(self.path)
            new.replace(self.path)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written ({error.strerror})") from None


def _link(part: Path, name: Path) -> None:
    """The same file under another name; a copy where a disk has no such names."""
    try:
        os.link(part, name)
    except OSError:
        shutil.copyfile(part, name)


class Conversion(msgspec.Struct, frozen=True):
    """A part of lines that becomes one of an output whose columns are known by now."""

    folder: str
    number: int
    lines: Output
    output: Output


def convert_part(task: Conversion) -> int:
    """Write the rows of a part once more, as the output has them; gives their number."""
    folder = Path(task.folder)
    rows = _lines([task.lines.part(folder, task.number)])
    return task.output.write_part(folder, task.number, rows)


def _check_folder(path: Path) -> None:
    """What stands there may be replaced if it is a folder of parts, or empty."""
    if path.is_dir() and not (path / MANIFEST).is_file() and any(path.iterdir()):
        raise UsageError(f"{path}: a folder with other files in it; name a new one")


def _lines(parts: Iterable[Path]) -> Iterator[bytes]:
    for part in parts:
        with opened(part) as stream:
            for line in stream:
                yield line.rstrip(b"\n")


class _Counted:
    """Rows that are counted as they go by."""

    def __init__(self, rows: Iterable[bytes]) -> None:
        self._rows = rows
        self.number = 0

    def __iter__(self) -> Iterator[bytes]:
        for row in self._rows:
            self.number += 1
            yield row
