"""Scoring what was sent: the file as a run, the run's scores on half of the collection or all."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.decode_run import parse_run
from dialeval.core.encode import collection_records, lines_of
from dialeval.core.errors import DataError, DialevalError
from dialeval.core.files import Format
from dialeval.core.rubric import Rubric, parse_rubric
from dialeval.core.run import Run
from dialeval.measures.evaluate import evaluate
from dialeval.measures.registry import measures_for
from dialeval.server.kept import Kept
from dialeval.server.problems import Problem, bad_file
from dialeval.server.tables import TaskCollection

DEPTH = 32
NOT_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
AUTOMATIC = 47
"""Tells zlib to find out by itself whether a stream is its own kind or gzip."""
ONE_KIND = bytes.maketrans(b"{}", b"[]")
STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
"""Never goes back, and takes a string without end whole: time grows with the length only."""


@dataclass(frozen=True)
class Gold:
    """A task's collection with votes, and the half that the development phase scores."""

    collection: Collection
    half: NDArray[np.intp]

    def score(self, run: Run, *, whole: bool) -> dict[str, float]:
        """The means over all dialogues or over the half."""
        by_dialogue = evaluate(run, self.collection).by_dialogue
        chosen = slice(None) if whole else self.half
        return {column: float(np.mean(values[chosen])) for column, values in by_dialogue.items()}


class Golds:
    """The collections in memory, read once and kept until they change."""

    def __init__(self) -> None:
        self._kept: Kept[tuple[int, int], Gold] = Kept()

    def get(self, row: TaskCollection, rubric: Rubric) -> Gold:
        """The gold of a row; its content is fetched only if it is not kept."""

        def read() -> Gold:
            collection = read_collection(row.content, rubric, "the task's data")
            return Gold(collection, np.array(row.half, np.intp))

        return self._kept.get((row.id, row.revision), read)


@lru_cache(64)
def task_rubric(text: str) -> Rubric:
    """The rubric of a task, as its row keeps it."""
    return parse_rubric(text.encode(), "rubric.json")


def columns_of(rubric: Rubric) -> list[str]:
    """All criterion.measure columns of a rubric, in its order."""
    return [
        f"{criterion.id}.{measure.name}"
        for criterion in rubric.criteria
        for measure in measures_for(criterion, None)
    ]


def unpacked(content: bytes, limit: int) -> bytes:
    """The content, unzipped if it is gzip, but never more than `limit` bytes of it."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    parts: list[bytes] = []
    size = 0
    while content.startswith(b"\x1f\x8b"):  # a gzip file may be several, one after another
        unzip = zlib.decompressobj(wbits=31)
        try:
            parts.append(unzip.decompress(content, limit + 1 - size))
        except zlib.error:
            raise Problem(422, "bad-file", "found a damaged gzip file, expected JSON") from None
        size += len(parts[-1])
        if size > limit:
            raise Problem(413, "too-large", f"the file holds more than {limit >> 20} MB")
        if not unzip.eof:
            detail = "found a gzip file that is cut short, expected a whole one"
            raise Problem(422, "bad-file", detail)
        content = unzip.unused_data
    return b"".join(parts)


def unzipped(content: bytes) -> bytes:
    """The file of a submission, as it was before zlib or gzip packed it."""
    return zlib.decompressobj(wbits=AUTOMATIC).decompress(content)


def format_of(content: bytes) -> Format:
    """JSON if the first character opens an array, else JSON lines."""
    start = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    return "json" if start.startswith(b"[") or not start else "jsonl"


def check_depth(content: bytes, limit: int = DEPTH) -> None:
    """Refuse JSON that is nested deeper than `limit`, before anything decodes it.

    Only brackets matter. Each round takes the innermost pairs away, so what is left after
    `limit` rounds lies deeper (or is not JSON, which the decoder will say).
    """
    brackets = content.translate(None, NOT_BRACKETS).replace(b'""', b"")
    if b"\\" in content or b'"' in brackets:  # strings may hold brackets: they go first
        plain = STRINGS.sub(b"", content)
        brackets = plain.translate(None, NOT_BRACKETS + b'"')
    brackets = brackets.translate(ONE_KIND)
    for _ in range(limit):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return
    if b"[]" in brackets:
        raise Problem(422, "bad-file", f"found JSON of more than {limit} levels, expected fewer")


def read_run(content: bytes, rubric: Rubric, name: str) -> Run:
    """A run from what was sent, or the problem that says what is wrong with it and where."""
    try:
        check_depth(content)
        return parse_run(content, rubric, name, format=format_of(content))
    except DialevalError as error:
        raise error if isinstance(error, Problem) else bad_file(error) from None


def read_collection(content: bytes, rubric: Rubric, source: str) -> Collection:
    """A collection from a row's gzipped lines."""
    return parse_collection(gzip.decompress(content), rubric, source, format="jsonl")


def packed(collection: Collection) -> bytes:
    """A collection as a row keeps it."""
    return gzip.compress(b"".join(lines_of(collection_records(collection))))


def check_votes(collection: Collection, least: int = 4) -> None:
    """Votes on everything that the rubric judges, of at least so many dialogues."""
    for criterion in collection.rubric.criteria:
        gold = collection.gold(criterion)
        empty = np.isnan(gold[:, 0])
        if criterion.scope == "turn":
            empty &= collection.judged(criterion)
        if empty.any():
            raise DataError(
                collection.source, "", f"items without votes on {criterion.id}", "votes on all"
            )
    if len(collection) < least:
        raise DataError(collection.source, "", f"{len(collection)} dialogues", f"at least {least}")


def stratified_half(lengths: NDArray[np.intp], seed: int) -> list[int]:
    """Places of half of the dialogues, half of those of each number of turns.

    Where a number of turns has an odd count, the spare ones go in and out by turns, so that the
    whole stays within one of a half.
    """
    random = np.random.default_rng(seed)
    chosen: list[int] = []
    up = bool(random.integers(2))
    for turns in np.unique(lengths):
        places = random.permutation(np.flatnonzero(lengths == turns))
        size = places.size // 2
        if places.size % 2:
            size += up
            up = not up
        chosen += places[:size].tolist()
    return sorted(chosen)
