"""`dialeval validate`: is a file what it should be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import RubricOption, StrictOption


def command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A collection, a run or a rubric (.toml).")
    ],
    gold: Annotated[
        Path | None, typer.Option("--gold", help="The collection a run is for: ids and turns.")
    ] = None,
    rubric: RubricOption = "helpdesk",
    strict: StrictOption = False,
) -> None:
    """Check a collection, a run or a rubric; say what it holds, or where it is wrong.

    Example: dialeval validate run.json --gold test_data_en.json
    """
    from dialeval.core.decode_collection import is_collection, load
    from dialeval.core.decode_run import load_run
    from dialeval.core.rubric import load_rubric
    from dialeval.core.run import align
    from dialeval.measures.registry import measures_for

    if file.suffix == ".toml":
        found = load_rubric(file)
        for criterion in found.criteria:
            measures_for(criterion)
        criteria = ", ".join(c.id for c in found.criteria)
        print(f"{file}: a rubric, {found.name!r}: {criteria}")
        return
    if gold is None and is_collection(file):
        collection = load(file, rubric)
        turns, annotators = int(collection.offsets[-1]), len(collection.annotators)
        votes = f"votes of {annotators} annotators" if collection.votes else "no votes"
        print(f"{file}: a collection of {len(collection)} dialogues, {turns} turns, {votes}")
        return
    run = load_run(file, rubric, strict=strict)
    against = "; no --gold, so ids and numbers of turns are not checked"
    if gold is not None:
        align(run, load(gold, rubric))
        against = f", fits {gold}"
    print(f"{file}: a run over {len(run)} dialogues: {', '.join(run.criteria)}{against}")
