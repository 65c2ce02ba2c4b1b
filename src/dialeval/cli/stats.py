"""`dialeval stats`: what collections hold, and whether one is a translation of another."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    ColumnOption,
    FormatOption,
    GapOption,
    JsonOption,
    RubricOption,
    SpeakerOption,
    reading_of,
)

if TYPE_CHECKING:
    from dialeval.core.rubric import Rubric
    from dialeval.mine.parallel import Joined
    from dialeval.mine.statistics import Statistics
    from dialeval.report.tables import Table


class Style(StrEnum):
    """How the table is printed."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Collections, or exports of other programs."),
    ],
    parallel: Annotated[
        Path | None,
        typer.Option("--parallel", metavar="FILE", help="A translation, to be joined by id."),
    ] = None,
    rubric: RubricOption = "helpdesk",
    language: Annotated[
        str | None,
        typer.Option("--language", help="en counts tokens, zh characters; else detected."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="Where the dialogues come from, for the table.")
    ] = None,
    style: Annotated[Style, typer.Option("--style", help="How the table is printed.")] = Style.text,
    format: FormatOption = None,
    speaker: SpeakerOption = None,
    column: ColumnOption = None,
    gap: GapOption = None,
    json: JsonOption = False,
) -> None:
    """Count dialogues, annotators, posts, turns, lengths and labels: the papers' Tables 3 and 4.

    Several files stand side by side, as training and test set. --parallel joins a file with its
    translation and checks that turns, speakers and votes agree (status 1 if they do not).

    Example: dialeval stats train_data_cn.json test_data_cn.json
    """
    from dialeval.cli.output import print_json
    from dialeval.core.decode_collection import load_as
    from dialeval.core.errors import UsageError
    from dialeval.core.rubric import load_rubric
    from dialeval.mine.statistics import statistics

    if language not in (None, "en", "zh"):
        raise UsageError(f"--language: found {language!r}, expected en or zh")
    if parallel is not None and len(files) > 1:
        raise UsageError("--parallel: expected one file beside it")
    judged_by = load_rubric(rubric)
    reading = reading_of(format, speaker, column, gap)
    if parallel is not None:
        from dialeval.mine.parallel import join

        joined = join(load_as(files[0], judged_by, reading), load_as(parallel, judged_by, reading))
        _print_joined(files[0], parallel, joined, json)
        raise typer.Exit(int(joined.wrong))
    results = {str(file): statistics(load_as(file, judged_by, reading), language) for file in files}
    if json:
        print_json(results if len(files) > 1 else next(iter(results.values())))
        return
    table = _table(results, judged_by, source)
    if style is not Style.text:
        written = {"markdown": table.to_markdown, "latex": table.to_latex, "csv": table.to_csv}
        print(written[style](), end="")
        return
    _print(table)
    for name, result in results.items():
        _print_details(name if len(results) > 1 else "", result)


def _table(results: dict[str, Statistics], rubric: Rubric, source: str | None) -> Table:
    """The rows of the papers' tables, a column a file."""
    from dialeval.report.standings import LANGUAGES
    from dialeval.report.tables import Column, Table

    every = [*results.values()]
    unit = every[0].unit if len({s.unit for s in every}) == 1 else "characters or tokens"

    def labels(result: Statistics) -> list[str]:
        voted = [c for c in rubric.of_turns if c.id in result.labels]
        return [f"{c.id}: {', '.join(c.columns)}" for c in voted]

    rows: dict[str, list[str | None]] = {
        "source": [source or ", ".join(s.sources) or None for s in every],
        "language": [LANGUAGES.get(s.language, s.language) for s in every],
        "data timestamps": [_months(s.times) for s in every],
        "annotators": [f"{s.annotators}" for s in every],
        "annotators a dialogue": [f"{s.votes_per_dialogue:g}" for s in every],
        "dialogues": [f"{s.dialogues:,}" for s in every],
        "turns": [f"{s.turns:,}" for s in every],
        **{
            f"  by {speaker}": [f"{s.turns_by_speaker[speaker]:,}" for s in every]
            for speaker in rubric.speakers
        },
        "posts": [f"{s.posts:,}" for s in every],
        "turns a dialogue": [f"{s.turns_per_dialogue:.3f}" for s in every],
        "posts a dialogue": [f"{s.posts_per_dialogue:.3f}" for s in every],
        f"post length ({unit})": [f"{s.post_length:.3f}" for s in every],
        f"turn length ({unit})": [f"{s.turn_length:.3f}" for s in every],
        "dialogue criteria": [
            ", ".join(c.id for c in rubric.of_dialogues if c.id in s.labels) or None for s in every
        ],
        "turn labels": ["; ".join(labels(s)) or None for s in every],
    }
    files = [*results]
    title = files[0] if len(files) == 1 else "Statistics of the collections"
    heads = ["value"] if len(files) == 1 else files
    columns = (Column(""), *(Column(head) for head in heads))
    return Table("statistics", title, columns, tuple((name, *row) for name, row in rows.items()))


def _months(times: tuple[str, str] | None) -> str | None:
    """As the papers write it: Jan. 2013 - Apr. 2018."""
    from datetime import date

    if times is None:
        return None
    first, last = (f"{date.fromisoformat(day):%b %Y}" for day in times)
    return first if first == last else f"{first} - {last}"


def _print(table: Table) -> None:
    from dialeval.cli.output import print_table

    numbers = range(1, len(table.columns))
    print_table(table.title, [c.name for c in table.columns], table.cells, numbers=numbers)


def _print_details(name: str, result: Statistics) -> None:
    from dialeval.cli.output import print_table

    of = f"{name}: " if name else ""
    most = max(result.turns_histogram.values())
    bars = [
        [str(turns), f"{count:,}", "█" * max(1, round(30 * count / most))]
        for turns, count in result.turns_histogram.items()
    ]
    title = f"{of}Dialogues by number of turns"
    print_table(title, ["turns", "dialogues", ""], bars, numbers=(0, 1))
    if result.labels:
        labels: list[list[str]] = []
        for criterion, counts in result.labels.items():
            if labels:
                labels.append([])
            total = sum(counts.values())
            for place, (label, count) in enumerate(counts.items()):
                first = "" if place else criterion
                labels.append([first, label, f"{count:,}", f"{count / total:.1%}"])
        print_table(
            f"{of}Votes", ["criterion", "label", "votes", "share"], labels, numbers=(1, 2, 3)
        )


def _print_joined(first: Path, second: Path, joined: Joined, json: bool) -> None:
    from dialeval.cli.output import print_json, print_table

    if json:
        print_json(joined)
        return
    rows = [
        ["in both", f"{joined.both:,}", ""],
        [f"only in {first}", f"{joined.only_first:,}", ""],
        [f"only in {second}", *_counted(joined.only_second)],
        ["other turns or speakers", *_counted(joined.turns)],
        ["another number of posts in a turn", *_counted(joined.posts)],
        ["other votes", *_counted(joined.votes)],
        ["the same text in both", *_counted(joined.same_text)],
    ]
    verdict = "does not fit" if joined.wrong else "fits"
    title = f"{second} {verdict} {first}, joined by id"
    print_table(title, ["dialogues", "number", "such as"], rows, numbers=(1,))


def _counted(ids: list[str]) -> list[str]:
    return [f"{len(ids):,}", ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")]
