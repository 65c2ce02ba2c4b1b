"""Topic set size design: how many dialogues a comparison of runs needs.

For one-way ANOVA over m systems: phi_A = m - 1 and phi_E = m (n - 1) degrees of freedom, and
non-centrality `lambda = n minD^2 / (2 sigma^2)` when the best and the worst of the systems
differ by minD. Sakai: Topic set size design (Information Retrieval Journal 2016).
"""

from __future__ import annotations

from dialeval.core.errors import UsageError

MOST_TOPICS = 10_000_000


def power(n: int, *, alpha: float, min_diff: float, systems: int, variance: float) -> float:
    """The probability of a significant F when the largest difference is `min_diff`.

    >>> 0.80 <= power(62, alpha=0.05, min_diff=0.05, systems=10, variance=0.00485) < 0.81
    True
    """
    from scipy.special import fdtri, ncfdtr

    _check(alpha=alpha, systems=systems, variance=variance, min_diff=min_diff)
    if n < 2:
        raise UsageError(f"found n = {n}, expected 2 dialogues or more")
    between, error = systems - 1, systems * (n - 1)
    critical = fdtri(between, error, 1 - alpha)
    noncentrality = n * min_diff**2 / (2 * variance)
    return float(1 - ncfdtr(between, error, noncentrality, critical))


def topic_size(
    *, alpha: float, power: float, min_diff: float, systems: int, variance: float
) -> int:
    """The smallest number of dialogues whose power is at least `power`.

    >>> topic_size(alpha=0.05, power=0.8, min_diff=0.05, systems=10, variance=0.00485)
    62
    """
    _check_share("power", power)

    def reached(n: int) -> bool:
        return _power(n, alpha, min_diff, systems, variance) >= power

    high = 2
    while not reached(high):
        high *= 2
        if high > MOST_TOPICS:
            raise UsageError(f"more than {MOST_TOPICS:,} dialogues would be needed")
    low = max(2, high // 2)
    while low < high:  # power grows with n
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return high


def reached_difference(
    n: int, *, alpha: float, power: float, systems: int, variance: float
) -> float:
    """The smallest difference that n dialogues find with this power.

    >>> d = reached_difference(62, alpha=0.05, power=0.8, systems=10, variance=0.00485)
    >>> round(d, 4)
    0.0498
    """
    from scipy.optimize import brentq

    _check_share("power", power)
    low, high = 0.0, variance**0.5 if variance > 0 else 1.0
    while _power(n, alpha, high, systems, variance) < power:
        high *= 2
    if power <= alpha:
        return 0.0
    return float(
        brentq(lambda d: _power(n, alpha, d or 1e-12, systems, variance) - power, low, high)
    )


def _power(n: int, alpha: float, min_diff: float, systems: int, variance: float) -> float:
    return power(n, alpha=alpha, min_diff=min_diff, systems=systems, variance=variance)


def _check(*, alpha: float, systems: int, variance: float, min_diff: float) -> None:
    _check_share("alpha", alpha)
    if systems < 2:
        raise UsageError(f"found {systems} systems, expected 2 or more")
    for name, value in (("variance", variance), ("min-diff", min_diff)):
        if not (0 < value < float("inf")):
            raise UsageError(f"{name}: found {value}, expected a number above 0")


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name}: found {value}, expected a number between 0 and 1")
