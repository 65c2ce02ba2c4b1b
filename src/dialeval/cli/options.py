"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RubricOption = Annotated[
    str, typer.Option("--rubric", help="A built-in rubric, or your own .toml or .json file.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of every random step.")]
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
