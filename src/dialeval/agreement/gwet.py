"""Gwet's AC1, which one-sided votes do not lead astray."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.agreement.ratings import Array, divided
from dialeval.agreement.shares import Observed, observed


def gwet_ac1(counts: ArrayLike) -> float:
    """The agreement of many raters beyond chance; `counts` is items by labels.

    `AC1 = (P - P_e) / (1 - P_e)`, P the percent agreement and
    `P_e = sum_j p_j (1 - p_j) / (L - 1)` of the shares p_j of the L labels, used or not. Gwet:
    Computing inter-rater reliability and its variance in the presence of high agreement (2008);
    unequal numbers of votes as `agreement/shares.py` says. 1 where all votes are for one label;
    NaN where no item has two votes, or there is one label only.

    >>> round(gwet_ac1([[3, 0], [3, 0], [2, 1]]), 3)
    0.723
    """
    return float(ac1(observed(counts)))


def ac1(seen: Observed) -> Array:
    """The kernel of `gwet_ac1`."""
    mixed = np.einsum("...l,...l->...", seen.shares, 1 - seen.shares)
    chance = divided(mixed, np.asarray(seen.shares.shape[-1] - 1.0))
    return divided(seen.percent - chance, 1 - chance)
