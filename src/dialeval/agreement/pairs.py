"""All pairs of raters at once: for each pair the table of its votes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dialeval.agreement.ratings import Array, Codes

Places = NDArray[np.intp]


def pair_tables(codes: Codes, labels: int) -> tuple[Places, Array]:
    """The pairs of raters who share an item, and their tables of counts.

    Pairs are two columns of places; tables are pairs by labels by labels, the first rater of the
    pair in rows.

    >>> places, tables = pair_tables(np.array([[0, 1, -1], [1, 1, -1]]), 2)
    >>> places.tolist(), tables.tolist()
    ([[0, 1]], [[[0.0, 1.0], [0.0, 1.0]]])
    """
    raters = codes.shape[1]
    size = labels * labels
    places: list[Places] = []
    tables: list[Array] = []
    for rater in range(raters - 1):
        own = codes[:, rater] >= 0
        mine = codes[own, rater].astype(np.int32)
        # By columns, so that each rater's votes lie side by side.
        others = np.ascontiguousarray(codes[own, rater + 1 :].T).astype(np.int32)
        cells = mine * labels + others + np.arange(others.shape[0], dtype=np.int32)[:, None] * size
        counts = np.bincount(cells[others >= 0], minlength=others.shape[0] * size)
        counts = counts.reshape(-1, labels, labels)
        shared = np.flatnonzero(counts.any(axis=(1, 2)))
        places.append(np.column_stack([np.full(shared.size, rater), rater + 1 + shared]))
        tables.append(counts[shared].astype(np.float64))
    if not places:
        return np.empty((0, 2), np.intp), np.empty((0, labels, labels))
    return np.concatenate(places), np.concatenate(tables)


def tables_by_group(
    codes: Codes, labels: int, places: Places, groups: NDArray[np.intp], size: int
) -> NDArray[np.float32]:
    """The tables of these pairs within each group of items: groups by pairs * labels * labels.

    Sums of whole numbers below 2 ** 24 are exact in 32 bits, and twice as fast.

    >>> codes, groups = np.array([[0, 1], [1, 1]]), np.array([1, 1])
    >>> tables_by_group(codes, 2, np.array([[0, 1]]), groups, 2).tolist()
    [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """
    width = len(places) * labels * labels
    tables = np.zeros(size * width, np.float32)
    for pair, (first, second) in enumerate(places.tolist()):
        a, b = codes[:, first].astype(np.intp), codes[:, second]
        both = (a >= 0) & (b >= 0)
        cells = groups * width + (pair * labels + a) * labels + b
        np.add.at(tables, cells[both], np.float32(1))
    return tables.reshape(size, width)
