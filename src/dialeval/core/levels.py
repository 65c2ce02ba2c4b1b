"""What a rubric makes of its criteria: levels derived by rule, and aspects, groups with points."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from dialeval.core.errors import DataError, shown

Texts = dict[str, str]
"""The same text by language: `{"en": "...", "zh": "..."}`."""

IDS = r"[\w-]+"
"""How ids of criteria, levels and aspects are spelled."""
OVERALL = "overall"
"""The column of all aspects together; no aspect may be called so."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label, and what must have been voted for it: all of `when`, by criterion or level."""

    label: str
    when: dict[str, str]


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A label that follows from one annotator's votes: of the first rule that holds."""

    id: str
    labels: tuple[str, ...]
    """From the lowest to the highest."""
    rules: tuple[Rule, ...]
    otherwise: str
    """The label where no rule holds."""
    gains: dict[str, float] = {}
    """What an answer of a label is worth in a ranked list; 0, 1, 2 ... unless told."""
    name: Texts = {}

    @property
    def gain(self) -> tuple[float, ...]:
        """The gain of each label, in the order of `labels`."""
        return tuple(self.gains.get(label, place) for place, label in enumerate(self.labels))


class Aspect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of criteria whose labels give points."""

    id: str
    criteria: tuple[str, ...] = ()
    name: Texts = {}
    scale: float | None = None
    """The points are converted so that this is the most; None leaves them as they are."""
    each: float = 0.0
    """Points that every judged turn gives, whatever its labels."""


T = TypeVar("T", Level, Aspect)


class Known(msgspec.Struct, frozen=True):
    """What rules may ask of a criterion: its labels and what it judges."""

    labels: tuple[str, ...]
    scope: str


def check_levels(levels: Sequence[Level], criteria: Mapping[str, Known], source: str) -> None:
    """Levels rest on criteria of the rubric, in the end, and on labels that these have."""
    labels = {id: known.labels for id, known in criteria.items()}
    labels |= {level.id: level.labels for level in levels}
    for place, level in _placed(levels, "levels", source):
        if level.id in criteria or sum(other.id == level.id for other in levels) > 1:
            raise DataError(source, f"{place}.id", f"{shown(level.id)} twice", "distinct names")
        if len(level.labels) < 2 or len(set(level.labels)) < len(level.labels):
            found = f"labels {', '.join(level.labels)}" if level.labels else "no labels"
            raise DataError(source, f"{place}.labels", found, "two or more, each once")
        if not level.rules:
            raise DataError(source, f"{place}.rules", "no rules", "at least one")
        _one_of(level.otherwise, level.labels, source, f"{place}.otherwise")
        for r, rule in enumerate(level.rules):
            where = f"{place}.rules[{r}]"
            _one_of(rule.label, level.labels, source, f"{where}.label")
            if not rule.when:
                raise DataError(source, f"{where}.when", "nothing", "at least one condition")
            for id, label in rule.when.items():
                _one_of(id, labels, source, f"{where}.when")
                _one_of(label, labels[id], source, f"{where}.when.{id}")
        _check_gains(level, source, f"{place}.gains")
    for place, level in _placed(levels, "levels", source):
        _check_circle(level, levels, source, place)
    for place, level in _placed(levels, "levels", source):
        scopes = {criteria[id].scope for id in _rests_on(level, levels) if id in criteria}
        if len(scopes) > 1:
            found = "criteria of dialogues and of turns"
            raise DataError(source, f"{place}.rules", found, "criteria of one scope")


def _check_gains(level: Level, source: str, place: str) -> None:
    if not level.gains:
        return
    if set(level.gains) != set(level.labels):
        expected = f"a gain for each of {', '.join(level.labels)}"
        raise DataError(source, place, ", ".join(level.gains), expected)
    gain = level.gain
    if not all(math.isfinite(g) and g >= 0 for g in gain) or list(gain) != sorted(gain):
        found = ", ".join(f"{g:g}" for g in gain)
        raise DataError(source, place, found, "numbers of 0 or more that grow with the level")


def _check_circle(level: Level, levels: Sequence[Level], source: str, place: str) -> None:
    by_id = {other.id: other for other in levels}

    def way(id: str, path: tuple[str, ...]) -> tuple[str, ...] | None:
        if id in path:
            return (*path[path.index(id) :], id)
        if id not in by_id:
            return None
        asked = (ref for rule in by_id[id].rules for ref in rule.when)
        return next((found for ref in asked if (found := way(ref, (*path, id)))), None)

    circle = way(level.id, ())
    if circle:
        expected = "rules that lead to criteria"
        raise DataError(source, f"{place}.rules", f"a circle, {' -> '.join(circle)}", expected)


def _rests_on(level: Level, levels: Sequence[Level]) -> set[str]:
    """All criteria and levels that a level's rules ask for, directly or not."""
    by_id = {other.id: other for other in levels}
    found: set[str] = set()
    waiting = [level.id]
    while waiting:
        id = waiting.pop()
        for rule in by_id[id].rules if id in by_id else ():
            waiting += rule.when.keys() - found
            found |= rule.when.keys()
    return found


def check_aspects(aspects: Sequence[Aspect], criteria: Mapping[str, Known], source: str) -> None:
    """Aspects group criteria of the rubric, of one scope each."""
    for place, aspect in _placed(aspects, "aspects", source):
        if aspect.id == OVERALL:
            raise DataError(source, f"{place}.id", shown(OVERALL), "a name of its own")
        if sum(other.id == aspect.id for other in aspects) > 1:
            raise DataError(source, f"{place}.id", f"{shown(aspect.id)} twice", "distinct names")
        if len(set(aspect.criteria)) < len(aspect.criteria):
            found = f"{', '.join(aspect.criteria)}"
            raise DataError(source, f"{place}.criteria", found, "each criterion once")
        for id in aspect.criteria:
            _one_of(id, criteria, source, f"{place}.criteria")
        if len({criteria[id].scope for id in aspect.criteria}) > 1:
            found = "criteria of dialogues and of turns"
            raise DataError(source, f"{place}.criteria", found, "criteria of one scope")
        if aspect.scale is not None and not (math.isfinite(aspect.scale) and aspect.scale > 0):
            raise DataError(source, f"{place}.scale", f"{aspect.scale:g}", "a number above 0")
        if not (math.isfinite(aspect.each) and aspect.each >= 0):
            raise DataError(source, f"{place}.each", f"{aspect.each:g}", "a number of 0 or more")
        if not aspect.criteria and not aspect.each:
            raise DataError(source, place, "no points", "criteria, or points for each turn")


def _placed(items: Sequence[T], field: str, source: str) -> Iterator[tuple[str, T]]:
    for i, item in enumerate(items):
        if not re.fullmatch(IDS, item.id):
            expected = "letters, digits, _ and -"
            raise DataError(source, f"{field}[{i}].id", shown(item.id), expected)
        yield f"{field}[{i}]", item


def _one_of(name: str, known: Collection[str], source: str, place: str) -> None:
    if name not in known:
        raise DataError(source, place, shown(name), f"one of {', '.join(known)}")
