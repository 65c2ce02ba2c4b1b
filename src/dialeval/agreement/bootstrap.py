"""Percentile bootstrap: dialogues drawn with replacement, all coefficients from the same draws."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dialeval.agreement.ratings import Array

Interval = tuple[float, float]
CELLS = 1 << 20
"""How many drawn dialogues are held at once: memory does not grow with the resamples."""


def draws(size: int, resamples: int, seed: int) -> Iterator[Array]:
    """How often each of `size` dialogues is drawn, block by block: samples by dialogues.

    The same size and seed give the same draws, so that differences between coefficients can be
    taken sample by sample.

    >>> [block.sum(axis=1).tolist() for block in draws(4, 2, seed=0)]
    [[4.0, 4.0]]
    """
    random = np.random.default_rng(seed)
    block = max(1, CELLS // max(size, 1))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = random.integers(size, size=(rows, size)) + np.arange(rows)[:, None] * size
        times = np.bincount(drawn.ravel(), minlength=rows * size)
        yield times.reshape(rows, size).astype(np.float64)


def summed(rows: Array, groups: NDArray[np.intp], size: int) -> Array:
    """Rows of items added up by the dialogue they belong to.

    >>> summed(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0]), 2).tolist()
    [[5.0], [2.0]]
    """
    total = np.zeros((size, rows.shape[1]))
    np.add.at(total, groups, rows)
    return total


def interval(values: Array, level: float = 0.95) -> Interval:
    """The middle `level` of the values; samples in which there is no value do not count.

    >>> interval(np.array([0.0, 1.0, 2.0, np.nan]), 0.5)
    (0.5, 1.5)
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)
