"""Divergences of information theory, in bits: for labels without an order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.measures.distributions import Array, distributions

SMOOTHING = 1e-6


def _kld(a: Array, b: Array) -> Array:
    """`sum over i with a(i) > 0 of a(i) log2(a(i) / b(i))`; b must be positive where a is."""
    ratio = np.divide(a, b, out=np.ones(a.shape), where=a > 0)
    result: Array = np.einsum("...i,...i->...", a, np.log2(ratio, out=ratio))
    return result


def kld_kernel(p: Array, gold: Array) -> Array:
    scale = 1 + SMOOTHING * p.shape[-1]
    a, b = np.broadcast_arrays((p + SMOOTHING) / scale, (gold + SMOOTHING) / scale)
    return np.maximum(_kld(b, a), 0)


def jsd_kernel(p: Array, gold: Array) -> Array:
    a, b = np.broadcast_arrays(p, gold)
    middle = (a + b) / 2
    return np.clip((_kld(a, middle) + _kld(b, middle)) / 2, 0, 1)


def kld(p: ArrayLike, gold: ArrayLike) -> Array:
    """Kullback-Leibler divergence of gold from the prediction, `KLD(p* || p)`, in bits.

    Zeros: it would be infinite where the prediction is 0 and gold is not, so both are smoothed
    first, `(p(i) + e) / (1 + e L)` with e = 1e-6; equal distributions stay at 0. Kullback,
    Leibler: On information and sufficiency (1951).

    >>> float(kld([0.5, 0.5], [0.5, 0.5])), round(float(kld([0.5, 0.5], [1, 0])), 3)
    (0.0, 1.0)
    """
    return kld_kernel(*distributions(p, gold))


def jsd(p: ArrayLike, gold: ArrayLike) -> Array:
    """Jensen-Shannon divergence, `(KLD(p || m) + KLD(p* || m)) / 2` with `m = (p + p*) / 2`.

    In bits, so 0 to 1. Lin: Divergence measures based on the Shannon entropy (1991). The
    overviews of NTCIR-14 STC-3 (Eq. 7) and NTCIR-16 DialEval-2 (Eq. 8) print the second term
    the other way round; their scorer and their figures use this one.

    >>> float(jsd([1, 0], [0, 1])), float(jsd([0.5, 0.5], [0.5, 0.5]))
    (1.0, 0.0)
    """
    return jsd_kernel(*distributions(p, gold))
