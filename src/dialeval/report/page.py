"""The report: one self-contained page, and its pictures as files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from dialeval.core.errors import MissingExtraError
from dialeval.core.files import write_text
from dialeval.report.dialogues import legend, readings
from dialeval.report.figures import (
    Picture,
    distribution_picture,
    matrix_picture,
    power_picture,
    ranking_picture,
)
from dialeval.report.results import Comparison, Results
from dialeval.report.standings import Standings, anova_table, rank_table, tau_table
from dialeval.stats.contest import TESTS, Contest


def render(template: str, **values: Any) -> str:
    """A template of ours with everything escaped that is not said to be safe."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("pages", "report") from None
    loader = PackageLoader("dialeval.report", "templates")
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    from markupsafe import Markup

    style = Markup(loader.get_source(environment, "style.css")[0])
    page: str = environment.get_template(template).render(style=style, **values)
    return page


def write_report(
    results: Results, folder: Path, formats: Sequence[str], *, dialogues: bool = True
) -> Path:
    """Write `report.html` and `figures/` in these formats; gives the page's path."""
    pictures: list[Picture] = []
    sections = [
        _section(results, comparison, pictures, dialogues) for comparison in results.comparisons
    ]
    page = render(
        "report.html",
        sections=sections,
        about=results.comparisons[0].about,
        teams=results.team_table() if results.predicting else None,
        settings=results.settings,
        test=TESTS[results.settings.test],
        reference=results.reference,
        provenance=results.provenance,
    )
    for picture in pictures:
        for ending in formats:
            path = folder / "figures" / f"{picture.name}.{ending}"
            picture.write_as(path, results.provenance.line)
    path = folder / "report.html"
    write_text(path, page)
    return path


def _section(
    results: Results, comparison: Standings, pictures: list[Picture], dialogues: bool
) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "title": comparison.title,
        "runs": len(comparison.runs),
        "size": comparison.size,
        "unit": comparison.unit,
        "ranks": rank_table(comparison),
        "taus": tau_table(comparison),
        "parts": [
            _part(results, comparison, criterion, [*contests], pictures)
            for criterion, contests in groupby(comparison.contests, key=lambda c: c.criterion)
        ],
        **_to_read(comparison, dialogues),
    }


def _to_read(comparison: Standings, dialogues: bool) -> dict[str, Any]:
    """The dialogues that are worth reading, if there are any and they may be shown."""
    if not dialogues or not isinstance(comparison, Comparison):
        return {"readings": ()}
    chosen = readings(comparison)
    return {
        "legend": legend(comparison.gold),
        "readings": [
            (
                "Where runs disagree most",
                "By the spread over runs of the score relative to the mean.",
                chosen["disagree"],
            ),
            (
                "Where all fail",
                "By the score of the best run relative to the mean of all.",
                chosen["fail"],
            ),
        ],
    }


def _part(
    results: Results,
    comparison: Standings,
    criterion: str,
    contests: Sequence[Contest],
    pictures: list[Picture],
) -> dict[str, Any]:
    def drawn(picture: Picture) -> str:
        pictures.append(picture)
        return picture.inline()

    shown = []
    for one in contests:
        base = f"{comparison.name}-{one.criterion}-{one.measure}"
        published = results.published(comparison, one)
        shown.append(
            {
                "measure": one.title,
                "ranking": drawn(ranking_picture(f"{base}-ranking", one, published)),
                "matrix": drawn(matrix_picture(f"{base}-p", one)) if len(one.runs) > 1 else "",
                "distribution": drawn(distribution_picture(f"{base}-distribution", one)),
                "ranking_table": results.ranking_table(comparison, one),
                "significance": results.significance_table(comparison, one),
                "anova": anova_table(comparison, one),
            }
        )
    tested = [one for one in contests if len(one.runs) > 2]
    power = power_picture(f"{comparison.name}-{criterion}-power", tested) if tested else None
    return {
        "criterion": criterion,
        "title": comparison.heading(criterion),
        "contests": shown,
        "power": drawn(power) if power else "",
    }
