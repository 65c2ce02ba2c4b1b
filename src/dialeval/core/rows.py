"""Tables of plain records: CSV, TSV, JSON, JSONL or Parquet, with a place for every row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from dialeval.core.errors import DataError, UsageError, shown
from dialeval.core.files import format_for_writing, opened, writing
from dialeval.core.records import Origin, Record, decode_part, read_records

Row = dict[str, Any]
_ROW = msgspec.json.Decoder(dict[str, Any])
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_rows(path: Path) -> tuple[Origin, Iterator[tuple[int, Row]]]:
    """The rows of a file, numbered from 0; of CSV and TSV by lines, under the names of line 1."""
    separator = _separator(path)
    if separator is not None:
        origin = Origin(str(path), lines=True)
        return origin, _opened_rows(path, origin, separator)
    origin, records = read_records(path)
    return origin, ((record[0], row_of(record, origin)) for record in records)


def row_of(record: Record, origin: Origin) -> Row:
    """A record as a row."""
    return decode_part(_ROW, record, origin)


def read_lines_as_rows(paths: Iterable[Path]) -> Iterator[Row]:
    """The rows of JSONL files, one after another."""
    for path in paths:
        with opened(path) as stream:
            yield from map(_ROW.decode, stream)


def is_separated(path: Path) -> bool:
    """Whether a file's name says CSV or TSV."""
    return _separator(path) is not None


def _separator(path: Path) -> str | None:
    return _SEPARATORS.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def read_lines(path: Path, separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The lines of a CSV file as cells, numbered from 0."""
    with opened(path) as stream:
        yield from parse_lines(stream, str(path), separator)


def parse_lines(
    stream: IO[bytes], source: str, separator: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """The lines of an opened CSV file as cells, numbered from 0."""
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    try:
        for cells in reader:
            yield reader.line_num - 1, cells
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise DataError(source, place, f"what is not CSV ({error})", "CSV") from None
    except UnicodeDecodeError:
        raise DataError(source, "", "text that is not UTF-8", "UTF-8") from None
    finally:
        if not text.closed:
            text.detach()  # the stream is closed by whoever opened it


def _opened_rows(path: Path, origin: Origin, separator: str) -> Iterator[tuple[int, Row]]:
    with opened(path) as stream:
        yield from parse_rows(stream, origin, separator)


def parse_rows(
    stream: IO[bytes], origin: Origin, separator: str = ","
) -> Iterator[tuple[int, Row]]:
    """The rows of an opened CSV file under the names of line 1, numbered by lines from 0."""
    lines = parse_lines(stream, origin.source, separator)
    _, heads = next(lines, (0, []))
    if not heads:
        raise DataError(origin.source, "", "nothing", "names of columns in line 1")
    if len(set(heads)) < len(heads):
        twice = max(heads, key=heads.count)
        raise DataError(origin.source, "line 1", f"{shown(twice)} twice", "distinct columns")
    for number, cells in lines:
        if not cells:
            continue
        if len(cells) != len(heads):
            raise origin.error(number, "", f"{len(cells)} cells", f"{len(heads)}, as in line 1")
        yield number, dict(zip(heads, cells, strict=True))


def field(row: Mapping[str, Any], name: str, number: int, origin: Origin) -> Any:
    """A row's value under a name, or the error that says that it is not there."""
    if name not in row:
        known = ", ".join(row) or "none"
        raise origin.error(number, "", f"no field {name!r}", f"one (fields: {known})")
    return row[name]


def text_of(row: Mapping[str, Any], name: str, number: int, origin: Origin) -> str:
    """A row's text under a name."""
    value = field(row, name, number, origin)
    if not isinstance(value, str):
        raise origin.error(number, f".{name}", shown(value), "text")
    return value


def check_writable(path: Path) -> None:
    """A name that says how rows are written, or the error that says that it does not."""
    if _separator(path) is None and format_for_writing(path) == "parquet":
        raise UsageError(f"{path}: expected a name that ends in .csv, .tsv, .json or .jsonl")


def write_rows(path: Path, rows: Iterable[Row], heads: Sequence[str]) -> None:
    """Write rows in the format that the name says, with these columns if it has any."""
    check_writable(path)
    separator = _separator(path)
    with writing(path) as stream:
        if separator is not None:
            text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=True)
            writer = csv.writer(text, delimiter=separator, lineterminator="\n")
            writer.writerow(heads)
            writer.writerows(_cells(row, heads) for row in rows)
            text.detach()
        elif format_for_writing(path) == "jsonl":
            stream.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
        else:
            stream.write(msgspec.json.format(msgspec.json.encode([*rows]), indent=1) + b"\n")


def _cells(row: Row, heads: Iterable[str]) -> list[Any]:
    """The values of a row; what is more than text or a number as JSON."""
    values = (row.get(head, "") for head in heads)
    return [
        value if isinstance(value, str | int | float) else msgspec.json.encode(value).decode()
        for value in values
    ]


def csv_line(cells: Iterable[Any]) -> bytes:
    """One line of CSV.

    >>> csv_line(["a\\rb", 0.5, None])
    b'"a\\rb",0.5,\\n'
    """
    text = io.StringIO()
    # Python quotes only the line ends that it writes itself; readers take each of them for one.
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().removesuffix("\r\n").encode() + b"\n"
