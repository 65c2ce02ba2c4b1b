"""Spreadsheets as plain cells: `.xlsx` (extra `sheets`) and `.csv`, never worked out."""

from __future__ import annotations

import csv
import io
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dialeval.core.errors import DataError, DataWarning, MissingExtraError, UsageError, shown
from dialeval.core.files import opened, writing
from dialeval.core.rows import read_lines

ENDINGS = (".xlsx", ".csv")
_RISKY = ("=", "+", "-", "@", "\t", "\r", "'")
"""Text that begins so might be taken for a formula by a program that opens a CSV file."""

_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    AttributeError,  # the library, on a workbook whose parts do not fit together
    IndexError,
    KeyError,
    NotImplementedError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What reading a damaged workbook raises."""


@dataclass(frozen=True)
class Formula:
    """A cell that asks to be worked out."""

    text: str


Cell = str | float | int | bool | Formula | None
Line = tuple[int, Sequence[Cell]]
"""A row's number, from 1, and its cells."""


def is_spreadsheet(path: Path) -> bool:
    """Whether a file's name says so."""
    return path.suffix.lower() in ENDINGS


def read_cells(path: Path) -> Iterator[Line]:
    """The rows of a CSV file, or of the first sheet of a workbook."""
    return _excel(path) if path.suffix.lower() == ".xlsx" else _csv(path)


def _csv(path: Path) -> Iterator[Line]:
    for row, (_, cells) in enumerate(read_lines(path), start=1):
        yield row, [cell[1:] if cell[:1] == "'" and cell[1:2] in _RISKY else cell for cell in cells]


def _excel(path: Path) -> Iterator[Line]:
    library = _openpyxl()
    with opened(path) as stream:
        content = io.BytesIO(stream.read())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, not about cells
            book = library.load_workbook(content, read_only=True, data_only=False)
            sheets = book.worksheets
            if not sheets:
                raise DataError(str(path), "", "no sheet", "one")
            sheets[0].reset_dimensions()
            rows = [[_value(cell) for cell in row] for row in sheets[0].iter_rows()]
    except _UNREADABLE as error:
        found = f"no readable workbook ({error})"
        raise DataError(str(path), "", found, "an .xlsx file") from None
    if len(sheets) > 1:
        message = f"{path}: only the first of its {len(sheets)} sheets is read"
        warnings.warn(message, DataWarning, stacklevel=2)
    yield from enumerate(rows, start=1)


def _value(cell: Any) -> Cell:
    """A cell as data; what is neither text, number nor truth as its text."""
    value = cell.value
    if cell.data_type == "f":
        return Formula(str(getattr(value, "text", value)))
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def write_cells(path: Path, rows: Sequence[Sequence[Cell]]) -> None:
    """Write rows as a workbook or CSV, whole or not at all; text stays text."""
    if not is_spreadsheet(path):
        raise UsageError(f"{path}: expected a name that ends in {' or '.join(ENDINGS)}")
    content = _as_csv(rows) if path.suffix.lower() == ".csv" else _as_excel(rows)
    with writing(path) as stream:
        stream.write(content)


def _as_csv(rows: Sequence[Sequence[Cell]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        safe = [f"'{c}" if isinstance(c, str) and c.startswith(_RISKY) else c for c in row]
        writer.writerow(["" if cell is None else cell for cell in safe])
    return text.getvalue().encode()


def _as_excel(rows: Sequence[Sequence[Cell]]) -> bytes:
    library = _openpyxl()
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = library.Workbook(write_only=True)
    sheet = book.create_sheet("replies")
    for row in rows:
        cells = []
        for value in row:
            try:
                cell: Any = WriteOnlyCell(sheet, cast(Any, value))
            except IllegalCharacterError:
                found = f"{shown(value)}: found a control character"
                raise UsageError(f"{found}, expected text that a workbook can hold") from None
            if isinstance(value, str):
                cell.data_type = "s"  # even if it begins like a formula
            cells.append(cell)
        sheet.append(cells)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(".xlsx files", "sheets") from None
    return openpyxl


def column_name(place: int) -> str:
    """The letters of a column.

    >>> column_name(4), column_name(26)
    ('E', 'AA')
    """
    name = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def cell_name(column: int, row: int) -> str:
    """A cell as spreadsheets name it.

    >>> cell_name(4, 202)
    'E202'
    """
    return f"{column_name(column)}{row}"
