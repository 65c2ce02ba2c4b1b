"""What was masked, in numbers, and examples for a person to look through.

Partitions are summed up on their own and put together later: the examples are those whose keyed
hashes are the smallest, whatever the partitions and their order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from dialeval.mine.masking.masker import Mask, replaced

_AROUND = 30
OPEN, CLOSE = "⟦", "⟧"


class Example(msgspec.Struct, frozen=True):
    """A place that was masked, or was left (no kind), with the text around it."""

    order: str
    id: str
    place: str
    kind: str
    rule: str
    before: str
    after: str


class Summary(msgspec.Struct):
    """Counts over dialogues, and examples by what they were recognised by."""

    dialogues: int = 0
    with_masks: int = 0
    masks: dict[str, int] = {}
    """By kind."""
    dialogues_by_kind: dict[str, int] = {}
    rules: dict[str, int] = {}
    """Masks by what they were recognised by."""
    left: dict[str, int] = {}
    """Places that were left, by why."""
    fields: list[str] = []
    """The fields of dialogues besides id, turns and annotations."""
    votes: bool = False
    again: bool = False
    examples: list[Example] = []


class Examiner:
    """Sums up dialogues as they come."""

    def __init__(self, examples: int, seed: int) -> None:
        self.most, self.seed = examples, seed
        self.summary = Summary()
        self.masks, self.by_kind = Counter[str](), Counter[str]()
        self.rules, self.left = Counter[str](), Counter[str]()
        self.fields: dict[str, None] = {}
        self.examples: dict[tuple[str, str], list[Example]] = {}

    def add(self, id: str, found: Sequence[tuple[str, str, list[Mask]]]) -> dict[str, int]:
        """Count what was found in a dialogue; gives its masks by kind."""
        here = Counter[str]()
        for place, text, masks in found:
            for mask in masks:
                if mask.kind:
                    here[mask.kind] += 1
                    self.rules[f"{mask.kind}: {mask.rule}"] += 1
                else:
                    self.left[mask.rule] += 1
                self._keep(id, place, text, masks, mask)
        self.summary.dialogues += 1
        self.summary.with_masks += bool(here)
        self.masks += here
        self.by_kind.update(here.keys())
        return here

    def _keep(self, id: str, place: str, text: str, masks: list[Mask], mask: Mask) -> None:
        key = f"{self.seed} {id} {place} {mask.start}"
        order = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        kept = self.examples.setdefault((mask.kind, mask.rule), [])
        if len(kept) < self.most or order < kept[-1].order:
            before, after = _around(text, masks, mask)
            kept.append(Example(order, id, place, mask.kind, mask.rule, before, after))
            kept.sort(key=lambda example: example.order)
            del kept[self.most :]

    def result(self) -> Summary:
        """The summary so far."""
        self.summary.masks = dict(sorted(self.masks.items()))
        self.summary.dialogues_by_kind = dict(sorted(self.by_kind.items()))
        self.summary.rules = dict(sorted(self.rules.items()))
        self.summary.left = dict(sorted(self.left.items()))
        self.summary.fields = [*self.fields]
        self.summary.examples = [e for key in sorted(self.examples) for e in self.examples[key]]
        return self.summary

    def merge(self, other: Summary) -> None:
        """Add the summary of other dialogues."""
        self.summary.dialogues += other.dialogues
        self.summary.with_masks += other.with_masks
        self.summary.votes |= other.votes
        self.summary.again |= other.again
        self.masks.update(other.masks)
        self.by_kind.update(other.dialogues_by_kind)
        self.rules.update(other.rules)
        self.left.update(other.left)
        self.fields |= dict.fromkeys(other.fields)
        for example in other.examples:
            kept = self.examples.setdefault((example.kind, example.rule), [])
            kept.append(example)
            kept.sort(key=lambda example: example.order)
            del kept[self.most :]


def merged(summaries: Iterable[Summary], examples: int) -> Summary:
    """One summary of all."""
    examiner = Examiner(examples, seed=0)
    for summary in summaries:
        examiner.merge(summary)
    return examiner.result()


def review_rows(summary: Summary) -> list[list[Any]]:
    """A row an example: what was masked, then what was left."""
    heads = ["masked as", "recognised by, or left as", "dialogue", "place", "before", "after"]
    ordered = sorted(summary.examples, key=lambda e: (not e.kind, e.kind, e.rule, e.order))
    return [heads, *([e.kind, e.rule, e.id, e.place, e.before, e.after] for e in ordered)]


def _around(text: str, masks: Sequence[Mask], mask: Mask) -> tuple[str, str]:
    """The text around a mask before and after; other masks nearby are whole or not there."""
    start, end = max(0, mask.start - _AROUND), min(len(text), mask.end + _AROUND)
    for other in masks:
        if other.end <= mask.start and other.end > start > other.start:
            start = other.end
        if other.start >= mask.end and other.start < end < other.end:
            end = other.start
    marked = f"{OPEN}{text[mask.start : mask.end]}{CLOSE}"
    before = text[start : mask.start] + marked + text[mask.end : end]
    inside = [
        msgspec.structs.replace(m, start=m.start - start, end=m.end - start)
        for m in masks
        if start <= m.start and m.end <= end
    ]
    return before, replaced(text[start:end], inside)
