"""Dialogues worth reading: where runs disagree most, and where all of them fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue
from dialeval.core.rubric import Criterion
from dialeval.report.results import Comparison

MOST_RUNS = 6
PEOPLE = "people"


@dataclass(frozen=True)
class Bar:
    """A distribution drawn as one bar: shares of labels, and who says so."""

    who: str
    shares: tuple[tuple[str, float, str], ...]
    """Label, probability, CSS class of its colour."""


@dataclass(frozen=True)
class Judged:
    """A criterion with gold and the runs' predictions."""

    criterion: Criterion
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Reading:
    """A dialogue with its distributions: of the whole, and turn by turn."""

    dialogue: Dialogue
    score: float
    quality: tuple[Judged, ...]
    turns: tuple[tuple[Judged, ...], ...]


def relative_scores(comparison: Comparison) -> tuple[tuple[str, ...], np.ndarray]:
    """Dialogues that every contest has, and by run the mean score relative to the contests' means.

    1 is an average dialogue for an average run, 2 twice as bad.
    """
    ids = [id for id in comparison.gold.ids if all(id in one.ids for one in comparison.contests)]
    runs = [
        run for run in comparison.runs if all(run in one.runs for one in comparison.contests)
    ] or [*comparison.contests[0].runs]
    parts = []
    for one in comparison.contests:
        if not set(runs) <= set(one.runs):
            continue
        row = {id: place for place, id in enumerate(one.ids)}
        table = one.scores[[row[id] for id in ids]][:, [one.runs.index(run) for run in runs]]
        mean = table.mean()
        parts.append(table / mean if mean > 0 else table)
    return tuple(ids), np.mean(parts, axis=0)


def readings(comparison: Comparison, most: int = 4) -> dict[str, list[Reading]]:
    """`disagree`: the spread over runs is largest; `fail`: even the best run is far off."""
    ids, table = relative_scores(comparison)
    spread, best = table.std(axis=1), table.min(axis=1)
    return {
        "disagree": [
            reading(comparison, ids[place], float(spread[place]))
            for place in np.argsort(-spread, kind="stable")[:most]
        ],
        "fail": [
            reading(comparison, ids[place], float(best[place]))
            for place in np.argsort(-best, kind="stable")[:most]
        ],
    }


def reading(comparison: Comparison, id: str, score: float) -> Reading:
    """One dialogue with gold and the predictions of the best runs."""
    gold = comparison.gold
    place = gold.index[id]
    dialogue = gold.dialogues[place]
    runs = comparison.runs[:MOST_RUNS]
    quality = tuple(
        _judged(comparison, criterion, place, criterion.columns, runs)
        for criterion in gold.rubric.of_dialogues
        if criterion.id in gold.votes
    )
    first = int(gold.offsets[place])
    turns = tuple(
        tuple(
            _judged(comparison, criterion, first + t, criterion.labels_of(turn.sender), runs)
            for criterion in gold.rubric.of_turns
            if criterion.id in gold.votes and criterion.labels_of(turn.sender)
        )
        for t, turn in enumerate(dialogue.turns)
    )
    return Reading(dialogue, score, quality, turns)


def _judged(
    comparison: Comparison,
    criterion: Criterion,
    item: int,
    labels: Sequence[str],
    runs: Sequence[str],
) -> Judged:
    columns = [criterion.columns.index(label) for label in labels]
    sources = [(PEOPLE, comparison.gold.gold(criterion))]
    sources += [
        (run, comparison.predicted[run][criterion.id])
        for run in runs
        if criterion.id in comparison.predicted[run]
    ]
    bars = tuple(
        Bar(who, tuple(zip(labels, row, colours(criterion, labels), strict=True)))
        for who, values in sources
        if not np.isnan(row := values[item, columns]).any()
    )
    return Judged(criterion, bars)


def colours(criterion: Criterion, labels: Sequence[str]) -> list[str]:
    """CSS classes: a diverging scale for labels in an order, distinct hues for others."""
    if criterion.kind == "nominal":
        return [f"n{criterion.columns.index(label) % 8}" for label in labels]
    last = len(labels) - 1
    return [f"o{round(8 * place / last)}" for place in range(len(labels))]


def legend(collection: Collection) -> list[tuple[str, list[tuple[str, str]]]]:
    """For each criterion and speaker: the labels and the CSS classes of their colours."""
    entries: list[tuple[str, list[tuple[str, str]]]] = []
    for criterion in collection.rubric.criteria:
        if isinstance(criterion.labels, tuple):
            groups = {criterion.id: criterion.labels}
        else:
            groups = {f"{criterion.id}, {s}": own for s, own in criterion.labels.items()}
        for name, labels in groups.items():
            pairs = [*zip(labels, colours(criterion, labels), strict=True)]
            if entries and entries[-1][1] == pairs:
                entries[-1] = (f"{entries[-1][0]}, {name}", pairs)
            else:
                entries.append((name, pairs))
    return entries
