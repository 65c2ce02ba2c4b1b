"""Pearson's and Spearman's correlation of two raters, from the table of their votes."""

from __future__ import annotations

import numpy as np

from dialeval.agreement.ratings import Array, divided


def pearsons(tables: Array, values: Array) -> Array:
    """Pearson's r of each table in `(..., labels, labels)`, labels counting `values`.

    `r = cov(x, y) / (s_x s_y)`. NaN where a rater gives one label only. Pearson: Notes on
    regression and inheritance in the case of two parents (1895).

    >>> float(pearsons(np.array([[2.0, 1.0], [0.0, 3.0]]), np.array([1.0, 0.0])).round(3))
    0.707
    """
    given = np.broadcast_to(values, tables.shape[:-1])
    return _correlation(tables, given, given)


def spearmans(tables: Array) -> Array:
    """Spearman's rho: Pearson's r of ranks, equal labels sharing the mean of theirs.

    The labels' order is that of the table, either way round. Spearman: The proof and
    measurement of association between two things (1904).

    >>> float(spearmans(np.array([[2.0, 1.0], [0.0, 3.0]])).round(3))
    0.707
    """
    return _correlation(tables, _ranks(tables.sum(axis=-1)), _ranks(tables.sum(axis=-2)))


def _ranks(margins: Array) -> Array:
    ranks: Array = np.cumsum(margins, axis=-1) - (margins - 1) / 2
    return ranks


def _correlation(tables: Array, x: Array, y: Array) -> Array:
    """Of what the labels count in rows (x) and in columns (y), both `(..., labels)`."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    total = rows.sum(axis=-1)[..., None]
    x = x - divided((rows * x).sum(axis=-1, keepdims=True), total)
    y = y - divided((columns * y).sum(axis=-1, keepdims=True), total)
    one_label = ((rows > 0).sum(axis=-1) < 2) | ((columns > 0).sum(axis=-1) < 2)
    spread = np.sqrt((rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1))
    together = np.einsum("...i,...ij,...j->...", x, tables, y)
    return divided(together, np.where(one_label, 0.0, spread))
