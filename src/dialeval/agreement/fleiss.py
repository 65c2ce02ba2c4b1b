"""Fleiss' kappa of any number of raters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.agreement.ratings import Array, divided
from dialeval.agreement.shares import Observed, observed


def fleiss_kappa(counts: ArrayLike) -> float:
    """The agreement of many raters beyond chance; `counts` is items by labels.

    `kappa = (P - P_e) / (1 - P_e)`, P the percent agreement and `P_e = sum_j p_j^2` of the
    labels' shares p_j. Fleiss: Measuring nominal scale agreement among many raters (1971);
    unequal numbers of votes as `agreement/shares.py` says (Gwet 2014). NaN where no item has two
    votes, or all votes are for one label.

    >>> round(fleiss_kappa([[3, 0], [0, 3], [2, 1]]), 3)
    0.55
    """
    return float(fleiss(observed(counts)))


def fleiss(seen: Observed) -> Array:
    """The kernel of `fleiss_kappa`."""
    chance = np.einsum("...l,...l->...", seen.shares, seen.shares)
    return divided(seen.percent - chance, 1 - chance)
