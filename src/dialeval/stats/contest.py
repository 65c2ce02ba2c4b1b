"""A contest: all runs compared by one measure of one criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import UsageError, unknown_name
from dialeval.measures.evaluate import Interval, Score, bootstrap_means
from dialeval.measures.registry import names
from dialeval.stats.anova import Anova, anova, effect_sizes
from dialeval.stats.kendall import Kendall, kendall
from dialeval.stats.pairwise import holm, paired_t
from dialeval.stats.randomised import paired_randomisation, tukey_hsd

Array = NDArray[np.float64]
Test = Literal["tukey", "randomisation", "t"]
TESTS: dict[str, str] = {
    "tukey": "randomised Tukey HSD",
    "randomisation": "paired randomisation test, Holm-corrected",
    "t": "paired t-test, Holm-corrected",
}


@dataclass(frozen=True)
class Settings:
    """How runs are compared."""

    test: Test = "tukey"
    trials: int = 5000
    alpha: float = 0.05
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise unknown_name("test", self.test, TESTS)
        if self.trials < 1:
            raise UsageError(f"trials: found {self.trials}, expected 1 or more")
        if not 0 < self.alpha < 1:
            raise UsageError(f"alpha: found {self.alpha}, expected a number between 0 and 1")


@dataclass(frozen=True)
class Better:
    """One run is significantly better than another."""

    run: str
    than: str
    p: float
    effect: float


@dataclass(frozen=True)
class Contest:
    """The runs from best to worst; matrices are runs by runs in that order."""

    criterion: str
    measure: str
    runs: tuple[str, ...]
    ids: tuple[str, ...]
    scores: Array
    """Dialogues by runs."""
    intervals: tuple[Interval, ...]
    p: Array
    effects: Array
    anova: Anova | None
    """None for a single run, which nothing can be compared with."""
    alpha: float
    higher: bool = False
    """Higher scores are better, as in ranked retrieval; distances are better low."""
    unit: str = "dialogue"
    """What one row of scores belongs to."""

    @property
    def column(self) -> str:
        """The name of its column: criterion.measure."""
        return f"{self.criterion}.{self.measure}"

    @property
    def title(self) -> str:
        """The measure as people write it: `NMD`, `nERR@10`."""
        return measure_title(self.measure)

    @property
    def means(self) -> Array:
        """The mean score of each run."""
        result: Array = self.scores.mean(axis=0)
        return result

    @property
    def ranks(self) -> list[int]:
        """1 for the best; runs of equal means share the better rank."""
        cost = self._cost
        return [1 + int((cost < own).sum()) for own in cost]

    @property
    def better(self) -> list[Better]:
        """Which run is significantly better than which, best runs first."""
        cost = self._cost
        return [
            Better(self.runs[i], self.runs[j], float(self.p[i, j]), float(self.effects[i, j]))
            for i in range(len(self.runs))
            for j in range(len(self.runs))
            if cost[i] < cost[j] and self.p[i, j] < self.alpha
        ]

    @property
    def _cost(self) -> Array:
        """The means, turned so that lower is better."""
        return -self.means if self.higher else self.means


def measure_title(measure: str) -> str:
    """A measure's name as people write it: the registered ones in capitals.

    >>> measure_title("nmd"), measure_title("nERR@10"), measure_title("points")
    ('NMD', 'nERR@10', 'points')
    """
    return measure.upper() if measure in names() else measure


def contest(
    column: str,
    scores: Sequence[Score],
    settings: Settings,
    *,
    higher: bool = False,
    unit: str = "dialogue",
) -> Contest:
    """Compare the runs that have this column, over the dialogues that all of them have."""
    criterion, _, measure = column.partition(".")
    entered = [score for score in scores if column in score.by_dialogue]
    ids, table = _common(column, entered, unit)
    means = table.mean(axis=0)
    order = np.argsort(-means if higher else means, kind="stable")
    table = np.ascontiguousarray(table[:, order])
    drawn = bootstrap_means(table, 1000, settings.seed)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    several = len(entered) > 1
    return Contest(
        criterion,
        measure,
        tuple(entered[place].run for place in order),
        ids,
        table,
        tuple(zip(low.tolist(), high.tolist(), strict=True)),
        p_values(table, settings) if several else np.ones((1, 1)),
        effect_sizes(table) if several else np.zeros((1, 1)),
        anova(table) if several else None,
        settings.alpha,
        higher,
        unit,
    )


def p_values(table: Array, settings: Settings) -> Array:
    """The p-value of every pair of runs by the chosen test."""
    options = {"trials": settings.trials, "seed": settings.seed, "jobs": settings.jobs}
    if settings.test == "tukey":
        return tukey_hsd(table, **options)
    if settings.test == "randomisation":
        return holm(paired_randomisation(table, **options))
    return holm(paired_t(table))


def _common(column: str, scores: Sequence[Score], unit: str) -> tuple[tuple[str, ...], Array]:
    """The dialogues that all runs have a score for, and the scores: dialogues by runs."""
    by_run = [
        {id: v for id, v in zip(s.ids, s.by_dialogue[column].tolist(), strict=True) if v == v}
        for s in scores
    ]
    ids = tuple(id for id in scores[0].ids if all(id in values for values in by_run))
    if len(ids) < min(2, len(scores)):
        raise UsageError(f"{column}: found {len(ids)} {unit}s that all runs have, expected 2")
    return ids, np.array([[values[id] for values in by_run] for id in ids])


@dataclass(frozen=True)
class Correlation:
    """How far two measures of a criterion agree on the ranking of runs."""

    criterion: str
    measures: tuple[str, str]
    kendall: Kendall


def correlations(contests: Sequence[Contest], settings: Settings) -> list[Correlation]:
    """Kendall's tau between each two measures of the same criterion, over their runs' means."""
    found = []
    for place, first in enumerate(contests):
        for second in contests[place + 1 :]:
            if first.criterion != second.criterion:
                continue
            means = dict(zip(second.runs, second.means.tolist(), strict=True))
            pairs = [
                (mean, means[run])
                for run, mean in zip(first.runs, first.means.tolist(), strict=True)
                if run in means
            ]
            if len(pairs) > 1:
                x, y = zip(*pairs, strict=True)
                tau = kendall(x, y, alpha=settings.alpha, seed=settings.seed)
                found.append(Correlation(first.criterion, (first.measure, second.measure), tau))
    return found
