"""Reading runs: predicted distributions, checked and normalised.

As for collections, msgspec types are built from the rubric: a label is a field of a struct,
left out it is 0, and an unknown one is refused while decoding.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import defstruct
from msgspec.structs import astuple
from numpy.typing import NDArray

from dialeval.core.errors import DataError, DataWarning
from dialeval.core.files import Format, stem_of
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
from dialeval.core.run import Prediction, Run

STRICT_TOLERANCE = 1e-3
SILENT_TOLERANCE = 1e-6
"""Sums this near to 1 are rounding, and not worth a word."""


def load_run(
    path: str | Path,
    rubric: str | Path | Rubric = "helpdesk",
    *,
    name: str | None = None,
    strict: bool = False,
) -> Run:
    """Read a run. Distributions that do not sum to 1 are normalised with a warning.

    `strict` refuses those that are off by more than 1e-3.
    """
    origin, records = read_records(Path(path))
    name = name or stem_of(Path(path))
    run = decode_run(records, origin, load_rubric(rubric), name, strict=strict)
    for remark in run.remarks:
        warnings.warn(f"{origin.source}: {remark}", DataWarning, stacklevel=2)
    return run


def parse_run(
    content: bytes, rubric: Rubric, name: str, *, format: Format = "json", strict: bool = False
) -> Run:
    """A run from bytes, such as an uploaded file. What `load_run` warns of is in its `remarks`."""
    origin = Origin(name, lines=format == "jsonl")
    return decode_run(split_records(content, name, format), origin, rubric, name, strict=strict)


def decode_run(
    records: Iterable[Record], origin: Origin, rubric: Rubric, name: str, *, strict: bool = False
) -> Run:
    """A run from records: distributions normalised, values checked."""
    decoder = _run_decoder(rubric)
    numbers: dict[str, int] = {}
    values = {c.id: array("d") for c in rubric.criteria}
    lengths = {c.id: array("q") for c in rubric.criteria}
    nothing = {c.id: (np.nan,) * len(_names(c)) for c in rubric.criteria}
    for record in records:
        entry = decode_part(decoder, record, origin, known=rubric.known_at)
        check_new(str(entry.id), record[0], numbers, origin)
        for i, criterion in enumerate(rubric.of_dialogues):
            distribution = getattr(entry.quality, f"c{i}", None)
            lengths[criterion.id].append(distribution is not None)
            if distribution is not None:
                values[criterion.id].extend(astuple(distribution))
        for i, criterion in enumerate(rubric.of_turns):
            turns = getattr(entry, f"t{i}") or ()
            lengths[criterion.id].append(len(turns))
            for turn in turns:
                row = nothing[criterion.id] if turn is None else astuple(turn)
                values[criterion.id].extend(row)
    if not numbers:
        raise DataError(origin.source, "", "no dialogues", "at least one")
    run = Run(name, [*numbers], {}, rubric, origin, [*numbers.values()])
    sums = []
    for criterion in rubric.criteria:
        if values[criterion.id]:
            rows = np.array(values.pop(criterion.id)).reshape(-1, len(nothing[criterion.id]))
            prediction = Prediction(rows, np.array(lengths[criterion.id]))
            run.predictions[criterion.id], total = _normalised(prediction, criterion, run, strict)
            sums.append(total)
    if not sums:
        covered = ", ".join([QUALITY, *(c.id for c in rubric.of_turns)])
        raise DataError(origin.source, "", "no predictions", f"at least one of {covered}")
    run.remarks = _remarks(np.concatenate(sums))
    return run


@lru_cache
def _run_decoder(rubric: Rubric) -> msgspec.json.Decoder[Any]:
    """Decodes a record of a run; a label that is left out is 0."""
    quality = defstruct(
        "Quality",
        [(f"c{i}", _distribution_type(c) | None, None) for i, c in enumerate(rubric.of_dialogues)],
        rename={f"c{i}": c.id for i, c in enumerate(rubric.of_dialogues)},
        forbid_unknown_fields=True,
        frozen=True,
        gc=False,
    )
    turns = [(f"t{i}", _turns_type(c), None) for i, c in enumerate(rubric.of_turns)]
    entry = defstruct(
        "Entry",
        [("id", str | int), ("quality", quality | None, None), *turns],
        rename={"quality": QUALITY, **{f"t{i}": c.id for i, c in enumerate(rubric.of_turns)}},
        frozen=True,
        gc=False,
    )
    return msgspec.json.Decoder(entry)


def _distribution_type(criterion: Criterion) -> Any:
    names = _names(criterion)
    return defstruct(
        "Distribution",
        [(f"l{i}", float, 0.0) for i in range(len(names))],
        rename={f"l{i}": name for i, name in enumerate(names)},
        forbid_unknown_fields=True,
        frozen=True,
        gc=False,
    )


def _turns_type(criterion: Criterion) -> Any:
    turn: Any = _distribution_type(criterion) | None
    return tuple[turn, ...] | None


def _names(criterion: Criterion) -> list[str]:
    """The labels that a distribution may name: the criterion's columns, then their aliases."""
    return [*criterion.columns, *criterion.aliases]


def _normalised(
    prediction: Prediction, criterion: Criterion, run: Run, strict: bool
) -> tuple[Prediction, NDArray[np.float64]]:
    """Values by `_names` checked, folded into columns and normalised; and the sums they had."""
    names = _names(criterion)
    values, lengths = prediction.values, prediction.lengths
    given = ~np.isnan(values[:, 0])

    def fail(row: int, label: str, found: str, expected: str) -> None:
        ends = np.cumsum(lengths)
        place = int(np.searchsorted(ends, row, side="right"))
        if criterion.scope == "dialogue":
            path = step(QUALITY) + step(criterion.id)
        else:
            path = f"{step(criterion.id)}[{row - int(ends[place] - lengths[place])}]"
        raise run.error(place, path + (step(label) if label else ""), found, expected)

    bad = given[:, None] & ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row, column = (int(at[0]) for at in np.nonzero(bad))
        fail(row, names[column], f"{values[row, column]:g}", "a finite number of 0 or more")
    for alias, label in criterion.aliases.items():
        values[:, criterion.columns.index(label)] += values[:, names.index(alias)]
    values = values[:, : len(criterion.columns)]
    with np.errstate(over="ignore"):
        sums = values.sum(axis=1)
    zero = given & (sums == 0)
    if zero.any():
        fail(int(np.flatnonzero(zero)[0]), "", "only zeros", "a distribution")
    if np.isinf(sums).any():
        fail(int(np.flatnonzero(np.isinf(sums))[0]), "", "an infinite sum", "a distribution")
    off = np.abs(sums - 1)
    if strict and (off > STRICT_TOLERANCE).any():
        row = int(np.flatnonzero(off > STRICT_TOLERANCE)[0])
        fail(row, "", f"probabilities that sum to {sums[row]:.6g}", "a sum of 1 within 0.001")
    return Prediction(values / sums[:, None], lengths), sums[given]


def _remarks(sums: NDArray[np.float64]) -> tuple[str, ...]:
    off = np.abs(sums - 1) > SILENT_TOLERANCE
    if not off.any():
        return ()
    return (
        f"normalised {off.sum()} of {sums.size} distributions that do not sum to 1 "
        f"(sums from {sums.min():.6g} to {sums.max():.6g})",
    )
