"""Which questions of a questionnaire to keep: those on which people agree.

The loop of a study of how people judge emotional dialogue, by the makers of a system of STC-2:
people answer yes-no questions about post-comment pairs, kappa is worked out question by question,
questions with a low kappa are dropped, and the next round asks the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np

from dialeval.agreement.analysis import agreement_of
from dialeval.agreement.bootstrap import interval
from dialeval.agreement.cohen import kappas
from dialeval.agreement.findings import Agreement, Coefficient, PartAgreement
from dialeval.agreement.ratings import Array, divided
from dialeval.core.collection import Collection
from dialeval.core.errors import DataError, UsageError, unknown_name
from dialeval.core.rubric import Rubric

COEFFICIENTS = ("fleiss", "cohen", "alpha", "ac1")
THRESHOLD = 0.2
"""Up to here the agreement reads as none."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a question, and why."""

    question: str
    group: str
    keep: bool
    reason: str
    found: PartAgreement | None
    """None for a question without votes."""


@dataclass(frozen=True)
class Group:
    """A questionnaire: questions that are averaged."""

    name: str
    questions: tuple[str, ...]
    mean: Coefficient
    """The mean of the questions' kappas."""
    percent: float
    ac1: float
    full: float
    """The mean share of items on which all agree."""
    pooled: Mapping[tuple[str, str], tuple[Array, float]]
    """Of each pair of raters the table over all questions together, and its Cohen's kappa."""


@dataclass(frozen=True)
class Difference:
    """How much higher the mean kappa of one questionnaire is than that of another."""

    groups: tuple[str, str]
    mean: Coefficient


@dataclass(frozen=True)
class Questionnaire:
    """The outcome of one round."""

    agreement: Agreement
    coefficient: str
    threshold: float
    verdicts: tuple[Verdict, ...]
    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]

    def next_round(self) -> Rubric:
        """The form of the next round: the rubric without the dropped questions."""
        rubric = self.agreement.collection.rubric
        dropped = {verdict.question for verdict in self.verdicts if not verdict.keep}
        kept = tuple(c for c in rubric.criteria if c.id not in dropped)
        if not kept:
            raise UsageError(
                f"no question has a kappa of {self.threshold:g} or more, so no form is left: "
                "set a lower threshold or write new questions"
            )
        return msgspec.structs.replace(rubric, name=f"{rubric.name}-next", criteria=kept)


