"""Tests of one pair of runs at a time, and corrections for doing many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dialeval.stats.randomised import check, from_pairs

Array = NDArray[np.float64]


def paired_t(scores: Array) -> Array:
    """The paired t-test for every pair of runs, two-sided, runs by runs.

    `t = mean(d) / sqrt(var(d) / n)` with n - 1 degrees of freedom. Student: The probable error
    of a mean (1908). Equal runs give p = 1, a constant difference gives 0. Not corrected for the
    number of pairs: see `holm`.

    >>> scores = np.array([[0.1, 0.3], [0.2, 0.7], [0.0, 0.8], [0.3, 0.9]])
    >>> paired_t(scores)[0, 1].round(4)
    np.float64(0.0246)
    """
    from scipy.special import stdtr

    n, m = check(scores)
    first, second = np.triu_indices(m, 1)
    differences = scores[:, first] - scores[:, second]
    mean, deviation = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    tiny = 1e-12 * np.abs(scores).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(n - 1, -np.abs(mean) / (deviation / np.sqrt(n)))
    p = np.where(deviation <= tiny, np.where(np.abs(mean) <= tiny, 1.0, 0.0), p)
    return from_pairs(p, m)


def holm(p: Array) -> Array:
    """Holm's correction of the p-values above the diagonal of a matrix, runs by runs.

    The k-th smallest of K p-values is multiplied by K - k + 1, none may be below the one before
    it, none above 1. Holm: A simple sequentially rejective multiple test procedure (1979).

    >>> holm(np.array([[1, 0.01, 0.04], [0.01, 1, 0.03], [0.04, 0.03, 1]])).round(3).tolist()
    [[1.0, 0.03, 0.06], [0.03, 1.0, 0.06], [0.06, 0.06, 1.0]]
    """
    m = len(p)
    pairs = p[np.triu_indices(m, 1)]
    order = np.argsort(pairs, kind="stable")
    factors = np.arange(pairs.size, 0, -1)
    corrected = np.empty(pairs.size)
    corrected[order] = np.minimum(np.maximum.accumulate(pairs[order] * factors), 1.0)
    return from_pairs(corrected, m)


def achieved_levels(p: Array) -> Array:
    """Sakai's curve of achieved significance levels: the pairs' p-values, largest first.

    The lower the curve, the more discriminative the measure. Sakai: Evaluating evaluation
    metrics based on the bootstrap (SIGIR 2006).
    """
    return np.sort(p[np.triu_indices(len(p), 1)])[::-1]


def discriminative_power(p: Array, alpha: float = 0.05) -> float:
    """The share of run pairs that differ significantly at alpha."""
    return float((achieved_levels(p) < alpha).mean())
