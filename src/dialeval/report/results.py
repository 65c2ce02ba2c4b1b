"""The results of comparing runs: an object that makes tables, files and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialeval.core.collection import Collection
from dialeval.core.errors import UsageError
from dialeval.core.files import write_text
from dialeval.core.language import collection_language
from dialeval.core.run import Distributions, Missing, Run, align
from dialeval.measures.evaluate import Score, evaluate
from dialeval.report.provenance import Provenance
from dialeval.report.published import PublishedScore, published_scores
from dialeval.report.standings import (
    Standings,
    anova_table,
    pair_table,
    power_table,
    rank_table,
    ranking_table,
    significance_table,
    tau_table,
)
from dialeval.report.tables import Column, Table, json_text
from dialeval.stats.contest import Contest, Settings, Test, contest, correlations


@dataclass(frozen=True, kw_only=True)
class Comparison(Standings):
    """Runs of one language that predict people's votes; the name is the language."""

    gold: Collection
    predicted: Mapping[str, Mapping[str, Distributions]]
    """The runs' distributions in the collection's order, by run and criterion."""

    @property
    def language(self) -> str:
        """The language of the dialogues."""
        return self.name

    @property
    def size(self) -> int:
        """How many dialogues the collection has."""
        return len(self.gold)

    def heading(self, criterion: str) -> str:
        """The criterion's id, and its name if the rubric has one."""
        name = self.gold.rubric.criterion(criterion).name.get("en", "")
        return f"{criterion}: {name}" if name else criterion


ABOUT = (
    "Runs compared with people's votes. Scores are distances between predicted and voted "
    "distributions: lower is better, 0 is perfect."
)


def compare_language(
    runs: Mapping[str, Run | Sequence[Run]],
    gold: Collection,
    settings: Settings,
    *,
    language: str | None = None,
    measures: Sequence[str] | None = None,
    missing: Missing = "error",
) -> Comparison:
    """Compare runs over one collection; a run may come in parts that cover different criteria."""
    if len(runs) < 2:
        raise UsageError(f"found {len(runs)} run, expected at least two to compare")
    scores: list[Score] = []
    predicted: dict[str, dict[str, Distributions]] = {}
    for name, parts in runs.items():
        predicted[name] = {}
        for part in [parts] if isinstance(parts, Run) else parts:
            twice = predicted[name].keys() & set(part.criteria)
            if twice:
                raise UsageError(f"run {name!r} has more than one file for {', '.join(twice)}")
            score = evaluate(part, gold, measures=measures, missing=missing)
            scores.append(Score(name, score.ids, score.by_dialogue, gold.rubric))
            predicted[name] |= align(part, gold, missing)
    order = {c.id: place for place, c in enumerate(gold.rubric.criteria)}
    found = dict.fromkeys(column for score in scores for column in score.by_dialogue)
    names = sorted(found, key=lambda column: order[column.partition(".")[0]])
    contests = [contest(column, scores, settings) for column in names]
    related = correlations(contests, settings)
    language = language or collection_language(gold)
    return Comparison(
        name=language,
        about=ABOUT,
        contests=contests,
        correlations=related,
        gold=gold,
        predicted=predicted,
    )


def compare(
    runs: Mapping[str, Run],
    gold: Collection,
    *,
    trials: int = 5000,
    alpha: float = 0.05,
    seed: int = 0,
    test: Test = "tukey",
    jobs: int = 1,
    reference: bool = False,
) -> Results:
    """Compare runs over one collection, with significance tests.

    >>> import dialeval as de
    >>> gold = de.sample("en")
    >>> runs = {name: de.predict(gold, model=name) for name in ("uniform", "popularity")}
    >>> de.compare(runs, gold, trials=200).comparisons[0].runs
    ('popularity', 'uniform')
    """
    settings = Settings(test=test, trials=trials, alpha=alpha, seed=seed, jobs=jobs)
    comparison = compare_language(runs, gold, settings)
    options = {"test": test, "trials": trials, "alpha": alpha, "reference": reference}
    return Results([comparison], settings, Provenance.now(seed, options), reference)


