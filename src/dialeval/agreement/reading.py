"""How a kappa reads: in words, and where it misleads."""

from __future__ import annotations

import math

from dialeval.agreement.shares import Observed

LEVELS = (
    (0.20, "None"),
    (0.39, "Minimal"),
    (0.59, "Weak"),
    (0.79, "Moderate"),
    (0.90, "Strong"),
    (1.00, "Almost Perfect"),
)
"""Up to which kappa a word stands. McHugh: Interrater reliability: the kappa statistic (2012)."""
UNDEFINED = "Undefined"

ONE_SIDED = 0.8
"""From which share of all votes the most frequent label makes votes one-sided."""
HIGH_PERCENT = 0.7
LOW_KAPPA = 0.4
"""From here on agreement is no longer minimal."""


def reading(kappa: float) -> str:
    """The level of agreement that a kappa says, rounded to two digits as the table has it.

    >>> [reading(k) for k in (-0.258, 0.204, 0.385, 0.395, 0.901, 0.906, math.nan)]
    ['None', 'None', 'Minimal', 'Weak', 'Strong', 'Almost Perfect', 'Undefined']
    """
    if math.isnan(kappa):
        return UNDEFINED
    return next((word for bound, word in LEVELS if round(kappa, 2) <= bound), LEVELS[-1][1])


def is_paradox(seen: Observed, kappa: float) -> bool:
    """Whether kappa is low only because almost all votes are for one label.

    Then chance alone explains almost all agreement, however high it is. Feinstein, Cicchetti:
    High agreement but low kappa (1990). Here: at least 80% of the votes for one label, at least
    70% percent agreement, and kappa below 0.40 or, all votes being the same, not defined.
    """
    if math.isnan(float(seen.percent)):
        return False
    high = float(seen.percent) >= HIGH_PERCENT and float(seen.shares.max()) >= ONE_SIDED
    return high and not kappa >= LOW_KAPPA
