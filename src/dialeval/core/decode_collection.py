"""Reading collections: dialogues, with or without votes.

The rubric says which keys and labels a record may have. msgspec types are built from it, so
that a wrong label is refused while decoding, with its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import defstruct
from msgspec.structs import astuple
from numpy.typing import NDArray

from dialeval.core.collection import NO_VOTE, Collection, Votes
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import DataError, shown
from dialeval.core.files import Format
from dialeval.core.formats.reading import AS_IT_IS, Reading, Source
from dialeval.core.records import (
    Origin,
    Record,
    check_new,
    decode_part,
    read_records,
    split_records,
    step,
)
from dialeval.core.rubric import QUALITY, Criterion, Rubric, load_rubric

_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ID = msgspec.json.Decoder(str | int)
_TURNS = msgspec.json.Decoder(tuple[Turn, ...])
_ANY = msgspec.json.Decoder()

MOST_ROUNDS = 9
"""How often an annotator may judge the same dialogue."""


def load(
    path: str | Path,
    rubric: str | Path | Rubric = "helpdesk",
    *,
    format: str | None = None,
    speakers: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    gap: float | None = None,
) -> Collection:
    """Read a collection, with or without votes: `.json`, `.jsonl`, either gzipped, `.parquet`.

    Or an export of another program: tickets, a WhatsApp chat, lists of messages, a table with
    one row a message. Its `format` is found out unless told. `speakers` says who is who, as in
    `{"Acme Support": "helpdesk", "*": "customer"}`; `columns` which column of a table holds the
    conversation, author, role, text and time; `keep` which other fields to keep; `gap` after
    how many hours of silence in a chat another dialogue begins.
    """
    reading = Reading(
        format=format,
        speakers=dict(speakers or {}),
        columns=dict(columns or {}),
        keep=tuple(keep),
        gap=gap,
    )
    return load_as(path, rubric, reading)


def load_as(path: str | Path, rubric: str | Path | Rubric, reading: Reading) -> Collection:
    """Read a whole collection of any format."""
    source, known = Source(Path(path), reading), load_rubric(rubric)
    if source.native:
        return decode_collection(source.records, source.origin, known)
    dialogues = [*source.dialogues(known)]
    if not dialogues:
        raise DataError(source.name, "", "no dialogues", "at least one")
    return Collection(dialogues, known, source=source.name)


def parse_collection(
    content: bytes, rubric: Rubric, source: str, *, format: Format = "json"
) -> Collection:
    """A collection from bytes, such as an uploaded file; `source` names it in errors."""
    origin = Origin(source, lines=format == "jsonl")
    return decode_collection(split_records(content, source, format), origin, rubric)


def load_parts(
    path: str | Path,
    rubric: str | Path | Rubric = "helpdesk",
    *,
    size: int = 1000,
    reading: Reading = AS_IT_IS,
) -> Iterator[Collection]:
    """Read a collection part by part, `size` dialogues each: memory for one part at a time.

    `-` is standard input: JSON or JSONL, or what `reading` says.
    """
    source, known = Source(Path(path), reading), load_rubric(rubric)
    if not source.native:
        yield from _exported_parts(source, known, size)
        return
    seen: dict[str, int] = {}
    while part := [*islice(source.records, size)]:
        yield decode_collection(part, source.origin, known, seen)
    if not seen:
        raise DataError(source.name, "", "no dialogues", "at least one")


def _exported_parts(source: Source, rubric: Rubric, size: int) -> Iterator[Collection]:
    dialogues = source.dialogues(rubric)
    part = [*islice(dialogues, size)]
    if not part:
        raise DataError(source.name, "", "no dialogues", "at least one")
    while part:
        yield Collection(part, rubric, source=source.name)
        part = [*islice(dialogues, size)]


def is_collection(path: str | Path) -> bool:
    """Whether the first record of a file has turns: a collection, not a run."""
    origin, records = read_records(Path(path))
    for record in records:
        return "turns" in decode_part(_RECORD, record, origin)
    raise DataError(origin.source, "", "no dialogues", "at least one")


def decode_collection(
    records: Iterable[Record],
    origin: Origin,
    rubric: Rubric,
    seen: dict[str, int] | None = None,
) -> Collection:
    """A collection from records, checked against the rubric.

    `seen` holds the record of each id that came before, when a file is read in parts.
    """
    annotation_decoder = _annotation_decoder(rubric)
    ballots = _Ballots(rubric, origin)
    dialogues: list[Dialogue] = []
    numbers: list[int] = []
    seen = {} if seen is None else seen
    for record in records:
        number = record[0]
        numbers.append(number)
        parts = decode_part(_RECORD, record, origin)
        for field in ("id", "turns"):
            if field not in parts:
                raise origin.error(number, "", f"no field {field!r}", "a dialogue: id and turns")
        id = str(decode_part(_ID, (number, parts.pop("id")), origin, ".id"))
        check_new(id, number, seen, origin)
        turns = decode_part(_TURNS, (number, parts.pop("turns")), origin, ".turns")
        _check_turns(turns, number, origin, rubric)
        if "annotations" in parts:
            part = (number, parts.pop("annotations"))
            known = rubric.known_at
            given = decode_part(annotation_decoder, part, origin, ".annotations", known)
            ballots.add(len(dialogues), number, len(turns), given)
        fields = {k: decode_part(_ANY, (number, v), origin, f".{k}") for k, v in parts.items()}
        dialogues.append(Dialogue(id, turns, fields))
    if not dialogues:
        raise DataError(origin.source, "", "no dialogues", "at least one")
    collection = Collection(dialogues, rubric, source=origin.source)
    collection.votes, *again = ballots.votes(collection, numbers)
    collection.again = tuple(again)
    collection.annotators = tuple(ballots.annotators)
    return collection


@lru_cache
def _annotation_decoder(rubric: Rubric) -> msgspec.json.Decoder[list[Any]]:
    """Decodes the `annotations` of a dialogue; None stands where there is no vote."""
    quality = defstruct(
        "Quality",
        [(f"c{i}", _vote_type(c), None) for i, c in enumerate(rubric.of_dialogues)],
        rename={f"c{i}": c.id for i, c in enumerate(rubric.of_dialogues)},
        forbid_unknown_fields=True,
        frozen=True,
        gc=False,
    )
    turn_votes = [(f"t{i}", _votes_type(c), None) for i, c in enumerate(rubric.of_turns)]
    annotation: Any = defstruct(
        "Annotation",
        [
            ("annotator", str | int | None, None),
            ("round", int | None, None),
            ("quality", quality | None, None),
            *turn_votes,
        ],
        rename={"quality": QUALITY, **{f"t{i}": c.id for i, c in enumerate(rubric.of_turns)}},
        frozen=True,
        gc=False,
    )
    return msgspec.json.Decoder(list[annotation])


def _vote_type(criterion: Criterion) -> Any:
    return Literal[tuple(criterion.codes)] | None


def _votes_type(criterion: Criterion) -> Any:
    vote: Any = _vote_type(criterion)
    return tuple[vote, ...] | None


def _check_turns(turns: tuple[Turn, ...], number: int, origin: Origin, rubric: Rubric) -> None:
    if not turns:
        raise origin.error(number, ".turns", "no turns", "at least one")
    for t, turn in enumerate(turns):
        if turn.sender not in rubric.speakers:
            expected = f"one of {', '.join(rubric.speakers)}"
            raise origin.error(number, f".turns[{t}].sender", shown(turn.sender), expected)


class _Ballots:
    """The votes as they are read, packed; at the end they become arrays.

    Without ids the first annotation of every dialogue is annotator 1, and so on. An annotator
    who judges a dialogue once more says so: `round` is 2.
    """

    def __init__(self, rubric: Rubric, origin: Origin) -> None:
        self.rubric, self.origin = rubric, origin
        self.annotators: dict[str, int] = {}
        self.rows = array("q")
        self.columns = array("q")
        self.rounds = array("b")
        self.codes: dict[str, dict[Any, int]] = {
            c.id: {None: NO_VOTE, **c.codes} for c in rubric.criteria
        }
        self.labels = {c.id: array("b") for c in rubric.criteria}
        self.voted = {c.id: array("b") for c in rubric.of_turns}
        self.on_dialogues = [(self.labels[c.id], self.codes[c.id]) for c in rubric.of_dialogues]

    def add(self, row: int, number: int, turns: int, annotations: list[Any]) -> None:
        """Take the annotations of the dialogue in this row, read from record `number`."""
        here = set()
        no_quality = (None,) * len(self.on_dialogues)
        for a, annotation in enumerate(annotations):
            name = str(a + 1) if annotation.annotator is None else str(annotation.annotator)
            column = self.annotators.setdefault(name, len(self.annotators))
            round = 1 if annotation.round is None else annotation.round
            if not 1 <= round <= MOST_ROUNDS:
                path, expected = f".annotations[{a}].round", f"1 to {MOST_ROUNDS}"
                raise self.origin.error(number, path, shown(round), expected)
            if round > 1 and annotation.annotator is None:
                path, found = f".annotations[{a}]", f"round {round} without an annotator"
                raise self.origin.error(number, path, found, "whose it is: annotator")
            if (column, round) in here:
                path, found = f".annotations[{a}].annotator", f"{shown(name)} again"
                expected = "each annotator once a dialogue and round"
                raise self.origin.error(number, path, found, expected)
            here.add((column, round))
            self.rows.append(row)
            self.columns.append(column)
            self.rounds.append(round)
            quality = astuple(annotation.quality) if annotation.quality else no_quality
            for (labels, codes), label in zip(self.on_dialogues, quality, strict=True):
                labels.append(codes[label])
            for i, criterion in enumerate(self.rubric.of_turns):
                votes = getattr(annotation, f"t{i}")
                self.voted[criterion.id].append(votes is not None)
                if votes is None:
                    continue
                if len(votes) != turns:
                    path = f".annotations[{a}]{step(criterion.id)}"
                    expected = f"{turns}, one a turn"
                    raise self.origin.error(number, path, f"{len(votes)} votes", expected)
                codes = self.codes[criterion.id]
                self.labels[criterion.id].extend([codes[label] for label in votes])

    def votes(self, collection: Collection, numbers: list[int]) -> list[dict[str, Votes]]:
        """All votes by round, items by annotators; `numbers` are the records of the dialogues."""
        rounds = np.array(self.rounds)
        tables: list[dict[str, Votes]] = [{} for _ in range(rounds.max(initial=1))]
        rows, columns = np.array(self.rows), np.array(self.columns)
        for criterion in self.rubric.criteria:
            labels = np.array(self.labels[criterion.id])
            if not labels.size or labels.max() == NO_VOTE:
                continue
            if criterion.scope == "dialogue":
                items, by, given = rows, columns, rounds
            else:
                voted = np.array(self.voted[criterion.id], bool)
                turns = collection.lengths[rows[voted]]
                items = collection.turns_at(rows[voted])
                by, given = np.repeat(columns[voted], turns), np.repeat(rounds[voted], turns)
                self._check(criterion, collection, items, by, labels, numbers)
            size = len(collection) if criterion.scope == "dialogue" else collection.offsets[-1]
            for round, of_round in enumerate(tables, 1):
                table = np.full((int(size), len(self.annotators)), NO_VOTE, np.int8)
                here = given == round
                table[items[here], by[here]] = labels[here]
                of_round[criterion.id] = table
        return tables

    def _check(
        self,
        criterion: Criterion,
        collection: Collection,
        items: NDArray[np.intp],
        columns: NDArray[np.intp],
        labels: Votes,
        numbers: list[int],
    ) -> None:
        """A turn's votes must be labels of its speaker."""
        wrong = np.flatnonzero(
            ~collection.own_labels(criterion)[items, labels] & (labels != NO_VOTE)
        )
        if not wrong.size:
            return
        dialogue, turn = collection.dialogue_of(int(items[wrong[0]]))
        annotators = [c for r, c in zip(self.rows, self.columns, strict=True) if r == dialogue]
        place = annotators.index(int(columns[wrong[0]]))
        path = f".annotations[{place}]{step(criterion.id)}[{turn}]"
        speaker = collection.dialogues[dialogue].turns[turn].sender
        expected = f"a label of {speaker}: {', '.join(criterion.labels_of(speaker)) or 'none'}"
        label = shown(criterion.columns[labels[wrong[0]]])
        raise self.origin.error(numbers[dialogue], path, label, expected)
