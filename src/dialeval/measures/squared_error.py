"""Squared errors, label by label: for labels without an order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.measures.distributions import Array, distributions


def rnss_kernel(p: Array, gold: Array) -> Array:
    difference = p - gold
    result: Array = np.sqrt(np.einsum("...i,...i->...", difference, difference) / 2)
    return result


def rnss(p: ArrayLike, gold: ArrayLike) -> Array:
    """Root Normalised Sum of Squares, `sqrt(sum_i (p(i) - p*(i))^2 / 2)`.

    Sakai: Comparing two binned probability distributions for information access evaluation
    (SIGIR 2018); Eq. 6 of the NTCIR-14 STC-3 overview.

    >>> float(rnss([1, 0, 0], [0, 0, 1]))
    1.0
    """
    return rnss_kernel(*distributions(p, gold))
