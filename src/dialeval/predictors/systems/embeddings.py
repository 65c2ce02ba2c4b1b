"""Word vectors: read from a file as others publish them, or learned from the training text.

Files may be GloVe text, word2vec or fastText text with a first line of sizes, or word2vec binary;
all may be gzipped. Only the words that are needed are kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import DataError, MissingExtraError
from dialeval.core.files import opened

Matrix = NDArray[np.float32]

COMMON = 20_000
"""The first words of a file, its most frequent, are kept for texts that are still to come."""
CHUNK = 1 << 20


@dataclass(frozen=True)
class WordVectors:
    """Words, their vectors row by row, and where they come from."""

    words: tuple[str, ...]
    matrix: Matrix
    source: str


def read_vectors(path: Path, wanted: Iterable[str], common: int = COMMON) -> WordVectors:
    """The vectors of these words, and of the first ones of the file."""
    needed = {word.encode() for word in wanted}
    found: dict[str, Matrix] = {}
    with opened(path) as stream:
        for place, (word, vector) in enumerate(_records(stream, path, needed, common)):
            if place < common or word in needed:
                found.setdefault(word.decode("utf-8", "replace"), np.array(vector))
    if not found:
        raise DataError(str(path), "", "no words", "word vectors")
    matrix = np.stack([*found.values()])
    if not np.isfinite(matrix).all():
        raise DataError(str(path), "", "numbers that are not finite", "word vectors")
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    source = f"word vectors: {path.name}, sha256 {digest}, {matrix.shape[1]} dimensions"
    return WordVectors(tuple(found), matrix, f"{source}, {len(found):,} words kept")


def side_by_side(first: WordVectors, second: WordVectors) -> WordVectors:
    """Words that either knows, each with both of its vectors; zeros where one lacks it."""
    words = tuple(dict.fromkeys([*first.words, *second.words]))
    row = {word: place for place, word in enumerate(words)}
    parts = []
    for own in (first, second):
        table = np.zeros((len(words), own.matrix.shape[1]), np.float32)
        table[[row[word] for word in own.words]] = own.matrix
        parts.append(table)
    source = f"{first.source}; beside them {second.source}"
    return WordVectors(words, np.concatenate(parts, axis=1), source)


def learned_vectors(texts: Sequence[Sequence[str]], dimensions: int, seed: int) -> WordVectors:
    """Skip-gram vectors of the words that come twice or more (Mikolov and others, 2013)."""
    source = f"word vectors: skip-gram, {dimensions} dimensions, learned from the training text"
    if not any(count > 1 for count in Counter(w for text in texts for w in text).values()):
        return WordVectors((), np.zeros((0, dimensions), np.float32), source)
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise MissingExtraError("learning word vectors", "neural") from None
    model = Word2Vec(
        texts, vector_size=dimensions, sg=1, min_count=2, epochs=10, seed=seed, workers=1
    )
    return WordVectors(tuple(model.wv.index_to_key), model.wv.vectors.copy(), source)


def _records(
    stream: IO[bytes], path: Path, needed: set[bytes], common: int
) -> Iterator[tuple[bytes, Matrix]]:
    """Words and vectors; those that nobody needs have an empty one."""
    first = stream.readline(CHUNK)
    sizes = first.split()
    if len(sizes) != 2 or not all(size.isdigit() for size in sizes):
        width = len(first.rstrip().split(b" ")) - 1
        if width < 2 or _numbers(first, width) is None:
            raise DataError(str(path), "line 1", "something else", "a word and its numbers")
        yield from _text(stream, path, needed, common, width, [first])
        return
    count, width = int(sizes[0]), int(sizes[1])
    if not width:
        raise DataError(str(path), "line 1", "vectors of no numbers", "word vectors")
    second = stream.readline(CHUNK)
    if _numbers(second, width) is not None:
        yield from _text(stream, path, needed, common, width, [second], line=2)
    else:
        yield from _binary(stream, path, count, width, second)


def _numbers(line: bytes, width: int) -> Matrix | None:
    """The numbers at the end of a line, if there are so many after a word."""
    parts = line.rstrip().rsplit(b" ", width)
    if len(parts) != width + 1:
        return None
    try:
        return np.array(parts[1:], np.float32)
    except ValueError:
        return None


def _text(
    stream: IO[bytes],
    path: Path,
    needed: set[bytes],
    common: int,
    width: int,
    read: list[bytes],
    line: int = 1,
) -> Iterator[tuple[bytes, Matrix]]:
    nothing = np.zeros(0, np.float32)
    for number, text in enumerate(_chain(read, stream), line):
        word = text.partition(b" ")[0]
        if number - line >= common and word not in needed:
            yield word, nothing
            continue
        vector = _numbers(text, width)
        if vector is None:
            expected = f"a word and {width} numbers"
            raise DataError(str(path), f"line {number}", "something else", expected)
        yield text.rstrip().rsplit(b" ", width)[0], vector


def _chain(read: list[bytes], stream: IO[bytes]) -> Iterator[bytes]:
    yield from read
    yield from stream


def _binary(
    stream: IO[bytes], path: Path, count: int, width: int, buffer: bytes
) -> Iterator[tuple[bytes, Matrix]]:
    """A word, a space, its numbers as 32-bit floats, and perhaps a line break."""
    size, at = 4 * width, 0
    for number in range(count):
        while (space := buffer.find(b" ", at)) < 0 or len(buffer) < space + 1 + size:
            more = stream.read(CHUNK)
            if not more:
                expected = f"{count} words of {width} numbers"
                raise DataError(str(path), f"word {number + 1}", "the end of the file", expected)
            buffer, at = buffer[at:] + more, 0
        vector = np.frombuffer(buffer, np.dtype("<f4"), width, space + 1)
        yield buffer[at:space].lstrip(b"\n"), vector
        at = space + 1 + size
