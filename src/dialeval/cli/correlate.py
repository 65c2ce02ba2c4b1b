"""`dialeval correlate`: does a metric say what people say?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.evaluate import Missing
from dialeval.cli.options import JsonOption, RubricOption, SeedOption

if TYPE_CHECKING:
    from dialeval.report.tables import Table


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A row an item: .csv, .tsv, .json, .jsonl.")
    ],
    human: Annotated[
        list[str] | None,
        typer.Option("--human", help="The column of people's judgements; repeat it by rater."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A column, or bleu-1 to bleu-4, rouge-l, chrf; repeatable."),
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option("--judgements", help="The file with the --human columns, joined by id."),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option("--votes", help="A collection whose votes are the judgements, joined by id."),
    ] = None,
    criterion: Annotated[
        str | None, typer.Option("--criterion", help="The criterion of --votes.")
    ] = None,
    rubric: RubricOption = "helpdesk",
    id: Annotated[str, typer.Option("--id", help="The column that joins files.")] = "id",
    by: Annotated[
        str | None, typer.Option("--by", help="A column: correlate each of its values apart.")
    ] = None,
    reply: Annotated[str, typer.Option("--reply", help="The column of replies.")] = "reply",
    reference: Annotated[
        str, typer.Option("--reference", help="The column of references; may hold lists.")
    ] = "reference",
    missing: Annotated[
        Missing, typer.Option("--missing", help="Items without a score or a judgement.")
    ] = Missing.error,
    resamples: Annotated[
        int, typer.Option("--resamples", min=0, help="Bootstrap the intervals; 0: Fisher's.")
    ] = 0,
    level: Annotated[float, typer.Option("--level", help="Of the intervals.")] = 0.95,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the table: .csv, .md, .tex.")
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option("--scores", metavar="FILE", help="Write each item's scores as CSV."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Correlate metrics with people: Pearson, Spearman and Kendall, p-values and intervals.

    Without --metric: all columns of numbers, and BLEU, ROUGE-L and chrF if there are replies and
    references. Several raters are averaged, and compared among themselves in the row `human`.

    Example: dialeval correlate replies.jsonl --human rater1 --human rater2 --metric bleu-2
    """
    from dialeval.cli.output import print_json, write_csv
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import UsageError
    from dialeval.core.rows import field
    from dialeval.report.correlation import (
        correlation_table,
        correlations_with_people,
        joined,
        metrics_of,
        raters_of,
        raters_of_votes,
        read_items,
    )

    if (not human) == (votes is None):
        raise UsageError("give people's judgements: --human COLUMN, or --votes with --criterion")
    if (votes is None) != (criterion is None):
        raise UsageError("--votes and --criterion go together")
    if judgements is not None and not human:
        raise UsageError("--judgements needs the columns: --human COLUMN")
    if out is not None and out.suffix not in (".csv", ".md", ".tex"):
        raise UsageError(f"--out: found {out.name}, expected a name that ends in .csv, .md or .tex")
    items = read_items(file, id)
    if votes is not None and criterion is not None:
        collection = load(votes, rubric)
        found = raters_of_votes(collection, criterion)
        raters = joined(items, str(votes), collection.ids, found, missing.value)
    elif judgements is not None:
        other = read_items(judgements, id)
        found = raters_of(other, human or [], missing.value)
        raters = joined(items, str(judgements), other.ids, found, missing.value)
    else:
        raters = raters_of(items, human or [], missing.value)
    values = metrics_of(
        items,
        metric,
        reply=reply,
        reference=reference,
        other=[*(human or ()), id, *([by] if by else ())],
        missing=missing.value,
    )
    groups = None
    if by is not None:
        pairs = zip(items.numbers, items.rows, strict=True)
        groups = [str(field(row, by, number, items.origin)) for number, row in pairs]
    result = correlations_with_people(
        values, raters, groups, level=level, resamples=resamples, seed=seed
    )
    table = correlation_table(result, by, level)
    if scores is not None:
        rows = zip(items.ids, *(column.tolist() for column in values.values()), strict=True)
        write_csv(scores, ["id", *values], rows)
    if out is not None:
        _write(table, out)
    if json:
        print_json(table.to_records())
    else:
        _print(table, by)


def _write(table: Table, path: Path) -> None:
    from dialeval.core.files import write_text

    made = {".csv": table.to_csv, ".md": table.to_markdown, ".tex": table.to_latex}[path.suffix]()
    write_text(path, made)


def _print(table: Table, by: str | None) -> None:
    """The table for people: a row a coefficient."""
    from dialeval.cli.output import print_table

    first = 3 if by else 2
    rows: list[list[str]] = []
    for cells in table.cells:
        if rows:
            rows.append([])
        for place, name in enumerate(("Pearson", "Spearman", "Kendall")):
            value, p, low, high = cells[first + 4 * place : first + 4 * place + 4]
            head = cells[:first] if not place else [""] * first
            rows.append([*head, name, value, f"{low} .. {high}", p])
    heads = [*([by] if by else []), "metric", "n", "correlation", "value", "interval", "p"]
    numbers = (first - 1, first + 1, first + 2, first + 3)
    print_table(table.title, heads, rows, numbers=numbers)
