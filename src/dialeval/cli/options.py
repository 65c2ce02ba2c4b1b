"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


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
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Refuse distributions whose sum is off 1 by more than 0.001."),
]
CollectionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A collection: .json, .jsonl, .gz, .parquet.")
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
