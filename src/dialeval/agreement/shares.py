"""What percent agreement, Fleiss' kappa and AC1 have in common: sums over items.

Each of them is a function of sums over items, so that a bootstrap sample, in which an item
counts several times, is a weighted sum: `times @ item_sums(counts)`.

Items may have unequal numbers of votes n_i. The definition is Gwet's (Handbook of inter-rater
reliability, 2014), which for equal numbers is Fleiss' of 1971: agreement is the mean
over items with two votes or more, every item of the same weight; the share of a label is the mean
over items with one vote or more of its share of the item's votes. Items of a single vote so count
for the shares and not for the agreement, and no item is dropped unsaid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dialeval.agreement.ratings import Array, checked_counts, divided


def item_sums(counts: Array) -> Array:
    """Of each item: has it two votes, share of agreeing pairs, all the same, voted, shares."""
    votes = counts.sum(axis=1)
    several = votes > 1
    pairs = np.where(several, votes * (votes - 1), 1)
    agreeing = np.where(several, (counts * (counts - 1)).sum(axis=1) / pairs, 0)
    full = several & (counts.max(axis=1) == votes)
    shares = counts / np.maximum(votes, 1)[:, None]
    return np.column_stack([several, agreeing, full, votes > 0, shares])


@dataclass(frozen=True)
class Observed:
    """What the sums say; arrays have the leading axes of the sums."""

    percent: Array
    """The mean share of agreeing pairs of votes."""
    full: Array
    """The share of items on which all agree."""
    shares: Array
    """The share of each label."""

    @classmethod
    def of(cls, sums: Array) -> Observed:
        """From sums of `item_sums` over items, `(..., 4 + labels)`."""
        several, agreeing, full, voted = (sums[..., place] for place in range(4))
        shares = divided(sums[..., 4:], voted[..., None])
        return cls(divided(agreeing, several), divided(full, several), shares)


def observed(counts: ArrayLike) -> Observed:
    """What a table of counts, items by labels, says."""
    return Observed.of(item_sums(checked_counts(counts)).sum(axis=0))


def percent_agreement(counts: ArrayLike) -> float:
    """The mean over items of the share of pairs of votes that agree.

    `P = mean_i sum_j n_ij (n_ij - 1) / (n_i (n_i - 1))` over the items with two votes or more;
    NaN if there is none. `counts` is items by labels.

    >>> percent_agreement([[3, 0], [2, 1], [1, 0]]).__round__(3)
    0.667
    """
    return float(observed(counts).percent)


def full_agreement(counts: ArrayLike) -> tuple[int, int]:
    """On how many items all votes are the same, of how many with two votes or more.

    >>> full_agreement([[3, 0], [2, 1], [1, 0]])
    (1, 2)
    """
    sums = item_sums(checked_counts(counts)).sum(axis=0)
    return int(sums[2]), int(sums[0])
