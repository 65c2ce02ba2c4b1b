"""`dialeval score`: what people would say of dialogues without votes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    ColumnOption,
    EngineOption,
    FormatOption,
    GapOption,
    JobsOption,
    PartsOption,
    RubricOption,
    SchedulerOption,
    SpeakerOption,
    reading_of,
)

if TYPE_CHECKING:
    from dialeval.core.formats.reading import Reading
    from dialeval.core.rubric import Rubric
    from dialeval.engine import Engine, Partition
    from dialeval.report.score_parts import ScoreTask
    from dialeval.report.scores import Overview

PARTITION = 1 << 17
"""Bytes of dialogues that are scored at once by one worker."""
RECORDS = 200
"""The same for Parquet and JSON arrays, in dialogues."""


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Dialogues (.json, .jsonl, .gz, .parquet, folders), exports of others, or -.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write JSONL, CSV, Parquet and a page here."),
    ] = None,
    model: Annotated[str, typer.Option("--model", help="A model, or its folder.")] = "default",
    rubric: RubricOption = "helpdesk",
    language: Annotated[
        str | None, typer.Option("--language", help="The dialogues' language, if it is known.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV, not JSONL.")] = False,
    most: Annotated[
        int, typer.Option("--most", min=0, help="How many dialogues the page shows in full.")
    ] = 200,
    format: FormatOption = None,
    speaker: SpeakerOption = None,
    column: ColumnOption = None,
    gap: GapOption = None,
    part_size: Annotated[int, typer.Option("--part-size", min=1, hidden=True)] = 1000,
    parts: PartsOption = None,
    jobs: JobsOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
) -> None:
    """Predict what people would say of dialogues, and show it.

    Without --out, JSONL goes to standard output: a run with expected scores. With --parts, scores
    are a folder of parts beside the page, instead of one file of each kind. Tickets as of Zendesk
    and Intercom, WhatsApp exports, OpenAI messages and CSV are read as they are.

    Example: dialeval score chats.jsonl --out scores
    """
    from dialeval.core.errors import UsageError
    from dialeval.core.rubric import load_rubric
    from dialeval.engine import open_engine
    from dialeval.predictors.bundled import DEFAULT, default_kind
    from dialeval.report.score_parts import ScoreTask

    if csv and out is not None:
        raise UsageError("--csv and --out: choose one; --out writes CSV too")
    if parts is not None and out is None:
        raise UsageError("--parts goes with --out")
    judged_by = load_rubric(rubric)
    model = default_kind() if model == DEFAULT else model
    reading = reading_of(format, speaker, column, gap)
    with (
        _partitions(files, judged_by, reading, out) as given,
        open_engine(jobs, engine, scheduler) as workers,
    ):
        tasks = [
            ScoreTask(
                part=part,
                rubric=judged_by,
                model=str(Path(model).resolve()) if Path(model).is_dir() else model,
                language=language,
                size=part_size,
                several=len(files) > 1,
                csv=csv,
                most=most,
            )
            for part in given
        ]
        if out is None:
            _print(tasks, workers)
            return
        overview = _write(tasks, workers, out, parts)
    _write_page(out, overview, files, {"model": model, "rubric": rubric, "language": language})
    print(f"{out}: {overview.dialogues} dialogues, {overview.turns} turns, by {model}")


@contextmanager
def _partitions(
    files: Sequence[Path], rubric: Rubric, reading: Reading, out: Path | None
) -> Iterator[list[Partition]]:
    """The partitions of all files; standard input and exports are kept in files meanwhile.

    These lie beside the output, where the workers of a cluster see them, too.
    """
    import shutil
    from tempfile import TemporaryDirectory

    from msgspec.structs import replace

    from dialeval.core.formats.reading import as_native
    from dialeval.core.records import STANDARD_INPUT
    from dialeval.engine import partitions, room_beside

    with TemporaryDirectory() if out is None else room_beside(out) as folder:
        found: list[Partition] = []
        for number, file in enumerate(files):
            source, name = file, str(file)
            if str(file) == STANDARD_INPUT:
                head = sys.stdin.buffer.read(1 << 16)
                array = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
                source = Path(folder) / ("input.json" if array else "input.jsonl")
                name = "standard input"
                with source.open("wb") as stream:
                    stream.write(head)
                    shutil.copyfileobj(sys.stdin.buffer, stream)
            source = as_native(source, rubric, reading, Path(folder) / f"{number}.jsonl", name)
            for part in partitions([source], size=PARTITION, rows=RECORDS):
                named = part.source if source is file else name
                found.append(replace(part, number=len(found), source=named))
        yield found


def _print(tasks: list[ScoreTask], workers: Engine) -> None:
    """Each partition on standard output as soon as it is done, and those before it."""
    from dialeval.core.rows import csv_line
    from dialeval.report.score_parts import Known, print_part
    from dialeval.report.scores import columns

    stream = sys.stdout.buffer  # UTF-8, whatever the terminal's own encoding is
    known = Known()
    for task, printed in zip(tasks, workers.ordered(print_part, tasks), strict=True):
        # With the first dialogue comes the head: bad input prints nothing but its error.
        if task.csv and printed.ids and not known.ids:
            stream.write(csv_line(columns(task.rubric)))
        known.add(task.part, printed.ids)
        stream.write(printed.content)
    known.refuse_empty()
    stream.flush()


def _write(tasks: list[ScoreTask], workers: Engine, out: Path, parts: str | None) -> Overview:
    """Score all partitions, and put what they wrote together; gives what the page needs."""
    from msgspec.structs import replace

    from dialeval.cli.output import progress_bar
    from dialeval.core.errors import UsageError
    from dialeval.engine import Output, buckets_for, opened_work
    from dialeval.report import score_parts as scoring

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: cannot be written (not a folder)")
    rubric, most, given = tasks[0].rubric, tasks[0].most, [task.part for task in tasks]
    output = Output.at(out / "scores", parts, scoring.parquet_columns(rubric))
    saved = Path(tasks[0].model) / "model.json"
    model = saved.stat().st_mtime_ns if saved.is_file() else 0
    options = {"task": replace(tasks[0], part=None), "model": model, "parts": parts}
    with (
        progress_bar() as show,
        opened_work(out, workers, options=options, inputs=given, progress=show) as work,
    ):
        folder, many = str(work.folder), buckets_for(given)
        kept = output if parts else None
        tasks = [replace(task, folder=folder, buckets=many, output=kept) for task in tasks]
        counts = work.each("dialogues", scoring.write_part, tasks, int)
        scoring.refuse_empty(given, counts)
        buckets = [scoring.IdBucket(folder, len(tasks), bucket, many) for bucket in range(many)]
        found = work.each("ids", scoring.repeated, buckets, scoring.Repeated | None)
        scoring.refuse_repeated(found, given)
        if parts:
            output.publish(work.folder, counts)
        else:
            scoring.join_parts(work.folder, len(tasks), rubric, out)
        return scoring.join_overviews(work.folder, len(tasks), rubric, most)


def _write_page(
    folder: Path, overview: Overview, files: list[Path], options: dict[str, str | None]
) -> None:
    from dialeval import __version__
    from dialeval.cli.output import warn
    from dialeval.core.errors import MissingExtraError
    from dialeval.core.files import write_text
    from dialeval.report.provenance import Provenance
    from dialeval.report.scores_page import scores_page

    inputs = {str(file): _sha256(file) for file in files if file.is_file()}
    origin = Provenance(__version__, 0, options, inputs)
    try:
        page = scores_page(overview, str(options["model"]), [*map(str, files)], origin)
    except MissingExtraError as error:
        warn(str(error))
    else:
        write_text(folder / "scores.html", page)


def _sha256(file: Path) -> str:
    """Read in blocks: the file may be larger than memory."""
    import hashlib

    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
