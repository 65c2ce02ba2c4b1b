"""Samples and splits of collections of any size: partition by partition, wherever it runs.

Each partition is described (strata, times, keys, signatures), the choice is made over the
descriptions alone, and each partition then writes its rows to where they go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import UsageError
from dialeval.core.files import replacing
from dialeval.core.formats.conversation import seconds
from dialeval.core.records import Origin
from dialeval.core.rows import (
    Row,
    check_writable,
    is_separated,
    read_lines_as_rows,
    read_rows,
    row_of,
    write_rows,
)
from dialeval.core.rows import field as field_of
from dialeval.engine import Engine, Output, Partition, Work, opened_work, partitions
from dialeval.mine.duplicates import WIDTH, Signatures, signatures, similar_pairs
from dialeval.mine.sampling import proportional, stratified
from dialeval.mine.splitting import Sides, connected, random_sides, sides_by_time

if TYPE_CHECKING:
    from dialeval.engine.work import Progress

WHOLE = "all"
"""The one stratum of a collection that is not stratified."""
TURNS = "turns"
OUT, TEST, REST = "out", "test", "rest"


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each stratum: a number for some or every one, or a total in proportion."""

    each: int | None = None
    total: int | None = None
    of: dict[str, int] = {}

    @property
    def given(self) -> bool:
        """Whether anything is asked for."""
        return self.each is not None or self.total is not None or bool(self.of)

    def over(self, strata: Sequence[str]) -> dict[str, int]:
        """The number for each stratum there is."""
        if self.total is not None:
            return proportional(strata, self.total)
        return dict.fromkeys(strata, self.each or 0) | self.of


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn, by what, and what must not be on both sides."""

    by: str | None = None
    """The field of the strata; `turns` is their number."""
    sizes: Sizes = Sizes()
    test: Sizes | None = None
    """Of the test side; None draws a sample without one."""
    by_time: bool = False
    time: str = "time"
    """The field of the time."""
    apart: tuple[str, ...] = ()
    """Fields whose values may be on one side only, such as the author."""
    similarity: float = 0.8
    """Texts that are at least so similar are on one side; 0 does not look at texts."""
    seed: int = 0

    @property
    def compares(self) -> bool:
        """Whether texts are compared."""
        return self.test is not None and self.similarity > 0


class Described(msgspec.Struct):
    """The rows of a partition, as far as the choice needs them."""

    strata: list[str] = []
    times: list[float] = []
    keys: list[list[str]] = []
    heads: list[str] = []


class Describing(msgspec.Struct, frozen=True):
    """A partition to describe."""

    part: Partition
    folder: str
    plan: Plan


class Writing(msgspec.Struct, frozen=True):
    """A partition to write: where each of its rows goes."""

    part: Partition
    folder: str
    goes: bytes
    """A letter a row: its place in `outputs`."""
    outputs: dict[str, Output]


@dataclass
class Drawn:
    """What was drawn, in numbers."""

    found: dict[str, int]
    out: dict[str, int]
    test: dict[str, int] = field(default_factory=dict)
    pairs: int = 0
    """Pairs of texts that are nearly the same."""
    connected: int = 0
    """Rows that are connected with others."""
    between: int = 0
    """Rows that are connected with both sides, or were not drawn of the test side."""


def draw(
    path: Path,
    outputs: Mapping[str, Path],
    plan: Plan,
    engine: Engine,
    *,
    parts: str | None = None,
    progress: Progress | None = None,
) -> Drawn:
    """Draw from a file or a folder of files; `outputs` are the paths of out, test and rest.

    `parts` is the format of the files of output folders.
    """
    kinds = {
        name: Output.at(target.with_name("rows.jsonl") if is_separated(target) else target, parts)
        for name, target in outputs.items()
    }
    given = _inputs(path)
    options = {
        "plan": msgspec.to_builtins(plan),
        "outputs": {name: str(target.resolve()) for name, target in outputs.items()},
        "parts": parts,
    }
    main = outputs[OUT]
    with opened_work(main, engine, options=options, inputs=given, progress=progress) as work:
        tasks = [Describing(part, str(work.folder), plan) for part in given]
        described = work.each("describe", describe_part, tasks, Described)
        drawn, goes = _choice(described, plan, work.folder)
        _write(work, given, described, goes, outputs, kinds)
    return drawn


def _inputs(path: Path) -> list[Partition]:
    if is_separated(path):
        return [Partition(0, str(path.resolve()), str(path))]
    return partitions([path])


def _rows(part: Partition) -> tuple[Origin, Iterator[tuple[int, Row]]]:
    path = Path(part.path)
    if is_separated(path):
        origin, rows = read_rows(path)
        return msgspec.structs.replace(origin, source=part.source), rows
    origin = part.origin
    return origin, ((record[0], row_of(record, origin)) for record in part.records())


def describe_part(task: Describing) -> Described:
    """Strata, times and keys; the signatures go to a file."""
    plan, found = task.plan, Described()
    origin, rows = _rows(task.part)
    texts: list[str] = []
    tables: list[tuple[Signatures, NDArray[np.bool_]]] = []
    heads: dict[str, None] = {}
    for number, row in rows:
        found.strata.append(_stratum(row, plan.by, number, origin))
        if plan.test is not None:
            if plan.by_time:
                found.times.append(_time(row, plan.time, number, origin))
            own = [key for name in plan.apart for key in _keys(row, name, number, origin)]
            found.keys.append(own)
        heads |= dict.fromkeys(row)
        if plan.compares:
            texts.append(_text(row, plan))
            if len(texts) == 1000:
                tables.append(signatures(texts, seed=plan.seed))
                texts = []
    found.heads = [*heads]
    if plan.compares:
        tables.append(signatures(texts, seed=plan.seed))
        with (
            replacing(_signature_file(task.folder, task.part.number)) as path,
            path.open("wb") as f,
        ):
            np.savez(
                f,
                table=np.concatenate([table for table, _ in tables]),
                filled=np.concatenate([filled for _, filled in tables]),
            )
    return found


def _signature_file(folder: str | Path, number: int) -> Path:
    return Path(folder) / f"signatures-{number:05}.npz"


def _stratum(row: Row, by: str | None, number: int, origin: Origin) -> str:
    if by is None:
        return WHOLE
    value = field_of(row, by, number, origin)
    if by == TURNS and isinstance(value, list):
        return str(len(value))
    if isinstance(value, list | dict) or value is None:
        raise origin.error(number, f".{by}", "no plain value", "text or a number")
    return str(value)


def _time(row: Row, name: str, number: int, origin: Origin) -> float:
    value = field_of(row, name, number, origin)
    time = seconds(value)
    if time is None:
        raise origin.error(number, f".{name}", msgspec.json.encode(value).decode(), "a time")
    return time


def _keys(row: Row, name: str, number: int, origin: Origin) -> list[str]:
    """The values of a field that may be on one side only; nothing is no value."""
    value = field_of(row, name, number, origin)
    values = value if isinstance(value, list) else [value]
    for inside in values:
        if isinstance(inside, list | dict):
            raise origin.error(number, f".{name}", "no plain value", "text, numbers or a list")
    return [f"{name}={inside}" for inside in values if inside not in (None, "")]


def _text(row: Row, plan: Plan) -> str:
    """What is compared: the texts of the turns, or all texts of a row that is no dialogue."""
    turns = row.get(TURNS)
    if isinstance(turns, list):
        posts = [turn.get("utterances") for turn in turns if isinstance(turn, dict)]
        return "\n".join(str(p) for post in posts if isinstance(post, list) for p in post)
    aside = {"id", plan.by, plan.time, *plan.apart}
    return "\n".join(v for name, v in row.items() if isinstance(v, str) and name not in aside)


def _choice(described: Sequence[Described], plan: Plan, folder: Path) -> tuple[Drawn, list[str]]:
    """Where each row of the whole collection goes."""
    strata = [stratum for part in described for stratum in part.strata]
    every = np.arange(len(strata))
    drawn = Drawn(_counted(strata), {})
    sides = Sides(every, every[:0], every[:0])
    goes = [REST] * len(strata)
    if plan.test is not None:
        components = _components(described, plan, folder, drawn)
        wanted = plan.test.over(strata)
        if plan.by_time:
            times = np.array([time for part in described for time in part.times])
            sides = sides_by_time(strata, wanted, components, times)
        else:
            sides = random_sides(strata, wanted, components, seed=plan.seed)
        own = [strata[place] for place in sides.test]
        for place in stratified(own, wanted, seed=plan.seed).places:
            goes[int(sides.test[place])] = TEST
        drawn.test = _counted([s for s, where in zip(strata, goes, strict=True) if where == TEST])
        drawn.between = len(sides.between) + len(sides.test) - sum(drawn.test.values())
    own = [strata[place] for place in sides.train]
    sizes = plan.sizes.over(own) if plan.sizes.given else Counter(own)
    for place in stratified(own, sizes, seed=plan.seed).places:
        goes[int(sides.train[place])] = OUT
    drawn.out = _counted([s for s, where in zip(strata, goes, strict=True) if where == OUT])
    return drawn, goes


def _components(
    described: Sequence[Described], plan: Plan, folder: Path, drawn: Drawn
) -> NDArray[np.intp]:
    keys = [own for part in described for own in part.keys]
    pairs = np.empty((0, 2), np.intp)
    if plan.compares:
        loaded = [np.load(_signature_file(folder, n)) for n in range(len(described))]
        table = np.concatenate([np.empty((0, WIDTH), np.uint32), *(one["table"] for one in loaded)])
        filled = np.concatenate([np.empty(0, bool), *(one["filled"] for one in loaded)])
        pairs = similar_pairs(table, filled, plan.similarity)
    drawn.pairs = len(pairs)
    components = connected(len(keys), keys, pairs)
    sizes = np.bincount(components, minlength=1)
    drawn.connected = int(sizes[sizes > 1].sum())
    return components


def _counted(strata: Sequence[str]) -> dict[str, int]:
    return dict(Counter(strata))


def _write(
    work: Work,
    parts: Sequence[Partition],
    described: Sequence[Described],
    goes: Sequence[str],
    outputs: Mapping[str, Path],
    kinds: Mapping[str, Output],
) -> None:
    """Each partition writes its rows; then the files appear."""
    heads = [*dict.fromkeys(head for part in described for head in part.heads)]
    columns = dict.fromkeys(heads, "JSON")
    kinds = {name: msgspec.structs.replace(kind, columns=columns) for name, kind in kinds.items()}
    ends = np.cumsum([0, *(len(part.strata) for part in described)])
    letters = "".join(where[0] for where in goes).encode()
    tasks = [
        Writing(part, str(work.folder), letters[ends[n] : ends[n + 1]], kinds)
        for n, part in enumerate(parts)
    ]
    written = work.each("write", write_part, tasks, dict[str, int])
    for name, path in outputs.items():
        folder = work.folder / name
        counts = [one[name] for one in written]
        if is_separated(path):
            rows = read_lines_as_rows(kinds[name].part(folder, n) for n in range(len(parts)))
            write_rows(path, rows, heads)
        else:
            kinds[name].publish(folder, counts)


def write_part(task: Writing) -> dict[str, int]:
    """Write the rows of a partition to where they go; gives how many went to each."""
    counts = {}
    for name, output in task.outputs.items():
        folder = Path(task.folder) / name
        folder.mkdir(exist_ok=True)
        _, rows = _rows(task.part)
        letter = ord(name[0])
        own = (
            msgspec.json.encode(row)
            for where, (_, row) in zip(task.goes, rows, strict=True)
            if where == letter
        )
        counts[name] = output.write_part(folder, task.part.number, own)
    return counts


def check_outputs(outputs: Mapping[str, Path]) -> None:
    """Distinct files, with names that say how rows are written."""
    resolved = [path.resolve() for path in outputs.values()]
    if len(set(resolved)) < len(resolved):
        names = " and ".join(f"--{name}" for name in outputs)
        expected = {2: "two", 3: "three"}[len(resolved)]
        raise UsageError(f"{names}: expected {expected} files")
    for path in outputs.values():
        if path.suffix:
            check_writable(path)
