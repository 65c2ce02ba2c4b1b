"""Masking collections of any size: partition by partition, wherever the engine runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import decode_collection
from dialeval.core.encode import collection_columns, collection_records
from dialeval.core.errors import DataError, UsageError
from dialeval.core.files import writing
from dialeval.core.formats.reading import Reading, as_native
from dialeval.core.rows import csv_line
from dialeval.core.rubric import Rubric
from dialeval.engine import (
    Conversion,
    Engine,
    Output,
    Partition,
    convert_part,
    opened_work,
    partitions,
    room_beside,
)
from dialeval.mine.masking.masker import Masker
from dialeval.mine.masking.review import Examiner, Summary, merged
from dialeval.mine.masking.rules import KINDS

if TYPE_CHECKING:
    from dialeval.engine.work import Progress

_SIZE = 1000


class Task(msgspec.Struct, frozen=True):
    """A partition to mask."""

    part: Partition
    folder: str
    output: Output
    masker: Masker
    rubric: Rubric
    examples: int
    seed: int


def mask_files(
    path: Path,
    out: Path,
    masker: Masker,
    rubric: Rubric,
    engine: Engine,
    *,
    reading: Reading,
    parts: str | None = None,
    by_dialogue: Path | None = None,
    examples: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
) -> Summary:
    """Mask a file, or a folder of files, into another; gives what was done.

    `parts` is the format of the files of an output folder. `by_dialogue` is a CSV file with the
    masks of each dialogue that has any, by kind.
    """
    output = Output.at(out, parts)
    if out.resolve() == path.resolve():
        raise UsageError(f"{out}: expected another file than the one that is masked")
    with room_beside(out) as copies:
        native = as_native(path, rubric, reading, copies / "dialogues.jsonl")
        given = partitions([native])
        if native is not path:
            given = [msgspec.structs.replace(part, source=str(path)) for part in given]
        options = {
            "mask": msgspec.to_builtins(msgspec.structs.replace(masker, secret=b"")),
            # A code tells secrets apart and tells nothing of them.
            "secret": masker.code("fingerprint"),
            "rubric": msgspec.to_builtins(rubric),
            "reading": msgspec.to_builtins(reading),
            "out": str(out.resolve()),
            "parts": parts,
            "examples": examples,
            "seed": seed,
        }
        with opened_work(out, engine, options=options, inputs=given, progress=progress) as work:
            folder, lines = str(work.folder), output.as_lines()
            tasks = [Task(part, folder, lines, masker, rubric, examples, seed) for part in given]
            done = work.each("mask", mask_part, tasks, Summary)
            summary = merged(done, examples)
            if not summary.dialogues:
                raise DataError(str(path), "", "no dialogues", "at least one")
            columns = collection_columns(rubric, summary.fields, summary.votes, summary.again)
            output = msgspec.structs.replace(output, columns=columns)
            if output.parts == "parquet":
                numbers = range(len(given))
                conversions = [Conversion(folder, n, lines, output) for n in numbers]
                work.each("parquet", convert_part, conversions, int)
            output.publish(work.folder, [one.dialogues for one in done])
            if by_dialogue is not None:
                tables = [work.folder / _table(part) for part in given]
                with writing(by_dialogue) as stream:
                    stream.write(b",".join([b"id", *(kind.encode() for kind in KINDS)]) + b"\n")
                    for table in tables:
                        stream.write(table.read_bytes())
    return summary


def _table(part: Partition) -> str:
    return f"masks-{part.number:05}.csv"


def mask_part(task: Task) -> Summary:
    """Mask a partition and write it."""
    examiner = Examiner(task.examples, task.seed)
    folder = Path(task.folder)
    with writing(folder / _table(task.part)) as table:
        rows = _rows(task, examiner, table.write)
        task.output.write_part(folder, task.part.number, rows)
    return examiner.result()


def _rows(task: Task, examiner: Examiner, write: Callable[[bytes], object]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for collection in _collections(task):
        dialogues = []
        for dialogue in collection.dialogues:
            masked, found = task.masker.dialogue(dialogue)
            counts = examiner.add(masked.id, found)
            examiner.fields |= dict.fromkeys(masked.fields)
            if counts:
                write(csv_line([masked.id, *(counts.get(kind, 0) for kind in KINDS)]))
            dialogues.append(masked)
        examiner.summary.votes |= bool(collection.votes)
        examiner.summary.again |= bool(collection.again)
        after = Collection(
            dialogues,
            task.rubric,
            collection.votes,
            collection.annotators,
            again=collection.again,
        )
        yield from map(encode, collection_records(after))


def _collections(task: Task) -> Iterator[Collection]:
    """The dialogues of a partition, some at a time."""
    records = task.part.records()
    seen: dict[str, int] = {}
    while some := [*islice(records, _SIZE)]:
        yield decode_collection(some, task.part.origin, task.rubric, seen)
