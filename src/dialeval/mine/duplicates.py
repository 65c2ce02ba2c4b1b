"""Texts that are nearly the same: MinHash signatures, and the pairs that share much of them.

A text is the set of its shingles (runs of characters). The share of equal entries in two signatures
estimates the Jaccard similarity of the sets (Broder 1997); only texts that agree in a whole band of
entries are compared, so all pairs of similar texts are found without looking at all pairs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import UsageError
from dialeval.core.language import detect_language

WIDTH = 128
"""Entries of a signature: an estimate near 0.8 is off by 0.035 (one standard error)."""
RECALL = 0.99
"""Of pairs that are just similar enough, how many must be found."""
Signatures = NDArray[np.uint32]

_NOISE = re.compile(r"https?://\S+|@\w+|\[[A-Z]+-[a-z]{8}\]")
_SIGN = re.compile(r"[\W_]+")
_DIGIT = re.compile(r"\d")
_SHINGLE = {"zh": 3, "en": 6}
"""Characters of a shingle: about as much in each language."""
_BATCH = 1 << 14


def shingles(text: str) -> NDArray[np.uint64]:
    """The shingles of a text as numbers; case, punctuation, names and digits do not count.

    >>> len(shingles("Hello, World 1")) == len(shingles("hello world 2"))
    True
    """
    size = _SHINGLE[detect_language(text)]
    plain = _DIGIT.sub("0", _SIGN.sub("", _NOISE.sub("", text).casefold()))
    points = np.frombuffer(plain.encode("utf-32-le", "replace"), "<u4").astype(np.uint64)
    if not points.size:
        return points
    points = np.pad(points, (0, max(0, size - points.size)))
    windows = np.lib.stride_tricks.sliding_window_view(points, size)
    hashed = np.zeros(len(windows), np.uint64)
    for place in range(size):
        hashed = _mixed(hashed ^ windows[:, place])
    return hashed


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of the value (the mix of SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    result: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return result


def signatures(texts: Sequence[str], *, seed: int = 0) -> tuple[Signatures, NDArray[np.bool_]]:
    """The signature of each text, and whether there is anything in it to compare."""
    table = np.zeros((len(texts), WIDTH), np.uint32)
    filled = np.zeros(len(texts), bool)
    random = np.random.default_rng(seed)
    factors = random.integers(0, 1 << 63, WIDTH, np.uint64) * np.uint64(2) + np.uint64(1)
    shifts = random.integers(0, 1 << 63, WIDTH, np.uint64)
    batch: list[NDArray[np.uint64]] = []
    places: list[int] = []
    size = 0
    for place, text in enumerate(texts):
        found = shingles(text)
        if found.size:
            batch.append(found)
            places.append(place)
            size += found.size
        if batch and (size >= _BATCH or place == len(texts) - 1):
            filled[places] = True
            table[places] = _minima(batch, factors, shifts)
            batch, places, size = [], [], 0
    if batch:
        filled[places] = True
        table[places] = _minima(batch, factors, shifts)
    return table, filled


def _minima(
    batch: Sequence[NDArray[np.uint64]], factors: NDArray[np.uint64], shifts: NDArray[np.uint64]
) -> Signatures:
    """Of each text, the smallest of its hashed shingles, under each of the hash functions."""
    every = np.concatenate(batch)
    starts = np.cumsum([0, *(len(one) for one in batch[:-1])])
    result = np.empty((len(batch), WIDTH), np.uint32)
    for column, (factor, shift) in enumerate(zip(factors, shifts, strict=True)):
        hashed = ((every * factor + shift) >> np.uint64(32)).astype(np.uint32)
        result[:, column] = np.minimum.reduceat(hashed, starts)
    return result


def rows_of_a_band(similarity: float) -> int:
    """How many entries make a band, so that nearly all pairs that are so similar share one.

    >>> rows_of_a_band(0.8), rows_of_a_band(0.5)
    (4, 2)
    """
    if not 0 < similarity <= 1:
        raise UsageError(f"similarity: found {similarity}, expected more than 0, at most 1")
    sizes = (32, 16, 8, 4, 2)
    fitting = (r for r in sizes if 1 - (1 - similarity**r) ** (WIDTH // r) >= RECALL)
    return next(fitting, 1)


def similar_pairs(
    table: Signatures, filled: NDArray[np.bool_], similarity: float
) -> NDArray[np.intp]:
    """Pairs of texts at least so similar, by their signatures: enough to connect all such.

    >>> texts = ["my phone is broken since monday", "My phone is broken, since Monday!", "hi"]
    >>> similar_pairs(*signatures(texts), 0.8).tolist()
    [[0, 1]]
    """
    size = rows_of_a_band(similarity)
    known = np.flatnonzero(filled)
    multipliers = _mixed(np.arange(1, size + 1, dtype=np.uint64)) | np.uint64(1)
    found = [np.empty((0, 2), np.intp)]
    for start in range(0, WIDTH, size):
        band = table[known, start : start + size].astype(np.uint64)
        keys = _mixed((_mixed(band) * multipliers).sum(axis=1, dtype=np.uint64))
        order = np.argsort(keys, kind="stable")
        same = keys[order][1:] == keys[order][:-1]
        # Each with the one before it and with the first of its run.
        first = np.maximum.accumulate(np.where(np.r_[True, ~same], np.arange(len(order)), 0))
        later = np.flatnonzero(same) + 1
        ordered = known[order]
        near = np.stack([ordered[later - 1], ordered[later]], axis=1)
        star = np.stack([ordered[first[later]], ordered[later]], axis=1)
        found.append(_similar(table, np.sort(np.concatenate([near, star]), axis=1), similarity))
    return np.unique(np.concatenate(found), axis=0)


def _similar(table: Signatures, pairs: NDArray[np.intp], similarity: float) -> NDArray[np.intp]:
    pairs = np.unique(pairs, axis=0)
    kept = []
    for start in range(0, len(pairs), 100_000):
        some = pairs[start : start + 100_000]
        share = (table[some[:, 0]] == table[some[:, 1]]).mean(axis=1)
        kept.append(some[share >= similarity])
    return np.concatenate(kept) if kept else pairs
