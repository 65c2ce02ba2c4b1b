"""`dialeval evaluate`: score runs against people's votes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import JsonOption, RubricOption, SeedOption, StrictOption

if TYPE_CHECKING:
    from dialeval.measures.evaluate import Score


class Missing(StrEnum):
    """What to do with dialogues that a run or the votes lack."""

    error = "error"
    skip = "skip"


def command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs: predicted files.")],
    gold: Annotated[Path, typer.Option("--gold", help="The collection with votes.")],
    rubric: RubricOption = "helpdesk",
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", help="Use this measure, not the rubric's; may be repeated."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            "--alpha", help="Weight of the first speaker's turns; the second has the rest."
        ),
    ] = None,
    missing: Annotated[
        Missing, typer.Option("--missing", help="Dialogues without prediction or votes.")
    ] = Missing.error,
    strict: StrictOption = False,
    log2: Annotated[
        bool, typer.Option("--log2", help="Give -log2 of the means, as the score server did.")
    ] = False,
    json: JsonOption = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV: a line a measure.")] = False,
    by_dialogue: Annotated[
        Path | None,
        typer.Option("--by-dialogue", metavar="FILE", help="Write each dialogue's scores as CSV."),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add the 95% intervals to --json.")
    ] = False,
    seed: SeedOption = 0,
) -> None:
    """Score runs against people's votes, by every measure of the rubric.

    Lower is better; 0 is perfect. Intervals are 95% bootstrap intervals of the mean.

    Example: dialeval evaluate run.json --gold train_data_en.json --by-dialogue scores.csv
    """
    from dialeval.cli.output import print_csv, print_json
    from dialeval.core.decode_collection import load
    from dialeval.core.decode_run import load_run
    from dialeval.core.errors import UsageError
    from dialeval.measures.evaluate import evaluate, minus_log2, nested

    if json and csv:
        raise UsageError("--json and --csv: choose one")
    collection = load(gold, rubric)
    names = run_names(runs)
    scores = [
        evaluate(
            load_run(path, collection.rubric, name=name, strict=strict),
            collection,
            measures=measure,
            alpha=alpha,
            missing=missing.value,
        )
        for path, name in zip(runs, names, strict=True)
    ]
    if by_dialogue is not None:
        write_by_dialogue(by_dialogue, scores)
    if json:
        values = []
        for score in scores:
            value = score.to_json(log2=log2)
            if intervals:
                bounds = score.intervals(seed=seed)
                if log2:
                    low = minus_log2({column: high for column, (_, high) in bounds.items()})
                    high = minus_log2({column: low for column, (low, _) in bounds.items()})
                    bounds = {column: (low[column], high[column]) for column in bounds}
                value["intervals"] = nested(bounds, score.rubric)
            values.append(value)
        print_json(values[0] if len(values) == 1 else dict(zip(names, values, strict=True)))
        return
    rows = _rows(scores, log2, seed)
    if csv:
        print_csv(["criterion", "measure", "run", "mean", "low", "high", "dialogues"], rows)
    else:
        _print_rows(rows, str(gold), log2)


def print_scores(scores: list[Score], gold: str) -> None:
    """The table of scores for people."""
    _print_rows(_rows(scores, log2=False, seed=0), gold, log2=False)


def run_names(paths: list[Path]) -> list[str]:
    """A name for each run: the file's stem, or its path where stems are not distinct."""
    from dialeval.core.files import stem_of

    stems = [stem_of(path) for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    if len(set(names)) < len(names):
        from dialeval.core.errors import UsageError

        raise UsageError(f"the same run twice: {max(names, key=names.count)}")
    return names


Row = tuple[str, str, str, float, float, float, int]


def _rows(scores: list[Score], log2: bool, seed: int) -> list[Row]:
    """A row a criterion, measure and run, in the rubric's order; runs from best to worst."""
    import numpy as np

    rows: list[Row] = []
    bounds = [score.intervals(seed=seed) for score in scores]
    columns = dict.fromkeys(column for score in scores for column in score.by_dialogue)
    order = {c.id: place for place, c in enumerate(scores[0].rubric.criteria)}
    for column in sorted(columns, key=lambda column: order[column.partition(".")[0]]):
        id, _, measure = column.partition(".")
        here: list[Row] = []
        for score, bound in zip(scores, bounds, strict=True):
            if column in score.mean:
                mean, (low, high) = score.mean[column], bound[column]
                if log2:
                    with np.errstate(divide="ignore"):
                        mean, high, low = (float(-np.log2(value)) for value in (mean, low, high))
                count = int((~np.isnan(score.by_dialogue[column])).sum())
                here.append((id, measure, score.run, mean, low, high, count))
        rows += sorted(here, key=lambda row: row[3], reverse=log2)
    return rows


def _print_rows(rows: list[Row], gold: str, log2: bool) -> None:
    from dialeval.cli.output import print_table

    cells: list[list[str]] = []
    last = ""
    for id, measure, run, mean, low, high, count in rows:
        head = f"{id} {measure.upper()}"
        if last and head != last:
            cells.append([])
        interval = f"{low:.4f} .. {high:.4f}"
        cells.append([head if head != last else "", run, f"{mean:.4f}", interval, str(count)])
        last = head
    value = "-log2 of mean" if log2 else "mean"
    columns = ["measure", "run", value, "95% interval", "dialogues"]
    print_table(f"Scores against {gold}", columns, cells, numbers=(2, 3, 4))


def write_by_dialogue(path: Path, scores: list[Score]) -> None:
    """`id`, then a column a criterion and measure; several runs get a column `run` before."""
    from dialeval.cli.output import write_csv

    columns = [*dict.fromkeys(column for score in scores for column in score.by_dialogue)]
    several = len(scores) > 1
    rows = []
    for score in scores:
        table = {column: values.tolist() for column, values in score.by_dialogue.items()}
        for place, id in enumerate(score.ids):
            values = [table[column][place] if column in table else None for column in columns]
            cells = ["" if value is None or value != value else value for value in values]
            rows.append([score.run, id, *cells] if several else [id, *cells])
    write_csv(path, ["run", "id", *columns] if several else ["id", *columns], rows)
