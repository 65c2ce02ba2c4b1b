"""What all measures of distributions share: checking and scaling their arguments."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dialeval.core.errors import UsageError

Array = NDArray[np.float64]


def distributions(p: ArrayLike, gold: ArrayLike) -> tuple[Array, Array]:
    """Both arguments as float64 arrays of the same last axis that sum to 1 along it.

    >>> distributions([2, 2], [1, 3])
    (array([0.5, 0.5]), array([0.25, 0.75]))
    """
    arrays = []
    for name, value in (("p", p), ("gold", gold)):
        array = np.asarray(value, dtype=np.float64)
        if not array.ndim or array.shape[-1] < 2:
            raise UsageError(f"{name}: found shape {array.shape}, expected (..., labels)")
        if (array.size and not array.min() >= 0) or np.isinf(array).any():
            raise UsageError(f"{name}: expected finite numbers of 0 or more")
        total = np.einsum("...i->...", array)  # faster than sum along a short axis
        if not total.all():
            raise UsageError(f"{name}: found only zeros, expected a distribution")
        arrays.append(array / total[..., None])
    if arrays[0].shape[-1] != arrays[1].shape[-1]:
        raise UsageError(f"found {arrays[0].shape[-1]} and {arrays[1].shape[-1]} labels")
    return arrays[0], arrays[1]
