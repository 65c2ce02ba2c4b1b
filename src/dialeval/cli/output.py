"""What commands print: tables for people, JSON and CSV for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
) -> None:
    """A table; the columns at the places `numbers` are set flush right.

    A row of no cells draws a line.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place in numbers else "left")
    for row in rows:
        if row:
            table.add_row(*(Text(cell) for cell in row))
        else:
            table.add_section()
    console = Console()
    console.print(Text(title, style="bold"), soft_wrap=True)
    console.print(table)


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
