"""Order-aware divergence: squared errors weighted by their distance on the scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.measures.distributions import Array, distributions


def _od(squares: Array, reference: Array) -> Array:
    """OD: the distance-weighted sums of squares, averaged over the reference's non-empty bins.

    `DW(i) = sum_j |i - j| (p(j) - p*(j))^2`, `OD = 1/|B*| sum_{i in B*} DW(i)` with
    `B* = {i : p*(i) > 0}`.
    """
    labels = np.arange(squares.shape[-1])
    distance = np.abs(labels[:, None] - labels).astype(np.float64)
    bins = (reference > 0).astype(np.float64)
    weights = bins @ distance
    total = np.einsum("...j,...j->...", weights, squares)
    result: Array = total / np.einsum("...i->...", bins)
    return result


def rnod_kernel(p: Array, gold: Array) -> Array:
    result: Array = np.sqrt(_od(np.square(p - gold), gold) / (p.shape[-1] - 1))
    return result


def rsnod_kernel(p: Array, gold: Array) -> Array:
    squares = np.square(p - gold)
    sod = (_od(squares, gold) + _od(squares, p)) / 2
    result: Array = np.sqrt(sod / (p.shape[-1] - 1))
    return result


def rnod(p: ArrayLike, gold: ArrayLike) -> Array:
    """Root Normalised Order-aware Divergence, `sqrt(OD(p || p*) / (L - 1))`; not symmetric.

    Sakai: Evaluating evaluation measures for ordinal classification and ordinal quantification
    (ACL 2021).

    >>> float(rnod([1, 0, 0], [0, 0, 1]))
    1.0
    """
    return rnod_kernel(*distributions(p, gold))


def rsnod(p: ArrayLike, gold: ArrayLike) -> Array:
    """Root Symmetric Normalised Order-aware Divergence, `sqrt(SOD / (L - 1))`.

    `SOD = (OD(p || p*) + OD(p* || p)) / 2`. Sakai: Comparing two binned probability
    distributions for information access evaluation (SIGIR 2018); Eqs. 3-5 of the NTCIR-14
    STC-3 overview.

    >>> float(rsnod([0, 1, 0], [0, 0, 1])) < float(rsnod([1, 0, 0], [0, 0, 1]))
    True
    """
    return rsnod_kernel(*distributions(p, gold))
