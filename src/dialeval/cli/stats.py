"""`dialeval stats`: what a collection holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import CollectionArgument, JsonOption, RubricOption

if TYPE_CHECKING:
    from dialeval.mine.statistics import Statistics


def command(
    file: CollectionArgument,
    rubric: RubricOption = "helpdesk",
    language: Annotated[
        str | None,
        typer.Option("--language", help="en counts tokens, zh characters; else detected."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Count dialogues, annotators, posts, turns, lengths and labels of a collection.

    Example: dialeval stats train_data_en.json
    """
    from dialeval.cli.output import print_json
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import UsageError
    from dialeval.mine.statistics import statistics

    if language not in (None, "en", "zh"):
        raise UsageError(f"--language: found {language!r}, expected en or zh")
    result = statistics(load(file, rubric), language)
    if json:
        print_json(result)
    else:
        _print(str(file), result)


def _print(name: str, result: Statistics) -> None:
    from dialeval.cli.output import print_table

    rows = [
        ["dialogues", f"{result.dialogues:,}"],
        ["language", result.language],
        ["annotators", f"{result.annotators}"],
        ["annotators a dialogue", f"{result.votes_per_dialogue:g}"],
        ["turns", f"{result.turns:,}"],
        *([f"  by {speaker}", f"{n:,}"] for speaker, n in result.turns_by_speaker.items()),
        ["posts", f"{result.posts:,}"],
        ["turns a dialogue", f"{result.turns_per_dialogue:.3f}"],
        ["posts a dialogue", f"{result.posts_per_dialogue:.3f}"],
        [f"post length ({result.unit})", f"{result.post_length:.3f}"],
        [f"turn length ({result.unit})", f"{result.turn_length:.3f}"],
    ]
    print_table(name, ["", "value"], rows, numbers=(1,))
    most = max(result.turns_histogram.values())
    bars = [
        [str(turns), f"{count:,}", "█" * max(1, round(30 * count / most))]
        for turns, count in result.turns_histogram.items()
    ]
    print_table("Dialogues by number of turns", ["turns", "dialogues", ""], bars, numbers=(0, 1))
    if result.labels:
        labels: list[list[str]] = []
        for criterion, counts in result.labels.items():
            if labels:
                labels.append([])
            total = sum(counts.values())
            for place, (label, count) in enumerate(counts.items()):
                first = "" if place else criterion
                labels.append([first, label, f"{count:,}", f"{count / total:.1%}"])
        print_table("Votes", ["criterion", "label", "votes", "share"], labels, numbers=(1, 2, 3))
