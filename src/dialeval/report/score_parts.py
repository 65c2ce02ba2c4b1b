"""Scoring a partition of dialogues, wherever it runs, and putting the parts together."""

from __future__ import annotations

import pickle
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path

import msgspec

from dialeval.core.decode_collection import decode_collection
from dialeval.core.errors import DataError, MissingExtraError, shown
from dialeval.core.files import writing
from dialeval.core.parquet import write_parquet
from dialeval.core.rows import csv_line
from dialeval.core.rubric import Rubric
from dialeval.engine import Output, Partition, bucket_frames, spilling
from dialeval.report.scores import (
    Overview,
    Scored,
    columns,
    flat_row,
    parquet_names,
    scored_dialogues,
)


class ScoreTask(msgspec.Struct, frozen=True, kw_only=True):
    """A partition of dialogues to score, and how."""

    part: Partition
    rubric: Rubric
    model: str
    language: str | None
    size: int
    """Dialogues that are predicted at once."""
    several: bool
    """There are several files: records say which one they are of."""
    csv: bool = False
    most: int = 0
    folder: str = ""
    output: Output | None = None
    """Where parts stay parts."""
    buckets: int = 1


class Printed(msgspec.Struct):
    """A scored partition on its way to standard output."""

    content: bytes
    ids: dict[str, int]
    """The record of each dialogue."""


def scored_part(task: ScoreTask, seen: dict[str, int]) -> Iterator[Scored]:
    """The dialogues of a partition, read and predicted some at a time; `seen` takes their ids."""
    from dialeval.predictors.predict import find_model

    predictor = find_model(task.model, task.language)
    records, before = task.part.records(), 0
    while some := [*islice(records, task.size)]:
        dialogues = decode_collection(some, task.part.origin, task.rubric, seen)
        run = predictor.predict(dialogues)
        yield from scored_dialogues(
            dialogues, run, file=task.part.source, language=task.language, before=before
        )
        before += len(dialogues)


def print_part(task: ScoreTask) -> Printed:
    """Score a partition and give its lines: JSONL, or CSV without the head."""
    encode = msgspec.json.Encoder().encode
    lines, seen = [], dict[str, int]()
    for one in scored_part(task, seen):
        if task.csv:
            lines.append(csv_line(flat_row(one, task.rubric).values()))
        else:
            lines.append(encode(one.record(task.several)) + b"\n")
    return Printed(b"".join(lines), seen)


def write_part(task: ScoreTask) -> int:
    """Score a partition into files of the work's folder; gives the number of dialogues.

    Lines, a table, rows for Parquet, an overview, and its ids on their way to `repeated`.
    """
    folder, number = Path(task.folder), task.part.number
    encode = msgspec.json.Encoder().encode
    overview, names = Overview(task.rubric, task.most), parquet_names(columns(task.rubric))
    with ExitStack() as stack:
        lines, table, rows, kept = (
            stack.enter_context(writing(_file(folder, number, kind)))
            for kind in ("jsonl", "csv", "rows", "overview")
        )
        ids = stack.enter_context(spilling(_file(folder, number, "ids"), task.buckets))
        seen: dict[str, int] = {}
        for one in scored_part(task, seen):
            cells = flat_row(one, task.rubric).values()
            lines.write(encode(one.record(task.several)) + b"\n")
            table.write(csv_line(cells))
            rows.write(encode(dict(zip(names, cells, strict=True))) + b"\n")
            id = one.dialogue.id
            ids.add([f"{task.part.path}\0{id}"], [encode((number, seen[id]))])
            overview.add(one)
        pickle.dump(overview, kept)
    if task.output is not None:
        kind = "rows" if task.output.parts == "parquet" else "jsonl"
        task.output.write_part(folder, number, _lines(_file(folder, number, kind)))
    return overview.dialogues


def _file(folder: Path, number: int, kind: str) -> Path:
    return folder / f"scores-{number:05}.{kind}"


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        for line in stream:
            yield line.rstrip(b"\n")


