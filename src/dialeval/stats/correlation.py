"""How far two lists of scores go together: Pearson, Spearman and Kendall, with intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dialeval.core.errors import UsageError

Array = NDArray[np.float64]
Interval = tuple[float, float]
NAN = float("nan")
COEFFICIENTS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class Coefficient:
    """A correlation with its p-value and interval; NaN where it is not defined."""

    value: float
    p: float
    interval: Interval


@dataclass(frozen=True)
class Correlations:
    """The three correlations of one metric with people's judgements."""

    pearson: Coefficient
    spearman: Coefficient
    kendall: Coefficient
    n: int


def correlate(
    x: ArrayLike, y: ArrayLike, *, level: float = 0.95, resamples: int = 0, seed: int = 0
) -> Correlations:
    """Pearson's r, Spearman's rho and Kendall's tau-b of two lists, with two-sided p-values.

    Intervals are Fisher's, `tanh(atanh(r) -+ z se)` with `se^2 = 1 / (n - 3)` for Pearson,
    `(1 + r^2 / 2) / (n - 3)` for Spearman and `0.437 / (n - 4)` for Kendall: Bonett, Wright: Sample
    size requirements for estimating Pearson, Kendall and Spearman correlations (Psychometrika
    2000). With `resamples`, percentile bootstrap intervals over the pairs instead. A list of equal
    values has no correlation: NaN.

    >>> round(correlate([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).spearman.value, 4)
    0.8
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if a.shape != b.shape or a.ndim != 1 or a.size < 3:
        raise UsageError(f"found {a.shape} and {b.shape} values, expected two lists of 3 or more")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise UsageError("found values that are not finite, expected numbers")
    if not 0 < level < 1:
        raise UsageError(f"level: found {level}, expected a number between 0 and 1")
    drawn = _drawn(a, b, level, resamples, seed) if resamples else None
    found = {}
    for name in COEFFICIENTS:
        value, p = _tested(name, a, b)
        interval = _fisher(name, value, a.size, level) if drawn is None else drawn[name]
        found[name] = Coefficient(value, p, interval)
    return Correlations(**found, n=a.size)


def split_half(raters: ArrayLike, *, seed: int = 0) -> tuple[Array, Array]:
    """The mean judgements of two random halves of the raters, rater by rater a list.

    What people reach against each other: the row "Human" beside metrics in Liu et al.: How not to
    evaluate your dialogue system (EMNLP 2016).
    """
    table = np.asarray(raters, np.float64)
    if table.ndim != 2 or len(table) < 2:
        raise UsageError("found one rater, expected two or more to compare")
    order = np.random.default_rng(seed).permutation(len(table))
    half = len(table) // 2
    return rater_means(table[order[:half]]), rater_means(table[order[half:]])


def rater_means(raters: Array) -> Array:
    """The mean of each item over the raters who judged it, raters by items; NaN without any.

    >>> rater_means(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist()
    [2.0, nan]
    """
    known = ~np.isnan(raters)
    with np.errstate(invalid="ignore"):
        result: Array = np.where(known, raters, 0.0).sum(axis=0) / known.sum(axis=0)
    return result


def _tested(name: str, a: Array, b: Array) -> tuple[float, float]:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return NAN, NAN
    from scipy import stats

    tests: dict[str, Callable[[Array, Array], tuple[float, float]]] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values that are nearly all equal
        value, p = tests[name](a, b)
    return float(value), float(p)


def _fisher(name: str, value: float, n: int, level: float) -> Interval:
    """Fisher's interval; a perfect correlation is its own, and too few pairs give none."""
    from scipy.special import ndtri

    free = n - 4 if name == "kendall" else n - 3
    if math.isnan(value) or free < 1:
        return NAN, NAN
    if abs(value) >= 1:
        return value, value
    variance = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[name] / free
    reach = float(ndtri((1 + level) / 2)) * math.sqrt(variance)
    return math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)


def _drawn(a: Array, b: Array, level: float, resamples: int, seed: int) -> dict[str, Interval]:
    """Percentile intervals over pairs drawn with replacement; equal values do not count."""
    random = np.random.default_rng(seed)
    found: dict[str, list[float]] = {name: [] for name in COEFFICIENTS}
    for _ in range(resamples):
        places = random.integers(a.size, size=a.size)
        for name, values in found.items():
            value, _ = _tested(name, a[places], b[places])
            if not math.isnan(value):
                values.append(value)
    tail = (1 - level) / 2
    return {
        name: (float(np.quantile(values, tail)), float(np.quantile(values, 1 - tail)))
        if values
        else (NAN, NAN)
        for name, values in found.items()
    }
