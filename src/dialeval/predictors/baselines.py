"""The campaigns' baselines that learn nothing."""

from __future__ import annotations

import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.run import Distributions
from dialeval.predictors.predictor import Predictor


class Uniform(Predictor):
    """BL-uniform: the same probability for every label that may stand there."""

    name = "uniform"

    def predict_distributions(self, collection: Collection) -> dict[str, Distributions]:
        predicted = {}
        for criterion in collection.rubric.criteria:
            columns = len(criterion.columns)
            if criterion.scope == "dialogue":
                predicted[criterion.id] = np.full((len(collection), columns), 1 / columns)
                continue
            own = collection.own_labels(criterion)
            with np.errstate(invalid="ignore"):  # turns that are not judged become NaN
                predicted[criterion.id] = own / own.sum(axis=1, keepdims=True)
        return predicted


class Popularity(Predictor):
    """BL-popularity, an oracle: all mass on the label most voted for; ties share it equally."""

    name = "popularity"
    needs_gold = True

    def predict_distributions(self, collection: Collection) -> dict[str, Distributions]:
        predicted = {}
        for criterion in collection.rubric.criteria:
            if criterion.id in collection.votes:
                counts = collection.counts(criterion)
                modes = ((counts == counts.max(axis=1, keepdims=True)) & (counts > 0)).astype(float)
                with np.errstate(invalid="ignore"):
                    predicted[criterion.id] = modes / modes.sum(axis=1, keepdims=True)
        return predicted
