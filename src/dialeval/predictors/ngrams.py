"""Hashed n-grams of many texts at once, counted and weighted (TF-IDF).

N-grams of characters and of words are hashed into 2^bits cells by a polynomial rolling hash over
code points: differences of prefix sums give the hash of every window in one numpy step. Only
hashes are kept, so a model holds nothing of the texts it was fitted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Words64 = NDArray[np.uint64]

_BASE = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so it has an inverse modulo 2^64."""
_INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))
_WORD = np.uint64(0xC2B2AE3D27D4EB4F)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SEPARATOR, _ZERO, _NINE, _QUOTE = 10, 48, 57, 39
MOST_CHARACTERS = 4000
"""Of a turn; what comes after changes nothing in how people judge it."""


def cleaned(text: str) -> str:
    """Lower case, white space folded, cut at a length that no real turn reaches.

    >>> cleaned("  Hello\\nWORLD ")
    'hello world'
    """
    return " ".join(text[:MOST_CHARACTERS].split()).lower()


class _Powers:
    """Powers of the base and of its inverse, grown as needed."""

    def __init__(self) -> None:
        self.of_base = self.of_inverse = np.ones(1, np.uint64)

    def upto(self, size: int) -> tuple[Words64, Words64]:
        if len(self.of_base) < size:
            size = max(size, 2 * len(self.of_base), 1 << 16)
            self.of_base, self.of_inverse = _powers(_BASE, size), _powers(_INVERSE, size)
        return self.of_base, self.of_inverse


def _powers(base: np.uint64, size: int) -> Words64:
    factors = np.full(size, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


_POWERS = _Powers()


def hashed_ngrams(
    texts: Sequence[str], characters: Sequence[int], words: Sequence[int], bits: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The text and the hash of every n-gram, for these lengths in characters and in words.

    >>> where, hashes = hashed_ngrams(["abab", "b"], [2], [], 20)
    >>> where.tolist(), len(set(hashes.tolist()))
    ([0, 0, 0, 0, 0, 1, 1], 5)
    """
    joined = "\n" + "\n".join(texts) + "\n"
    codes = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    separator = codes == _SEPARATOR
    digit = (codes >= _ZERO) & (codes <= _NINE)
    codes = np.where(digit, _ZERO, codes).astype(np.uint64)
    size = codes.size
    powers, inverse = _POWERS.upto(size + 1)
    text_of = np.cumsum(separator) - 1
    prefix = np.zeros(size + 1, np.uint64)
    np.cumsum(codes * powers[:size], out=prefix[1:], dtype=np.uint64)
    found_in, found = [], []
    for length in characters:
        if size < length:
            continue
        starts = size - length + 1
        fits = ~separator[:starts] if length == 1 else _within(text_of, separator, length)
        at = np.flatnonzero(fits)
        window = (prefix[at + length] - prefix[at]) * inverse[at]
        found_in.append(text_of[at])
        found.append(_mixed(window + np.uint64(length), bits))
    if words:
        letters = ((codes >= 97) & (codes <= 122)) | (codes == _ZERO) | (codes > 127)
        letters |= codes == _QUOTE
        edges = np.diff(np.concatenate([[0], letters.view(np.int8), [0]]))
        begin, end = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        word = (prefix[end] - prefix[begin]) * inverse[begin] * _WORD
        chain, where = word, text_of[begin]
        for length in range(1, max(words) + 1):
            if length > 1:
                chain = chain[:-1] * _BASE + word[length - 1 :]
            same = where[length - 1 :] == where[: where.size - length + 1]
            if length in words:
                found_in.append(where[: where.size - length + 1][same])
                found.append(_mixed(chain[same] + np.uint64(100 + length), bits))
    return np.concatenate(found_in), np.concatenate(found)


def _within(
    text_of: NDArray[np.intp], separator: NDArray[np.bool_], length: int
) -> NDArray[np.bool_]:
    """Which windows lie in one text; the separator at one end of them marks its edge."""
    starts = separator.size - length + 1
    inside = text_of[length - 2 : separator.size - 1] == text_of[:starts]
    fits: NDArray[np.bool_] = inside & ~(separator[:starts] & separator[1 : starts + 1])
    return fits


def _mixed(hashes: Words64, bits: int) -> NDArray[np.int64]:
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _MIX[0]
    hashes = (hashes ^ (hashes >> np.uint64(32))) * _MIX[1]
    return (hashes >> np.uint64(64 - bits)).astype(np.int64)


def counted(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> Any:
    """A sparse matrix of how often each column comes in each row."""
    matrix = sparse.csr_matrix((np.ones(columns.size, np.float32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def tfidf(counts: Any, idf: NDArray[np.float32]) -> Any:
    """`(1 + log count) * idf`, rows of length 1; changes and gives back `counts`."""
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    length = np.sqrt(np.bincount(rows, np.square(counts.data), counts.shape[0]))
    counts.data = (counts.data / np.maximum(length, 1e-9)[rows]).astype(np.float32)
    return counts
