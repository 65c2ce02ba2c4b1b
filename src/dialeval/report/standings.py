"""Standings: runs compared by several measures, and the tables that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dialeval.measures.evaluate import Score
from dialeval.report.published import PublishedScore
from dialeval.report.tables import Column, Table
from dialeval.stats.contest import (
    TESTS,
    Contest,
    Correlation,
    Settings,
    Test,
    contest,
    correlations,
    measure_title,
)
from dialeval.stats.pairwise import discriminative_power

LANGUAGES = {"en": "English", "zh": "Chinese"}


@dataclass(frozen=True, kw_only=True)
class Standings:
    """Runs compared over the same items by every criterion and measure."""

    name: str
    """Stands in the names of files and tables: a language, a rubric."""
    about: str
    """What the scores are, in a sentence for the report."""
    contests: Sequence[Contest]
    correlations: Sequence[Correlation]

    @property
    def title(self) -> str:
        """The name as a heading."""
        return LANGUAGES.get(self.name, self.name)

    @property
    def size(self) -> int:
        """How many items the runs are compared over, at most."""
        return max(len(one.ids) for one in self.contests)

    @property
    def unit(self) -> str:
        """What an item is."""
        return self.contests[0].unit

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs from best to worst by mean rank."""
        means = self.mean_ranks
        return tuple(sorted(means, key=lambda run: means[run]))

    @property
    def mean_ranks(self) -> dict[str, float]:
        """The mean rank of each run over the contests it is in."""
        ranks: dict[str, list[int]] = {}
        for one in self.contests:
            for run, rank in zip(one.runs, one.ranks, strict=True):
                ranks.setdefault(run, []).append(rank)
        return {run: sum(given) / len(given) for run, given in ranks.items()}

    def to_json(self) -> dict[str, Any]:
        """Means with intervals and ranks, by column and run, and what is significantly better."""
        return {
            "runs": len(self.runs),
            f"{self.unit}s": self.size,
            "means": {
                one.column: {
                    run: {"rank": rank, "mean": mean, "low": low, "high": high}
                    for run, rank, mean, (low, high) in zip(
                        one.runs, one.ranks, one.means.tolist(), one.intervals, strict=True
                    )
                }
                for one in self.contests
            },
            "better": [
                {"column": one.column, "run": b.run, "than": b.than, "p": b.p, "effect": b.effect}
                for one in self.contests
                for b in one.better
            ],
        }

    def heading(self, criterion: str) -> str:
        """What people call a criterion."""
        return criterion


def standings_of(
    name: str,
    about: str,
    scores: Sequence[Score],
    settings: Settings,
    *,
    unit: str,
    higher: bool = True,
) -> Standings:
    """Compare runs by every column that their scores have."""
    columns = dict.fromkeys(column for score in scores for column in score.by_dialogue)
    contests = [contest(column, scores, settings, higher=higher, unit=unit) for column in columns]
    return Standings(
        name=name,
        about=about,
        contests=contests,
        correlations=correlations(contests, settings),
    )


def ranking_table(
    standings: Standings, one: Contest, published: Sequence[PublishedScore] | None = None
) -> Table:
    """Runs by their mean with 95% intervals, published ones among them if given."""
    rows: list[tuple[Any, ...]] = [
        (rank, run, mean, *interval, None)
        for rank, run, mean, interval in zip(
            one.ranks, one.runs, one.means.tolist(), one.intervals, strict=True
        )
    ]
    rows += [(None, row.label, row.score, None, None, "published") for row in published or ()]
    rows.sort(key=lambda row: row[2], reverse=one.higher)
    columns = [Column("rank", "number"), Column("run"), Column(f"mean {one.measure}", "score")]
    columns += [Column("low", "score"), Column("high", "score"), Column("source")]
    if published is None:
        columns.pop()
        rows = [row[:-1] for row in rows]
    title = f"{_where(standings, one)}: runs by mean score, with 95% intervals"
    return _table(standings, one, "ranking", title, columns, rows)


