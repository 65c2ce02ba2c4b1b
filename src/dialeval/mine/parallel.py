"""Parallel collections: the same dialogues in two languages, joined by id and checked."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue
from dialeval.core.errors import UsageError


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """How two collections go together; lists hold the ids of dialogues."""

    both: int
    only_first: int
    """Not translated: a part of a collection may be."""
    only_second: list[str]
    turns: list[str]
    """Another number of turns, or other speakers."""
    posts: list[str]
    """The same turns, but one of another number of posts."""
    votes: list[str]
    """Other votes, where both have votes."""
    same_text: list[str]
    """The same words in both: not translated."""

    @property
    def wrong(self) -> bool:
        """Whether the second is no translation of the first, or of a part of it."""
        return bool(self.only_second or self.turns or self.votes)


def join(first: Collection, second: Collection) -> Joined:
    """Join a collection with its translation by the dialogues' ids.

    >>> from dialeval.samples import sample
    >>> joined = join(sample("en"), sample("en"))
    >>> joined.both, joined.wrong, len(joined.same_text)
    (30, False, 30)
    """
    if not first.rubric.same_form(second.rubric):
        raise UsageError("parallel collections: found two rubrics, expected one")
    shared = [id for id in second.ids if id in first.index]
    pairs = [
        (id, first.dialogues[first.index[id]], second.dialogues[second.index[id]]) for id in shared
    ]

    def where(differ: Callable[[Dialogue, Dialogue], bool]) -> list[str]:
        return [id for id, one, other in pairs if differ(one, other)]

    turns = where(lambda a, b: _senders(a) != _senders(b))
    differing = set(turns)
    return Joined(
        both=len(shared),
        only_first=len(first) - len(shared),
        only_second=[id for id in second.ids if id not in first.index],
        turns=turns,
        posts=[id for id in where(lambda a, b: _posts(a) != _posts(b)) if id not in differing],
        votes=_other_votes(first, second, [id for id in shared if id not in differing]),
        same_text=where(lambda a, b: a.text == b.text and bool(a.text.strip())),
    )


def _senders(dialogue: Dialogue) -> list[str]:
    return [turn.sender for turn in dialogue.turns]


def _posts(dialogue: Dialogue) -> list[int]:
    return [len(turn.utterances) for turn in dialogue.turns]


def _other_votes(first: Collection, second: Collection, ids: list[str]) -> list[str]:
    """Those with another distribution of votes; a file may have its annotators in another order."""
    if not (first.votes and second.votes and ids):
        return []
    one = first.select([first.index[id] for id in ids])
    other = second.select([second.index[id] for id in ids])
    differ = np.zeros(len(ids), bool)
    for criterion in first.rubric.criteria:
        wrong = (one.counts(criterion) != other.counts(criterion)).any(axis=1)
        if criterion.scope == "turn":
            wrong = np.logical_or.reduceat(wrong, one.offsets[:-1])
        differ |= wrong
    return [id for id, wrong in zip(ids, differ.tolist(), strict=True) if wrong]
