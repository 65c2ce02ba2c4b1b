"""Parquet files, through DuckDB (extra `data`): rows out and in as JSON text.

Types are maps and lists rather than structs, so that any rubric's labels fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dialeval.core.errors import DataError, MissingExtraError
from dialeval.core.files import replacing


def _connection() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("Parquet files", "data") from None
    return duckdb.connect()


def read_parquet(path: Path, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Each row as a JSON object, or the rows of a range."""
    of_range = ""
    if start or end is not None:
        last = "" if end is None else f" AND file_row_number < {end}"
        of_range = f" WHERE file_row_number >= {start}{last}"
    query = (
        "SELECT to_json(row) FROM (SELECT * EXCLUDE (file_row_number) "
        f"FROM read_parquet(?, file_row_number = true){of_range}) AS row"
    )
    with _connection() as database, _readable(path):
        rows = database.execute(query, [str(path)])
        while batch := rows.fetchmany(1000):
            for (text,) in batch:
                yield text.encode()


def count_rows(path: Path) -> int:
    """How many rows a file has, by its footer."""
    with _connection() as database, _readable(path):
        query = "SELECT sum(num_rows) FROM parquet_file_metadata(?)"
        return int(database.execute(query, [str(path)]).fetchone()[0] or 0)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise DataError(str(path), "", f"no readable Parquet ({reason})", "Parquet") from None


def write_parquet(path: Path, rows: Iterable[bytes], columns: dict[str, str]) -> None:
    """Write JSON objects as rows with these DuckDB column types."""
    with _connection() as database, replacing(path) as target, TemporaryDirectory() as folder:
        lines = Path(folder) / "rows.jsonl"
        with lines.open("wb") as stream:
            stream.writelines(row + b"\n" for row in rows)
        shape = ", ".join(f"{_quoted(name)}: {_quoted(type)}" for name, type in columns.items())
        database.execute(
            f"COPY (SELECT * FROM read_json({_quoted(str(lines))}, format='newline_delimited', "
            f"columns={{{shape}}}, maximum_object_size=1073741824)) "
            f"TO {_quoted(str(target))} (FORMAT parquet)"
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