def significance_table(standings: Standings, one: Contest, test: Test) -> Table:
    """The list "this run is significantly better than these runs"."""
    columns = [Column("these runs"), Column("are significantly better than")]
    columns += [Column("p", "p"), Column("ES_E1", "effect")]
    rows = [(b.run, b.than, b.p, b.effect) for b in one.better]
    title = f"{_where(standings, one)}: significant differences ({TESTS[test]})"
    return _table(standings, one, "significance", title, columns, rows)


def pair_table(standings: Standings, one: Contest) -> Table:
    """Every pair of runs: difference of means, p-value, effect size."""
    columns = [Column("better run"), Column("worse run"), Column("difference", "score")]
    columns += [Column("p", "p"), Column("ES_E1", "effect")]
    means = one.means.tolist()
    rows = [
        (
            one.runs[i],
            one.runs[j],
            abs(means[j] - means[i]),
            float(one.p[i, j]),
            float(one.effects[i, j]),
        )
        for i in range(len(one.runs))
        for j in range(i + 1, len(one.runs))
    ]
    return _table(standings, one, "pairs", f"{_where(standings, one)}: all pairs", columns, rows)


def anova_table(standings: Standings, one: Contest) -> Table:
    """The one-way ANOVA table."""
    columns = [Column("source"), Column("sum of squares", "score"), Column("df", "number")]
    columns += [Column("mean square", "score"), Column("F", "effect"), Column("p", "p")]
    rows: list[tuple[Any, ...]] = []
    if one.anova is not None:
        a = one.anova
        rows = [
            ("between runs", a.between_squares, a.between_freedom, a.between_variance, a.f, a.p),
            ("error", a.error_squares, a.error_freedom, a.error_variance, None, None),
        ]
    return _table(
        standings, one, "anova", f"{_where(standings, one)}: one-way ANOVA", columns, rows
    )


def rank_table(standings: Standings) -> Table:
    """The rank of each run in every contest, and its mean rank."""
    columns = [Column("run"), Column("mean rank", "number")]
    columns += [Column(one.column, "number") for one in standings.contests]
    ranks = [dict(zip(one.runs, one.ranks, strict=True)) for one in standings.contests]
    means = standings.mean_ranks
    rows = [(run, round(means[run], 2), *(r.get(run) for r in ranks)) for run in standings.runs]
    title = f"{standings.name}: ranks by criterion and measure"
    return Table(f"{standings.name}-ranks", title, tuple(columns), tuple(rows))


def tau_table(standings: Standings) -> Table:
    """Kendall's tau between the rankings by two measures."""
    columns = [Column("criterion"), Column("measures"), Column("tau", "effect")]
    for kind in ("bootstrap", "asymptotic"):
        columns += [Column(f"{kind} low", "effect"), Column(f"{kind} high", "effect")]
    rows = [
        (
            c.criterion,
            " vs ".join(measure_title(measure) for measure in c.measures),
            c.kendall.tau,
            *c.kendall.bootstrap,
            *c.kendall.asymptotic,
        )
        for c in standings.correlations
    ]
    title = f"{standings.name}: Kendall's tau between rankings, with intervals"
    return Table(f"{standings.name}-tau", title, tuple(columns), tuple(rows))


def power_table(standings: Standings) -> Table:
    """Discriminative power: the share of run pairs that each measure tells apart."""
    columns = [Column("criterion"), Column("measure"), Column("pairs", "number")]
    columns += [Column("significant", "number"), Column("share", "effect")]
    rows = []
    for one in standings.contests:
        pairs = len(one.runs) * (len(one.runs) - 1) // 2
        if pairs:
            share = discriminative_power(one.p, one.alpha)
            rows.append((one.criterion, one.title, pairs, round(share * pairs), share))
    title = f"{standings.name}: discriminative power"
    return Table(f"{standings.name}-power", title, tuple(columns), tuple(rows))


def _where(standings: Standings, one: Contest) -> str:
    return f"{standings.name}, {one.criterion}, {one.title}"


def _table(
    standings: Standings,
    one: Contest,
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[tuple[Any, ...]],
) -> Table:
    file = f"{standings.name}-{one.criterion}-{one.measure}-{name}"
    return Table(file, title, tuple(columns), tuple(rows))
