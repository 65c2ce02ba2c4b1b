"""Krippendorff's alpha: any number of raters, missing votes, three levels of measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dialeval.agreement.ratings import Array, checked_counts, divided
from dialeval.core.errors import UsageError, unknown_name

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def krippendorff_alpha(
    counts: ArrayLike, level: Level = "nominal", *, values: Sequence[float] | None = None
) -> float:
    """The reliability of votes; `counts` is items by labels.

    `alpha = 1 - D_o / D_e` with `D_o = sum_ck o_ck d_ck / n` and `D_e = sum_ck n_c n_k d_ck /
    (n (n - 1))`, where o is the table of pairs of votes on the same item, an item of m votes
    adding each pair with weight 1 / (m - 1), n_c its margins and n their sum. d is 1 for
    different labels (nominal), `(sum of n_g from c to k - (n_c + n_k) / 2)^2` (ordinal), or
    `(v_c - v_k)^2` of the labels' `values` (interval; their places unless given). Krippendorff:
    Computing Krippendorff's alpha-reliability (2011).

    Items of one vote say nothing and fall out by definition. NaN where no item has two votes, or
    all that have are votes for one label.

    >>> round(krippendorff_alpha([[2, 0, 0], [0, 2, 0], [1, 1, 0]], "interval"), 3)
    0.444
    """
    table = checked_counts(counts)
    labels = table.shape[1]
    given = np.arange(labels) if values is None else np.asarray(values, np.float64)
    if given.shape != (labels,) or not np.isfinite(given).all():
        raise UsageError(f"values: expected {labels} finite numbers, one a label")
    pairs = coincidences(table).sum(axis=0).reshape(labels, labels)
    return float(alphas(pairs, level, given.astype(np.float64)))


def coincidences(counts: Array) -> Array:
    """What each item adds to the table of pairs: items by labels * labels."""
    items, labels = counts.shape
    votes = counts.sum(axis=1)
    weight = np.where(votes > 1, 1 / np.maximum(votes - 1, 1), 0)
    pairs = np.einsum("ic,ik->ick", counts, counts)
    diagonal = np.arange(labels)
    pairs[:, diagonal, diagonal] -= counts
    table: Array = (pairs * weight[:, None, None]).reshape(items, labels * labels)
    return table


def alphas(pairs: Array, level: Level, values: Array) -> Array:
    """Alpha of each table of pairs in an array `(..., labels, labels)`."""
    margins = pairs.sum(axis=-1)
    if level == "nominal":
        distance = 1.0 - np.eye(values.size)
    elif level == "interval":
        distance = np.square(np.subtract.outer(values, values))
    elif level == "ordinal":
        # The votes from c to k, half of those at both ends, are a difference of mid-ranks.
        middle = np.cumsum(margins, axis=-1) - margins / 2
        distance = np.square(middle[..., :, None] - middle[..., None, :])
    else:
        raise unknown_name("level", level, LEVELS)
    total = margins.sum(axis=-1)
    seen = (pairs * distance).sum(axis=(-1, -2))
    expected = (margins[..., :, None] * margins[..., None, :] * distance).sum(axis=(-1, -2))
    return 1 - divided((total - 1) * seen, expected)
