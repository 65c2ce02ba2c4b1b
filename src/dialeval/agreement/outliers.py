"""Which raters and which items stand out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialeval.agreement.ratings import Array, Codes, divided, vote_counts

FAR = 3.5
FEWEST_RATERS = 5
"""Among fewer, nobody can be said to stand out."""


@dataclass(frozen=True)
class AgainstRest:
    """Each rater against all others who voted on the same items; arrays by rater."""

    items: NDArray[np.intp]
    """On how many items the rater and somebody else voted."""
    percent: Array
    """The mean share of the others who agree with the rater."""
    kappa: Array
    """The same beyond chance."""
    bias: Array
    """How much higher than the others the rater votes on average; NaN without a scale."""


def against_rest(codes: Codes, labels: int, values: Array | None = None) -> AgainstRest:
    """Each rater against the rest.

    `kappa = (P - P_e) / (1 - P_e)`: P is the mean over items of the share of the other votes
    that equal the rater's, `P_e = sum_j p_j q_j` of the rater's shares p and the others' q on
    the same items. Schouten: Measuring pairwise interobserver agreement when all subjects are
    judged by the same observers (1982). NaN for a rater who shares no item, or who with all the
    others only ever uses one label.

    >>> found = against_rest(np.array([[0, 0, 1], [1, 1, 0], [0, 0, 0]]), 2)
    >>> found.percent.round(2).tolist()
    [0.67, 0.67, 0.33]
    """
    counts = vote_counts(codes, labels).astype(np.float64)
    votes = counts.sum(axis=1)
    raters = codes.shape[1]
    items = np.zeros(raters, np.intp)
    percent, kappa, bias = (np.full(raters, np.nan) for _ in range(3))
    for rater in range(raters):
        shared = np.flatnonzero((codes[:, rater] >= 0) & (votes > 1))
        items[rater] = shared.size
        if not shared.size:
            continue
        own = codes[shared, rater].astype(np.intp)
        rest = counts[shared]
        rest[np.arange(shared.size), own] -= 1
        rest /= (votes[shared] - 1)[:, None]
        percent[rater] = rest[np.arange(shared.size), own].mean()
        shares = np.bincount(own, minlength=labels) / shared.size
        chance = float(shares @ rest.mean(axis=0))
        kappa[rater] = divided(percent[rater] - chance, np.asarray(1 - chance))
        if values is not None:
            bias[rater] = (values[own] - rest @ values).mean()
    return AgainstRest(items, percent, kappa, bias)


def far_off(values: Array) -> Array:
    """How far each value lies from the median, in robust standard deviations.

    `0.6745 (x - median) / MAD`; beyond 3.5 it stands out. 0 where the MAD is 0 or fewer than
    five values are known. Iglewicz, Hoaglin: How to detect and handle outliers (1993).

    >>> far_off(np.array([1.0, 2.0, 3.0, 4.0, 30.0])).round(2).tolist()
    [-1.35, -0.67, 0.0, 0.67, 18.21]
    """
    known = values[~np.isnan(values)]
    if known.size < FEWEST_RATERS:
        return np.zeros(values.shape)
    away = values - np.median(known)
    spread = float(np.median(np.abs(away[~np.isnan(away)])))
    return np.nan_to_num(away * 0.6745 / spread) if spread else np.zeros(values.shape)


def vote_entropy(counts: Array, choices: Array) -> Array:
    """How divided the votes on each item are: from 0, all the same, to 1, all labels equally.

    `H = -sum_j p_j ln p_j / ln L` of the item's shares p_j of the L labels it may have
    (`choices`); NaN for items with fewer than two votes. Shannon: A mathematical theory of
    communication (1948).

    >>> vote_entropy(np.array([[2.0, 2.0], [4.0, 0.0], [1.0, 0.0]]), np.full(3, 2.0)).tolist()
    [1.0, 0.0, nan]
    """
    votes = counts.sum(axis=1)
    shares = counts / np.maximum(votes, 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(shares > 0, -shares * np.log(shares), 0.0).sum(axis=1)
        entropy: Array = np.where(votes > 1, information / np.log(choices), np.nan)
    return entropy
