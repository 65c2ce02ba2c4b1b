"""Kendall's tau between two rankings of the same runs, with intervals as NSM3's `kendall.ci`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dialeval.core.errors import UsageError

Array = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Kendall:
    """tau-b with a bootstrap and an asymptotic interval; NaN where it is not defined."""

    tau: float
    bootstrap: Interval
    asymptotic: Interval


def kendall(
    x: ArrayLike, y: ArrayLike, *, alpha: float = 0.05, resamples: int = 10_000, seed: int = 0
) -> Kendall:
    """tau-b of two lists of mean scores, with 1 - alpha intervals.

    Bootstrap: runs drawn with replacement B times, tau-b each time, and with
    `k = floor((B + 1) alpha / 2)` the k-th smallest and the (B + 1 - k)-th smallest. Asymptotic:
    `tau -+ z sigma` with `sigma^2 = 2 / (n (n - 1)) (2 (n - 2) / (n (n - 1)^2) sum_i (C_i -
    mean C)^2 + 1 - tau^2)`, C_i the concordance of run i with all others. Hollander, Wolfe,
    Chicken: Nonparametric statistical methods (2014), section 8.3; Kendall: The treatment of
    ties in ranking problems (1945).

    >>> kendall([1, 2, 3, 4], [1, 2, 4, 3]).tau.__round__(3)
    0.667
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    n = a.size
    if a.shape != b.shape or a.ndim != 1 or n < 2:
        raise UsageError(f"found {a.shape} and {b.shape} values, expected two lists of 2 or more")
    sign_a, sign_b = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    agreement = sign_a * sign_b
    # With w_i copies of run i, the sums over pairs of copies are quadratic forms in w.
    forms = (agreement, np.square(sign_a), np.square(sign_b))
    tau = float(_tau_b(np.ones((1, n)), forms)[0])
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), resamples)
    taus = _tau_b(draws.astype(np.float64), forms)
    taus = np.sort(taus[~np.isnan(taus)])
    return Kendall(tau, _middle(taus, alpha), _asymptotic(agreement, tau, alpha))


def _tau_b(copies: Array, forms: tuple[Array, Array, Array]) -> Array:
    concordant, untied_a, untied_b = (
        np.einsum("bi,ij,bj->b", copies, form, copies, optimize=True) for form in forms
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Array = concordant / np.sqrt(untied_a * untied_b)
    return result


def _middle(taus: Array, alpha: float) -> Interval:
    k = int((taus.size + 1) * alpha / 2)
    if not taus.size or k < 1:
        return float("nan"), float("nan")
    return float(taus[k - 1]), float(taus[taus.size - k])


def _asymptotic(agreement: Array, tau: float, alpha: float) -> Interval:
    from scipy.special import ndtri

    n = len(agreement)
    concordance = agreement.sum(axis=1)
    spread = np.square(concordance - concordance.mean()).sum()
    variance = 2 * (n - 2) / (n * (n - 1) ** 2) * spread + 1 - tau**2
    sigma = np.sqrt(2 / (n * (n - 1)) * variance)
    z = float(ndtri(1 - alpha / 2))
    return tau - z * float(sigma), tau + z * float(sigma)
