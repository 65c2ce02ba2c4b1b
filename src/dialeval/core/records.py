"""A file as records: the JSON text of one dialogue at a time, with its place for errors."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dialeval.core.errors import DataError, shown
from dialeval.core.files import Format, format_of, opened

T = TypeVar("T")
STANDARD_INPUT = "-"
Record = tuple[int, bytes | msgspec.Raw]


class Origin(msgspec.Struct, frozen=True):
    """Where records come from, so that an error can say so."""

    source: str
    lines: bool = False
    """Records are lines (JSONL), not elements of an array."""
    inside: str = ""
    """Where the array stands in the file, if it is not the whole of it."""
    single: bool = False
    """The whole file is one record."""

    def place(self, record: int, path: str = "") -> str:
        """
        >>> Origin("a.json").place(12, ".quality"), Origin("a.jsonl", lines=True).place(12, ".id")
        ('[12].quality', 'line 13 .id')
        >>> Origin("a.json", inside=".tickets").place(0, ".id")
        '.tickets[0].id'
        """
        if self.lines:
            return f"line {record + 1} {path}".rstrip()
        return path if self.single else f"{self.inside}[{record}]{path}"

    def error(self, record: int, path: str, found: str, expected: str) -> DataError:
        """The error for what stands at `path` of a record."""
        return DataError(self.source, self.place(record, path), found, expected)


def read_records(path: Path) -> tuple[Origin, Iterator[Record]]:
    """The records of a file, numbered from 0; JSONL by its lines. `-` is standard input."""
    if str(path) == STANDARD_INPUT:
        return _standard_input()
    format = format_of(path)
    origin = Origin(str(path), lines=format == "jsonl")
    if format == "parquet":
        from dialeval.core.parquet import read_parquet

        return origin, enumerate(read_parquet(path))
    return origin, _lines(path) if format == "jsonl" else _elements(path, origin)


def _standard_input() -> tuple[Origin, Iterator[Record]]:
    """An array if the first character opens one, else lines."""
    stream = sys.stdin.buffer
    head = stream.peek(4096).lstrip(b"\xef\xbb\xbf \t\r\n") if hasattr(stream, "peek") else b"["
    if head.startswith(b"["):
        origin = Origin("standard input")
        return origin, _split_array(stream.read(), origin)
    lines = ((number, line) for number, line in enumerate(stream) if line.strip())
    return Origin("standard input", lines=True), lines


def split_records(content: bytes, source: str, format: Format = "json") -> Iterator[Record]:
    """The records of a file that is in memory already, such as an uploaded one."""
    if format == "jsonl":
        return ((i, line) for i, line in enumerate(content.splitlines()) if line.strip())
    return _split_array(content, Origin(source))


def _lines(path: Path) -> Iterator[Record]:
    with opened(path) as stream:
        for number, line in enumerate(stream):
            if line.strip():
                yield number, line


def _elements(path: Path, origin: Origin) -> Iterator[Record]:
    with opened(path) as stream:
        content = stream.read()
    yield from _split_array(content, origin)


def _split_array(content: bytes, origin: Origin) -> Iterator[Record]:
    try:
        elements = msgspec.json.decode(
            content.removeprefix(b"\xef\xbb\xbf"), type=list[msgspec.Raw]
        )
    except msgspec.ValidationError as error:
        found, _ = explain(str(error))
        raise DataError(origin.source, "", found, "an array of dialogues at the top") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise malformed(content, str(error), origin.source) from None
    yield from enumerate(elements)


def decode_part(
    decoder: msgspec.json.Decoder[T],
    record: Record,
    origin: Origin,
    path: str = "",
    known: Callable[[str], str] | None = None,
) -> T:
    """A record, or its part at `path`, as the decoder's type, or the error that says where not.

    `known` tells which names may stand at a path of the record.
    """
    number, raw = record
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        message, _, inside = str(error).partition(" - at `$")
        path += _named_steps(inside.rstrip("`"))
        found, expected = explain(message)
        raise origin.error(
            number, path, found, expected or (known(path) if known else "a known name")
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = origin.place(number, path)
        raise malformed(bytes(raw), str(error), origin.source, place) from None


def check_new(id: str, number: int, seen: dict[str, int], origin: Origin) -> None:
    """Ids may not come twice; `seen` holds the record of each."""
    if id in seen:
        place = origin.place(seen[id])
        raise origin.error(number, ".id", f"{shown(id)} again", f"ids once each (first: {place})")
    seen[id] = number


def step(name: str) -> str:
    """How a place names the value of a key.

    >>> step("quality") + step("A") + step("-2")
    '.quality.A["-2"]'
    """
    return f".{name}" if name.isidentifier() else f'["{name}"]'


def _named_steps(path: str) -> str:
    """msgspec's path (`.nugget[0].CNUG*`) in our way of writing it."""
    return re.sub(r"\.([^.\[]+)", lambda match: step(match[1]), path)


def malformed(content: bytes, message: str, source: str, place: str = "") -> DataError:
    """The error for text that is not JSON, even if Python's own reader takes it."""
    if not content.strip():
        return DataError(source, place, "nothing", "JSON")
    try:
        culprit = _python_only(json.loads(content))
    except (ValueError, RecursionError):
        culprit = None
    if culprit is not None:
        path, found, expected = culprit
        return DataError(source, place + path, found, expected)
    at = re.search(r"\(byte (\d+)\)", message)
    if at and not place:
        before = content[: int(at[1])]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        place = f"line {line}, column {column}"
    reason = message.partition(" (byte")[0]
    return DataError(source, place, f"text that is not JSON ({reason})", "JSON")


def _python_only(value: Any, path: str = "") -> tuple[str, str, str] | None:
    """The first thing in a document that Python's JSON allows and JSON does not.

    Its place, what it is, and what should be there.
    """
    if isinstance(value, float) and not math.isfinite(value):
        found = "NaN" if math.isnan(value) else "an infinite number"
        return path, found, "a finite number"
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        return path, "a lone surrogate", "whole characters"
    if isinstance(value, dict):
        inside = ((step(key), v) for key, v in value.items())
    elif isinstance(value, list):
        inside = ((f"[{i}]", v) for i, v in enumerate(value))
    else:
        return None
    for way, item in inside:
        culprit = _python_only(item, path + way)
        if culprit:
            return culprit
    return None


_TYPES = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "an array",
}


def explain(message: str) -> tuple[str, str]:
    """What was found and what was expected (empty: a known name), from msgspec's words.

    >>> explain("Expected `str`, got `int`")
    ('a whole number', 'a string')
    >>> explain("Object missing required field `id`")
    ("no field 'id'", 'one')
    """
    if match := re.fullmatch(r"Expected `(.+)`, got `(.+)`", message):
        wanted = " or ".join(_TYPES.get(name, name) for name in match[1].split(" | "))
        return _TYPES.get(match[2], match[2]), wanted
    if match := re.fullmatch(r"Object missing required field `(.+)`", message):
        return f"no field {match[1]!r}", "one"
    if match := re.fullmatch(r"Object contains unknown field `(.+)`", message):
        return repr(match[1]), ""
    if match := re.fullmatch(r"Invalid enum value (.+)", message):
        return match[1], ""
    if message == "Number out of range":
        return "a number out of range", "a finite number"
    return f"what does not fit ({message})", "a value that does"
