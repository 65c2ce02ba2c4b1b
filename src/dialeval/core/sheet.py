"""Sheets of yes counts, as in NLPCC 2019: a question, a reply, and how many annotators said yes.

Columns: A the question, B the reply, D the number of annotators, E and on a count for each
criterion in the rubric's order. A first row of names and two closing rows (the sums, and their
shares of the annotators) are optional. `.xlsx` (extra `sheets`) and `.csv` are read as data: a
formula is never worked out, but refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dialeval.core.cells import Cell, Formula, Line, cell_name, column_name, read_cells, write_cells
from dialeval.core.collection import NO_VOTE, Collection
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import DataError, UsageError, shown
from dialeval.core.rubric import Rubric

QUESTION, REPLY, ANNOTATORS, COUNTS = 0, 1, 3, 4
"""The columns, from 0."""
CLOSING = 2
"""At most so many rows at the end hold totals."""
YES, NO = 0, 1
"""The columns of a yes-no criterion's labels."""


@dataclass(frozen=True)
class Difference:
    """A total that the rows above do not give."""

    cell: str
    found: float
    expected: float

    def __str__(self) -> str:
        return f"{self.cell}: found {self.found:g}, the rows above give {self.expected:g}"


@dataclass(frozen=True)
class Sheet:
    """What a sheet holds: replies with votes, and where its closing rows are wrong.

    A sheet does not say who voted how: the first annotators of a reply are those who said yes.
    """

    collection: Collection
    closing: int
    """How many closing rows it has."""
    differences: tuple[Difference, ...]


def load_sheet(path: str | Path, rubric: Rubric) -> Sheet:
    """Read a sheet as a collection of two-turn dialogues; their ids are the questions."""
    source = Path(path)
    _check_rubric(rubric)
    rows = [line for line in read_cells(source) if not all(_blank(cell) for cell in line[1])]
    return _Reader(str(source), rubric).read(rows)


def _check_rubric(rubric: Rubric) -> None:
    if rubric.of_turns or any(c.kind != "yes-no" for c in rubric.criteria):
        raise UsageError(f"rubric {rubric.name!r}: a sheet holds yes/no criteria of dialogues only")


class _Reader:
    """Turns rows into votes; every error names the cell."""

    def __init__(self, source: str, rubric: Rubric) -> None:
        self.source, self.rubric = source, rubric
        self.width = COUNTS + len(rubric.criteria)

    def read(self, rows: Sequence[Line]) -> Sheet:
        if not rows:
            raise DataError(self.source, "", "nothing", "rows of questions and replies")
        columns = max(_width(cells) for _, cells in rows)
        if columns < self.width:
            last = column_name(self.width - 1)
            expected = (
                f"{self.width}: A question, B reply, D annotators, {column_name(COUNTS)} to {last} "
                f"counts of {', '.join(c.id for c in self.rubric.criteria)}"
            )
            raise DataError(self.source, f"row {rows[0][0]}", f"{columns} columns", expected)
        while rows and self._is_head(rows[0]):
            rows = rows[1:]
        body, closing = self._split(rows)
        if not body:
            raise DataError(self.source, "", "no replies", "at least one")
        collection, sums, total = self._collection(body)
        differences = [d for line in closing for d in self._differences(line, sums, total)]
        return Sheet(collection, len(closing), tuple(differences))

    def _is_head(self, line: Line) -> bool:
        """Names stand where numbers should, and no number does."""
        cells = [self._cell(line, ANNOTATORS), *self._counts(line)]
        return any(map(_is_text, cells)) and all(_number(cell) is None for cell in cells)

    def _split(self, rows: Sequence[Line]) -> tuple[Sequence[Line], Sequence[Line]]:
        """The replies, and the closing rows: no reply, and not a reply's number of annotators."""
        end = len(rows)
        while end > 0 and len(rows) - end < CLOSING and self._is_closing(rows[:end]):
            end -= 1
        return rows[:end], rows[end:]

    def _is_closing(self, rows: Sequence[Line]) -> bool:
        last, before = rows[-1], rows[:-1]
        if not _blank(self._cell(last, REPLY)) or not before:
            return False
        if _blank(self._cell(last, QUESTION)) or _blank(self._cell(last, ANNOTATORS)):
            return True
        given = _number(self._cell(last, ANNOTATORS))
        above = [_number(self._cell(line, ANNOTATORS)) or 0 for line in before]
        return given is not None and (given > max(above) or given == sum(above))

    def _collection(self, body: Sequence[Line]) -> tuple[Collection, list[int], int]:
        criteria = self.rubric.criteria
        speakers = self.rubric.speakers[0], self.rubric.speakers[-1]
        dialogues: list[Dialogue] = []
        annotators: list[int] = []
        counts: list[list[int]] = []
        seen: dict[str, int] = {}
        for line in body:
            question, reply = self._text(line, QUESTION), self._text(line, REPLY)
            if not question:
                raise self._error(line, QUESTION, "nothing", "a question")
            seen[question] = seen.get(question, 0) + 1
            id = question if seen[question] == 1 else f"{question} ({seen[question]})"
            turns = Turn(speakers[0], (question,)), Turn(speakers[1], (reply,))
            dialogues.append(Dialogue(id, turns))
            most = self._count(line, ANNOTATORS, 1, None)
            annotators.append(most)
            counts.append(
                [self._count(line, COUNTS + place, 0, most) for place in range(len(criteria))]
            )
        width = max(annotators)
        votes = {}
        place = np.arange(width)
        given = place < np.array(annotators)[:, None]
        for c, criterion in enumerate(criteria):
            yes = place < np.array([row[c] for row in counts])[:, None]
            votes[criterion.id] = np.where(given, np.where(yes, YES, NO), NO_VOTE).astype(np.int8)
        names = [str(place + 1) for place in range(width)]
        collection = Collection(dialogues, self.rubric, votes, names, self.source)
        return collection, [sum(column) for column in zip(*counts, strict=True)], sum(annotators)

    def _differences(self, line: Line, sums: list[int], total: int) -> list[Difference]:
        """Where a closing row differs: it holds sums, or shares of 1 or of 100, whatever fits."""
        given = {}
        for place in range(len(sums)):
            cell = self._cell(line, COUNTS + place)
            if not _blank(cell):
                given[place] = self._amount(line, COUNTS + place)
        wrong = []
        for scale in (None, 1.0, 100.0):
            right = [float(s) if scale is None else scale * s / total for s in sums]
            differs = [
                Difference(cell_name(COUNTS + place, line[0]), value, right[place])
                for place, value in given.items()
                if not _same(value, right[place])
            ]
            if scale is None and not _blank(self._cell(line, ANNOTATORS)):
                value = self._amount(line, ANNOTATORS)
                if value != total:
                    differs.insert(0, Difference(cell_name(ANNOTATORS, line[0]), value, total))
            wrong.append(differs)
        return min(wrong, key=len)

    def _counts(self, line: Line) -> list[Cell]:
        return [self._cell(line, COUNTS + place) for place in range(len(self.rubric.criteria))]

    def _cell(self, line: Line, column: int) -> Cell:
        cell = line[1][column] if column < len(line[1]) else None
        if isinstance(cell, str) and cell.startswith("=") and column >= ANNOTATORS:
            cell = Formula(cell)  # in CSV a formula is text; a reply may begin so, a count not
        if isinstance(cell, Formula):
            expected = "a value: formulas are not worked out"
            raise self._error(line, column, f"the formula {shown(cell.text)}", expected)
        return cell

    def _text(self, line: Line, column: int) -> str:
        cell = self._cell(line, column)
        return "" if cell is None else f"{cell:g}" if isinstance(cell, float) else str(cell)

    def _amount(self, line: Line, column: int) -> float:
        value = _number(self._cell(line, column))
        if value is None:
            raise self._error(line, column, shown(self._cell(line, column)), "a number")
        return value

    def _count(self, line: Line, column: int, least: int, most: int | None) -> int:
        cell = self._cell(line, column)
        value = _number(cell)
        limit = f"{least} or more" if most is None else f"{least} to {most}, the annotators"
        if value is None or not value.is_integer() or value < least or value > (most or value):
            found = "nothing" if _blank(cell) else shown(cell)
            raise self._error(line, column, found, f"a whole number of {limit}")
        return int(value)

    def _error(self, line: Line, column: int, found: str, expected: str) -> DataError:
        return DataError(self.source, cell_name(column, line[0]), found, expected)


