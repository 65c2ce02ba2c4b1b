"""A collection: dialogues with or without votes, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dialeval.core.dialogue import Dialogue
from dialeval.core.rubric import Criterion, Rubric

NO_VOTE = -1
Votes = NDArray[np.int8]
"""Items by annotators: the column of the label voted for, or `NO_VOTE`."""


class Collection:
    """Dialogues, the rubric they are judged by, and people's votes.

    A criterion's items are the dialogues, or all turns of all dialogues one after another:
    `offsets[i]:offsets[i + 1]` are the turns of dialogue i.
    """

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        rubric: Rubric,
        votes: Mapping[str, Votes] | None = None,
        annotators: Sequence[str] = (),
        source: str = "collection",
        again: Sequence[Mapping[str, Votes]] = (),
    ) -> None:
        self.dialogues = tuple(dialogues)
        self.ids = tuple([dialogue.id for dialogue in self.dialogues])
        self.rubric = rubric
        self.votes = dict(votes or {})
        self.annotators = tuple(annotators)
        self.source = source
        self.again = tuple(dict(votes) for votes in again)
        """Votes of those who judged a dialogue once more: of round 2, 3 and so on.

        They show whether annotators agree with themselves, and count nowhere else."""
        self._gold: dict[str, NDArray[np.float64]] = {}

    def __len__(self) -> int:
        return len(self.dialogues)

    def __repr__(self) -> str:
        votes = f"votes of {len(self.annotators)}" if self.votes else "no votes"
        return f"<Collection {self.source}: {len(self)} dialogues, {self.rubric.name}, {votes}>"

    @property
    def named(self) -> bool:
        """Whether annotators have names, or only places in the lists of annotations."""
        return self.annotators != tuple(str(a + 1) for a in range(len(self.annotators)))

    @cached_property
    def index(self) -> dict[str, int]:
        """From id to place."""
        return {id: place for place, id in enumerate(self.ids)}

    @cached_property
    def lengths(self) -> NDArray[np.intp]:
        """How many turns each dialogue has."""
        return np.fromiter((len(d.turns) for d in self.dialogues), np.intp, len(self))

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """Where each dialogue's turns begin among all turns, and at the end their number."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def speakers(self) -> NDArray[np.int8]:
        """Of each turn: the place of its speaker in `rubric.speakers`."""
        place = {speaker: i for i, speaker in enumerate(self.rubric.speakers)}
        senders = (place[turn.sender] for d in self.dialogues for turn in d.turns)
        return np.fromiter(senders, np.int8, int(self.offsets[-1]))

    def dialogue_of(self, item: int) -> tuple[int, int]:
        """The dialogue of a turn, and the turn's place in it."""
        dialogue = int(np.searchsorted(self.offsets, item, side="right")) - 1
        return dialogue, item - int(self.offsets[dialogue])

    def own_labels(self, criterion: Criterion) -> NDArray[np.bool_]:
        """Which labels each turn may have, by its speaker: turns by labels."""
        own = np.zeros((len(self.rubric.speakers), len(criterion.columns)), bool)
        for s, speaker in enumerate(self.rubric.speakers):
            own[s, criterion.columns_of(speaker)] = True
        return own[self.speakers]

    def judged(self, criterion: Criterion) -> NDArray[np.bool_]:
        """Which turns are judged by a turn criterion, by their speaker."""
        of = [bool(criterion.labels_of(speaker)) for speaker in self.rubric.speakers]
        return np.array(of)[self.speakers]

    def counts(self, criterion: Criterion) -> NDArray[np.int64]:
        """Votes for each label: items by labels (the criterion's `columns`)."""
        width = len(criterion.columns)
        items = len(self) if criterion.scope == "dialogue" else int(self.offsets[-1])
        counts = np.zeros((items, width), np.int64)
        votes = self.votes.get(criterion.id)
        if votes is not None:
            # Small integers summed along the long axis: what processors do fastest.
            by_annotator = np.ascontiguousarray(votes.T)
            small = np.min_scalar_type(len(by_annotator))
            for label in range(width):
                counts[:, label] = np.sum(by_annotator == label, axis=0, dtype=small)
        return counts

    def gold(self, criterion: Criterion) -> NDArray[np.float64]:
        """The distribution of votes: items by labels; NaN where nobody voted.

        Worked out once: many runs are compared with the same gold.
        """
        if criterion.id not in self._gold:
            counts = self.counts(criterion)
            total = np.einsum("il->i", counts)
            gold = counts / np.where(total, total, np.nan)[:, None]
            gold.setflags(write=False)
            self._gold[criterion.id] = gold
        return self._gold[criterion.id]

    def select(self, places: Sequence[int] | NDArray[np.intp]) -> Collection:
        """The dialogues at these places, in this order, with their votes."""
        chosen = np.asarray(places, dtype=np.intp)
        turns = self.turns_at(chosen)
        votes, *again = [
            {
                c.id: given[c.id][chosen if c.scope == "dialogue" else turns]
                for c in self.rubric.criteria
                if c.id in given
            }
            for given in (self.votes, *self.again)
        ]
        dialogues = [self.dialogues[place] for place in chosen]
        return Collection(dialogues, self.rubric, votes, self.annotators, self.source, again)

    def turns_at(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """The places, among all turns, of the turns of the dialogues at `places`."""
        return ranges(self.offsets[places], self.lengths[places])

    def without_votes(self) -> Collection:
        """The same dialogues, as participants of a task get them."""
        return Collection(self.dialogues, self.rubric, source=self.source)


def ranges(starts: NDArray[np.intp], lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """The ranges that begin at `starts`, one after another.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    shift = np.repeat(starts - (ends - lengths), lengths)
    result: NDArray[np.intp] = np.arange(shift.size, dtype=np.intp) + shift
    return result
