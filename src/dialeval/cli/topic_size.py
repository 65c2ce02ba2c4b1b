"""`dialeval topic-size`: how many dialogues a comparison needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import JsonOption, RubricOption

STEPS = 40
"""Points of the curve in the picture."""


def command(
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level.")] = 0.05,
    power: Annotated[
        float | None, typer.Option("--power", help="Probability to find the difference. [0.8]")
    ] = None,
    min_diff: Annotated[
        float | None,
        typer.Option("--min-diff", help="Smallest difference between best and worst to find."),
    ] = None,
    systems: Annotated[int, typer.Option("--systems", help="How many systems are compared.")] = 10,
    variance: Annotated[
        float | None, typer.Option("--variance", help="Variance of a system's scores.")
    ] = None,
    topics: Annotated[
        int | None, typer.Option("--topics", help="Ask what this many dialogues reach instead.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--runs", help="Estimate the variance from this folder of runs."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="Their collection with votes.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="Criterion and measure, such as A.rsnod.")
    ] = None,
    rubric: RubricOption = "helpdesk",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw n against minD: .svg, .pdf.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Topic set size design for one-way ANOVA: dialogues needed, or power or difference reached.

    Give --power and --min-diff for the number of dialogues; --topics and --min-diff for the power;
    --topics and --power for the difference.

    Example: dialeval topic-size --power 0.8 --min-diff 0.05 --systems 10 --variance 0.00485
    """
    from dialeval.cli.output import print_json
    from dialeval.core.errors import UsageError
    from dialeval.stats.topic_size import power as power_of
    from dialeval.stats.topic_size import reached_difference, topic_size

    if (variance is None) == (runs is None):
        raise UsageError("give either --variance, or --runs with --gold and --column")
    if variance is None:
        if gold is None or column is None or runs is None:
            raise UsageError("--runs needs --gold and --column")
        variance = estimated_variance(runs, gold, column, rubric)
    answer: dict[str, float | int] = {"alpha": alpha, "systems": systems, "variance": variance}
    if topics is None:
        if min_diff is None:
            raise UsageError("give --min-diff for the number of dialogues, or --topics")
        wanted = 0.8 if power is None else power
        n = topic_size(
            alpha=alpha, power=wanted, min_diff=min_diff, systems=systems, variance=variance
        )
        answer |= {"min_diff": min_diff, "power": wanted, "topics": n}
        line = f"{n}"
    elif min_diff is not None:
        if power is not None:
            raise UsageError("--topics asks for --power or for --min-diff: give one of them")
        reached = power_of(
            topics, alpha=alpha, min_diff=min_diff, systems=systems, variance=variance
        )
        answer |= {"min_diff": min_diff, "power": reached, "topics": topics}
        line = f"power {reached:.4f}"
    else:
        wanted = 0.8 if power is None else power
        difference = reached_difference(
            topics, alpha=alpha, power=wanted, systems=systems, variance=variance
        )
        answer |= {"min_diff": difference, "power": wanted, "topics": topics}
        line = f"min-diff {difference:.4f}"
    if plot is not None:
        _draw(plot, answer)
    if json:
        print_json(answer)
    else:
        print(line)


def estimated_variance(runs: list[Path], gold: Path, column: str, rubric: str) -> float:
    """The residual mean square V_E of runs' scores."""
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import unknown_name
    from dialeval.report.campaign import find_entries, gold_language, read_campaign
    from dialeval.report.results import compare_language
    from dialeval.stats.contest import Settings

    collection = load(gold, rubric)
    language = gold_language(gold, collection)
    campaign = read_campaign(find_entries(runs), {language: collection})
    entered = campaign.runs.get(language, {})
    comparison = compare_language(entered, collection, Settings(trials=1), language=language)
    for one in comparison.contests:
        if one.column == column and one.anova is not None:
            return one.anova.error_variance
    raise unknown_name("column", column, [one.column for one in comparison.contests])


def _draw(path: Path, answer: dict[str, float | int]) -> None:
    import numpy as np

    from dialeval.core.errors import UsageError
    from dialeval.report.figures import topic_size_picture
    from dialeval.report.provenance import Provenance
    from dialeval.stats.topic_size import topic_size

    if path.suffix not in (".svg", ".pdf"):
        raise UsageError(f"--plot: found {path.name}, expected a name that ends in .svg or .pdf")
    chosen = float(answer["min_diff"])
    differences = np.geomspace(chosen / 3, chosen * 3, STEPS).tolist()
    sizes = [
        topic_size(
            alpha=answer["alpha"],
            power=answer["power"],
            min_diff=difference,
            systems=int(answer["systems"]),
            variance=answer["variance"],
        )
        for difference in differences
    ]
    picture = topic_size_picture(path.stem, differences, sizes, (chosen, int(answer["topics"])))
    picture.write_as(path, Provenance.now(0, answer).line)
