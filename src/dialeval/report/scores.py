"""Scored dialogues: what people would say of each, as rows of files and as an overview.

Nothing here grows with their number: dialogues come, are written and counted, and go.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from heapq import heappush, heappushpop
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue
from dialeval.core.encode import run_records
from dialeval.core.language import detect_language
from dialeval.core.rubric import Criterion, Rubric
from dialeval.core.run import Distributions, Run
from dialeval.core.scale import label_values

BINS = 20
LISTED = 10
"""How many dialogues the lists of the worst and the best name."""


def scales(rubric: Rubric) -> tuple[Criterion, ...]:
    """The criteria that give a dialogue an expected score."""
    return tuple(c for c in rubric.of_dialogues if c.kind == "ordinal")


@dataclass(frozen=True)
class Scored:
    """A dialogue with the predicted distributions of people's votes."""

    number: int
    """Its place among all dialogues of all files, from 1."""
    dialogue: Dialogue
    file: str
    language: str
    predicted: dict[str, Distributions]
    """By criterion: one row, or a row a turn."""
    distributions: dict[str, Any]
    """The same as a run's record holds it."""
    expected: dict[str, float]
    spread: dict[str, float]

    def record(self, several: bool) -> dict[str, Any]:
        """What stands in JSONL: a run's record and more; the file where there are `several`."""
        return {
            "id": self.dialogue.id,
            **({"file": self.file} if several else {}),
            "language": self.language,
            **self.distributions,
            "expected": self.expected,
            "spread": self.spread,
        }


def scored_dialogues(
    collection: Collection, run: Run, *, file: str, language: str | None = None, before: int = 0
) -> Iterator[Scored]:
    """The dialogues of one part of a file with a run over them; `before` came earlier."""
    moments = {
        c.id: _moments(run.predictions[c.id].values, label_values(c.columns))
        for c in scales(run.rubric)
        if c.id in run.predictions
    }
    for place, (dialogue, record) in enumerate(
        zip(collection.dialogues, run_records(run), strict=True)
    ):
        record.pop("id")
        turns = slice(int(collection.offsets[place]), int(collection.offsets[place + 1]))
        predicted = {}
        for id in run.criteria:
            of_turns = run.rubric.criterion(id).scope == "turn"
            rows = run.predictions[id].values[turns if of_turns else slice(place, place + 1)]
            # A copy: a dialogue that is kept must not keep its whole part alive.
            predicted[id] = rows.copy()
        yield Scored(
            number=before + place + 1,
            dialogue=dialogue,
            file=file,
            language=language or detect_language(dialogue.text),
            predicted=predicted,
            distributions=record,
            expected={id: float(mean[place]) for id, (mean, _) in moments.items()},
            spread={id: float(spread[place]) for id, (_, spread) in moments.items()},
        )


