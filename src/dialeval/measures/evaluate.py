"""Evaluating a run: every measure of every criterion, dialogue by dialogue.

A turn criterion's score of a dialogue is the weighted mean over its speakers of the mean over
the speaker's turns (alpha * customer + (1 - alpha) * helpdesk in the campaigns). Speakers
without a turn in the dialogue drop out and the other weights are scaled up, so a dialogue of
one speaker takes that side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.errors import DataError, UsageError
from dialeval.core.rubric import QUALITY, Criterion, Rubric
from dialeval.core.run import Distributions, Missing, Run, align
from dialeval.measures.distributions import Array
from dialeval.measures.registry import Measure, measures_for

Interval = tuple[float, float]
BLOCK = 8192
BOOTSTRAP_CELLS = 1 << 20
"""How many drawn rows are held at once: memory does not grow with the resamples."""


def evaluate(
    run: Run,
    gold: Collection,
    *,
    measures: Sequence[str] | None = None,
    alpha: float | None = None,
    missing: Missing = "error",
) -> Score:
    """Score a run against gold by the rubric's measures, or by those named.

    `alpha` is the weight of the rubric's first speaker in turn criteria (the second has
    1 - alpha). `missing="skip"` leaves dialogues out that the run or the votes lack.
    """
    if not gold.votes:
        raise DataError(gold.source, "", "no votes", "a collection with annotations")
    predicted = align(run, gold, missing)
    chosen = {id: measures_for(gold.rubric.criterion(id), measures) for id in predicted}
    if not any(chosen.values()):
        raise UsageError(f"run {run.name!r}: none of these measures is fit for its criteria")
    by_dialogue = {
        f"{id}.{measure.name}": values
        for id, distributions in predicted.items()
        if chosen[id]
        for measure, values in _score(
            gold, gold.rubric.criterion(id), distributions, chosen[id], alpha, missing
        )
    }
    kept = ~np.all([np.isnan(values) for values in by_dialogue.values()], axis=0)
    if not kept.any():
        raise DataError(run.origin.source, "", f"no dialogue of {gold.source}", "at least one")
    ids = gold.ids
    if not kept.all():
        ids = tuple(id for id, keep in zip(ids, kept, strict=True) if keep)
        by_dialogue = {column: values[kept] for column, values in by_dialogue.items()}
    return Score(run.name, ids, by_dialogue, gold.rubric)


def _score(
    gold: Collection,
    criterion: Criterion,
    predicted: Distributions,
    measures: list[Measure],
    alpha: float | None,
    missing: Missing,
) -> list[tuple[Measure, Array]]:
    wanted = gold.gold(criterion)
    if missing == "error":
        _check_votes(wanted, gold, criterion)
    known = ~(np.isnan(wanted[:, 0]) | np.isnan(predicted[:, 0]))
    values = np.full((len(measures), known.size), np.nan)
    if criterion.scope == "dialogue":
        _measure(values, measures, predicted, wanted, np.flatnonzero(known), slice(None))
        return [*zip(measures, values, strict=True)]
    for s, speaker in enumerate(gold.rubric.speakers):
        columns = criterion.columns_of(speaker)
        if columns:
            turns = np.flatnonzero(known & (gold.speakers == s))
            _measure(values, measures, predicted, wanted, turns, columns)
    weights = speaker_weights(gold.rubric, criterion, alpha)
    return [(m, combine_turns(row, gold, weights)) for m, row in zip(measures, values, strict=True)]


def _measure(
    values: Array,
    measures: list[Measure],
    predicted: Distributions,
    wanted: Distributions,
    items: NDArray[np.intp],
    columns: list[int] | slice,
) -> None:
    """Fill in each measure's value of these items, some thousands at once: they fit the cache."""
    for start in range(0, items.size, BLOCK):
        block = items[start : start + BLOCK]
        of_run, of_people = predicted[block][:, columns], wanted[block][:, columns]
        for m, measure in enumerate(measures):
            values[m, block] = measure.kernel(of_run, of_people)


def _check_votes(wanted: Distributions, gold: Collection, criterion: Criterion) -> None:
    empty = np.isnan(wanted[:, 0])
    if criterion.scope == "turn":
        empty &= gold.judged(criterion)
    if empty.any():
        item = int(np.flatnonzero(empty)[0])
        if criterion.scope == "turn":
            item, _ = gold.dialogue_of(item)
        raise DataError(
            gold.source,
            f"dialogue {gold.ids[item]!r}",
            f"no votes on {criterion.id}",
            "some (--missing skip leaves it out)",
        )


def speaker_weights(rubric: Rubric, criterion: Criterion, alpha: float | None = None) -> Array:
    """The weight of each speaker's turns: the rubric's, equal ones, or alpha and 1 - alpha."""
    judged = [bool(criterion.labels_of(speaker)) for speaker in rubric.speakers]
    if alpha is None:
        given = criterion.weights or dict.fromkeys(rubric.speakers, 1.0)
        weights = [
            given.get(s, 0.0) if j else 0.0 for s, j in zip(rubric.speakers, judged, strict=True)
        ]
        return np.array(weights)
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha: found {alpha}, expected 0 to 1")
    if len(rubric.speakers) != 2:
        raise UsageError(
            f"alpha weighs two speakers, and rubric {rubric.name!r} has {len(rubric.speakers)}: "
            "set weights in the rubric instead"
        )
    return np.array([alpha, 1 - alpha])


