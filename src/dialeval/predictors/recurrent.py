"""The predictor that is trained: turn features and a recurrent network over the turns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.errors import DataError, UsageError
from dialeval.core.language import collection_language
from dialeval.core.rubric import Rubric
from dialeval.core.run import Distributions
from dialeval.predictors.encoder import bundled_encoder
from dialeval.predictors.features import TurnFeatures, exact_columns, fit_features, in_8_bits
from dialeval.predictors.network import Head, Weights, heads_of, predict_distributions
from dialeval.predictors.predictor import Epoch, Predictor, run_of
from dialeval.predictors.recipe import LANGUAGES, Recipe, recipe

if TYPE_CHECKING:
    from dialeval.predictors.training import Lesson


class Recurrent(Predictor):
    """A bidirectional GRU over turns with a head for every annotator."""

    preset = ""
    trainable = True

    def __init__(self, language: str | None = None, seed: int = 0, **settings: Any) -> None:
        if language not in (None, *LANGUAGES):
            raise UsageError(
                f"language: found {language!r}, expected one of {', '.join(LANGUAGES)}"
            )
        self.language, self.seed, self.settings = language, seed, settings

    @classmethod
    def new(cls, *, language: str | None = None, seed: int = 0, **settings: Any) -> Recurrent:
        return cls(language, seed, **settings)

    def fit(
        self,
        collection: Collection,
        dev: Collection | None = None,
        *,
        parallel: Collection | None = None,
        progress: Callable[[Epoch], None] | None = None,
        checkpoint: Path | None = None,
    ) -> Recurrent:
        """Learn from the votes of a collection; with `dev`, keep the epoch that is best there.

        `parallel` holds the dialogues, under the same ids, in another language, and more: turns
        that both have teach a map from its features to ours, and its other dialogues join in.
        """
        from dialeval.predictors.training import joined, lesson, train

        if not collection.votes:
            raise DataError(collection.source, "", "no votes", "a collection to learn from")
        self.recipe = self._recipe(self.language_of(collection))
        if self.recipe.layers:
            bundled_encoder(self.recipe.language).remember()
        self.rubric = collection.rubric
        self.heads = heads_of(collection.rubric, len(collection.annotators))
        self.features = fit_features(collection, self.recipe)
        material = lesson(collection, self.features.transform(collection), self.heads)
        if parallel is not None:
            material = joined(material, self._mapped(collection, parallel, material))
        material = _balanced(material, self.recipe.length_balance)
        self.weights = train(
            material,
            self.recipe,
            self.heads,
            seed=self.seed,
            score=self._scorer(dev) if dev is not None else None,
            progress=progress,
            checkpoint=checkpoint,
        )
        self._restore(self.arrays())  # as it will be stored: a saved model predicts the same
        return self

    def language_of(self, collection: Collection) -> str:
        return self.language or collection_language(collection)

    def _recipe(self, language: str) -> Recipe:
        made = recipe(self.preset, language)
        known = set(made.__struct_fields__) - {"name", "language"}
        for name in self.settings:
            if name not in known:
                raise UsageError(f"setting {name!r}: expected one of {', '.join(sorted(known))}")
        try:
            values = {**msgspec.to_builtins(made), **self.settings}
            return msgspec.convert(values, Recipe, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"settings: {error}") from None

    def _mapped(self, collection: Collection, parallel: Collection, material: Lesson) -> Lesson:
        """The lessons of dialogues that only the parallel collection has, in our features."""
        from dialeval.predictors.training import lesson

        language = collection_language(parallel)
        bundled_encoder(language).remember()
        shared = [id for id in collection.ids if id in parallel.index]
        if not shared:
            expected = f"ids of {collection.source} among them"
            raise DataError(parallel.source, "", "no dialogue in both", expected)
        features = fit_features(parallel, recipe("accurate", language))
        theirs = features.transform(parallel)
        own = collection.turns_at(np.array([collection.index[id] for id in shared]))
        others = parallel.turns_at(np.array([parallel.index[id] for id in shared]))
        if own.size != others.size:
            raise DataError(parallel.source, "", "other numbers of turns", "the same dialogues")
        new = parallel.select(
            [i for i, id in enumerate(parallel.ids) if id not in collection.index]
        )
        rows = parallel.turns_at(np.array([parallel.index[id] for id in new.ids], np.intp))
        mapped = _ridge(theirs[others], material.features[own], theirs[rows], self.recipe)
        # Place and speaker need no map: they are the same numbers, scaled as ours.
        exact = exact_columns(self.features, len(collection.rubric.speakers))
        ours = self.features.mean.size - self.features.structure + exact
        raw_at = features.mean.size - features.structure + exact
        raw = theirs[rows][:, raw_at] / features.scale[raw_at] + features.mean[raw_at]
        mapped[:, ours] = (raw - self.features.mean[ours]) * self.features.scale[ours]
        return lesson(new, mapped, self.heads)

    def _scorer(self, dev: Collection) -> Callable[[Weights], float]:
        """The mean of all measures of a dev collection, each relative to the first epoch's."""
        from dialeval.measures.evaluate import evaluate

        features = self.features.transform(dev)
        first: dict[str, float] = {}

        def score(weights: Weights) -> float:
            predicted = predict_distributions(weights, self.heads, features, dev, self.recipe)
            means = evaluate(run_of(self.name, dev, predicted), dev, missing="skip").mean
            first.update({column: first.get(column, mean) for column, mean in means.items()})
            return sum(means[c] / max(first[c], 1e-9) for c in means) / len(means)

        return score

    def predict_distributions(self, collection: Collection) -> dict[str, Distributions]:
        if not collection.rubric.same_form(self.rubric):
            raise UsageError(
                f"the model was trained for rubric {self.rubric.name!r}, the collection has "
                f"{collection.rubric.name!r}"
            )
        features = self.features.transform(collection)
        return predict_distributions(self.weights, self.heads, features, collection, self.recipe)

    def arrays(self) -> dict[str, Any]:
        """The weights for storing: the projection in 8 bits, the rest in 16."""
        stored: dict[str, Any] = {
            f"network.{name}": value.astype(np.float16) for name, value in self.weights.items()
        }
        coarse, scale = in_8_bits(self.weights["project.w"])
        stored |= {"network.project.w": coarse, "network.project.w.scale": scale}
        stored |= {f"features.{name}": value for name, value in self.features.arrays().items()}
        return stored

    def _restore(self, arrays: dict[str, Any]) -> None:
        network = _below("network.", arrays)
        scale = network.pop("project.w.scale")
        self.weights = {name: value.astype(np.float32) for name, value in network.items()}
        self.weights["project.w"] *= scale
        self.features = TurnFeatures.from_arrays(self.recipe, _below("features.", arrays))

    def state(self) -> dict[str, Any]:
        """What is stored beside the weights."""
        return {
            "recipe": msgspec.to_builtins(self.recipe),
            "rubric": msgspec.to_builtins(self.rubric),
            "annotators": self.heads[0].annotators,
        }

    @classmethod
    def restored(cls, state: dict[str, Any], arrays: dict[str, Any]) -> Recurrent:
        """A predictor from what `state` and `arrays` gave."""
        predictor = cls()
        predictor.recipe = msgspec.convert(state["recipe"], Recipe)
        predictor.rubric = msgspec.convert(state["rubric"], Rubric)
        predictor.heads = heads_of(predictor.rubric, state["annotators"])
        predictor._restore(arrays)
        return predictor

    recipe: Recipe
    rubric: Rubric
    heads: list[Head]
    features: TurnFeatures
    weights: Weights


class Fast(Recurrent):
    """Hashed words and structure, no encoder: thousands of dialogues a second."""

    name = preset = "fast"


class Accurate(Recurrent):
    """With the layers of a sentence encoder."""

    name = preset = "accurate"
    needs = "models"


def _below(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def _balanced(material: Lesson, strength: float) -> Lesson:
    """Weigh dialogues by how rare their number of turns is."""
    counts = np.bincount(material.lengths)[material.lengths]
    share = len(material.lengths) / np.unique(material.lengths).size / counts
    weights = material.weights * (share**strength).astype(np.float32)
    return type(material)(
        material.features, material.lengths, material.speakers, material.votes, weights
    )


def _ridge(x: Any, y: Any, new: Any, recipe: Recipe) -> Any:
    """Ridge regression of y on x, applied to `new`."""
    x_mean, y_mean = x.mean(axis=0), y.mean(axis=0)
    centred = x - x_mean
    gram = centred.T @ centred + recipe.map_penalty * np.eye(x.shape[1], dtype=x.dtype)
    weights = np.linalg.solve(gram, centred.T @ (y - y_mean))
    return ((new - x_mean) @ weights + y_mean).astype(np.float32)
