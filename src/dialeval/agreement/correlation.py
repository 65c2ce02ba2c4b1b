"""Pearson's and Spearman's correlation of two raters, from the table of their votes."""

from __future__ import annotations

import numpy as np

from dialeval.agreement.cohen import margins
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
    rows, columns = margins(tables)
    return _correlation(tables, _ranks(rows), _ranks(columns))


def _ranks(margins: Array) -> Array:
    ranks: Array = np.cumsum(margins, axis=-1) - (margins - 1) / 2
    return ranks


def _correlation(tables: Array, x: Array, y: Array) -> Array:
    """Of what the labels count in rows (x) and in columns (y), both `(..., labels)`."""
    rows, columns = margins(tables)
    total = np.einsum("...i->...", rows)
    x = x - divided(np.einsum("...i,...i->...", rows, x), total)[..., None]
    y = y - divided(np.einsum("...i,...i->...", columns, y), total)[..., None]
    one_label = (rows.max(axis=-1) == total) | (columns.max(axis=-1) == total)
    variance = np.einsum("...i,...i,...i->...", rows, x, x)
    spread = np.sqrt(variance * np.einsum("...i,...i,...i->...", columns, y, y))
    together = np.einsum("...i,...i->...", np.einsum("...ij,...j->...i", tables, y), x)
    return divided(together, np.where(one_label, 0.0, spread))
