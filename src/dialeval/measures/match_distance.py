"""Match distance: how far probability mass must move along the scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dialeval.measures.distributions import Array, distributions


def md_kernel(p: Array, gold: Array) -> Array:
    # The last cumulative probabilities are both 1, up to rounding that is not worth adding.
    differences = np.cumsum((p - gold)[..., :-1], axis=-1)
    result: Array = np.einsum("...i->...", np.abs(differences, out=differences))
    return result


def nmd_kernel(p: Array, gold: Array) -> Array:
    result: Array = md_kernel(p, gold) / (p.shape[-1] - 1)
    return result


def md(p: ArrayLike, gold: ArrayLike) -> Array:
    """Match Distance, `sum_i |cp(i) - cp*(i)|` with cp the cumulative probabilities.

    The Earth Mover's Distance between distributions on a scale with equal steps, in steps:
    0 to L - 1. Werman, Peleg, Rosenfeld: A distance metric for multidimensional histograms
    (1985); Eq. 1 of the NTCIR-14 STC-3 overview.

    >>> float(md([1, 0, 0], [0, 0, 1]))
    2.0
    """
    return md_kernel(*distributions(p, gold))


def nmd(p: ArrayLike, gold: ArrayLike) -> Array:
    """Normalised Match Distance, `MD / (L - 1)`.

    Sakai: Comparing two binned probability distributions for information access evaluation
    (SIGIR 2018); Eq. 2 of the NTCIR-14 STC-3 overview.

    >>> float(nmd([0.5, 0.5, 0], [0, 0.5, 0.5]))
    0.5
    """
    return nmd_kernel(*distributions(p, gold))
