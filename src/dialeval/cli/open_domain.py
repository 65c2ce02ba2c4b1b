"""`dialeval open-domain`: chatbots judged by points, in single replies or whole conversations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.evaluate import Missing
from dialeval.cli.groups import group
from dialeval.cli.options import (
    AlphaOption,
    JobsOption,
    JsonOption,
    ResultsOption,
    RubricOption,
    SeedOption,
    TestName,
    TestOption,
    TrialsOption,
)

if TYPE_CHECKING:
    from dialeval.core.collection import Collection
    from dialeval.stats.contest import Settings

SINGLE, MULTI = "open-domain-single", "open-domain-multi"

app = group(
    default="score",
    help="Points of chatbots by people's judgements: sheets of replies, or conversations.",
)
MissingOption = Annotated[Missing, typer.Option("--missing", help="Questions that a system lacks.")]
PointsOption = Annotated[
    Path | None,
    typer.Option("--by-question", metavar="FILE", help="Write the points of each as CSV."),
]


@app.command("score")
def score(
    sheets: Annotated[
        list[Path],
        typer.Argument(metavar="SHEET...", help="One a system: .xlsx, .csv, or a collection."),
    ],
    rubric: RubricOption = SINGLE,
    missing: MissingOption = Missing.error,
    test: TestOption = TestName.tukey,
    trials: TrialsOption = 5000,
    alpha: AlphaOption = 0.05,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    by_question: PointsOption = None,
    out: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Score single replies: each aspect of 100, the overall of 500; rank systems, test differences.

    A sheet has the columns A question, B reply, D annotators, E to O how many said yes. Closing
    rows of totals are checked: where they differ, the status is 1.

    Example: dialeval open-domain score ours.xlsx theirs.xlsx --out results
    """
    from dialeval.cli.evaluate import run_names
    from dialeval.cli.output import warn
    from dialeval.core.cells import is_spreadsheet
    from dialeval.core.decode_collection import load
    from dialeval.core.rubric import load_rubric
    from dialeval.core.sheet import load_sheet
    from dialeval.stats.contest import Settings

    settings = Settings(test.value, trials, alpha, seed, jobs)
    known = load_rubric(rubric)
    systems: dict[str, Collection] = {}
    differences: list[str] = []
    for path, name in zip(sheets, run_names(sheets), strict=True):
        if is_spreadsheet(path):
            sheet = load_sheet(path, known)
            systems[name] = sheet.collection
            differences += [f"{path}: {difference}" for difference in sheet.differences]
        else:
            systems[name] = load(path, known)
    _give(systems, settings, missing, sheets, by_question, out, json, differences, unit="question")
    for difference in differences:
        warn(difference)
    if differences:
        raise typer.Exit(1)


@app.command("multi")
def multi(
    transcripts: Annotated[
        list[Path],
        typer.Argument(metavar="TRANSCRIPTS...", help="One a system: collections with votes."),
    ],
    rubric: RubricOption = MULTI,
    missing: MissingOption = Missing.error,
    test: TestOption = TestName.tukey,
    trials: TrialsOption = 5000,
    alpha: AlphaOption = 0.05,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    by_question: PointsOption = None,
    out: ResultsOption = None,
    json: JsonOption = False,
) -> None:
    """Score conversations: four aspects, at most 40 points a conversation; rank and test systems.

    The conversations of all systems that begin with the same sentence have the same id.

    Example: dialeval open-domain multi ours.jsonl theirs.jsonl
    """
    from dialeval.cli.evaluate import run_names
    from dialeval.core.decode_collection import load
    from dialeval.core.rubric import load_rubric
    from dialeval.stats.contest import Settings

    settings = Settings(test.value, trials, alpha, seed, jobs)
    known = load_rubric(rubric)
    names = run_names(transcripts)
    systems = {name: load(path, known) for path, name in zip(transcripts, names, strict=True)}
    _give(systems, settings, missing, transcripts, by_question, out, json, None, "conversation")


@app.command("sheet")
def sheet(
    collection: Annotated[
        Path, typer.Argument(metavar="FILE", help="Replies with or without votes: .json, .jsonl.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="SHEET", help=".xlsx or .csv.")],
    rubric: RubricOption = SINGLE,
) -> None:
    """Write a collection of replies as a sheet; one without votes becomes a form to fill in.

    Example: dialeval open-domain sheet replies.jsonl --out replies.xlsx
    """
    from dialeval.core.decode_collection import load
    from dialeval.core.sheet import save_sheet

    replies = load(collection, rubric)
    save_sheet(replies, out)
    print(f"{out}: {len(replies)} replies")


def _give(
    systems: dict[str, Collection],
    settings: Settings,
    missing: Missing,
    inputs: list[Path],
    by_question: Path | None,
    out: Path | None,
    json: bool,
    differences: list[str] | None,
    unit: str,
) -> None:
    """Compare the systems' points, write and print the results."""
    from dialeval.cli.evaluate import write_by_dialogue
    from dialeval.cli.standings import give_standings
    from dialeval.measures.points import evaluate_points, most_points
    from dialeval.report.standings import standings_of

    rubric = next(iter(systems.values())).rubric
    if missing is Missing.error:
        _check_same(systems)
    scores = [evaluate_points(collection, name) for name, collection in systems.items()]
    most = most_points(rubric)
    limits = ", ".join(f"{aspect} {points:g}" for aspect, points in most.items())
    about = f"Points by people's judgements: higher is better. The most: {limits}."
    standings = standings_of(rubric.name, about, scores, settings, unit=unit)
    if by_question is not None:
        write_by_dialogue(by_question, scores)
    more = {"most": most} if differences is None else {"most": most, "differences": differences}
    give_standings(
        standings,
        settings,
        out=out,
        json=json,
        options={"rubric": rubric.name, "missing": missing.value},
        inputs=inputs,
        more=more,
    )
    if not json:
        print(f"The most: {limits}")


def _check_same(systems: dict[str, Collection]) -> None:
    """All systems were asked the same."""
    from dialeval.core.errors import DataError, shown

    first = next(iter(systems.values()))
    for other in systems.values():
        for one, two in ((first, other), (other, first)):
            lacks = next((id for id in one.ids if id not in two.index), None)
            if lacks is not None:
                expected = f"what {one.source} has (--missing skip compares what all have)"
                raise DataError(two.source, "", f"nothing for {shown(lacks)}", expected)
