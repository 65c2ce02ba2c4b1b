"""Writing collections and runs, in the formats that `decode` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dialeval.core.collection import NO_VOTE, Collection, Votes
from dialeval.core.files import format_for_writing, writing
from dialeval.core.parquet import write_parquet
from dialeval.core.rubric import QUALITY, Criterion, Rubric, is_whole_number
from dialeval.core.run import Run

_TURNS = "STRUCT(sender VARCHAR, utterances VARCHAR[])[]"


def save(collection: Collection, path: str | Path) -> None:
    """Write a collection; the file's name says the format."""
    fields = dict.fromkeys(name for d in collection.dialogues for name in d.fields)
    columns = collection_columns(
        collection.rubric, fields, bool(collection.votes), bool(collection.again)
    )
    _write(Path(path), collection_records(collection), columns)


def collection_columns(
    rubric: Rubric, fields: Iterable[str], votes: bool, again: bool
) -> dict[str, str]:
    """The columns of a Parquet file of dialogues with these fields, with votes or without.

    `again` says whether there are votes of more than one round.
    """
    columns = {"id": "VARCHAR", "turns": _TURNS, **dict.fromkeys(fields, "JSON")}
    if votes:
        by_turn = "".join(f', "{c.id}" VARCHAR[]' for c in rubric.of_turns)
        quality = f"{QUALITY} MAP(VARCHAR, VARCHAR)"
        who = "annotator VARCHAR, round TINYINT" if again else "annotator VARCHAR"
        columns["annotations"] = f"STRUCT({who}, {quality}{by_turn})[]"
    return columns


def save_run(run: Run, path: str | Path) -> None:
    """Write a run; the file's name says the format."""
    columns = {"id": "VARCHAR", QUALITY: "MAP(VARCHAR, MAP(VARCHAR, DOUBLE))"}
    columns |= {c.id: "MAP(VARCHAR, DOUBLE)[]" for c in run.rubric.of_turns}
    _write(Path(path), run_records(run), columns)


def _write(path: Path, records: Iterator[dict[str, Any]], columns: dict[str, str]) -> None:
    encode = msgspec.json.Encoder().encode
    format = format_for_writing(path)
    if format == "parquet":
        write_parquet(path, map(encode, records), columns)
        return
    with writing(path) as stream:
        if format == "jsonl":
            stream.writelines(lines_of(records))
        else:
            stream.write(b"[\n")
            for i, record in enumerate(records):
                stream.write((b",\n" if i else b"") + encode(record))
            stream.write(b"\n]\n")


def lines_of(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Records as the lines of a JSONL file."""
    encode = msgspec.json.Encoder().encode
    return (encode(record) + b"\n" for record in records)


def collection_records(collection: Collection) -> Iterator[dict[str, Any]]:
    """Each dialogue as it stands in a file."""
    for d, dialogue in enumerate(collection.dialogues):
        record = {"id": dialogue.id, "turns": dialogue.turns, **dialogue.fields}
        if collection.votes:
            record["annotations"] = _annotations(collection, d)
        yield record


def _annotations(collection: Collection, d: int) -> list[dict[str, Any]]:
    # A round after the first is always an annotator's of that name.
    named = collection.named or bool(collection.again)
    annotations = []
    for round, votes in enumerate((collection.votes, *collection.again), 1):
        for a, annotator in enumerate(collection.annotators):
            annotation: dict[str, Any] = {"annotator": annotator} if named else {}
            if round > 1:
                annotation["round"] = round
            given = _given(collection, votes, d, a)
            if given or not named:
                annotations.append(annotation | given)
    while annotations and not annotations[-1]:
        annotations.pop()  # places after the last vote: only those before hold a place open
    return annotations


def _given(collection: Collection, votes: Mapping[str, Votes], d: int, a: int) -> dict[str, Any]:
    """What annotator `a` voted in dialogue `d`, as it stands in a file."""
    rubric = collection.rubric
    turns = slice(int(collection.offsets[d]), int(collection.offsets[d + 1]))
    labels = _labels(rubric)
    quality = {
        c.id: labels[c.id][votes[c.id][d, a]]
        for c in rubric.of_dialogues
        if c.id in votes and votes[c.id][d, a] != NO_VOTE
    }
    by_turn = {
        c.id: [labels[c.id][code] for code in votes[c.id][turns, a]]
        for c in rubric.of_turns
        if c.id in votes and (votes[c.id][turns, a] != NO_VOTE).any()
    }
    return ({QUALITY: quality} if quality else {}) | by_turn


@lru_cache
def _labels(rubric: Rubric) -> dict[str, list[str | int | None]]:
    """By criterion: from a column, or `NO_VOTE`, to what files hold."""
    return {c.id: [*map(_vote, c.columns), None] for c in rubric.criteria}


def _vote(label: str) -> str | int:
    return int(label) if is_whole_number(label) else label


def run_records(run: Run) -> Iterator[dict[str, Any]]:
    """Each dialogue's predictions as they stand in a file; only the speaker's labels a turn."""
    starts = {id: np.cumsum(p.lengths) - p.lengths for id, p in run.predictions.items()}
    for place, id in enumerate(run.ids):
        record: dict[str, Any] = {"id": id}
        for criterion in run.rubric.criteria:
            if criterion.id not in run.predictions:
                continue
            prediction = run.predictions[criterion.id]
            length = int(prediction.lengths[place])
            start = int(starts[criterion.id][place])
            rows = prediction.values[start : start + length].tolist()
            if criterion.scope == "turn" and rows:
                record[criterion.id] = [_turn_distribution(criterion, row) for row in rows]
            elif rows:
                quality = record.setdefault(QUALITY, {})
                quality[criterion.id] = dict(zip(criterion.columns, rows[0], strict=True))
        yield record


def _turn_distribution(criterion: Criterion, row: list[float]) -> dict[str, float] | None:
    """With the labels of the first speaker whom the row fits: a run does not know speakers."""
    if row[0] != row[0]:  # NaN: a turn that is not judged
        return None
    values = dict(zip(criterion.columns, row, strict=True))
    if isinstance(criterion.labels, tuple):
        return values
    used = {label for label, value in values.items() if value > 0}
    own = next((set(own) for own in criterion.labels.values() if used <= set(own)), used)
    return {label: value for label, value in values.items() if label in own}
