"""What every predictor is: fitted on a collection with votes, it predicts a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.errors import DataError
from dialeval.core.run import Distributions, Prediction, Run


class Predictor(ABC):
    """Parameters go into the constructor; nothing is learned before `fit`."""

    name: ClassVar[str]
    needs_gold: ClassVar[bool] = False
    """An oracle: it predicts from the votes of the very dialogues it is asked about."""

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