def combine_turns(by_turn: Array, collection: Collection, weights: Array) -> Array:
    """One value a dialogue from one a turn; NaN turns do not count."""
    dialogues, speakers = len(collection), len(collection.rubric.speakers)
    cell = np.repeat(np.arange(dialogues), collection.lengths) * speakers + collection.speakers
    known = ~np.isnan(by_turn)
    size = dialogues * speakers
    total = np.bincount(cell[known], by_turn[known], size).reshape(dialogues, speakers)
    count = np.bincount(cell[known], minlength=size).reshape(dialogues, speakers)
    mean = total / np.maximum(count, 1)
    weight = np.where(count, weights, 0.0)
    # Only speakers of weight 0 have turns: they are all there is, so they decide.
    weight = np.where(weight.sum(axis=1, keepdims=True) > 0, weight, count > 0)
    with np.errstate(invalid="ignore"):
        result: Array = (mean * weight).sum(axis=1) / weight.sum(axis=1)
    return result


def balanced_means(score: Score, gold: Collection) -> dict[str, float]:
    """Means with the same weight for every number of turns, as in the campaigns' test set."""
    lengths = dict(zip(gold.ids, gold.lengths.tolist(), strict=True))
    own = np.array([lengths[id] for id in score.ids])
    groups = [own == length for length in np.unique(own)]
    return {
        column: float(np.nanmean([np.nanmean(values[group]) for group in groups]))
        for column, values in score.by_dialogue.items()
    }


class Score:
    """The scores of a run: of each dialogue, and their means.

    Columns are named criterion.measure, such as `A.nmd` or `nugget.jsd`.
    """

    def __init__(
        self, run: str, ids: tuple[str, ...], by_dialogue: dict[str, Array], rubric: Rubric
    ) -> None:
        self.run = run
        self.ids = ids
        self.by_dialogue = by_dialogue
        self.rubric = rubric

    def __repr__(self) -> str:
        means = ", ".join(f"{column} {value:.4f}" for column, value in self.mean.items())
        return f"<Score {self.run}: {means}>"

    @cached_property
    def mean(self) -> dict[str, float]:
        """The mean over dialogues, by column."""
        return {column: float(np.nanmean(v)) for column, v in self.by_dialogue.items()}

    def intervals(
        self, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
    ) -> dict[str, Interval]:
        """Percentile bootstrap intervals of the means, dialogues drawn with replacement."""
        means = bootstrap_means(np.column_stack([*self.by_dialogue.values()]), resamples, seed)
        tail = (1 - level) / 2
        low, high = np.nanquantile(means, [tail, 1 - tail], axis=0)
        return {c: (float(low[i]), float(high[i])) for i, c in enumerate(self.by_dialogue)}

    def to_json(self, *, log2: bool = False) -> dict[str, Any]:
        """The means in the shape of the campaigns' score server.

        `{"nugget": {"jsd": ...}, "quality": {"nmd": {"A": ...}}}`; with `log2`, -log2 of each.
        """
        return nested(minus_log2(self.mean) if log2 else self.mean, self.rubric)

    def to_frame(self) -> Any:
        """A pandas data frame: a row a dialogue, a column a criterion and measure."""
        from dialeval.core.frames import data_frame

        return data_frame({"id": self.ids, **self.by_dialogue}).set_index("id")


def bootstrap_means(table: Array, resamples: int, seed: int) -> Array:
    """The column means of rows drawn with replacement, `resamples` times; NaN does not count."""
    random = np.random.default_rng(seed)
    rows = len(table)
    known = ~np.isnan(table)
    filled = np.where(known, table, 0.0)
    means = np.empty((resamples, table.shape[1]))
    block = max(1, BOOTSTRAP_CELLS // rows)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = random.integers(rows, size=(size, rows)) + np.arange(size)[:, None] * rows
        times = np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows)
        with np.errstate(invalid="ignore"):
            means[start : start + size] = (times @ filled) / (times @ known.astype(float))
    return means


def minus_log2(means: dict[str, float]) -> dict[str, float]:
    """-log2 of each mean, so that larger is better; a perfect 0 becomes infinite.

    >>> minus_log2({"A.nmd": 0.25})
    {'A.nmd': 2.0}
    """
    with np.errstate(divide="ignore"):
        return {column: float(-np.log2(value)) for column, value in means.items()}


def nested(by_column: dict[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Values by column in the shape of `Score.to_json`: turn criteria first, then quality."""
    result: dict[str, Any] = {c.id: {} for c in rubric.of_turns}
    quality: dict[str, dict[str, Any]] = {}
    for column, value in by_column.items():
        id, _, measure = column.partition(".")
        if id in result:
            result[id][measure] = value
        else:
            quality.setdefault(measure, {})[id] = value
    if quality:
        result[QUALITY] = quality
    return {id: values for id, values in result.items() if values}
