"""Metrics against people: how far scores go together with judgements, as a table.

The form of Table 1 in Liu et al.: How not to evaluate your dialogue system (EMNLP 2016): a row a
metric with correlations and p-values, and what people reach against each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import NO_VOTE, Collection
from dialeval.core.errors import DataError, UsageError, shown
from dialeval.core.records import Origin, check_new
from dialeval.core.rows import Row, field, read_rows, text_of
from dialeval.measures.overlap import METRICS, metric
from dialeval.report.tables import Column, Table
from dialeval.stats.correlation import (
    COEFFICIENTS,
    Correlations,
    correlate,
    rater_means,
    split_half,
)

Array = NDArray[np.float64]
Missing = Literal["error", "skip"]
HUMAN = "human"
"""The row of people against each other."""
ALL = ""


@dataclass(frozen=True)
class Rows:
    """The rows of a file with their places, by id."""

    origin: Origin
    numbers: tuple[int, ...]
    rows: tuple[Row, ...]
    ids: tuple[str, ...]


def read_items(path: Path, id: str) -> Rows:
    """Rows with a field that tells them apart; by their place where no row has it."""
    origin, found = read_rows(path)
    numbers, rows, ids = [], [], []
    seen: dict[str, int] = {}
    for number, row in found:
        key = str(row.get(id, number + 1))
        check_new(key, number, seen, origin)
        numbers.append(number)
        rows.append(row)
        ids.append(key)
    if not rows:
        raise DataError(origin.source, "", "no rows", "at least three")
    return Rows(origin, tuple(numbers), tuple(rows), tuple(ids))


def numbers_of(items: Rows, name: str, missing: Missing = "error") -> Array:
    """A column as numbers; NaN where there is none, if that may be."""
    values = [
        _number(row, name, number, items.origin, missing)
        for number, row in zip(items.numbers, items.rows, strict=True)
    ]
    return np.array(values, np.float64)


def _number(row: Row, name: str, number: int, origin: Origin, missing: Missing) -> float:
    value = field(row, name, number, origin)
    if value is None or value == "":
        if missing == "skip":
            return float("nan")
        raise origin.error(number, f".{name}", "nothing", "a number (--missing skip leaves it out)")
    return _as_number(value, name, number, origin)


def _as_number(value: Any, name: str, number: int, origin: Origin) -> float:
    try:
        found = float(value) if isinstance(value, str | int | float) else float("nan")
    except ValueError:
        found = float("nan")
    if not np.isfinite(found):
        raise origin.error(number, f".{name}", shown(value), "a finite number")
    return found


def raters_of(items: Rows, columns: Sequence[str], missing: Missing = "error") -> Array:
    """People's judgements, raters by items: a column each, or one column of lists."""
    if len(columns) != 1 or not any(isinstance(r.get(columns[0]), list) for r in items.rows):
        return np.array([numbers_of(items, column, missing) for column in columns])
    name = columns[0]
    lists = []
    for number, row in zip(items.numbers, items.rows, strict=True):
        given = field(row, name, number, items.origin)
        if not isinstance(given, list) or not (given or missing == "skip"):
            raise items.origin.error(number, f".{name}", shown(given), "a list of numbers")
        lists.append([_as_number(value, name, number, items.origin) for value in given])
    table = np.full((max(map(len, lists)), len(lists)), np.nan)
    for place, values in enumerate(lists):
        table[: len(values), place] = values
    return table


def raters_of_votes(collection: Collection, criterion: str) -> Array:
    """The votes on a dialogue criterion as what they are worth, annotators by dialogues."""
    wanted = collection.rubric.criterion(criterion)
    if wanted.scope != "dialogue":
        raise UsageError(f"criterion {criterion!r}: found one of turns, expected one of dialogues")
    if criterion not in collection.votes:
        raise DataError(collection.source, "", f"no votes on {criterion}", "some")
    votes = collection.votes[criterion]
    worth = np.array([*wanted.worth, np.nan])
    result: Array = np.where(votes == NO_VOTE, np.nan, worth[votes]).T
    return result


