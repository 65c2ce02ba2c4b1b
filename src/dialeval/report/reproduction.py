"""Systems that were built again beside what their teams published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialeval.measures.evaluate import Score
from dialeval.report.published import published_scores
from dialeval.report.tables import Column, Table


@dataclass(frozen=True)
class Rebuilt:
    """A system's scores here."""

    language: str
    run: str
    score: Score
    balanced: dict[str, float]
    """Means with the same weight for every number of turns."""
    seconds: float
    """Of one training, the mean."""
    remarks: Sequence[str]


def reproduction_table(campaign: str, systems: Sequence[Rebuilt]) -> Table:
    """A row a language, run, criterion and measure: our mean, the published one, their ratio."""
    known = {
        (row.language, row.run.lower(), f"{row.criterion}.{row.measure}"): row.score
        for row in published_scores()
        if row.collection == campaign
    }
    rows = []
    for one in systems:
        for column, mean in one.score.mean.items():
            published = known.get((one.language, one.run.lower(), column))
            behind = None if published is None else f"{mean / published - 1:+.1%}"
            figures = (mean, one.balanced[column], published, behind)
            criterion, _, measure = column.rpartition(".")
            about = (one.seconds, "; ".join(one.remarks))
            rows.append((one.language, one.run, criterion, measure, *figures, *about))
    columns = (
        Column("language"),
        Column("run"),
        Column("criterion"),
        Column("measure"),
        Column("mean", "score"),
        Column("turns balanced", "score"),
        Column("published", "score"),
        Column("behind"),
        Column("seconds", "number"),
        Column("remarks"),
    )
    return Table("reproduction", f"Systems of {campaign}, built again", columns, tuple(rows))
