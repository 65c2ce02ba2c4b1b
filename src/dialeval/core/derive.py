"""Applying a rubric's rules: the levels that follow from each annotator's votes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dialeval.core.collection import NO_VOTE, Votes
from dialeval.core.rubric import Rubric


def derived_votes(rubric: Rubric, level: str, votes: Mapping[str, Votes]) -> Votes:
    """Items by annotators: the place of the level's label that each annotator's votes give.

    The first rule that holds decides; where none holds, `otherwise` does. A vote that is not
    there matters only if it could change the outcome: then there is no level, `NO_VOTE`.

    >>> from dialeval.core.rubric import load_rubric
    >>> rubric = load_rubric("stc2")
    >>> yes, no, none = 0, 1, NO_VOTE
    >>> ballots = dict.fromkeys(("fluent", "coherent"), np.array([[yes, yes, no, yes]], np.int8))
    >>> ballots["self-sufficient"] = np.array([[yes, no, none, none]], np.int8)
    >>> ballots["substantial"] = np.array([[yes, yes, none, yes]], np.int8)
    >>> derived_votes(rubric, "level", ballots).tolist()
    [[2, 1, 0, -1]]
    """
    wanted = rubric.level(level)
    shape = next(iter(votes.values())).shape
    result = np.full(shape, NO_VOTE, np.int8)
    undecided = np.ones(shape, bool)
    for rule in wanted.rules:
        holds, fails = np.ones(shape, bool), np.zeros(shape, bool)
        for id, label in rule.when.items():
            given = _votes_on(rubric, id, votes, shape)
            code = _labels(rubric, id).index(label)
            holds &= given == code
            fails |= (given != code) & (given != NO_VOTE)
        result[undecided & holds] = wanted.labels.index(rule.label)
        undecided &= fails
    result[undecided] = wanted.labels.index(wanted.otherwise)
    return result


def _votes_on(rubric: Rubric, id: str, votes: Mapping[str, Votes], shape: tuple[int, ...]) -> Votes:
    if any(level.id == id for level in rubric.levels):
        return derived_votes(rubric, id, votes)
    return votes[id] if id in votes else np.full(shape, NO_VOTE, np.int8)


def _labels(rubric: Rubric, id: str) -> tuple[str, ...]:
    levels = {level.id: level.labels for level in rubric.levels}
    return levels.get(id) or rubric.criterion(id).columns