def _number(cell: Cell) -> float | None:
    """A cell as a number, if it is one; 50% is 0.5."""
    if isinstance(cell, bool) or cell is None or isinstance(cell, Formula):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        percent = text.endswith("%")
        try:
            value = float(text.removesuffix("%")) / (100 if percent else 1)
        except ValueError:
            return None
        return value if np.isfinite(value) else None
    return float(cell) if np.isfinite(cell) else None


def _same(given: float, right: float) -> bool:
    """Whether a number is another one, to the digits it is written with."""
    digits = len(f"{given:.10f}".rstrip("0").partition(".")[2])
    return bool(abs(given - right) <= 0.5 * 10.0**-digits + 1e-9)


def _width(cells: Sequence[Cell]) -> int:
    """How many columns a row has, up to its last cell that is not blank."""
    return max((place + 1 for place, cell in enumerate(cells) if not _blank(cell)), default=0)


def _is_text(cell: Cell) -> bool:
    return isinstance(cell, str) and bool(cell.strip())


def _blank(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def save_sheet(collection: Collection, path: str | Path) -> None:
    """Write a collection as a sheet: counts and closing rows, or empty cells where nobody voted.

    A dialogue is a question and a reply, and has the same annotators for all criteria.
    """
    rubric = collection.rubric
    _check_rubric(rubric)
    names = [c.name.get("en", c.id) for c in rubric.criteria]
    rows: list[list[Cell]] = [["question", "reply", None, "annotators", *names]]
    tables = [collection.counts(criterion) for criterion in rubric.criteria]
    for place, dialogue in enumerate(collection.dialogues):
        where = f"dialogue {dialogue.id!r}"
        if len(dialogue.turns) != 2:
            found = f"{len(dialogue.turns)} turns"
            raise DataError(collection.source, where, found, "a question and a reply")
        question, reply = (turn.text for turn in dialogue.turns)
        annotators = {int(table[place].sum()) for table in tables}
        if len(annotators) > 1:
            found = "criteria with more annotators than others"
            raise DataError(collection.source, where, found, "as many for each criterion")
        most = annotators.pop()
        counts = [int(table[place, YES]) if most else None for table in tables]
        rows.append([question, reply, None, most or None, *counts])
    if collection.votes:
        sums = [int(table[:, YES].sum()) for table in tables]
        total = int(tables[0].sum())
        rows.append(["total", None, None, total, *sums])
        rows.append(["share", None, None, None, *(round(value / total, 4) for value in sums)])
    write_cells(Path(path), rows)