def select_questions(
    collection: Collection,
    *,
    threshold: float = THRESHOLD,
    coefficient: str = "fleiss",
    groups: Mapping[str, Sequence[str]] | None = None,
    spare_one_sided: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Questionnaire:
    """Work out the kappa of each yes-no question and decide: keep from the threshold on, or drop.

    `groups` are the questionnaires that are averaged side by side; without them, what stands
    before the first `-` of a question's id. With `spare_one_sided`, a question whose kappa is
    low only because almost everybody gives one answer is kept.

    >>> import dialeval as de
    >>> found = de.select_questions(de.sample("questionnaire"), resamples=0)
    >>> [group.name for group in found.groups]
    ['emotion', 'stc2']
    """
    if coefficient not in COEFFICIENTS:
        raise unknown_name("coefficient", coefficient, COEFFICIENTS)
    if not -1 <= threshold <= 1:
        raise UsageError(f"threshold: found {threshold:g}, expected -1 to 1")
    questions = [c.id for c in collection.rubric.criteria if c.kind == "yes-no"]
    if not questions:
        raise UsageError(f"rubric {collection.rubric.name!r} has no yes-no question to select")
    if not collection.votes.keys() & set(questions):
        raise DataError(collection.source, "", "no votes on yes-no questions", "some")
    grouped = grouping(questions, groups)
    agreement = agreement_of(collection, resamples=resamples, seed=seed)
    whole = {p.part.criterion.id: p for p in agreement.parts if p.part.speaker is None}
    verdicts = [
        _verdict(id, group, whole.get(id), coefficient, threshold, spare_one_sided)
        for group, ids in grouped.items()
        for id in ids
    ]
    means = [
        _group(name, [whole[id] for id in ids if id in whole], coefficient)
        for name, ids in grouped.items()
    ]
    differences = [
        _difference(first, second, whole, coefficient) for first, second in combinations(means, 2)
    ]
    return Questionnaire(
        agreement, coefficient, threshold, tuple(verdicts), tuple(means), tuple(differences)
    )


def grouping(
    questions: Sequence[str], groups: Mapping[str, Sequence[str]] | None = None
) -> dict[str, list[str]]:
    """The questions by questionnaire, as told or by what stands before the first `-`.

    >>> grouping(["a-1", "a-2", "b-1"]), grouping(["x", "y"])
    ({'a': ['a-1', 'a-2'], 'b': ['b-1']}, {'questions': ['x', 'y']})
    """
    if groups is None:
        groups = {}
        for id in questions:
            prefix = id.partition("-")[0] if "-" in id else "questions"
            groups[prefix] = [*groups.get(prefix, ()), id]
    seen: set[str] = set()
    for name, ids in groups.items():
        for id in ids:
            if id not in questions:
                raise unknown_name("yes-no question", id, questions)
            if id in seen:
                raise UsageError(f"question {id!r} is in two groups, or in {name!r} twice")
            seen.add(id)
    rest = [id for id in questions if id not in seen]
    return {name: [*ids] for name, ids in groups.items()} | ({"others": rest} if rest else {})


def _verdict(
    id: str,
    group: str,
    found: PartAgreement | None,
    coefficient: str,
    threshold: float,
    spare_one_sided: bool,
) -> Verdict:
    if found is None:
        return Verdict(id, group, True, "no votes yet", None)
    kappa = found.coefficients[coefficient]
    if math.isnan(kappa.value):
        reason = f"not defined: {kappa.reason}"
    else:
        low, high = kappa.interval
        reason = f"{kappa.value:.3f} is {'below' if kappa.value < threshold else 'at least'} "
        reason += f"{threshold:g}"
        if low < threshold <= high:
            reason += f", which lies within its interval {low:.3f} .. {high:.3f}"
    keep = kappa.value >= threshold  # never where it is NaN
    if found.paradox and not keep:
        place = int(found.seen.shares.argmax())
        share, label = float(found.seen.shares[place]), found.part.labels[place]
        reason += f"; but votes are one-sided ({share:.0%} {label}), "
        reason += f"{found.seen.percent:.0%} agree and AC1 is "
        reason += f"{found.coefficients['ac1'].value:.3f}"
        keep = spare_one_sided
    return Verdict(id, group, keep, reason, found)


def _group(name: str, found: Sequence[PartAgreement], coefficient: str) -> Group:
    def mean(values: Sequence[float]) -> float:
        known = [value for value in values if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan

    value = mean([p.coefficients[coefficient].value for p in found])
    bounds = interval(_samples(found, coefficient))
    reason = "no question has one" if math.isnan(value) else ""
    return Group(
        name,
        tuple(p.title for p in found),
        Coefficient(value, bounds, reason),
        mean([p.coefficients["percent"].value for p in found]),
        mean([p.coefficients["ac1"].value for p in found]),
        mean([float(p.seen.full) for p in found]),
        _pooled(found),
    )


def _samples(found: Sequence[PartAgreement], coefficient: str) -> Array:
    """The mean kappa of the questions in every bootstrap sample."""
    given = [p.samples[coefficient] for p in found if coefficient in p.samples]
    if not given:
        return np.empty(0)
    values = np.stack(given)
    known = ~np.isnan(values)
    return divided(np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0).astype(float))


def _pooled(found: Sequence[PartAgreement]) -> dict[tuple[str, str], tuple[Array, float]]:
    tables: dict[tuple[str, str], Array] = {}
    for part in found:
        names = part.raters
        for (a, b), table in zip(part.pairs.places.tolist(), part.pairs.tables, strict=True):
            pair = (names[a], names[b])
            tables[pair] = tables.get(pair, 0.0) + table
    return {pair: (table, float(kappas(table))) for pair, table in tables.items()}


def _difference(
    first: Group, second: Group, whole: Mapping[str, PartAgreement], coefficient: str
) -> Difference:
    samples = [_samples([whole[id] for id in g.questions], coefficient) for g in (first, second)]
    drawn = samples[0] - samples[1] if samples[0].size == samples[1].size else np.empty(0)
    value = first.mean.value - second.mean.value
    reason = first.mean.reason or second.mean.reason
    return Difference((first.name, second.name), Coefficient(value, interval(drawn), reason))