class IdBucket(msgspec.Struct, frozen=True):
    """Ids that came to one bucket from all partitions."""

    folder: str
    partitions: int
    bucket: int
    buckets: int


class Repeated(msgspec.Struct, order=True):
    """The first dialogue of a bucket whose id came before, and where: partition and record."""

    again: tuple[int, int]
    first: tuple[int, int]
    id: str


def repeated(task: IdBucket) -> Repeated | None:
    """Whether an id comes twice in the partitions of a file."""
    spills = [_file(Path(task.folder), number, "ids") for number in range(task.partitions)]
    first: dict[str, tuple[int, int]] = {}
    for keys, rows in bucket_frames(spills, task.bucket, task.buckets):
        for key, row in zip(keys, rows, strict=True):
            place = msgspec.json.decode(row, type=tuple[int, int])
            if first.setdefault(key, place) != place:
                return Repeated(place, first[key], key.partition("\0")[2])
    return None


def refuse_repeated(found: Sequence[Repeated | None], parts: Sequence[Partition]) -> None:
    """Raise the error for the first id that came twice, if one did."""
    twice = min((one for one in found if one is not None), default=None)
    if twice is not None:
        (part, record), (before, place) = twice.again, twice.first
        refuse_again(twice.id, parts[part], record, parts[before], place)


def refuse_again(id: str, part: Partition, record: int, first: Partition, place: int) -> None:
    """Raise the error for an id that came before."""
    expected = f"ids once each (first: {first.origin.place(place)})"
    raise part.origin.error(record, ".id", f"{shown(id)} again", expected)


def refuse_empty(parts: Sequence[Partition], counts: Sequence[int]) -> None:
    """Raise the error for the first file without dialogues, if there is one."""
    by_file: Counter[str] = Counter()
    for part, count in zip(parts, counts, strict=True):
        by_file[part.source] += count
    for source, count in by_file.items():
        if not count:
            raise DataError(source, "", "no dialogues", "at least one")


class Known:
    """The ids that were printed so far; the same may come in each file."""

    def __init__(self) -> None:
        self.ids: dict[tuple[str, str], tuple[Partition, int]] = {}
        self._counts: list[tuple[Partition, int]] = []

    def add(self, part: Partition, ids: dict[str, int]) -> None:
        """Take the ids of a partition, with their records, if none is known already."""
        for id, record in ids.items():
            first, place = self.ids.setdefault((part.path, id), (part, record))
            if first is not part:
                refuse_again(id, part, record, first, place)
        self._counts.append((part, len(ids)))

    def refuse_empty(self) -> None:
        """Raise the error for the first file without dialogues, if there is one."""
        refuse_empty([part for part, _ in self._counts], [count for _, count in self._counts])


def join_parts(folder: Path, parts: int, rubric: Rubric, out: Path) -> None:
    """Put the files of all partitions together: `scores.jsonl`, `scores.csv`, `scores.parquet`."""
    for kind, head in (("jsonl", b""), ("csv", csv_line(columns(rubric)))):
        with writing(out / f"scores.{kind}") as stream:
            stream.write(head)
            for number in range(parts):
                with _file(folder, number, kind).open("rb") as part:
                    shutil.copyfileobj(part, stream, 1 << 20)
    rows = (line for number in range(parts) for line in _lines(_file(folder, number, "rows")))
    with suppress(MissingExtraError):
        write_parquet(out / "scores.parquet", rows, parquet_columns(rubric))


def join_overviews(folder: Path, parts: int, rubric: Rubric, most: int) -> Overview:
    """The overview of all partitions, in their order."""
    whole = Overview(rubric, most)
    for number in range(parts):
        with _file(folder, number, "overview").open("rb") as stream:
            whole.merge(pickle.load(stream))
    return whole


def parquet_columns(rubric: Rubric) -> dict[str, str]:
    """The names and types of a Parquet file of scores."""
    types = columns(rubric)
    return dict(zip(parquet_names(types), types.values(), strict=True))
