"""The recurrent network in numpy: what a trained model runs.

Turn features, a ReLU projection, a bidirectional GRU over the turns; heads for dialogue criteria
on the mean, the maximum and the last states, heads for turn criteria on the state of the turn. A
head gives every annotator a distribution; their mean, over annotators and over networks trained
from different seeds, is the prediction. All seeds run side by side as the first axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.rubric import Criterion, Rubric
from dialeval.core.run import Distributions
from dialeval.predictors.recipe import Recipe

Array = NDArray[np.float32]
Weights = dict[str, Array]

MOST_ANNOTATORS = 40
"""Beyond this, annotators share one head."""


@dataclass(frozen=True)
class Head:
    """What predicts one criterion, for the speakers who have the same labels."""

    name: str
    criterion: Criterion
    speakers: tuple[int, ...]
    """Places of speakers in the rubric; none for a dialogue criterion."""
    columns: tuple[int, ...]
    """Columns of the criterion that these labels are."""
    annotators: int

    @property
    def outputs(self) -> int:
        """Annotators times labels."""
        return self.annotators * len(self.columns)


def heads_of(rubric: Rubric, annotators: int) -> list[Head]:
    """The heads that a rubric needs."""
    annotators = annotators if annotators <= MOST_ANNOTATORS else 1
    heads = [
        Head(c.id, c, (), tuple(range(len(c.columns))), annotators) for c in rubric.of_dialogues
    ]
    for criterion in rubric.of_turns:
        groups: dict[tuple[int, ...], list[int]] = {}
        for s, speaker in enumerate(rubric.speakers):
            if own := criterion.columns_of(speaker):
                groups.setdefault(tuple(own), []).append(s)
        heads += [
            Head(f"{criterion.id}.{k}", criterion, tuple(speakers), columns, annotators)
            for k, (columns, speakers) in enumerate(groups.items())
        ]
    return heads


def predict_distributions(
    weights: Weights, heads: list[Head], features: Array, collection: Collection, recipe: Recipe
) -> dict[str, Distributions]:
    """Distributions by criterion, items by labels; NaN for turns that are not judged."""
    predicted = {
        head.criterion.id: np.full(
            (
                len(collection) if head.criterion.scope == "dialogue" else len(features),
                len(head.criterion.columns),
            ),
            np.nan,
        )
        for head in heads
    }
    inputs = _inputs(weights, features)
    for places, turns in _same_length(collection):
        states = _states(weights, inputs[:, turns])
        pooled = _pooled(states)
        flat = states.reshape(len(states), turns.size, -1)
        for head in heads:
            table, cutoff = predicted[head.criterion.id], recipe.cutoff_of(head.criterion)
            if head.criterion.scope == "dialogue":
                table[places] = _distributions(weights, head, pooled, cutoff)
                continue
            own = np.flatnonzero(np.isin(collection.speakers[turns.ravel()], head.speakers))
            if own.size:
                rows = turns.ravel()[own]
                table[rows] = 0
                found = _distributions(weights, head, flat[:, own], cutoff)
                table[rows[:, None], list(head.columns)] = found
    return predicted


def _same_length(
    collection: Collection,
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Dialogues of the same number of turns: their places, and their turns (dialogues by turns)."""
    for length in np.unique(collection.lengths):
        places = np.flatnonzero(collection.lengths == length)
        yield places, collection.offsets[places][:, None] + np.arange(length)


def _inputs(weights: Weights, features: Array) -> Array:
    """What goes into the two directions: (directions x seeds) by turns by gates."""
    projected = np.maximum(features @ weights["project.w"] + weights["project.b"], 0)
    return np.concatenate([projected, projected]) @ weights["gru.w"] + weights["gru.b"]


def _states(weights: Weights, inputs: Array) -> Array:
    """Seeds by dialogues by turns by units of both directions."""
    seeds = len(inputs) // 2
    recurrent, bias = weights["gru.u"], weights["gru.n"]
    forward = _gru(inputs[:seeds], recurrent[:seeds], bias[:seeds])
    backward = _gru(inputs[seeds:, :, ::-1], recurrent[seeds:], bias[seeds:])[:, :, ::-1]
    return np.concatenate([forward, backward], axis=-1)


def _gru(inputs: Array, recurrent: Array, bias: Array) -> Array:
    """`r, z = sigmoid(x + h u)`, `n = tanh(x + r (h u + b))`, `h = n + z (h - n)`.

    Cho and others: Learning phrase representations using RNN encoder-decoder (2014).
    """
    seeds, dialogues, turns, gates = inputs.shape
    units = gates // 3
    state = np.zeros((seeds, dialogues, units), np.float32)
    states = np.empty((seeds, dialogues, turns, units), np.float32)
    for turn in range(turns):
        new, old = inputs[:, :, turn], state @ recurrent
        reset_update = _sigmoid(new[..., : 2 * units] + old[..., : 2 * units])
        reset, update = reset_update[..., :units], reset_update[..., units:]
        candidate = np.tanh(new[..., 2 * units :] + reset * (old[..., 2 * units :] + bias))
        state = candidate + update * (state - candidate)
        states[:, :, turn] = state
    return states


def _pooled(states: Array) -> Array:
    """Mean and maximum over turns, and the last state of each direction."""
    units = states.shape[-1] // 2
    ends = [states[:, :, -1, :units], states[:, :, 0, units:]]
    return np.concatenate([states.mean(axis=2), states.max(axis=2), *ends], axis=-1)


def _distributions(weights: Weights, head: Head, states: Array, cutoff: float) -> Distributions:
    """The mean over seeds and annotators; small probabilities become 0."""
    scores = states @ weights[f"{head.name}.w"] + weights[f"{head.name}.b"]
    scores = scores.reshape(*states.shape[:2], head.annotators, len(head.columns))
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return without_small(scores.mean(axis=(0, 2), dtype=np.float64), cutoff)


def without_small(values: Distributions, cutoff: float) -> Distributions:
    """Distributions whose small probabilities have become 0; the most likely label stays.

    >>> without_small(np.array([[0.01, 0.49, 0.5]]), 0.02).round(2).tolist()
    [[0.0, 0.49, 0.51]]
    """
    highest = values.max(axis=1, keepdims=True)
    kept = np.where(values < np.minimum(cutoff, highest), 0, values)
    result: Distributions = kept / kept.sum(axis=1, keepdims=True)
    return result


def _sigmoid(x: Array) -> Array:
    result: Array = 0.5 * (np.tanh(0.5 * x) + 1)
    return result
