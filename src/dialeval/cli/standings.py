"""Printing and writing what a comparison of runs gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dialeval.report.results import Results
    from dialeval.report.standings import Standings
    from dialeval.stats.contest import Settings


def give_standings(
    standings: Standings,
    settings: Settings,
    *,
    out: Path | None,
    json: bool,
    options: Mapping[str, Any],
    inputs: Iterable[Path],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write the results where wanted, and print them for people or for machines.

    `more` goes into the JSON beside them.
    """
    from dialeval.cli.output import print_json
    from dialeval.report.provenance import Provenance
    from dialeval.report.results import Results

    page = None
    if out is not None:
        tested = {"test": settings.test, "trials": settings.trials, "alpha": settings.alpha}
        provenance = Provenance.now(settings.seed, {**tested, **options}, inputs)
        page = write_results(Results([standings], settings, provenance), out)
    if json:
        print_json({**standings.to_json(), **(more or {})})
        return
    print_ranks(standings)
    if out is not None:
        print_written(out, page)


def write_results(
    results: Results, out: Path, pictures: Sequence[str] = ("svg", "pdf")
) -> Path | None:
    """Everything the installed extras can write; the report's path if it is among it."""
    from dialeval.cli.output import warn
    from dialeval.core.errors import MissingExtraError

    try:
        return results.report(out, pictures)
    except MissingExtraError as error:
        warn(f"tables only: {error}")
        return None


def print_written(out: Path, page: Path | None) -> None:
    """Where the results are."""
    if page:
        print(f"The report: {page}\nTables: {out / 'tables'}, pictures: {out / 'figures'}")
    else:
        print(f"Tables: {out / 'tables'}")


def print_ranks(comparison: Standings) -> None:
    """For each criterion and measure the best runs, and what they are better than."""
    from dialeval.cli.output import print_table

    rows: list[list[str]] = []
    several = len({one.measure for one in comparison.contests}) > 1
    for one in comparison.contests:
        digits = 4 if one.scores.max() <= 1 else 2
        worse: dict[str, int] = {}
        for better in one.better:
            worse[better.run] = worse.get(better.run, 0) + 1
        if rows:
            rows.append([])
        for place, (run, mean) in enumerate(zip(one.runs, one.means.tolist(), strict=True)):
            low, high = one.intervals[place]
            rows.append(
                [
                    "" if place else f"{one.criterion} {one.title}" if several else one.criterion,
                    str(one.ranks[place]),
                    run,
                    f"{mean:.{digits}f}",
                    f"{low:.{digits}f} .. {high:.{digits}f}",
                    str(worse.get(run, 0)),
                ]
            )
    columns = [
        "measure" if several else comparison.contests[0].measure,
        "rank",
        "run",
        "mean",
        "95% interval",
        "better than",
    ]
    title = (
        f"{comparison.name}: {len(comparison.runs)} runs over {comparison.size} {comparison.unit}s"
    )
    print_table(title, columns, rows, numbers=(1, 3, 4, 5))
