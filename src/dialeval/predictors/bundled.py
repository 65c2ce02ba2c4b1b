"""The models that come with the package: for each dialogue the one of its language."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.errors import MissingExtraError, UsageError, unknown_name
from dialeval.core.language import detect_language
from dialeval.core.rubric import Rubric
from dialeval.core.run import Distributions
from dialeval.predictors.network import without_small
from dialeval.predictors.predictor import Predictor
from dialeval.predictors.recipe import LANGUAGES, Recipe, recipe
from dialeval.predictors.store import load_model

KINDS = ("fast", "accurate")
DEFAULT = "default"
FAST_SHARE = 0.2
"""Of `fast` in the bundled `accurate`: the two err in different ways."""


def bundled_folder(name: str = "") -> Path:
    """Where the bundled models lie, or one of them: `fast-en`."""
    return Path(str(resources.files("dialeval"))) / "predictors" / "models" / name


def has_encoders() -> bool:
    """Whether what runs the encoders of `accurate` is installed."""
    return find_spec("onnxruntime") is not None and find_spec("tokenizers") is not None


def default_kind() -> str:
    """`accurate` where the extra `models` is installed, else `fast`."""
    return "accurate" if has_encoders() else "fast"


@lru_cache
def bundled_model(kind: str, language: str) -> Predictor:
    """The bundled model of a kind and a language."""
    folder = bundled_folder(f"{kind}-{language}")
    if not folder.is_dir():
        raise UsageError(f"model {kind!r} does not come with language {language!r}")
    return load_model(folder)


class Bundled(Predictor):
    """`fast` or `accurate`, in the language of each dialogue unless one is told."""

    def __init__(self, kind: str = DEFAULT, language: str | None = None) -> None:
        if kind not in (DEFAULT, *KINDS):
            raise unknown_name("bundled model", kind, (DEFAULT, *KINDS))
        if language not in (None, *LANGUAGES):
            raise unknown_name("language", str(language), LANGUAGES)
        if kind == "accurate" and not has_encoders():
            raise MissingExtraError("the accurate models", "models")
        self.kind = default_kind() if kind == DEFAULT else kind
        self.language = language

    @property
    def name(self) -> str:  # type: ignore[override]
        """What its runs are called."""
        return self.kind

    def predict_distributions(self, collection: Collection) -> dict[str, Distributions]:
        languages = np.array(
            [self.language or detect_language(d.text) for d in collection.dialogues]
        )
        predicted: dict[str, Distributions] = {}
        for language in np.unique(languages):
            places = np.flatnonzero(languages == language)
            turns = collection.turns_at(places)
            found = self._of_language(str(language), collection.select(places))
            for criterion in collection.rubric.criteria:
                of_dialogues = criterion.scope == "dialogue"
                size = len(collection) if of_dialogues else int(collection.offsets[-1])
                table = predicted.setdefault(
                    criterion.id, np.full((size, len(criterion.columns)), np.nan)
                )
                table[places if of_dialogues else turns] = found[criterion.id]
        return predicted

    def _of_language(self, language: str, collection: Collection) -> dict[str, Distributions]:
        found = bundled_model(self.kind, language).predict_distributions(collection)
        if self.kind == "fast":
            return found
        helper = bundled_model("fast", language).predict_distributions(collection)
        return blended(found, helper, collection.rubric, recipe("accurate", language))


def blended(
    main: dict[str, Distributions], helper: dict[str, Distributions], rubric: Rubric, recipe: Recipe
) -> dict[str, Distributions]:
    """Mostly the first distributions, with a share of the second, by criterion."""
    mixed = {}
    for id, values in main.items():
        both = (1 - FAST_SHARE) * values + FAST_SHARE * helper[id]
        mixed[id] = without_small(both, recipe.cutoff_of(rubric.criterion(id)))
    return mixed
