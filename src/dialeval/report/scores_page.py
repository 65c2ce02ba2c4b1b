"""The page of scored dialogues: an overview, the worst and the best, and dialogues to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialeval.core.levels import Texts
from dialeval.core.rubric import Criterion, Rubric
from dialeval.core.scale import label_values
from dialeval.report.dialogues import Bar, colours
from dialeval.report.page import render
from dialeval.report.provenance import Provenance
from dialeval.report.scores import BINS, LISTED, Overview, Scored, scales
from dialeval.report.standings import LANGUAGES

BEGINNING = 90
"""How many characters of a dialogue the lists show."""
MOST_TICKS = 7


def scores_page(overview: Overview, model: str, files: Sequence[str], origin: Provenance) -> str:
    """The whole page as HTML."""
    rubric = overview.rubric
    worst, best = overview.shown()
    complete = len(worst) + len(best) == overview.dialogues
    listed = min(LISTED, overview.dialogues // 2) if scales(rubric) else 0
    linked = {scored.number for scored in (*worst, *best)}
    several = len(files) > 1

    def items(dialogues: list[Scored]) -> list[dict[str, Any]]:
        return [_item(scored, rubric, several, linked) for scored in dialogues]

    ends = ("Worst", "Best") if scales(rubric) else ("First", "Last")
    groups = [("", worst + best[::-1])] if complete else [*zip(ends, (worst, best), strict=True)]
    return render(
        "scores.html",
        model=model,
        files=files,
        provenance=origin,
        overview=overview,
        languages=[(LANGUAGES.get(k, k), count) for k, count in overview.languages.most_common()],
        qualities=[
            _quality(overview, c) for c in rubric.of_dialogues if any(overview.counts[c.id])
        ],
        turns=[_turns(overview, c) for c in rubric.of_turns if any(overview.counts[c.id])],
        scales=[c.id for c in scales(rubric)],
        lists=[
            ("Worst", items(overview.worst[:listed])),
            ("Best", items(overview.best[:listed])),
        ],
        shown=len(worst) + len(best),
        groups=[
            (heading, [_reading(scored, rubric, several) for scored in dialogues])
            for heading, dialogues in groups
        ],
    )


def score(value: float) -> str:
    """A score with two digits.

    >>> score(-1.557), score(-1e-17)
    ('-1.56', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}"  # + 0.0 takes the sign off zero


def english(texts: Texts) -> str:
    """A rubric's text in English, or in the first language it has."""
    return texts.get("en") or next(iter(texts.values()), "")


def _title(criterion: Criterion) -> str:
    name = english(criterion.name)
    return f"{criterion.id} · {name}" if name else criterion.id


def _best_first(criterion: Criterion, labels: tuple[str, ...]) -> list[str]:
    """The labels as they are drawn: scales from the highest value down."""
    if criterion.kind != "ordinal":
        return [*labels]
    return [labels[place] for place in np.argsort(-label_values(labels))]


def _bar(who: str, criterion: Criterion, labels: tuple[str, ...], row: NDArray[np.float64]) -> Bar:
    drawn = _best_first(criterion, labels)
    values = [float(row[criterion.columns.index(label)]) for label in drawn]
    return Bar(who, tuple(zip(drawn, values, colours(criterion, drawn), strict=True)))


def _quality(overview: Overview, criterion: Criterion) -> dict[str, Any]:
    """A dialogue criterion over all dialogues."""
    id, count = criterion.id, int(overview.counts[criterion.id][0])
    mean = overview.sums[id][0] / count
    return {
        "title": _title(criterion),
        "question": english(criterion.question),
        "bar": _bar(f"{id}, mean", criterion, criterion.columns, mean),
        "scale": _scale(overview, criterion, count) if criterion.kind == "ordinal" else None,
    }


