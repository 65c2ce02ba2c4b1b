"""`dialeval score`: what people would say of dialogues without votes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    ColumnOption,
    FormatOption,
    GapOption,
    RubricOption,
    SpeakerOption,
    reading_of,
)

if TYPE_CHECKING:
    from dialeval.core.formats.reading import Reading
    from dialeval.core.rubric import Rubric
    from dialeval.report.scores import Overview, Scored


def command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Dialogues (.json, .jsonl, .gz, .parquet), an export of another program, or -.",
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
) -> None:
    """Predict what people would say of dialogues, and show it.

    Without --out, JSONL goes to standard output: a run with expected scores. Tickets as of
    Zendesk and Intercom, WhatsApp exports, OpenAI messages and CSV are read as they are.

    Example: dialeval score chats.jsonl --out scores
    """
    from dialeval.core.errors import UsageError
    from dialeval.core.rubric import load_rubric
    from dialeval.predictors.bundled import DEFAULT, default_kind

    if csv and out is not None:
        raise UsageError("--csv and --out: choose one; --out writes CSV too")
    judged_by = load_rubric(rubric)
    reading = reading_of(format, speaker, column, gap)
    model = default_kind() if model == DEFAULT else model
    with _progress(to_files=out is not None) as advance:
        scored = _scored(files, judged_by, reading, model, language, part_size, advance)
        if out is None:
            _print(scored, judged_by, csv, several=len(files) > 1)
            return
        with _made_folder(out):
            overview = _write(scored, judged_by, out, most, several=len(files) > 1)
    _write_page(out, overview, files, {"model": model, "rubric": rubric, "language": language})
    print(f"{out}: {overview.dialogues} dialogues, {overview.turns} turns, by {model}")


def _scored(
    files: list[Path],
    rubric: Rubric,
    reading: Reading,
    model: str,
    language: str | None,
    size: int,
    advance: Callable[[int], None],
) -> Iterator[Scored]:
    """All dialogues of all files, read and predicted part by part."""
    from dialeval.core.decode_collection import load_parts
    from dialeval.predictors.predict import find_model
    from dialeval.report.scores import scored_dialogues

    predictor = find_model(model, language)
    before = 0
    for file in files:
        for part in load_parts(file, rubric, size=size, reading=reading):
            run = predictor.predict(part)
            yield from scored_dialogues(part, run, file=str(file), language=language, before=before)
            before += len(part)
            advance(len(part))


@contextmanager
def _progress(to_files: bool) -> Iterator[Callable[[int], None]]:
    """A count of dialogues on standard error while they are scored, for people only."""
    # Without files, and with a terminal to print on, the output itself shows how far it is.
    if not (sys.stderr.isatty() and (to_files or not sys.stdout.isatty())):
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.completed:,.0f} dialogues scored")
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), text, TimeElapsedColumn(), console=console, transient=True
    ) as progress:
        task = progress.add_task("", total=None)
        yield lambda count: progress.advance(task, count)


def _print(scored: Iterable[Scored], rubric: Rubric, csv: bool, several: bool) -> None:
    """Each dialogue on standard output as soon as its part is done."""
    import msgspec

    from dialeval.core.rows import csv_line
    from dialeval.report.scores import columns, flat_row

    encode = msgspec.json.Encoder().encode
    stream = sys.stdout.buffer  # UTF-8, whatever the terminal's own encoding is
    # With the first dialogue comes the head: bad input prints nothing but its error.
    for one in scored:
        if csv and one.number == 1:
            stream.write(csv_line(columns(rubric)))
        if csv:
            stream.write(csv_line(flat_row(one, rubric).values()))
        else:
            stream.write(encode(one.record(several)) + b"\n")
    stream.flush()


@contextmanager
def _made_folder(folder: Path) -> Iterator[None]:
    """If the block fails, folders that it made on the way to this one go again."""
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for path in absent:
                path.rmdir()
        raise


def _write(
    scored: Iterable[Scored], rubric: Rubric, folder: Path, most: int, several: bool
) -> Overview:
    """JSONL, CSV and Parquet, written while dialogues come; gives what the page needs."""
    from tempfile import TemporaryFile

    import msgspec

    from dialeval.core.errors import MissingExtraError
    from dialeval.core.files import writing
    from dialeval.core.parquet import write_parquet
    from dialeval.core.rows import csv_line
    from dialeval.report.scores import Overview, columns, flat_row, parquet_names

    encode = msgspec.json.Encoder().encode
    overview = Overview(rubric, most)
    names = parquet_names(columns(rubric))
    with (
        writing(folder / "scores.jsonl") as lines,
        writing(folder / "scores.csv") as table,
        TemporaryFile() as rows,
    ):
        table.write(csv_line(columns(rubric)))
        for one in scored:
            cells = flat_row(one, rubric).values()
            lines.write(encode(one.record(several)) + b"\n")
            table.write(csv_line(cells))
            rows.write(encode(dict(zip(names, cells, strict=True))) + b"\n")
            overview.add(one)
        rows.seek(0)
        types = dict(zip(names, columns(rubric).values(), strict=True))
        with suppress(MissingExtraError):
            write_parquet(folder / "scores.parquet", map(bytes.rstrip, rows), types)
    return overview


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
