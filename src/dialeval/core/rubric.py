"""Rubrics: what is judged. A rubric is a data file (TOML or JSON) of criteria with labels.

Everything else - the form annotators see, gold, predictors, measures, results - follows
from it. Built-in rubrics lie in `dialeval/rubrics/`; users name a file of their own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from dialeval.core.errors import DataError, UsageError, shown, unknown_name
from dialeval.core.levels import (
    IDS,
    Aspect,
    Known,
    Level,
    Texts,
    check_aspects,
    check_levels,
)

Scope = Literal["dialogue", "turn"]
Kind = Literal["ordinal", "nominal", "yes-no"]
QUALITY = "quality"
"""The key under which the files hold all dialogue-scope criteria."""

RESERVED = frozenset({"id", "turns", "annotations", "annotator", "round", QUALITY})
MOST_LABELS = 100


class Criterion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """One thing that is judged, of a dialogue or of each of its turns."""

    id: str
    scope: Scope
    kind: Kind
    measures: tuple[str, ...]
    labels: tuple[str, ...] | dict[str, tuple[str, ...]] = ("yes", "no")
    """In order of the scale for ordinal criteria; by speaker where they differ."""
    name: Texts = {}
    question: Texts = {}
    help: Texts = {}
    meanings: dict[str, Texts] = {}
    """What a label means, by label."""
    aliases: dict[str, str] = {}
    """Other spellings of labels that files may use."""
    weights: dict[str, float] = {}
    """How a turn criterion's speakers combine into one score of the dialogue."""
    points: dict[str, float] = {}
    """What a vote for a label gives in an aspect, where the label itself does not say."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All labels; column j of every array of this criterion is label j.

        >>> load_rubric("helpdesk").criterion("nugget").columns
        ('CNUG0', 'CNUG', 'CNUG*', 'CNaN', 'HNUG', 'HNUG*', 'HNaN')
        """
        if isinstance(self.labels, tuple):
            return self.labels
        return tuple(dict.fromkeys(label for own in self.labels.values() for label in own))

    @cached_property
    def codes(self) -> dict[str | int, int]:
        """From a label as files spell it (`"2"`, `2`, an alias) to its column."""
        codes: dict[str | int, int] = {}
        for column, label in enumerate(self.columns):
            codes[label] = column
            if is_whole_number(label):
                codes[int(label)] = column
        codes.update({alias: codes[label] for alias, label in self.aliases.items()})
        return codes

    @cached_property
    def worth(self) -> tuple[float, ...]:
        """The points of a vote for each label (its column).

        As `points` says; else whole-number labels are their own worth, and the first label of a
        yes-no criterion is worth 1, the other 0.
        """
        if self.points:
            return tuple(float(self.points[label]) for label in self.columns)
        if all(is_whole_number(label) for label in self.columns):
            return tuple(float(label) for label in self.columns)
        if self.kind == "yes-no" and len(self.columns) == 2:
            return (1.0, 0.0)
        raise UsageError(f"criterion {self.id!r}: its labels have no points in the rubric")

    def labels_of(self, speaker: str) -> tuple[str, ...]:
        """The labels that this speaker's turns may have; none if they are not judged."""
        return self.labels if isinstance(self.labels, tuple) else self.labels.get(speaker, ())

    def columns_of(self, speaker: str) -> list[int]:
        """The columns of `labels_of(speaker)`, in the order of its scale."""
        return [self.columns.index(label) for label in self.labels_of(speaker)]


