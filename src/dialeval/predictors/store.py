"""Saved models: a folder with the weights, the settings and a card."""

from __future__ import annotations

import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dialeval import __version__
from dialeval.core.errors import DataError, UsageError
from dialeval.predictors.card import Card, card_text
from dialeval.predictors.predictor import Predictor

FORMAT = 1


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """What `model.json` holds."""

    format: int
    predictor: str
    """The class, as module:attribute."""
    version: str
    state: dict[str, Any]
    card: Card


def save_model(
    predictor: Predictor, folder: Path, card: Card, files: dict[str, bytes] | None = None
) -> None:
    """Write a model folder, whole or not at all; one that is there is replaced.

    `files` are put beside the model, such as the pictures of its card.
    """
    if folder.exists() and not is_model(folder) and (folder.is_file() or any(folder.iterdir())):
        raise UsageError(f"{folder}: there already, and not a model")
    kind = type(predictor)
    saved = Saved(
        format=FORMAT,
        predictor=f"{kind.__module__}:{kind.__qualname__}",
        version=__version__,
        state=predictor.state(),
        card=card,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        beside.chmod(0o755)
        text = msgspec.json.format(msgspec.json.encode(saved), indent=1)
        (beside / "model.json").write_bytes(text)
        np.savez(beside / "weights.npz", **predictor.arrays())
        (beside / "CARD.md").write_text(card_text(card))
        for name, content in (files or {}).items():
            (beside / name).write_bytes(content)
        if folder.exists():
            shutil.rmtree(folder)
        beside.replace(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def is_model(folder: Path) -> bool:
    """Whether a folder holds a saved model."""
    return (folder / "model.json").is_file()


def load_saved(folder: Path) -> Saved:
    """The description of a saved model."""
    path = folder / "model.json"
    try:
        saved = msgspec.json.decode(path.read_bytes(), type=Saved)
    except OSError as error:
        raise DataError(str(path), "", f"no readable file ({error.strerror})", "a model") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(str(path), "", f"what does not fit ({error})", "a model") from None
    if saved.format != FORMAT:
        raise DataError(str(path), "format", str(saved.format), str(FORMAT))
    return saved


def load_model(folder: Path) -> Predictor:
    """The predictor that was saved in a folder."""
    saved = load_saved(folder)
    module, _, attribute = saved.predictor.partition(":")
    try:
        kind = getattr(import_module(module), attribute)
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            weights = {name: arrays[name] for name in arrays.files}
    except (ImportError, AttributeError, OSError, ValueError) as error:
        raise DataError(str(folder), "", f"what cannot be loaded ({error})", "a model") from None
    if not (isinstance(kind, type) and issubclass(kind, Predictor)):
        raise DataError(str(folder), "predictor", saved.predictor, "a Predictor class")
    predictor: Predictor = kind.restored(saved.state, weights)
    return predictor