def _scale(overview: Overview, criterion: Criterion, count: int) -> dict[str, Any]:
    """The expected scores on one scale: their mean and histogram."""
    values = label_values(criterion.columns)
    low, high = float(values.min()), float(values.max())
    bins = overview.histograms[criterion.id]
    edges = np.linspace(low, high, BINS + 1)
    mean = overview.expected[criterion.id] / count
    ends = [criterion.columns[values.argmin()], criterion.columns[values.argmax()]]
    crowded = len(values) > MOST_TICKS or max(map(len, criterion.columns)) > 4
    return {
        "mean": score(mean),
        "spread": score(overview.spread[criterion.id] / count),
        "low": _end(low, ends[0]),
        "high": _end(high, ends[1]),
        "marker": 100 * (mean - low) / (high - low),
        "bins": [
            (
                f"{score(edges[k])} to {score(edges[k + 1])}",
                int(bins[k]),
                100 * bins[k] / bins.max(),
            )
            for k in range(BINS)
        ],
        "ticks": [
            (label, 100 * (value - low) / (high - low))
            for label, value in zip(criterion.columns, values.tolist(), strict=True)
            if not crowded or label in ends
        ],
    }


def _end(value: float, label: str) -> str:
    """An end of a scale: its number, and the label where this is a word."""
    number = f"{value:g}"
    return number if number == label else f"{number} ({label})"


def _turns(overview: Overview, criterion: Criterion) -> dict[str, Any]:
    """A turn criterion over all turns: by speaker, and in how many dialogues labels occur."""
    id = criterion.id
    bars = [
        _bar(speaker, criterion, criterion.labels_of(speaker), overview.sums[id][place] / count)
        for place, speaker in enumerate(overview.rubric.speakers)
        if (count := overview.counts[id][place])
    ]
    look = {label: colour for bar in bars for label, _, colour in bar.shares}
    reached = [
        {
            "label": label,
            "colour": look[label],
            "meaning": english(criterion.meanings.get(label, {})),
            "count": int(count),
            "share": count / overview.dialogues,
        }
        for label, count in zip(criterion.columns, overview.reached[id], strict=True)
        if label in look
    ]
    return {
        "title": _title(criterion),
        "question": english(criterion.question),
        "bars": bars,
        "reached": reached if criterion.kind != "ordinal" else [],
    }


def _item(scored: Scored, rubric: Rubric, several: bool, linked: set[int]) -> dict[str, Any]:
    """A dialogue in the lists of the worst and the best."""
    text = " ".join(scored.dialogue.text.split())
    return {
        "number": scored.number if scored.number in linked else None,
        "id": scored.dialogue.id,
        "file": scored.file if several else "",
        "language": scored.language,
        "beginning": text if len(text) <= BEGINNING else text[: BEGINNING - 1] + "…",
        "expected": [
            score(scored.expected[c.id]) if c.id in scored.expected else "" for c in scales(rubric)
        ],
    }


def _reading(scored: Scored, rubric: Rubric, several: bool) -> dict[str, Any]:
    """A dialogue in full, with the distributions of the whole and turn by turn."""
    return {
        "number": scored.number,
        "id": scored.dialogue.id,
        "file": scored.file if several else "",
        "language": scored.language,
        "qualities": [
            {
                "title": _title(criterion),
                "bar": _bar(criterion.id, criterion, criterion.columns, row),
                "expected": f"{score(scored.expected[criterion.id])} ± "
                f"{score(scored.spread[criterion.id])}"
                if criterion.id in scored.expected
                else "",
            }
            for criterion in rubric.of_dialogues
            if (row := _row(scored, criterion, 0)) is not None
        ],
        "turns": [
            (
                turn,
                [
                    _likely(criterion, turn.sender, row)
                    for criterion in rubric.of_turns
                    if (row := _row(scored, criterion, place)) is not None
                ],
            )
            for place, turn in enumerate(scored.dialogue.turns)
        ],
    }


def _row(scored: Scored, criterion: Criterion, place: int) -> NDArray[np.float64] | None:
    """The distribution of a dialogue or turn, if it is judged."""
    rows = scored.predicted.get(criterion.id)
    return None if rows is None or np.isnan(rows[place, 0]) else rows[place]


def _likely(criterion: Criterion, speaker: str, row: NDArray[np.float64]) -> dict[str, Any]:
    """A turn's distribution and its most likely label."""
    bar = _bar(criterion.id, criterion, criterion.labels_of(speaker), row)
    label, _, colour = max(bar.shares, key=lambda share: share[1])
    return {
        "criterion": criterion.id,
        "label": label,
        "colour": colour,
        "meaning": english(criterion.meanings.get(label, {})),
        "bar": bar,
    }
