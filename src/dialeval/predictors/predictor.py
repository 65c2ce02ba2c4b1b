"""What every predictor is: fitted on a collection with votes, it predicts a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.errors import DataError, UsageError
from dialeval.core.language import collection_language
from dialeval.core.run import Distributions, Prediction, Run


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch of training."""

    number: int
    epochs: int
    loss: float
    dev: float | None = None
    """The score of the dev collection relative to the first epoch's; lower is better."""


class Predictor(ABC):
    """Parameters go into the constructor; nothing is learned before `fit`."""

    name: ClassVar[str]
    needs_gold: ClassVar[bool] = False
    """An oracle: it predicts from the votes of the very dialogues it is asked about."""
    trainable: ClassVar[bool] = False
    needs: ClassVar[str] = ""
    """The extra that predicting needs."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Options of the commands beside its settings: embeddings, encoder, cache, budget."""

    @classmethod
    def new(cls, *, language: str | None = None, seed: int = 0, **settings: Any) -> Predictor:
        """A predictor to be fitted, with settings of its own."""
        del language, seed
        for name in settings:
            raise UsageError(f"model {cls.name!r} has no setting {name!r}")
        return cls()

    def fit(
        self,
        collection: Collection,
        dev: Collection | None = None,
        *,
        parallel: Collection | None = None,
        progress: Callable[[Epoch], None] | None = None,
        checkpoint: Path | None = None,
    ) -> Predictor:
        """Learn from a collection with votes; with `dev`, keep what is best there. Gives itself.

        `parallel` holds the same dialogues, and more, in another language. `progress` is called
        after every epoch. Training goes on from a `checkpoint` that an interrupted one left.
        """
        del collection, dev, parallel, progress, checkpoint
        raise UsageError(f"model {self.name!r} has nothing to learn")

    def prepare(self, collection: Collection) -> None:  # noqa: B027 - nothing to do for most
        """Work out once what all folds of a cross-validation need."""

    def notes(self) -> list[str]:
        """What a card says beside the rest."""
        return []

    def language_of(self, collection: Collection) -> str:
        """The language that the model is for, or would be if it learned from this collection."""
        return collection_language(collection)

    def state(self) -> dict[str, Any]:
        """What a saved model needs beside its arrays, as plain values."""
        return {}

    def arrays(self) -> dict[str, Any]:
        """The arrays of a saved model."""
        return {}

    @classmethod
    def restored(cls, state: dict[str, Any], arrays: dict[str, Any]) -> Predictor:
        """The predictor that gave this state and these arrays."""
        del state, arrays
        return cls()

    @abstractmethod
    def predict_distributions(self, collection: Collection) -> dict[str, Distributions]:
        """Distributions by criterion, in the collection's order: items by labels."""

    def predict(self, collection: Collection) -> Run:
        """A run over all dialogues of the collection."""
        if self.needs_gold and not collection.votes:
            expected = f"votes: {self.name} is an oracle that predicts from them"
            raise DataError(collection.source, "", "no votes", expected)
        return run_of(self.name, collection, self.predict_distributions(collection))


def run_of(name: str, collection: Collection, predicted: dict[str, Distributions]) -> Run:
    """A run from arrays in the collection's order."""
    one_each = np.ones(len(collection), np.intp)
    predictions = {
        c.id: Prediction(predicted[c.id], one_each if c.scope == "dialogue" else collection.lengths)
        for c in collection.rubric.criteria
        if c.id in predicted
    }
    return Run(name, collection.ids, predictions, collection.rubric)
