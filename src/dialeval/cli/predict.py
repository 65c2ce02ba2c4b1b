"""`dialeval predict`: a run of a model over a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import RubricOption


def command(
    model: Annotated[str, typer.Option("--model", help="A model: uniform, popularity.")],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The collection.")],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="Where the run is written.")],
    rubric: RubricOption = "helpdesk",
) -> None:
    """Predict the distributions of votes for every dialogue of a collection.

    `uniform` needs dialogues only; `popularity` is an oracle that needs their votes.

    Example: dialeval predict --model uniform --data test_data_en.json --out uniform.json
    """
    from dialeval.core.decode_collection import load
    from dialeval.core.encode import save_run
    from dialeval.core.files import format_for_writing
    from dialeval.predictors import get

    format_for_writing(out)
    predictor = get(model)()
    run = predictor.predict(load(data, rubric))
    save_run(run, out)
    print(f"{out}: {len(run)} dialogues, {', '.join(run.criteria)}, by {model}")
