"""Randomisation tests: what differences chance alone gives.

Trials are done in blocks of a fixed size, block k with random numbers of its own from (seed, k):
the same seed gives the same p-values on any number of cores, and memory does not grow with the
number of trials.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import UsageError

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

BLOCK_CELLS = 1 << 20
"""How many permuted scores a block holds at once."""
ROUNDING = 1e-12
"""Means of the same scores in another order differ in the last digits; they count as equal."""


def tukey_hsd(scores: Array, *, trials: int = 5000, seed: int = 0, jobs: int = 1) -> Array:
    """Randomised Tukey HSD: the p-value of every pair of runs, runs by runs.

    In each trial the scores of every dialogue are permuted among the runs, independently, and
    the largest minus the smallest mean is noted; p(i, j) is the share of trials in which this
    range is at least |mean_i - mean_j|. Carterette: Multiple testing in statistical analysis of
    systems-based information retrieval experiments (2012); Sakai: Metrics, statistics, tests
    (2014).

    >>> scores = np.array([[0.1, 0.9], [0.2, 0.7], [0.0, 0.8], [0.3, 0.9]])
    >>> tukey_hsd(scores, trials=1000)[0, 1] < 0.2
    np.True_
    """
    n, m = check(scores, trials)
    means = scores.mean(axis=0)
    wanted = np.abs(means[:, None] - means) - ROUNDING * np.abs(scores).max()

    by_run = np.ascontiguousarray(scores.T)

    def block(size: int, random: np.random.Generator) -> Counts:
        ranges = np.ptp(_shuffled_sums(by_run, size, random), axis=0) / n
        counts: Counts = np.count_nonzero(ranges[:, None, None] >= wanted, axis=0)
        return counts

    return _share(block, trials, seed, jobs, cells=n * m)


def _shuffled_sums(by_run: Array, size: int, random: np.random.Generator) -> Array:
    """The runs' sums after the scores of each dialogue were permuted: runs by trials.

    A Fisher-Yates shuffle of all dialogues of all trials at once, run by run from the last: a
    random one of the scores that are left goes to the run, and its place is filled.
    """
    m, n = by_run.shape
    sums = np.empty((m, size))
    left = np.tile(by_run, size)
    flat, columns = left.ravel(), np.arange(size * n)
    for run in range(m - 1, 0, -1):
        drawn = random.integers(run + 1, size=size * n, dtype=_smallest(m))
        cells = np.multiply(drawn, size * n, dtype=np.intp)
        cells += columns
        sums[run] = flat.take(cells, mode="clip").reshape(size, n).sum(axis=1)
        flat[cells] = left[run]
    sums[0] = left[0].reshape(size, n).sum(axis=1)
    return sums


def _smallest(m: int) -> type[np.unsignedinteger]:
    """A small integer type is drawn faster."""
    return np.uint8 if m <= 256 else np.uint32


def paired_randomisation(
    scores: Array, *, trials: int = 5000, seed: int = 0, jobs: int = 1
) -> Array:
    """Fisher's paired randomisation test for every pair of runs, two-sided, runs by runs.

    In each trial the two scores of every dialogue change places with probability 1/2; p is the
    share of trials whose mean difference is at least as large as the observed one. Smucker,
    Allan, Carterette: A comparison of statistical significance tests for information retrieval
    evaluation (2007). Not corrected for the number of pairs: see `holm`.
    """
    n, m = check(scores, trials)
    first, second = np.triu_indices(m, 1)
    differences = scores[:, first] - scores[:, second]
    wanted = np.abs(differences.mean(axis=0)) - ROUNDING * np.abs(scores).max()

    def block(size: int, random: np.random.Generator) -> Counts:
        signs = random.integers(2, size=(size, n), dtype=np.int8) * 2.0 - 1.0
        counts: Counts = np.count_nonzero(np.abs(signs @ differences) / n >= wanted, axis=0)
        return counts

    shares = _share(block, trials, seed, jobs, cells=n)
    return from_pairs(shares, m)


def _share(
    block: Callable[[int, np.random.Generator], Counts],
    trials: int,
    seed: int,
    jobs: int,
    cells: int,
) -> Array:
    """The share of trials that a block counts, over all blocks; `cells` is the size of a trial."""
    size = max(1, BLOCK_CELLS // cells)
    starts = range(0, trials, size)

    def counted(k: int) -> Counts:
        random = np.random.Generator(np.random.SFC64([seed, k]))
        return block(min(size, trials - starts[k]), random)

    if jobs == 1:
        total = sum(map(counted, range(len(starts))))
    else:  # numpy works outside the interpreter's lock, so threads will do
        with ThreadPoolExecutor(jobs) as pool:
            total = sum(pool.map(counted, range(len(starts))))
    return np.asarray(total, np.float64) / trials


def check(scores: Array, trials: int = 1) -> tuple[int, int]:
    """The shape of a table that can be tested: two runs and two dialogues or more."""
    if scores.ndim != 2 or scores.shape[0] < 2 or scores.shape[1] < 2:
        raise UsageError(f"found scores of shape {scores.shape}, expected 2 dialogues and 2 runs")
    if not np.isfinite(scores).all():
        raise UsageError("found scores that are not finite, expected a score for every dialogue")
    if trials < 1:
        raise UsageError(f"found {trials} trials, expected 1 or more")
    return scores.shape[0], scores.shape[1]


def from_pairs(values: Array, m: int) -> Array:
    """A symmetric matrix from values of the pairs above its diagonal; 1 on the diagonal."""
    matrix = np.ones((m, m))
    first, second = np.triu_indices(m, 1)
    matrix[first, second] = matrix[second, first] = values
    return matrix