@dataclass(frozen=True)
class Results:
    """Comparisons, one a language, and everything that is made of them."""

    comparisons: Sequence[Standings]
    settings: Settings
    provenance: Provenance
    reference: bool = False
    """Published results stand beside the runs in the rankings."""
    teams: Mapping[str, str] = field(default_factory=dict)
    """The team of each run; by its name where it is not here."""

    @property
    def predicting(self) -> list[Comparison]:
        """The comparisons of runs that predict votes."""
        return [one for one in self.comparisons if isinstance(one, Comparison)]

    def tables(self) -> list[Table]:
        """All tables, in the order of a report."""
        tables = [self.team_table()] if self.predicting else []
        for comparison in self.comparisons:
            tables.append(rank_table(comparison))
            for one in comparison.contests:
                tables += [
                    self.ranking_table(comparison, one),
                    self.significance_table(comparison, one),
                    pair_table(comparison, one),
                    anova_table(comparison, one),
                ]
            tables += [tau_table(comparison), power_table(comparison)]
        return tables

    def ranking_table(self, comparison: Standings, one: Contest) -> Table:
        """Runs by their mean with 95% intervals, published ones among them if wanted."""
        published = self.published(comparison, one) if self.reference else None
        return ranking_table(comparison, one, published)

    def published(self, comparison: Standings, one: Contest) -> list[PublishedScore]:
        """Published scores of this language, criterion and measure."""
        wanted = (comparison.name, one.criterion, one.measure)
        return [
            row
            for row in (published_scores() if self.reference else ())
            if (row.language, row.criterion, row.measure) == wanted
        ]

    def significance_table(self, comparison: Standings, one: Contest) -> Table:
        """The list "this run is significantly better than these runs"."""
        return significance_table(comparison, one, self.settings.test)

    def team_table(self) -> Table:
        """How many runs each team has, by language and kind of judgement."""
        kinds = [(c, kind) for c in self.predicting for kind in _kinds(c)]
        count: dict[str, dict[int, int]] = {}
        for place, (comparison, kind) in enumerate(kinds):
            for run, predicted in comparison.predicted.items():
                if any(_kind(comparison, id) == kind for id in predicted):
                    team = count.setdefault(self.team(run), {})
                    team[place] = team.get(place, 0) + 1
        rows: list[tuple[Any, ...]] = [
            (team, *(count[team].get(place, 0) for place in range(len(kinds))))
            for team in sorted(count)
        ]
        rows.append(("total", *(sum(row[i + 1] for row in rows) for i in range(len(kinds)))))
        columns = [Column("team"), *(Column(f"{c.language} {kind}", "number") for c, kind in kinds)]
        return Table("teams", "Number of runs by team", tuple(columns), tuple(rows))

    def team(self, run: str) -> str:
        """The team of a run: as told, or what stands before the last - or _ of its name."""
        cut = max(run.rfind("-"), run.rfind("_"))
        return self.teams.get(run, run[:cut] if cut > 0 else run)

    def to_frame(self) -> Any:
        """The rankings as one pandas data frame: a row a language, criterion, measure and run."""
        return self.ranking().to_frame()

    def ranking(self) -> Table:
        """All rankings as one table."""
        columns = [
            Column("language"),
            Column("criterion"),
            Column("measure"),
            Column("rank", "number"),
        ]
        columns += [Column("run"), Column("mean", "score"), Column("low", "score")]
        columns += [Column("high", "score")]
        rows = [
            (comparison.name, one.criterion, one.measure, rank, run, mean, *interval)
            for comparison in self.comparisons
            for one in comparison.contests
            for rank, run, mean, interval in zip(
                one.ranks, one.runs, one.means.tolist(), one.intervals, strict=True
            )
        ]
        return Table("ranking", "Runs by mean score", tuple(columns), tuple(rows))

    def to_markdown(self) -> str:
        """All tables as Markdown."""
        return "\n".join(table.to_markdown() for table in self.tables() if table.rows)

    def to_latex(self) -> str:
        """All tables as LaTeX."""
        return "\n".join(table.to_latex() for table in self.tables() if table.rows)

    def to_json(self) -> dict[str, Any]:
        """All tables as plain values, with their provenance."""
        tables = {table.name: table.to_records() for table in self.tables()}
        return {"provenance": self.provenance.to_json(), "tables": tables}

    def write_tables(self, folder: Path) -> None:
        """`results.json`, and each table as CSV, Markdown and LaTeX in `tables/`."""
        write_text(folder / "results.json", json_text(self.to_json()))
        write_text(folder / "provenance.json", json_text(self.provenance.to_json()))
        for table in self.tables():
            table.write(folder / "tables", self.provenance)

    def report(
        self,
        folder: str | Path,
        pictures: Sequence[str] = ("svg", "pdf"),
        *,
        dialogues: bool = True,
    ) -> Path:
        """Tables, pictures in these formats and `report.html`; gives the page's path.

        Without `dialogues` it shows no dialogue and so no vote: for votes that stay hidden.
        """
        from dialeval.report.page import write_report

        self.write_tables(Path(folder))
        return write_report(self, Path(folder), pictures, dialogues=dialogues)


def _kinds(comparison: Comparison) -> list[str]:
    return [*dict.fromkeys(_kind(comparison, c.id) for c in comparison.gold.rubric.criteria)]


def _kind(comparison: Comparison, criterion: str) -> str:
    """Dialogue criteria are one kind together, each turn criterion is one of its own."""
    scope = comparison.gold.rubric.criterion(criterion).scope
    return "quality" if scope == "dialogue" else criterion