class Rubric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """A named set of criteria for dialogues between given speakers."""

    name: str
    speakers: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    title: Texts = {}
    speaker_names: dict[str, Texts] = {}
    roles: dict[str, tuple[str, ...]] = {}
    """What exports of other programs call a speaker: `user`, `agent` ..."""
    levels: tuple[Level, ...] = ()
    """Labels that follow from votes on the criteria, by rule."""
    aspects: tuple[Aspect, ...] = ()
    """Groups of criteria whose labels give points."""
    most_turns: int | None = None
    """How many judged turns of a dialogue give points, from its beginning; all unless told."""

    def __hash__(self) -> int:  # decoders are cached by rubric; the texts in it are dicts
        return hash((self.name, self.speakers, tuple(c.id for c in self.criteria)))

    def criterion(self, id: str) -> Criterion:
        """The criterion with this id."""
        for criterion in self.criteria:
            if criterion.id == id:
                return criterion
        raise unknown_name("criterion", id, [c.id for c in self.criteria])

    def level(self, id: str | None = None) -> Level:
        """The derived level with this id, or the last one, which may rest on all others.

        >>> load_rubric("stc2").level().labels
        ('L0', 'L1', 'L2')
        """
        if not self.levels:
            raise UsageError(f"rubric {self.name!r} has no levels")
        for level in self.levels[::-1]:
            if id in (None, level.id):
                return level
        raise unknown_name("level", str(id), [level.id for level in self.levels])

    @cached_property
    def of_dialogues(self) -> tuple[Criterion, ...]:
        """The criteria that judge a dialogue as a whole."""
        return tuple(c for c in self.criteria if c.scope == "dialogue")

    @cached_property
    def of_turns(self) -> tuple[Criterion, ...]:
        """The criteria that judge each turn."""
        return tuple(c for c in self.criteria if c.scope == "turn")

    def same_form(self, other: Rubric) -> bool:
        """Whether the other has the same speakers, criteria and labels; its texts may differ."""

        def form(rubric: Rubric) -> Any:
            criteria = [(c.id, c.scope, c.kind, c.labels) for c in rubric.criteria]
            return rubric.speakers, criteria

        return bool(form(self) == form(other))

    def known_at(self, path: str) -> str:
        """Which names may stand at a path of a record, in the words of an error.

        >>> load_rubric("helpdesk").known_at(".annotations[3].quality")
        'one of A, S, E'
        """
        for criterion in self.criteria:
            id = re.escape(criterion.id)
            if re.search(rf'(\.{id}|\["{id}"\])(\[\d+\])?$', path):
                return "one of " + ", ".join(criterion.columns)
        return "one of " + ", ".join(c.id for c in self.of_dialogues)


# Made when this module is loaded: msgspec learns a type's fields when it first decodes one, and
# crashes if two threads of a server do so at the same time.
_JSON = msgspec.json.Decoder(Rubric)


def is_whole_number(label: str) -> bool:
    """Whether a label is a whole number in its shortest form, so that `2` may stand for `"2"`.

    >>> [is_whole_number(label) for label in ("2", "-1", "+2", "02", "²", "CNUG")]
    [True, True, False, False, False, False]
    """
    digits = label.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(label)) == label


def built_in_rubrics() -> tuple[str, ...]:
    """The names of the rubrics that come with the package."""
    folder = resources.files("dialeval") / "rubrics"
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml")))


def load_rubric(rubric: str | Path | Rubric) -> Rubric:
    """A rubric by the name of a built-in one, or from a `.toml` or `.json` file.

    >>> [criterion.id for criterion in load_rubric("helpdesk").criteria]
    ['A', 'S', 'E', 'nugget']
    """
    if isinstance(rubric, Rubric):
        return rubric
    if isinstance(rubric, Path) or rubric.endswith((".toml", ".json")):
        path = Path(rubric)
        try:
            return parse_rubric(path.read_bytes(), str(path))
        except OSError as error:
            raise DataError(
                str(path), "", f"no readable file ({error.strerror})", "a rubric file"
            ) from None
    if rubric not in built_in_rubrics():
        raise unknown_name("rubric", rubric, [*built_in_rubrics(), "a .toml or .json file"])
    return _built_in(rubric)


@lru_cache
def _built_in(name: str) -> Rubric:
    file = resources.files("dialeval") / "rubrics" / f"{name}.toml"
    return parse_rubric(file.read_bytes(), f"{name}.toml")


def parse_rubric(content: bytes, source: str) -> Rubric:
    """Decode and check a rubric; `source` names it in errors and says the format."""
    try:
        if source.endswith(".json"):
            rubric = _JSON.decode(content)
        else:
            rubric = msgspec.toml.decode(content, type=Rubric)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        raise DataError(source, path.rstrip("`").lstrip("."), message, "a rubric") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = "JSON" if source.endswith(".json") else "TOML"
        raise DataError(source, "", f"text that is not {kind} ({error})", "a rubric") from None
    _check(rubric, source)
    return rubric


def _check(rubric: Rubric, source: str) -> None:
    """A rubric must not contradict itself."""

    def fail(place: str, found: str, expected: str) -> None:
        raise DataError(source, place, found, expected)

    if not rubric.name.strip():
        fail("name", "an empty name", "a name")
    if not rubric.speakers:
        fail("speakers", "no speakers", "at least one")
    _distinct(rubric.speakers, source, "speakers")
    if not rubric.criteria:
        fail("criteria", "no criteria", "at least one")
    _distinct([criterion.id for criterion in rubric.criteria], source, "criteria")
    for speaker in rubric.speaker_names.keys() - set(rubric.speakers):
        fail("speaker_names", shown(speaker), f"one of {', '.join(rubric.speakers)}")
    _check_roles(rubric, source)
    for i, criterion in enumerate(rubric.criteria):
        _check_criterion(criterion, rubric.speakers, source, f"criteria[{i}]")
    criteria = {c.id: Known(c.columns, c.scope) for c in rubric.criteria}
    check_levels(rubric.levels, criteria, source)
    check_aspects(rubric.aspects, criteria, source)
    if rubric.most_turns is not None and rubric.most_turns < 1:
        fail("most_turns", str(rubric.most_turns), "1 or more")


