"""A run: the distributions that a system predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.errors import DataError, UsageError, shown
from dialeval.core.records import Origin, step
from dialeval.core.rubric import QUALITY, Criterion, Rubric

Missing = Literal["error", "skip"]
Distributions = NDArray[np.float64]


class Prediction(msgspec.Struct, frozen=True):
    """A run's distributions for one criterion.

    `values` is items by labels (the criterion's `columns`), rows sum to 1. `lengths` says how
    many rows each dialogue has: one for a dialogue criterion, its turns for a turn criterion,
    none where the run leaves the dialogue out. A row of NaN is a turn that is not judged.
    """

    values: Distributions
    lengths: NDArray[np.intp]


class Run:
    """Predicted distributions for the dialogues `ids`, by criterion."""

    def __init__(
        self,
        name: str,
        ids: Sequence[str],
        predictions: Mapping[str, Prediction],
        rubric: Rubric,
        origin: Origin | None = None,
        records: Sequence[int] | None = None,
    ) -> None:
        self.name = name
        self.ids = tuple(ids)
        self.predictions = dict(predictions)
        self.rubric = rubric
        self.origin = origin or Origin(name)
        self.records = records
        """The number of each dialogue's record in the file, where it is not its place."""
        self.remarks: tuple[str, ...] = ()
        """What its reader should know: nothing that makes it wrong."""

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self)} dialogues, {', '.join(self.criteria)}>"

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that the run covers, in the rubric's order."""
        return tuple(c.id for c in self.rubric.criteria if c.id in self.predictions)

    def error(self, place: int, path: str, found: str, expected: str) -> DataError:
        """An error at the record of the dialogue at `place`."""
        record = self.records[place] if self.records is not None else place
        return self.origin.error(record, path, found, expected)


def align(run: Run, collection: Collection, missing: Missing = "error") -> dict[str, Distributions]:
    """The run's distributions in the collection's order, by criterion: items by labels.

    Checks the run against the dialogues it is about. With `missing="skip"`, dialogues that the
    run leaves out become rows of NaN; otherwise they are an error.
    """
    if run.rubric != collection.rubric:
        raise UsageError(
            f"run {run.name!r} was read by rubric {run.rubric.name!r}, the collection by another "
            f"one, {collection.rubric.name!r}"
        )
    if not run.predictions:
        raise DataError(run.origin.source, "", "no predictions", "at least one criterion")
    where = _places(run, collection)
    if missing == "error":
        _check_complete(run, collection, where)
    return {
        criterion.id: _placed(run, criterion, collection, where)
        for criterion in run.rubric.criteria
        if criterion.id in run.predictions
    }


def _places(run: Run, collection: Collection) -> NDArray[np.intp]:
    """The place in the collection of each dialogue of the run."""
    if run.ids == collection.ids:
        return np.arange(len(run))
    places = [collection.index.get(id, -1) for id in run.ids]
    if -1 in places:
        at = places.index(-1)
        raise run.error(at, ".id", shown(run.ids[at]), f"an id of {collection.source}")
    return np.array(places, np.intp)


def _check_complete(run: Run, collection: Collection, where: NDArray[np.intp]) -> None:
    covered = np.zeros(len(collection), bool)
    covered[where] = True
    if not covered.all():
        absent = np.flatnonzero(~covered)
        first = shown(collection.ids[absent[0]])
        found = f"no prediction for {absent.size} of {len(collection)} dialogues, first {first}"
        expected = "all of them (--missing skip leaves them out)"
        raise DataError(run.origin.source, "", found, expected)
    for id in run.criteria:
        empty = np.flatnonzero(run.predictions[id].lengths == 0)
        if empty.size:
            group = "" if run.rubric.criterion(id).scope == "turn" else step(QUALITY)
            expected = "one, as other dialogues of the run have (--missing skip leaves it out)"
            raise run.error(int(empty[0]), group + step(id), "no prediction", expected)


def _placed(
    run: Run, criterion: Criterion, collection: Collection, where: NDArray[np.intp]
) -> Distributions:
    """One criterion's distributions, moved to the collection's items."""
    values, lengths = run.predictions[criterion.id].values, run.predictions[criterion.id].lengths
    given = lengths > 0
    if criterion.scope == "dialogue":
        return _moved(values, where[given], len(collection))
    turns = collection.lengths[where]
    wrong = np.flatnonzero(given & (lengths != turns))
    if wrong.size:
        at = int(wrong[0])
        expected = f"{turns[at]}, one a turn"
        raise run.error(at, step(criterion.id), f"{lengths[at]} predictions", expected)
    items = collection.turns_at(where[given])
    _check_labels(run, criterion, collection, items, np.repeat(np.flatnonzero(given), turns[given]))
    return _moved(values, items, int(collection.offsets[-1]))


def _moved(values: Distributions, items: NDArray[np.intp], size: int) -> Distributions:
    """Row r moved to `items[r]` of `size`; NaN where nothing goes."""
    if items.size == size and bool((items == np.arange(size)).all()):
        return values  # most runs are in order
    placed = np.full((size, values.shape[1]), np.nan)
    placed[items] = values
    return placed


def _check_labels(
    run: Run,
    criterion: Criterion,
    collection: Collection,
    items: NDArray[np.intp],
    places: NDArray[np.intp],
) -> None:
    """A turn's labels must be those of its speaker, and a turn that is judged has some.

    Row r of the run's values is turn `items[r]` of the collection, in dialogue `places[r]` of
    the run.
    """
    values = run.predictions[criterion.id].values
    own = collection.own_labels(criterion)[items]
    foreign = ~own & (values > 0)
    empty = np.isnan(values[:, 0]) & collection.judged(criterion)[items]
    if not foreign.any() and not empty.any():
        return
    bad = np.flatnonzero(foreign.any(axis=1) | empty)
    row, place = int(bad[0]), int(places[bad[0]])
    dialogue, turn = collection.dialogue_of(int(items[row]))
    speaker = collection.dialogues[dialogue].turns[turn].sender
    path = f"{step(criterion.id)}[{turn}]"
    expected = f"labels of {speaker}: {', '.join(criterion.labels_of(speaker)) or 'none'}"
    if empty[row]:
        raise run.error(place, path, "null", expected)
    label = criterion.columns[int(np.flatnonzero(foreign[row])[0])]
    raise run.error(place, path + step(label), f"label {shown(label)}", expected)
