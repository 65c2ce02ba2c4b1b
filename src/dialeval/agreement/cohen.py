"""Cohen's kappa of two raters, unweighted and weighted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dialeval.agreement.ratings import Array, Codes, coded, divided
from dialeval.core.errors import UsageError, unknown_name

Weights = Literal["none", "linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = ("none", "linear", "quadratic")


def cohen_kappa(
    a: Sequence[Hashable] | None = None,
    b: Sequence[Hashable] | None = None,
    *,
    matrix: ArrayLike | None = None,
    weights: Weights | None = None,
    labels: Sequence[Hashable] | None = None,
) -> float:
    """The agreement of two raters beyond chance.

    `kappa = 1 - sum_ij w_ij o_ij / sum_ij w_ij e_ij`, where `o` is the table of shares (rater a
    in rows, rater b in columns) and `e` the product of its margins; `w_ij` is 0 on the diagonal
    and 1 elsewhere, `|i - j|` (linear) or `(i - j)^2` (quadratic). Cohen: A coefficient of
    agreement for nominal scales (1960); Weighted kappa (1968).

    Give two sequences of labels, in which None is no vote and takes the item out, or the table
    of counts as `matrix`. Weighted, `labels` are in the order of the scale; without them they
    are sorted. NaN where there is no item, or both raters only ever use one and the same label:
    chance alone would make them agree.

    >>> round(cohen_kappa(["yes", "no", "yes", "no"], ["yes", "no", "no", "no"]), 3)
    0.5
    >>> round(cohen_kappa(matrix=[[11, 6], [5, 14]]), 3)
    0.385
    """
    if matrix is None:
        if a is None or b is None:
            raise UsageError("cohen_kappa needs two sequences of labels, or matrix=...")
        table, _ = cohen_table(a, b, labels=labels)
    else:
        if a is not None or b is not None:
            raise UsageError("cohen_kappa takes two sequences of labels or matrix=..., not both")
        table = np.asarray(matrix, np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise UsageError(f"matrix: found shape {table.shape}, expected labels by labels")
        if not np.isfinite(table).all() or (table < 0).any():
            raise UsageError("matrix: expected finite numbers of 0 or more")
    return float(kappas(table, weights or "none"))


def cohen_table(
    a: Sequence[Hashable], b: Sequence[Hashable], *, labels: Sequence[Hashable] | None = None
) -> tuple[Array, tuple[Hashable, ...]]:
    """How often rater a gave each label (rows) where rater b gave each (columns); the labels.

    >>> cohen_table([1, 2, 2], [1, 1, 2])[0].tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    if len(a) != len(b):
        raise UsageError(f"found {len(a)} and {len(b)} votes, expected one each on every item")
    codes, known = coded(zip(a, b, strict=True), labels)
    return table_of(codes.reshape(-1, 2), len(known)), known


def table_of(codes: Codes, labels: int) -> Array:
    """The table of two columns of codes; rows where one is missing do not count."""
    first, second = codes[(codes >= 0).all(axis=1)].T.astype(np.intp)
    counts = np.bincount(first * labels + second, minlength=labels * labels)
    return counts.reshape(labels, labels).astype(np.float64)


def disagreement(labels: int, weights: Weights) -> Array:
    """The weight of each cell: how far its two labels are apart.

    >>> disagreement(3, "quadratic").tolist()
    [[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]]
    """
    if weights not in WEIGHTS:
        raise unknown_name("weights", weights, WEIGHTS)
    apart = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))).astype(np.float64)
    if weights == "none":
        return (apart > 0).astype(np.float64)
    return apart if weights == "linear" else apart**2


def kappas(tables: Array, weights: Weights = "none") -> Array:
    """Kappa of each table of counts in an array `(..., labels, labels)`."""
    weight = disagreement(tables.shape[-1], weights)
    rows, columns = margins(tables)
    # As products with matrices: faster than sums along short axes.
    observed = tables.reshape(*tables.shape[:-2], weight.size) @ weight.ravel()
    expected = np.einsum("...j,...j->...", rows @ weight, columns)
    return 1 - divided(observed * np.einsum("...i->...", rows), expected)


def margins(tables: Array) -> tuple[Array, Array]:
    """The sums of rows and of columns; einsum is faster than sum along short axes."""
    return np.einsum("...ij->...i", tables), np.einsum("...ij->...j", tables)


def agreements(tables: Array) -> Array:
    """The share of items on which both raters agree, of each table; NaN without items."""
    return divided(np.einsum("...ii->...", tables), np.einsum("...ij->...", tables))
