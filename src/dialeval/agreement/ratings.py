"""Votes as the coefficients take them: codes of labels, and how many votes each label has."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dialeval.core.collection import NO_VOTE
from dialeval.core.errors import UsageError, shown

Array = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]
"""Items by raters: the place of the label voted for, or `NO_VOTE`."""


def coded(
    rows: Iterable[Sequence[Hashable]], labels: Sequence[Hashable] | None = None
) -> tuple[NDArray[np.intp], tuple[Hashable, ...]]:
    """Items by raters as codes, and the labels they stand for; None and NaN are no vote.

    Without `labels`, those that occur count, sorted where they can be.

    >>> coded([["yes", "no"], ["no", None]])
    (array([[ 1,  0],
           [ 0, -1]]), ('no', 'yes'))
    """
    table = [[None if value != value else value for value in row] for row in rows]
    if len({len(row) for row in table}) > 1:
        raise UsageError("found rows of different lengths, expected a vote or None for each rater")
    if labels is None:
        found = {value for row in table for value in row if value is not None}
        try:
            labels = sorted(found)  # type: ignore[type-var]
        except TypeError:
            labels = sorted(found, key=repr)
    place: dict[Hashable, int] = {label: code for code, label in enumerate(labels)}
    if len(place) < len(labels):
        raise UsageError("found a label twice, expected distinct labels")
    for row in table:
        for value in row:
            if value is not None and value not in place:
                known = ", ".join(map(str, labels))
                raise UsageError(f"found a vote for {shown(value)}, expected one of {known}")
    codes = [[NO_VOTE if value is None else place[value] for value in row] for row in table]
    width = len(table[0]) if table else 0
    return np.array(codes, np.intp).reshape(len(table), width), tuple(labels)


def vote_counts(codes: Codes, labels: int) -> NDArray[np.int64]:
    """How many votes each label has: items by labels, from items by raters.

    >>> vote_counts(np.array([[0, 1, 1], [0, -1, -1]]), 2).tolist()
    [[1, 2], [1, 0]]
    """
    # Small integers summed along the long axis: what processors do fastest.
    by_rater = np.ascontiguousarray(codes.T)
    counts = [np.sum(by_rater == label, axis=0, dtype=np.int32) for label in range(labels)]
    return np.stack(counts, axis=1).astype(np.int64)


def checked_counts(counts: ArrayLike) -> Array:
    """A table of counts, items by labels, as numbers; refuses what is none."""
    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or table.shape[1] < 1:
        raise UsageError(f"found counts of shape {table.shape}, expected items by labels")
    if not np.isfinite(table).all() or (table < 0).any() or (table % 1).any():
        raise UsageError("found counts that are not whole numbers of 0 or more")
    return table


def divided(numerator: Array, denominator: Array) -> Array:
    """The quotient, NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = np.where(denominator == 0, np.nan, numerator / denominator)
    return quotient
