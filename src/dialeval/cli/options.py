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
JobsOption = Annotated[int, typer.Option("--jobs", min=1, help="How many cores to use.")]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Refuse distributions whose sum is off 1 by more than 0.001."),
]
CollectionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A collection: .json, .jsonl, .gz, .parquet.")
]
TestOption = Annotated[
    TestName, typer.Option("--test", help="Randomised Tukey HSD, or pairwise tests with Holm.")
]
TrialsOption = Annotated[int, typer.Option("--trials", help="Trials of a randomised test.")]
AlphaOption = Annotated[float, typer.Option("--alpha", help="Significance level.")]
ResultsOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write tables, pictures and a report here."),
]
