"""`dialeval predict`: a run of a model over a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import (
    ColumnOption,
    FormatOption,
    GapOption,
    RubricOption,
    SpeakerOption,
    reading_of,
)
from dialeval.cli.train import LanguageOption


def command(
    model: Annotated[str, typer.Option("--model", help="A model's name, or a folder of `train`.")],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="The collection.")],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="Where the run is written.")],
    rubric: RubricOption = "helpdesk",
    language: LanguageOption = None,
    format: FormatOption = None,
    speaker: SpeakerOption = None,
    column: ColumnOption = None,
    gap: GapOption = None,
) -> None:
    """Predict the distributions of votes for every dialogue of a collection.

    `default`, `fast` and `accurate` come with the package, in English and Chinese; `dialeval
    models` lists all. `popularity` is an oracle that needs votes.

    Example: dialeval predict --model uniform --data test_data_en.json --out uniform.json
    """
    from dialeval.core.decode_collection import load_as
    from dialeval.core.encode import save_run
    from dialeval.core.files import format_for_writing
    from dialeval.predictors.predict import find_model

    format_for_writing(out)
    collection = load_as(data, rubric, reading_of(format, speaker, column, gap))
    run = find_model(model, language).predict(collection)
    save_run(run, out)
    print(f"{out}: {len(run)} dialogues, {', '.join(run.criteria)}, by {model}")
