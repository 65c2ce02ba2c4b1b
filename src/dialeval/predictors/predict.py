"""Predicting with a model by its name, or with a folder that holds a trained one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from dialeval.core.collection import Collection
from dialeval.core.errors import UsageError, unknown_name
from dialeval.core.run import Run
from dialeval.predictors.bundled import DEFAULT, KINDS, Bundled
from dialeval.predictors.predictor import Predictor
from dialeval.predictors.registry import get, names
from dialeval.predictors.store import is_model, load_model


def find_model(model: str | Path, language: str | None = None) -> Predictor:
    """A predictor that is ready: bundled, a baseline, another package's, or a saved folder.

    `language` is the one of the dialogues, for bundled models; detected unless told.
    """
    if is_model(Path(model)):
        return _loaded(Path(model).resolve(), (Path(model) / "model.json").stat().st_mtime_ns)
    name = str(model)
    if name in (DEFAULT, *KINDS):
        return Bundled(name, language)
    if name not in names():
        raise unknown_name("model", name, [DEFAULT, *names(), "a folder of `dialeval train`"])
    kind = get(name)
    if kind.trainable:
        raise UsageError(f"model {name!r} must be trained first: dialeval train --model {name}")
    return kind()


@lru_cache(2)
def _loaded(folder: Path, _written: int) -> Predictor:
    """A saved model; workers ask for the same one again and again."""
    return load_model(folder)


def predict(
    collection: Collection, model: str | Path = DEFAULT, *, language: str | None = None
) -> Run:
    """The run of a model over all dialogues of a collection.

    >>> import dialeval as de
    >>> predict(de.sample("en"), "uniform").criteria
    ('A', 'S', 'E', 'nugget')
    """
    return find_model(model, language).predict(collection)
