"""One-way analysis of variance over runs, and effect sizes from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Anova:
    """A one-way ANOVA table: between runs, and the residual error."""

    between_squares: float
    between_freedom: int
    error_squares: float
    error_freedom: int

    @property
    def between_variance(self) -> float:
        """The mean square between runs, V_A."""
        return self.between_squares / self.between_freedom

    @property
    def error_variance(self) -> float:
        """The residual mean square, V_E: the estimate of the variance of a run's scores."""
        return self.error_squares / self.error_freedom

    @property
    def f(self) -> float:
        """`V_A / V_E`; infinite where only the runs vary, NaN where nothing does."""
        if self.error_squares == 0:
            return float("inf") if self.between_squares > 0 else float("nan")
        return self.between_variance / self.error_variance

    @property
    def p(self) -> float:
        """The probability of an F at least as large if all runs were alike."""
        from scipy.special import fdtrc

        if np.isnan(self.f):
            return 1.0
        return float(fdtrc(self.between_freedom, self.error_freedom, self.f))


def anova(scores: Array) -> Anova:
    """One-way ANOVA of scores, dialogues by runs.

    `S_A = n sum_i (mean_i - mean)^2` with m - 1 degrees of freedom and
    `S_E = sum_ij (x_ij - mean_i)^2` with m (n - 1). Sakai: Laboratory experiments in
    information retrieval (2018), chapter 3.

    >>> table = anova(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]))
    >>> table.between_squares, table.error_squares, table.error_freedom
    (6.0, 10.0, 4)
    """
    n, m = scores.shape
    means = scores.mean(axis=0)
    between = n * np.square(means - scores.mean()).sum()
    error = np.square(scores - means).sum()
    return Anova(float(between), m - 1, float(error), m * (n - 1))


def effect_sizes(scores: Array) -> Array:
    """ES_E1 of every pair of runs: `|mean_i - mean_j| / sqrt(V_E)`, runs by runs.

    V_E is the residual mean square over all runs of the table. Sakai: Laboratory experiments in
    information retrieval (2018), chapter 5. Where nothing varies it is 0 for equal means,
    infinite for others.

    >>> effect_sizes(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])).round(3).tolist()
    [[0.0, 1.265], [1.265, 0.0]]
    """
    means = scores.mean(axis=0)
    difference = np.abs(means[:, None] - means)
    deviation = np.sqrt(anova(scores).error_variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / deviation)
