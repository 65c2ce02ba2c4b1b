"""Files as bytes: formats by name, gzip, and writing that leaves nothing half-written."""

from __future__ import annotations

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from dialeval.core.errors import DataError, UsageError

Format = Literal["json", "jsonl", "parquet"]
_FORMATS: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_TABLES = (".csv", ".tsv", ".xlsx")
_GZIP_MAGIC = b"\x1f\x8b"


def format_of(path: Path) -> Format:
    """The format that a file's name says; JSON where it says nothing.

    >>> format_of(Path("a.jsonl.gz")), format_of(Path("run"))
    ('jsonl', 'json')
    """
    name = path.name.lower().removesuffix(".gz")
    return _FORMATS.get(Path(name).suffix, "json")


def format_for_writing(path: Path) -> Format:
    """Like `format_of`, but a name that says nothing is an error."""
    name = path.name.lower().removesuffix(".gz")
    if Path(name).suffix not in _FORMATS:
        raise UsageError(f"{path}: expected a name that ends in {', '.join(_FORMATS)} (or .gz)")
    return format_of(path)


def stem_of(path: Path) -> str:
    """The file's name without the endings that say its format.

    >>> stem_of(Path("runs/BL-uniform.json.gz"))
    'BL-uniform'
    """
    name = path.name.removesuffix(".gz")
    ending = Path(name).suffix
    return name.removesuffix(ending) if ending in (*_FORMATS, *_TABLES) else name


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file for reading, unzipped where its first bytes say gzip; errors as `DataError`."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == _GZIP_MAGIC
            raw.seek(0)
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if zipped else raw
    except EOFError:
        raise DataError(str(path), "", "a truncated gzip file", "a whole one") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(str(path), "", f"a damaged gzip file ({error})", "a whole one") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(str(path), "", f"no readable file ({reason})", "a file") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        os.close(handle)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes `path`, gzipped if its name says so, or nothing does."""
    with replacing(path) as temporary, temporary.open("wb") as raw:
        if path.name.endswith(".gz"):
            # No name and no time inside: the same content gives the same bytes.
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as zipped:
                yield cast(BinaryIO, zipped)
        else:
            yield raw


def write_text(path: Path, text: str) -> None:
    """Write a whole text file, or nothing."""
    with writing(path) as stream:
        stream.write(text.encode())
