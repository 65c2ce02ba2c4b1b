"""Measures of ranked lists by graded gains: nG, nERR and P+. Higher is better, 1 is ideal.

`gains` holds the gain of the answer at each rank, `(..., ranks)`; a list that is shorter than the
others is filled up with 0. `ideal` holds the gains of all answers that are known to the post, in
any order. Ranks beyond the cutoff do not count. Where no answer is worth anything, the score is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dialeval.core.errors import UsageError

Array = NDArray[np.float64]
CUTOFF = 10


def ng(gains: ArrayLike, ideal: ArrayLike, *, cutoff: int = 1) -> Array:
    """Normalised gain at rank 1, `nG@1 = g(1) / g*(1)`; at a cutoff, of the summed gains.

    Shang et al.: Overview of the NTCIR-13 Short Text Conversation task (2017).

    >>> ng([1, 3, 0], [3, 1, 1]).item()
    0.3333333333333333
    """
    own, best = _lists(gains, ideal, cutoff)
    return _ratio(own.sum(axis=-1), best.sum(axis=-1))


def nerr(
    gains: ArrayLike, ideal: ArrayLike, *, highest: float | None = None, cutoff: int = CUTOFF
) -> Array:
    """Normalised expected reciprocal rank: ERR of the list over ERR of the ideal list.

    `ERR = sum_r 1/r p_r prod_{k<r} (1 - p_k)` with the stop probability `p_r = g(r) /
    (g_max + 1)`: 1/4 and 3/4 for gains of 1 and 3. `highest` is g_max, the gain of the scale's
    highest level; the largest gain there is unless told. Chapelle et al.: Expected reciprocal
    rank for graded relevance (CIKM 2009); Sakai: Metrics, statistics, tests (2014).

    >>> nerr([0, 3], [3], highest=3).item()
    0.5
    """
    own, best = _lists(gains, ideal, cutoff)
    top = max(own.max(initial=0.0), best.max(initial=0.0)) if highest is None else highest
    if top < max(own.max(initial=0.0), best.max(initial=0.0)):
        raise UsageError(f"highest: found {top:g}, expected no gain above it")
    return _ratio(_err(own, top), _err(best, top))


def _err(gains: Array, highest: float) -> Array:
    stop = gains / (highest + 1)
    going = np.cumprod(1 - stop, axis=-1)
    reached = np.concatenate([np.ones_like(going[..., :1]), going[..., :-1]], axis=-1)
    result: Array = (stop * reached / np.arange(1, gains.shape[-1] + 1)).sum(axis=-1)
    return result


def p_plus(gains: ArrayLike, ideal: ArrayLike, *, cutoff: int = CUTOFF) -> Array:
    """P+: the mean blended ratio over the answers of worth down to the preferred rank.

    `P+ = 1/C(r_p) sum_{r <= r_p} I(r) BR(r)`, `BR(r) = (C(r) + cg(r)) / (r + cg*(r))`: I(r) says
    that the answer at r has a gain, C counts these, cg and cg* are the cumulative gains of the
    list and of the ideal list, and r_p is the first rank with the highest gain of the list.
    Sakai: Bootstrap-based comparisons of IR metrics for finding one relevant document (AIRS
    2006).

    >>> p_plus([0, 3, 1], [3, 1]).item()
    0.6666666666666666
    """
    own, best = _lists(gains, ideal, cutoff)
    ranks = np.arange(1, own.shape[-1] + 1)
    worth = own > 0
    count = np.cumsum(worth, axis=-1)
    blended = (count + np.cumsum(own, axis=-1)) / (ranks + np.cumsum(best, axis=-1))
    preferred = np.argmax(own, axis=-1)[..., None]
    within = np.where(worth & (ranks <= preferred + 1), blended, 0.0).sum(axis=-1)
    found = np.take_along_axis(count, preferred, axis=-1)[..., 0]
    return _ratio(within, found.astype(np.float64))


def _lists(gains: ArrayLike, ideal: ArrayLike, cutoff: int) -> tuple[Array, Array]:
    """The list and its ideal list down to the cutoff, filled up with 0 to the same length."""
    if cutoff < 1:
        raise UsageError(f"cutoff: found {cutoff}, expected 1 or more")
    cut = []
    for name, values in (("gains", gains), ("ideal", ideal)):
        array = np.asarray(values, np.float64)
        if not array.ndim:
            raise UsageError(f"{name}: found a single number, expected a list")
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise UsageError(f"{name}: expected finite numbers of 0 or more")
        if name == "ideal":
            array = -np.sort(-array, axis=-1)
        array = array[..., :cutoff]
        filled = np.zeros((*array.shape[:-1], cutoff))
        filled[..., : array.shape[-1]] = array
        cut.append(filled)
    return cut[0], cut[1]


def _ratio(over: Array, under: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Array = np.where(under > 0, over / under, 0.0)
    return result
