"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dialeval.core.formats.reading import Reading


class TestName(StrEnum):
    """The significance tests."""

    tukey = "tukey"
    randomisation = "randomisation"
    t = "t"


RubricOption = Annotated[
    str, typer.Option("--rubric", help="A built-in rubric, or your own .toml or .json file.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of every random step.")]
ResamplesOption = Annotated[
    int, typer.Option("--resamples", min=0, help="Bootstrap samples of intervals; 0 for none.")
]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, help="How many cores to use.")]
EngineOption = Annotated[
    str, typer.Option("--engine", help="Where work runs: local, or dask with --scheduler.")
]
SchedulerOption = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786."),
]
PartsOption = Annotated[
    str | None,
    typer.Option("--parts", help="Files of an output folder: jsonl, jsonl.gz, parquet."),
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Refuse distributions whose sum is off 1 by more than 0.001."),
]
CollectionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A collection: .json, .jsonl, .gz, .parquet.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="dialogues, tickets, whatsapp, chats or csv; else found out.",
    ),
]
SpeakerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--speaker",
        metavar="NAME=SPEAKER",
        help="An author or role in the file is this speaker of the rubric; * is anybody else.",
    ),
]
ColumnOption = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="WHAT=NAME",
        help="Column of a table for the conversation, author, role, text or time.",
    ),
]
KeepOption = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="FIELD", help="A field of an export to keep; repeatable."),
]
GapOption = Annotated[
    float | None,
    typer.Option("--gap", min=0, metavar="HOURS", help="A silence that ends a WhatsApp dialogue."),
]
ServerOption = Annotated[
    str, typer.Option("--server", envvar="DIALEVAL_SERVER", help="The address of the server.")
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", envvar="DIALEVAL_TOKEN", help="A token, not the saved one."),
]
InsecureOption = Annotated[
    bool, typer.Option("--insecure", help="Send tokens over plain http to other machines.")
]
SlugArgument = Annotated[str, typer.Argument(metavar="TASK", help="The task's address: its slug.")]
LanguageOption = Annotated[
    str, typer.Option("--language", help="english, chinese, or the code of another language.")
]
LOCAL_SERVER = "http://127.0.0.1:8000"
TestOption = Annotated[
    TestName, typer.Option("--test", help="Randomised Tukey HSD, or pairwise tests with Holm.")
]
TrialsOption = Annotated[int, typer.Option("--trials", help="Trials of a randomised test.")]
AlphaOption = Annotated[float, typer.Option("--alpha", help="Significance level.")]
ResultsOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write tables, pictures and a report here."),
]


def reading_of(
    format: str | None,
    speaker: list[str] | None,
    column: list[str] | None = None,
    gap: float | None = None,
    keep: list[str] | None = None,
) -> Reading:
    """How files are read, from the options."""
    from dialeval.core.formats.reading import Reading

    return Reading(
        format=format,
        speakers=pairs(speaker, "--speaker"),
        columns=pairs(column, "--column"),
        keep=tuple(keep or ()),
        gap=gap,
    )


def pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """What a repeated option NAME=VALUE says."""
    from dialeval.core.errors import UsageError

    found = {}
    for text in given or ():
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise UsageError(f"{option}: found {text!r}, expected NAME=VALUE")
        found[name] = value
    return found
