"""Errors of the expected label: what is left of a distribution when only its mean counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.measures.distributions import Array, distributions


def ae_mean_kernel(p: Array, gold: Array) -> Array:
    steps = np.arange(p.shape[-1], dtype=np.float64)
    result: Array = np.abs(np.einsum("...i,i->...", p - gold, steps))
    return result


def se_mean_kernel(p: Array, gold: Array) -> Array:
    return np.square(ae_mean_kernel(p, gold))


def ae_mean(p: ArrayLike, gold: ArrayLike) -> Array:
    """Absolute error of the mean, `|sum_i i p(i) - sum_i i p*(i)|`, in steps of the scale.

    >>> float(ae_mean([1, 0, 0], [0, 0.5, 0.5]))
    1.5
    """
    return ae_mean_kernel(*distributions(p, gold))


def se_mean(p: ArrayLike, gold: ArrayLike) -> Array:
    """Squared error of the mean, `(sum_i i p(i) - sum_i i p*(i))^2`, in steps of the scale.

    >>> float(se_mean([1, 0, 0], [0, 0.5, 0.5]))
    2.25
    """
    return se_mean_kernel(*distributions(p, gold))
