"""What commands print: tables for people, JSON and CSV for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    wide: bool = False,
) -> None:
    """A table; the columns at the places `numbers` are set flush right.

    A row of no cells draws a line. A `wide` table keeps each row on one line, however long.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(
            Text(column), justify="right" if place in numbers else "left", no_wrap=wide
        )
    for row in rows:
        if row:
            table.add_row(*(Text(cell) for cell in row))
        else:
            table.add_section()
    console = Console()
    console.print(Text(title, style="bold"), soft_wrap=True)
    if wide:
        unlimited = console.options.update(max_width=10_000)
        console.width = max(console.width, console.measure(table, options=unlimited).maximum)
    console.print(table)


class Report(Protocol):
    """Results that can be written as tables alone, or with a page."""

    def report(self, folder: str | Path) -> Path:
        """Write all; gives the page's path."""

    def write_tables(self, folder: Path) -> None:
        """Write what needs no extra."""


def write_with_page(report: Report, folder: Path) -> Path | None:
    """Everything the installed extras can write; the page's path if it is among it."""
    from dialeval.core.errors import MissingExtraError

    try:
        return report.report(folder)
    except MissingExtraError as error:
        warn(f"tables only: {error}")
        return None


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar a step on standard error, for people only; is told the step, and how much is done."""
    if not sys.stderr.isatty():
        yield lambda _step, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        bars: dict[str, Any] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = progress.add_task(step, total=total)
            progress.update(bars[step], completed=done)

        yield show


def warn(message: str) -> None:
    """One line on standard error."""
    print(f"warning: {' '.join(message.split())}", file=sys.stderr)


def print_json(value: Any) -> None:
    """JSON on standard output, indented; infinite numbers become null."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.write(text.decode() + "\n")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """CSV on standard output."""
    sys.stdout.write(csv_text(columns, rows))


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A CSV file, whole or not at all."""
    from dialeval.core.files import write_text

    write_text(path, csv_text(columns, rows))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
