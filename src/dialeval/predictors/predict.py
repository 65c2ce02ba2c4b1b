"""Predicting with a model by its name."""

from __future__ import annotations

from dialeval.core.collection import Collection
from dialeval.core.run import Run
from dialeval.predictors.registry import get


def predict(collection: Collection, model: str) -> Run:
    """The run of a model over all dialogues of a collection.

    >>> import dialeval as de
    >>> predict(de.sample("en"), "uniform").criteria
    ('A', 'S', 'E', 'nugget')
    """
    return get(model)().predict(collection)
