"""Points: what the labels that annotators gave are worth, aspect by aspect.

As in the NLPCC 2019 shared task on open domain conversation evaluation. An aspect with a scale is
the share of the points that could be had, times the scale: 100 for each of five aspects. An aspect
without one is the points of a dialogue, averaged over its annotators: at most 10 for each of four.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.errors import DataError, UsageError
from dialeval.core.levels import OVERALL, Aspect
from dialeval.core.rubric import Criterion, Rubric
from dialeval.measures.evaluate import Score

Array = NDArray[np.float64]
MEASURE = "points"


def scaled(points: Array, possible: Array, scale: float) -> Array:
    """Each reply's part of an aspect: their mean is `scale * sum(points) / sum(possible)`.

    With as many annotators for every reply, it is the reply's own share, times the scale.

    >>> scaled(np.array([3.0, 6.0, 0.0]), np.array([6.0, 6.0, 6.0]), 100).tolist()
    [50.0, 100.0, 0.0]
    """
    result: Array = scale * points * points.size / possible.sum()
    return result


def evaluate_points(collection: Collection, name: str) -> Score:
    """The points of every dialogue, a column an aspect, and `overall`: their sum."""
    rubric = collection.rubric
    if not rubric.aspects:
        raise UsageError(f"rubric {rubric.name!r} has no aspects to give points for")
    if not collection.votes:
        raise DataError(collection.source, "", "no votes", "a collection with annotations")
    kept = _kept_turns(collection)
    columns = {
        f"{aspect.id}.{MEASURE}": _aspect(collection, aspect, kept) for aspect in rubric.aspects
    }
    columns[f"{OVERALL}.{MEASURE}"] = np.sum([*columns.values()], axis=0)
    return Score(name, collection.ids, columns, rubric)


def _aspect(collection: Collection, aspect: Aspect, kept: NDArray[np.bool_]) -> Array:
    points, possible = np.zeros(len(collection)), np.zeros(len(collection))
    if aspect.each:
        turns = _by_dialogue(collection, kept.astype(np.float64))
        points += aspect.each * turns
        possible += aspect.each * turns
    for id in aspect.criteria:
        criterion = collection.rubric.criterion(id)
        counts = collection.counts(criterion)
        worth = np.array(criterion.worth)
        votes = counts.sum(axis=1)
        _check_votes(collection, criterion, votes, kept)
        if aspect.scale is None:  # of one annotator, on average
            own, most = counts @ worth / np.maximum(votes, 1), np.full(votes.shape, worth.max())
        else:
            own, most = counts @ worth, votes * worth.max()
        if criterion.scope == "turn":
            own = _by_dialogue(collection, np.where(kept, own, 0.0))
            most = _by_dialogue(collection, np.where(kept, most, 0.0))
        points += own
        possible += most
    return points if aspect.scale is None else scaled(points, possible, aspect.scale)


def _kept_turns(collection: Collection) -> NDArray[np.bool_]:
    """Which turns give points: those judged by some criterion, the rubric's first `most_turns`."""
    judged = np.zeros(int(collection.offsets[-1]), bool)
    for criterion in collection.rubric.of_turns:
        judged |= collection.judged(criterion)
    if collection.rubric.most_turns is None:
        return judged
    before = np.concatenate([[0], np.cumsum(judged)])[:-1]
    at_start = np.repeat(before[collection.offsets[:-1]], collection.lengths)
    result: NDArray[np.bool_] = judged & (before - at_start < collection.rubric.most_turns)
    return result


def _by_dialogue(collection: Collection, by_turn: Array) -> Array:
    result: Array = np.add.reduceat(by_turn, collection.offsets[:-1])
    return result


def _check_votes(
    collection: Collection, criterion: Criterion, votes: NDArray[np.int64], kept: NDArray[np.bool_]
) -> None:
    empty = votes == 0
    if criterion.scope == "turn":
        empty &= kept & collection.judged(criterion)
    if empty.any():
        item = int(np.flatnonzero(empty)[0])
        turn = ""
        if criterion.scope == "turn":
            item, place = collection.dialogue_of(item)
            turn = f", turn {place + 1}"
        where = f"dialogue {collection.ids[item]!r}{turn}"
        raise DataError(collection.source, where, f"no votes on {criterion.id}", "some")


def most_points(rubric: Rubric) -> dict[str, float]:
    """The most that each aspect and all together can give; infinite where turns have no limit.

    >>> from dialeval.core.rubric import load_rubric
    >>> most_points(load_rubric("open-domain-multi"))["overall"]
    40.0
    """
    turns = float("inf") if rubric.most_turns is None else float(rubric.most_turns)
    most: dict[str, float] = {}
    for aspect in rubric.aspects:
        if aspect.scale is not None:
            most[aspect.id] = aspect.scale
            continue
        most[aspect.id] = turns * aspect.each if aspect.each else 0.0
        for id in aspect.criteria:
            criterion = rubric.criterion(id)
            most[aspect.id] += max(criterion.worth) * (turns if criterion.scope == "turn" else 1)
    most[OVERALL] = sum(most.values())
    return most