def _moments(
    values: Distributions, of_labels: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each row."""
    mean = values @ of_labels
    return mean, np.sqrt((values * (of_labels - mean[:, None]) ** 2).sum(axis=1))


@cache
def columns(rubric: Rubric) -> dict[str, str]:
    """The columns of the flat files, with the types that Parquet gives them."""
    types = {"id": "VARCHAR", "file": "VARCHAR", "language": "VARCHAR", "turns": "BIGINT"}
    for criterion in rubric.criteria:
        if criterion in scales(rubric):
            names = [f"{criterion.id}.expected", f"{criterion.id}.spread"]
        elif criterion.kind == "ordinal":  # a scale of turns: nothing to say of the dialogue
            names = []
        else:
            names = [f"{criterion.id}.{label}" for label in criterion.columns]
        types |= dict.fromkeys(names, "DOUBLE")
    return types


def flat_row(scored: Scored, rubric: Rubric) -> dict[str, Any]:
    """A dialogue under `columns`: of a label, the highest probability over its turns."""
    row: dict[str, Any] = dict.fromkeys(columns(rubric))
    row["id"], row["file"], row["language"] = scored.dialogue.id, scored.file, scored.language
    row["turns"] = len(scored.dialogue.turns)
    for id, values in scored.predicted.items():
        if id in scored.expected:
            row[f"{id}.expected"], row[f"{id}.spread"] = scored.expected[id], scored.spread[id]
            continue
        criterion = rubric.criterion(id)
        judged = values[~np.isnan(values[:, 0])]
        if criterion.kind != "ordinal" and len(judged):
            highest = zip(criterion.columns, judged.max(axis=0).tolist(), strict=True)
            row |= {f"{id}.{label}": value for label, value in highest}
    return row


def parquet_names(names: Iterable[str]) -> list[str]:
    """The names made to differ in more than their case, as DuckDB needs it.

    >>> parquet_names(["id", "A.x", "a.x"])
    ['id', 'A.x', 'a.x_1']
    """
    given: list[str] = []
    taken: set[str] = set()
    for name in names:
        new, more = name, 0
        while new.lower() in taken:
            more += 1
            new = f"{name}_{more}"
        taken.add(new.lower())
        given.append(new)
    return given


class Overview:
    """What a page says of all dialogues, gathered one by one; keeps only the worst and best.

    Sums of distributions are by group: of turns by speaker, of dialogues all in one.
    """

    def __init__(self, rubric: Rubric, most: int) -> None:
        self.rubric, self.most = rubric, most
        self.dialogues = self.turns = 0
        self.languages: Counter[str] = Counter()
        self.sums: dict[str, NDArray[np.float64]] = {}
        self.counts: dict[str, NDArray[np.int64]] = {}
        self.reached: dict[str, NDArray[np.int64]] = {}
        """Dialogues with a turn whose most likely label is this one."""
        for c in rubric.criteria:
            groups = len(rubric.speakers) if c.scope == "turn" else 1
            self.sums[c.id] = np.zeros((groups, len(c.columns)))
            self.counts[c.id] = np.zeros(groups, np.int64)
            self.reached[c.id] = np.zeros(len(c.columns), np.int64)
        self.histograms = {c.id: np.zeros(BINS, np.int64) for c in scales(rubric)}
        self.expected = {c.id: 0.0 for c in scales(rubric)}
        self.spread = {c.id: 0.0 for c in scales(rubric)}
        self._values = {c.id: label_values(c.columns) for c in scales(rubric)}
        self._speakers = {speaker: place for place, speaker in enumerate(rubric.speakers)}
        self._worst: list[tuple[float, int, Scored]] = []
        self._best: list[tuple[float, int, Scored]] = []

    def add(self, scored: Scored) -> None:
        """Count a dialogue in."""
        self.dialogues += 1
        self.turns += len(scored.dialogue.turns)
        self.languages[scored.language] += 1
        places = []
        for criterion in self.rubric.criteria:
            if criterion.id in scored.predicted:
                self._add_distributions(criterion, scored)
            if not math.isnan(scored.expected.get(criterion.id, math.nan)):
                places.append(self._add_expected(criterion.id, scored))
        # Without scales all are equal: then the first and the last are kept.
        merit = sum(places) / len(places) if places else 0.0
        _keep(self._worst, self._kept, (-merit, -scored.number, scored))
        _keep(self._best, self._kept, (merit, scored.number, scored))

    def merge(self, other: Overview) -> None:
        """Count in the dialogues of another part, which come after these."""
        shift = self.dialogues
        self.dialogues += other.dialogues
        self.turns += other.turns
        self.languages.update(other.languages)
        for id in self.sums:
            self.sums[id] += other.sums[id]
            self.counts[id] += other.counts[id]
            self.reached[id] += other.reached[id]
        for id in self.expected:
            self.histograms[id] += other.histograms[id]
            self.expected[id] += other.expected[id]
            self.spread[id] += other.spread[id]
        for heap, others_heap, sign in (
            (self._worst, other._worst, -1),
            (self._best, other._best, 1),
        ):
            for merit, _, scored in sorted(others_heap, key=lambda item: item[:2]):
                moved = replace(scored, number=scored.number + shift)
                _keep(heap, self._kept, (merit, sign * moved.number, moved))

    def _add_distributions(self, criterion: Criterion, scored: Scored) -> None:
        values = scored.predicted[criterion.id]
        judged = ~np.isnan(values[:, 0])
        if criterion.scope == "turn":
            turns = scored.dialogue.turns
            groups = np.array([self._speakers[turn.sender] for turn in turns])[judged]
        else:
            groups = np.zeros(int(judged.sum()), np.intp)
        np.add.at(self.sums[criterion.id], groups, values[judged])
        np.add.at(self.counts[criterion.id], groups, 1)
        # Indexing adds 1 however often a label comes, unlike `add.at`.
        self.reached[criterion.id][values[judged].argmax(axis=1)] += 1

    def _add_expected(self, id: str, scored: Scored) -> float:
        """Count an expected score in; gives its place on the scale, from 0 to 1."""
        low, high = self._values[id].min(), self._values[id].max()
        place = float((scored.expected[id] - low) / (high - low))
        # A hair is added, so that rounding does not move what lies on the edge of two bins.
        self.histograms[id][min(int(place * BINS + 1e-9), BINS - 1)] += 1
        self.expected[id] += scored.expected[id]
        self.spread[id] += scored.spread[id]
        return place

    @property
    def _kept(self) -> int:
        return max(LISTED, self.most - self.most // 2)

    @property
    def worst(self) -> list[Scored]:
        """From the lowest expected scores up, by the mean over scales."""
        return [scored for *_, scored in sorted(self._worst, reverse=True, key=lambda k: k[:2])]

    @property
    def best(self) -> list[Scored]:
        """From the highest expected scores down."""
        return [scored for *_, scored in sorted(self._best, reverse=True, key=lambda k: k[:2])]

    def shown(self) -> tuple[list[Scored], list[Scored]]:
        """At most `most` dialogues to show in full: the worst and the best, none of them twice."""
        total = min(self.most, self.dialogues)
        return self.worst[: total - total // 2], self.best[: total // 2]


def _keep(heap: list[Any], size: int, item: tuple[float, int, Scored]) -> None:
    """Keep the `size` largest items."""
    if len(heap) < size:
        heappush(heap, item)
    else:
        heappushpop(heap, item)
