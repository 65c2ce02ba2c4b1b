"""`dialeval train`: a model learns from people's votes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialeval.cli.options import RubricOption, SeedOption

if TYPE_CHECKING:
    from dialeval.predictors.predictor import Epoch, Predictor

SettingOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the recipe; may be repeated."),
]
ParallelOption = Annotated[
    Path | None,
    typer.Option(
        "--parallel", metavar="FILE", help="The same dialogues, and more, in another language."
    ),
]
EmbeddingsOption = Annotated[
    Path | None,
    typer.Option(
        "--embeddings",
        metavar="FILE",
        help="Word vectors: GloVe, word2vec, fastText; else learned.",
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        "--encoder", metavar="DIR", help="A Hugging Face folder; else the bundled encoder."
    ),
]
LanguageOption = Annotated[
    str | None, typer.Option("--language", help="en or zh; detected unless told.")
]


def command(
    model: Annotated[str, typer.Option("--model", help="What to train: `dialeval models`.")],
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="A collection with votes.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model is written.")],
    dev: Annotated[
        Path | None,
        typer.Option("--dev", metavar="FILE", help="Keep the epoch that is best here, stop early."),
    ] = None,
    parallel: ParallelOption = None,
    embeddings: EmbeddingsOption = None,
    encoder: EncoderOption = None,
    rubric: RubricOption = "helpdesk",
    language: LanguageOption = None,
    settings: SettingOption = None,
    seed: SeedOption = 0,
) -> None:
    """Train a model on a collection with votes, in any rubric.

    An interrupted training goes on where it stopped when the same command is given again.

    Example: dialeval train --model fast --data train_data_en.json --out my-model
    """
    import time

    from dialeval.core.decode_collection import load
    from dialeval.measures.evaluate import evaluate
    from dialeval.predictors.card import Card, data_of, installed, scores_of
    from dialeval.predictors.store import save_model

    collection = load(data, rubric)
    others = {name: load(path, rubric) for name, path in _given(dev=dev, parallel=parallel)}
    predictor = trainable(model, language, seed, settings, embeddings=embeddings, encoder=encoder)
    files = [data, *(path for _, path in _given(dev=dev, parallel=parallel))]
    digest = fingerprint((model, seed, settings, language), files)
    checkpoint = out.parent / f".{out.name}.{digest}.checkpoint"
    out.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    predictor.fit(
        collection,
        others.get("dev"),
        parallel=others.get("parallel"),
        progress=_show,
        checkpoint=checkpoint,
    )
    scores = {}
    if "dev" in others:
        mean = evaluate(predictor.predict(others["dev"]), others["dev"], missing="skip").mean
        scores[f"On {dev.name if dev else ''}"] = scores_of(mean)
    card = Card(
        model=model,
        about=(type(predictor).__doc__ or "").splitlines()[0],
        language=predictor.language_of(collection),
        rubric=collection.rubric.name,
        data=[data_of(data, collection)]
        + ([data_of(parallel, others["parallel"])] if parallel else []),
        seed=seed,
        seconds=round(time.perf_counter() - start, 1),
        scores=scores,
        notes=predictor.notes(),
        dependencies=installed(),
    )
    save_model(predictor, out, card)
    checkpoint.unlink(missing_ok=True)
    print(f"{out}: {model}, trained on {len(collection)} dialogues in {card.seconds:.0f} s")


def trainable(
    model: str, language: str | None, seed: int, settings: list[str] | None, **options: Any
) -> Predictor:
    """A new predictor of this name, to be fitted; `options` are of those that it takes."""
    from dialeval.core.errors import UsageError
    from dialeval.predictors.registry import get

    kind = get(model)
    if not kind.trainable:
        raise UsageError(f"model {model!r} has nothing to learn")
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in kind.takes:
            raise UsageError(f"model {model!r} takes no --{name}")
    return kind.new(language=language, seed=seed, **given, **setting_values(settings))


def setting_values(settings: list[str] | None) -> dict[str, str]:
    """What `--set` says."""
    from dialeval.core.errors import UsageError

    values = {}
    for setting in settings or []:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set: found {setting!r}, expected NAME=VALUE")
        values[name] = value
    return values


def _given(**paths: Path | None) -> list[tuple[str, Path]]:
    return [(name, path) for name, path in paths.items() if path is not None]


def fingerprint(options: object, files: list[Path]) -> str:
    """A name for everything that training depends on."""
    import hashlib

    digest = hashlib.sha256(repr(options).encode())
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _show(epoch: Epoch) -> None:
    """One line an epoch on standard error."""
    import sys

    dev = "" if epoch.dev is None else f", dev {epoch.dev:.4f} of the first epoch"
    line = f"epoch {epoch.number}/{epoch.epochs}: loss {epoch.loss:.4f}{dev}"
    print(line, file=sys.stderr, flush=True)
