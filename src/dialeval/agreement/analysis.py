"""The agreement of a collection's annotators: every coefficient of every part of the votes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialeval.agreement.bootstrap import Interval, draws, interval, summed
from dialeval.agreement.cohen import WEIGHTS, Weights, agreements, kappas
from dialeval.agreement.correlation import pearsons, spearmans
from dialeval.agreement.findings import NAMES, Agreement, Coefficient, Pairs, PartAgreement
from dialeval.agreement.fleiss import fleiss
from dialeval.agreement.gwet import ac1
from dialeval.agreement.intra import intra_tables
from dialeval.agreement.krippendorff import LEVELS, alphas, coincidences
from dialeval.agreement.outliers import against_rest
from dialeval.agreement.pairs import Places, pair_tables, tables_by_group
from dialeval.agreement.parts import Part, parts
from dialeval.agreement.ratings import Array, divided, vote_counts
from dialeval.agreement.shares import Observed, item_sums
from dialeval.core.collection import NO_VOTE, Collection
from dialeval.core.errors import UsageError

MOST_WORK = 1e12
"""Multiplications up to which coefficients of pairs get intervals: half a minute of them."""
CELLS = 1 << 24
"""How many cells of pairs' tables are held at once."""


def agreement_of(
    collection: Collection, *, by: Sequence[str] = (), resamples: int = 0, seed: int = 0
) -> Agreement:
    """Every coefficient of agreement for every criterion; `by` speaker and label too, if wanted.

    With `resamples` each gets a 95% bootstrap interval: dialogues are drawn with replacement.

    >>> import dialeval as de
    >>> found = de.agreement_of(de.sample("en"))
    >>> round(found["A"].coefficients["fleiss"].value, 3)
    0.266
    """
    if resamples < 0:
        raise UsageError(f"found {resamples} resamples, expected 0 (no intervals) or more")
    found = [_analysed(part, collection, resamples, seed) for part in parts(collection, by)]
    return Agreement(collection, tuple(found), resamples, seed)


def _analysed(part: Part, collection: Collection, resamples: int, seed: int) -> PartAgreement:
    labels = len(part.labels)
    counts = vote_counts(part.codes, labels).astype(np.float64)
    sums, pairs = item_sums(counts), coincidences(counts)
    values = pooled_values(sums.sum(axis=0), pairs.sum(axis=0), part)
    places, tables = pair_tables(part.codes, labels)
    by_pair = pair_values(tables, part)
    values |= {name: _mean(of_pairs) for name, of_pairs in by_pair.items() if name != "percent"}
    intra = intra_tables([part.codes, *part.again], labels) if part.again else None
    if intra is not None:
        values |= _intra_values(intra.sum(axis=0))
    samples: dict[str, Array] = {}
    intervals: list[Interval] = []
    if resamples:
        groups = _groups(part, collection)
        samples = _pooled_samples(part, sums, pairs, groups, resamples, seed)
        if places.size and tables.size * groups[1] * resamples <= MOST_WORK:
            of_pairs, intervals = _pair_samples(part, places, groups, resamples, seed)
            samples |= of_pairs
    seen = Observed.of(sums.sum(axis=0))
    coefficients = {
        name: Coefficient(
            value,
            interval(samples[name]) if name in samples else (math.nan, math.nan),
            _reason(name, part, seen, len(places)) if math.isnan(value) else "",
        )
        for name, value in ((name, float(values[name])) for name in NAMES if name in values)
    }
    return PartAgreement(
        part,
        collection.annotators,
        seen,
        counts,
        coefficients,
        Pairs(places, tables, by_pair, intervals),
        against_rest(part.codes, labels, part.values),
        intra,
        samples,
    )


def pooled_values(sums: Array, pairs: Array, part: Part) -> dict[str, Array]:
    """The coefficients that need no raters, from sums over items; any leading axes."""
    labels = len(part.labels)
    seen = Observed.of(sums)
    tables = pairs.reshape(*pairs.shape[:-1], labels, labels)
    values = {"percent": seen.percent, "fleiss": fleiss(seen), "ac1": ac1(seen)}
    scale = np.arange(labels, dtype=np.float64) if part.values is None else part.values
    for level in LEVELS if part.ordered else LEVELS[:1]:
        name = "alpha" if level == "nominal" else f"alpha_{level}"
        values[name] = alphas(tables, level, scale)
    return values