def joined(items: Rows, source: str, ids: Sequence[str], raters: Array, missing: Missing) -> Array:
    """Judgements that stand elsewhere, in the order of these items."""
    place = {id: p for p, id in enumerate(ids)}
    table = np.full((len(raters), len(items.ids)), np.nan)
    for p, id in enumerate(items.ids):
        if id in place:
            table[:, p] = raters[:, place[id]]
        elif missing == "error":
            found = f"nothing for {shown(id)} of {items.origin.source}"
            raise DataError(source, "", found, "a judgement (--missing skip leaves it out)")
    return table


def metrics_of(
    items: Rows,
    wanted: Sequence[str] | None,
    *,
    reply: str,
    reference: str,
    other: Sequence[str] = (),
    missing: Missing = "error",
) -> dict[str, Array]:
    """The metrics' scores by name: columns of the file, or ready ones on replies and references.

    Without names: every column of numbers that is not among `other`, and all ready metrics if the
    rows have replies and references.
    """
    if wanted is None:
        first = items.rows[0]
        ready = [*METRICS] if {reply, reference} <= first.keys() else []
        columns = [name for name in first if name not in other and _numeric(items, name)]
        wanted = [*columns, *(name for name in ready if name not in columns)]
        if not wanted:
            found = f"no column of numbers beside {', '.join(other)}"
            raise DataError(items.origin.source, "", found, "a metric's scores")
    scores = {}
    for name in wanted:
        if any(name in row for row in items.rows):
            scores[name] = numbers_of(items, name, missing)
        else:
            scores[name] = _ready(items, name, reply, reference)
    return scores


def _numeric(items: Rows, name: str) -> bool:
    try:
        return not np.isnan(numbers_of(items, name, "skip")).all()
    except DataError:
        return False


def _ready(items: Rows, name: str, reply: str, reference: str) -> Array:
    score = metric(name)
    values = []
    for number, row in zip(items.numbers, items.rows, strict=True):
        said = text_of(row, reply, number, items.origin)
        right = field(row, reference, number, items.origin)
        references = right if isinstance(right, list) else [right]
        if not references or not all(isinstance(one, str) for one in references):
            expected = "text, or a list of texts"
            raise items.origin.error(number, f".{reference}", shown(right), expected)
        values.append(score(said, references))
    return np.array(values)


def correlations_with_people(
    scores: Mapping[str, Array],
    raters: Array,
    groups: Sequence[str] | None = None,
    *,
    level: float = 0.95,
    resamples: int = 0,
    seed: int = 0,
) -> dict[str, dict[str, Correlations]]:
    """By group (one, if none are given) and metric: the correlations with the mean judgement.

    With several raters the row `human` tells how far two random halves of them agree. Items without
    a score or a judgement do not count.
    """
    people = rater_means(raters)
    kinds = np.array([ALL] * people.size if groups is None else groups, dtype=object)
    compared = {name: (values, people) for name, values in scores.items()}
    if len(raters) > 1:
        compared[HUMAN] = split_half(raters, seed=seed)
    found: dict[str, dict[str, Correlations]] = {}
    for kind in dict.fromkeys(kinds.tolist()):
        found[kind] = {}
        for name, (x, y) in compared.items():
            here = (kinds == kind) & ~np.isnan(x) & ~np.isnan(y)
            if here.sum() < 3:
                where = f"{name}, {kind}" if kind else name
                raise UsageError(f"{where}: found {here.sum()} judged items, expected 3 or more")
            found[kind][name] = correlate(
                x[here], y[here], level=level, resamples=resamples, seed=seed
            )
    return found


def correlation_table(
    found: Mapping[str, Mapping[str, Correlations]], by: str | None, level: float
) -> Table:
    """A row a group and metric."""
    columns = [Column("metric"), Column("n", "number")]
    for name in COEFFICIENTS:
        columns += [Column(name, "effect"), Column(f"{name} p", "p")]
        columns += [Column(f"{name} low", "effect"), Column(f"{name} high", "effect")]
    if by is not None:
        columns.insert(0, Column(by))
    rows = []
    for kind, metrics in found.items():
        for name, one in metrics.items():
            row: list[Any] = [kind, name, one.n] if by is not None else [name, one.n]
            for coefficient in (one.pearson, one.spearman, one.kendall):
                row += [coefficient.value, coefficient.p, *coefficient.interval]
            rows.append(tuple(row))
    title = f"Correlations with people's judgements, with {100 * level:g}% intervals"
    return Table("correlations", title, tuple(columns), tuple(rows))
