"""`dialeval crossval`: how good is a model on dialogues that it has not seen?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    EngineOption,
    JobsOption,
    JsonOption,
    RubricOption,
    SchedulerOption,
    SeedOption,
)
from dialeval.cli.train import (
    EmbeddingsOption,
    EncoderOption,
    LanguageOption,
    ParallelOption,
    SettingOption,
)

if TYPE_CHECKING:
    from dialeval.measures.evaluate import Score


def command(
    model: Annotated[str, typer.Option("--model", help="What to train: `dialeval models`.")],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="A collection with votes.")],
    folds: Annotated[int, typer.Option("--folds", help="How many parts.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help="Write the out-of-fold run.")
    ] = None,
    parallel: ParallelOption = None,
    embeddings: EmbeddingsOption = None,
    encoder: EncoderOption = None,
    rubric: RubricOption = "helpdesk",
    language: LanguageOption = None,
    settings: SettingOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
) -> None:
    """Cross-validate a model: fold by fold, and the means over all dialogues.

    The folds depend on the dialogues' ids and the seed. With --out the predictions are kept as a
    run, and finished folds are not done again after an interruption.

    Example: dialeval crossval --model fast --data train_data_en.json --out out-of-fold.json
    """
    import shutil
    from tempfile import TemporaryDirectory

    from dialeval.cli.evaluate import print_scores
    from dialeval.cli.output import print_json
    from dialeval.cli.train import fingerprint, trainable
    from dialeval.core.decode_collection import load
    from dialeval.core.encode import save_run
    from dialeval.core.files import format_for_writing
    from dialeval.engine import open_engine
    from dialeval.predictors.crossval import cross_validate

    keep = None
    if out is not None:
        format_for_writing(out)
        files = [path for path in (data, parallel, embeddings) if path]
        digest = fingerprint((model, seed, settings, folds, language, encoder), files)
        keep = out.parent / f".{out.name}.{digest}.folds"
    # A wrong name is told before anything is read.
    new = trainable(model, language, seed, settings, embeddings=embeddings, encoder=encoder)
    with open_engine(jobs, engine, scheduler) as workers, TemporaryDirectory() as folder:
        make = partial(
            trainable,
            model,
            language,
            seed,
            settings,
            embeddings=embeddings,
            encoder=encoder,
            cache=folder if "cache" in new.takes else None,
        )
        found = cross_validate(
            make,
            load(data, rubric),
            folds=folds,
            seed=seed,
            parallel=load(parallel, rubric) if parallel else None,
            engine=workers,
            done=_show,
            keep=keep,
        )
    if out is not None:
        save_run(found.run, out)
    if keep is not None:
        shutil.rmtree(keep, ignore_errors=True)
    if json:
        by_fold = [score.to_json() for score in found.folds]
        print_json({"mean": found.score.to_json(), "folds": by_fold})
    else:
        print_scores([found.score], f"{data}, {folds} folds")


def _show(fold: int, score: Score) -> None:
    """One line a fold on standard error."""
    import sys

    means = ", ".join(f"{column} {value:.4f}" for column, value in score.mean.items())
    print(f"fold {fold + 1}: {means}", file=sys.stderr, flush=True)