def _check_roles(rubric: Rubric, source: str) -> None:
    seen = {speaker.casefold(): speaker for speaker in rubric.speakers}
    for speaker, roles in rubric.roles.items():
        if speaker not in rubric.speakers:
            expected = f"one of {', '.join(rubric.speakers)}"
            raise DataError(source, "roles", shown(speaker), expected)
        for role in roles:
            if seen.setdefault(role.casefold(), speaker) != speaker:
                found = f"{shown(role)}, which is {seen[role.casefold()]}"
                raise DataError(source, f"roles.{speaker}", found, "a role of one speaker")


def _check_criterion(
    criterion: Criterion, speakers: tuple[str, ...], source: str, place: str
) -> None:
    def fail(where: str, found: str, expected: str) -> None:
        raise DataError(source, f"{place}.{where}", found, expected)

    if not re.fullmatch(IDS, criterion.id) or criterion.id in RESERVED:
        reserved = ", ".join(sorted(RESERVED))
        fail("id", shown(criterion.id), f"letters, digits, _ and -, and none of {reserved}")
    if not criterion.measures:
        fail("measures", "no measures", "at least one")
    by_speaker: Mapping[str, tuple[str, ...]]
    if isinstance(criterion.labels, dict):
        if criterion.scope == "dialogue":
            fail("labels", "labels by speaker", "one list: the dialogue has no speaker of its own")
        by_speaker = criterion.labels
        for speaker in by_speaker:
            if speaker not in speakers:
                fail("labels", f"speaker {shown(speaker)}", f"one of {', '.join(speakers)}")
    else:
        by_speaker = {"": criterion.labels}
    if not by_speaker:
        fail("labels", "no labels", "labels for at least one speaker")
    for speaker, labels in by_speaker.items():
        where = f"{place}.labels.{speaker}" if speaker else f"{place}.labels"
        _distinct(labels, source, where)
        if not 2 <= len(labels) <= MOST_LABELS:
            raise DataError(source, where, f"{len(labels)} labels", f"2 to {MOST_LABELS}")
        if criterion.kind == "yes-no" and len(labels) != 2:
            raise DataError(source, where, f"{len(labels)} labels", "two, as the kind is yes-no")
    if len(criterion.columns) > MOST_LABELS:
        fail("labels", f"{len(criterion.columns)} labels", f"at most {MOST_LABELS}")
    for alias, label in criterion.aliases.items():
        if label not in criterion.columns:
            fail(f"aliases.{alias}", shown(label), f"one of {', '.join(criterion.columns)}")
        if alias in criterion.columns:
            fail(f"aliases.{alias}", "a label of its own", "another spelling")
    for label in criterion.meanings.keys() - set(criterion.columns):
        fail("meanings", shown(label), f"one of {', '.join(criterion.columns)}")
    if criterion.points:
        if set(criterion.points) != set(criterion.columns):
            found = ", ".join(criterion.points)
            fail("points", found, f"points for each of {', '.join(criterion.columns)}")
        for label, points in criterion.points.items():
            if not (math.isfinite(points) and points >= 0):
                fail(f"points.{label}", f"{points:g}", "a number of 0 or more")
    if criterion.weights:
        _check_weights(criterion, speakers, source, f"{place}.weights")


def _check_weights(
    criterion: Criterion, speakers: tuple[str, ...], source: str, place: str
) -> None:
    if criterion.scope == "dialogue":
        raise DataError(source, place, "weights", "none: a dialogue criterion has no turns")
    judged = [speaker for speaker in speakers if criterion.labels_of(speaker)]
    if set(criterion.weights) != set(judged):
        found = ", ".join(criterion.weights)
        raise DataError(source, place, found, f"a weight for each of {', '.join(judged)}")
    for speaker, weight in criterion.weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise DataError(source, f"{place}.{speaker}", str(weight), "a number of 0 or more")
    if not sum(criterion.weights.values()) > 0:
        raise DataError(source, place, "only zeros", "at least one weight above 0")


def _distinct(names: tuple[str, ...] | list[str], source: str, place: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            raise DataError(source, place, "an empty name", "a name")
        if name in seen:
            raise DataError(source, place, f"{shown(name)} twice", "distinct names")
        seen.add(name)