def pair_values(tables: Array, part: Part) -> dict[str, Array]:
    """The coefficients of pairs of raters, from tables `(..., labels, labels)`."""
    weights: tuple[Weights, ...] = WEIGHTS if part.ordered else WEIGHTS[:1]
    values = {"percent": agreements(tables)}
    for weight in weights:
        values["cohen" if weight == "none" else f"cohen_{weight}"] = kappas(tables, weight)
    if part.values is not None:
        values |= {"pearson": pearsons(tables, part.values), "spearman": spearmans(tables)}
    return values


def _intra_values(table: Array) -> dict[str, Array]:
    return {"intra_percent": agreements(table), "intra_cohen": kappas(table)}


def _mean(values: Array) -> Array:
    """The mean of values, without NaN; NaN where there is nothing else."""
    known = values[~np.isnan(values)]
    return divided(np.asarray(known.sum()), np.asarray(float(known.size)))


def _groups(part: Part, collection: Collection) -> tuple[NDArray[np.intp], int]:
    """Of each item the number of its dialogue among those that anybody voted on, and how many."""
    voted = np.zeros(len(collection), bool)
    for criterion in collection.rubric.criteria:
        if criterion.id in collection.votes:
            any_vote = (collection.votes[criterion.id] != NO_VOTE).any(axis=1)
            if criterion.scope == "turn":
                any_vote = np.logical_or.reduceat(any_vote, collection.offsets[:-1])
            voted |= any_vote
    voted[part.dialogues] = True
    return (np.cumsum(voted) - 1)[part.dialogues], int(voted.sum())


def _pooled_samples(
    part: Part,
    sums: Array,
    pairs: Array,
    groups: tuple[NDArray[np.intp], int],
    resamples: int,
    seed: int,
) -> dict[str, Array]:
    sums, pairs = summed(sums, *groups), summed(pairs, *groups)
    blocks = [
        pooled_values(times @ sums, times @ pairs, part)
        for times in draws(groups[1], resamples, seed)
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _pair_samples(
    part: Part,
    places: Places,
    groups: tuple[NDArray[np.intp], int],
    resamples: int,
    seed: int,
) -> tuple[dict[str, Array], list[Interval]]:
    """The mean over pairs of each coefficient in every sample, and each pair's interval of kappa.

    Some pairs at a time, so that their tables fit into memory.
    """
    labels, size = len(part.labels), groups[1]
    most = max(1, CELLS // (size * labels * labels))
    total: dict[str, Array] = {}
    count: dict[str, Array] = {}
    intervals: list[Interval] = []
    for start in range(0, len(places), most):
        tables = tables_by_group(part.codes, labels, places[start : start + most], *groups)
        blocks = []
        for times in draws(size, resamples, seed):
            drawn = (times.astype(np.float32) @ tables).astype(np.float64)
            blocks.append(pair_values(drawn.reshape(len(times), -1, labels, labels), part))
        for name in blocks[0].keys() - {"percent"}:
            values = np.concatenate([block[name] for block in blocks])
            known = ~np.isnan(values)
            total[name] = total.get(name, 0.0) + np.where(known, values, 0.0).sum(axis=1)
            count[name] = count.get(name, 0.0) + known.sum(axis=1)
            if name == "cohen":
                intervals += [interval(of_pair) for of_pair in values.T]
    return {name: divided(total[name], count[name]) for name in total}, intervals


def _reason(name: str, part: Part, seen: Observed, pairs: int) -> str:
    """Why a coefficient is not defined."""
    if name.startswith("intra"):
        return "nobody judged an item twice, or only ever with one label"
    if math.isnan(float(seen.percent)):
        return "no item has two votes"
    used = [label for label, share in zip(part.labels, seen.shares, strict=True) if share > 0]
    if len(used) == 1:
        return f"every vote is {used[0]}"
    if name in ("pearson", "spearman"):
        return "in every pair of raters one gives a single label"
    return "in every pair of raters both give one label only" if pairs else "raters share no item"
