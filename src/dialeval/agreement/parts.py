"""What is looked at: a criterion, the turns of one speaker, one label against all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialeval.agreement.ratings import Array, Codes
from dialeval.core.collection import NO_VOTE, Collection, Votes
from dialeval.core.errors import DataError, unknown_name
from dialeval.core.rubric import Criterion
from dialeval.core.scale import label_values

By = Literal["speaker", "label"]
BY: tuple[By, ...] = ("speaker", "label")
OTHER = "other"


@dataclass(frozen=True)
class Part:
    """Votes that are looked at together: the items that have one, by raters."""

    criterion: Criterion
    speaker: str | None
    label: str | None
    labels: tuple[str, ...]
    codes: Codes
    again: tuple[Codes, ...]
    """The same of later rounds."""
    items: NDArray[np.intp]
    """The place of each item among the criterion's: dialogues or turns."""
    dialogues: NDArray[np.intp]
    """The place of each item's dialogue in the collection."""
    choices: Array
    """How many labels each item may have."""
    unvoted: int
    """Items without any vote: they are not among the above."""

    @property
    def title(self) -> str:
        """The criterion, and what of it."""
        return " ".join(name for name in (self.criterion.id, self.speaker, self.label) if name)

    @property
    def ordered(self) -> bool:
        """Whether the labels are a scale."""
        return self.criterion.kind == "ordinal" and self.label is None

    @property
    def values(self) -> Array | None:
        """What labels count: on a scale, or 1 and 0 where there are two of them."""
        if self.ordered:
            return label_values(self.labels)
        return np.array([1.0, 0.0]) if len(self.labels) == 2 else None


def parts(collection: Collection, by: Sequence[str] = ()) -> Iterator[Part]:
    """Each criterion that has votes; then by speaker and by label, if wanted.

    Where speakers have labels of their own, the criterion is looked at by speaker in any case.
    """
    for name in by:
        if name not in BY:
            raise unknown_name("part", name, BY)
    if not collection.votes:
        raise DataError(collection.source, "", "no votes", "a collection with annotations")
    for criterion in collection.rubric.criteria:
        if criterion.id not in collection.votes:
            continue
        yield _part(collection, criterion)
        speakers = [s for s in collection.rubric.speakers if criterion.labels_of(s)]
        own_labels = len({criterion.labels_of(s) for s in speakers}) > 1
        if criterion.scope == "turn" and (own_labels or "speaker" in by):
            for speaker in speakers:
                yield _part(collection, criterion, speaker)
        if "label" in by:
            for label in criterion.columns:
                yield _part(collection, criterion, label=label)


def _part(
    collection: Collection,
    criterion: Criterion,
    speaker: str | None = None,
    label: str | None = None,
) -> Part:
    if criterion.scope == "dialogue":
        wanted = np.ones(len(collection), bool)
        dialogues = np.arange(len(collection))
        choices = np.full(len(collection), float(len(criterion.columns)))
    else:
        own = collection.own_labels(criterion)
        wanted = collection.judged(criterion)
        if speaker is not None:
            wanted = collection.speakers == collection.rubric.speakers.index(speaker)
        if label is not None:
            wanted = own[:, criterion.columns.index(label)]
        dialogues = np.repeat(np.arange(len(collection)), collection.lengths)
        choices = own.sum(axis=1).astype(np.float64)
    given = (collection.votes, *collection.again)
    has_vote = np.any([(v[criterion.id] != NO_VOTE).any(axis=1) for v in given], axis=0)
    items = np.flatnonzero(wanted & has_vote)
    labels = criterion.columns if speaker is None else criterion.labels_of(speaker)
    codes, *again = [_recoded(of, criterion, labels, label)[items] for of in given]
    return Part(
        criterion,
        speaker,
        label,
        labels if label is None else (label, OTHER),
        codes,
        tuple(again),
        items,
        dialogues[items],
        choices[items] if label is None else np.full(items.size, 2.0),
        int((wanted & ~has_vote).sum()),
    )


def _recoded(
    votes: Mapping[str, Votes], criterion: Criterion, labels: tuple[str, ...], label: str | None
) -> Votes:
    """Codes among these labels; or 0 for the one label, 1 for any other."""
    codes = np.full(len(criterion.columns) + 1, NO_VOTE, np.int8)
    for column, name in enumerate(criterion.columns):
        if label is not None:
            codes[column] = 0 if name == label else 1
        elif name in labels:
            codes[column] = labels.index(name)
    recoded: Votes = codes[votes[criterion.id]]
    return recoded
