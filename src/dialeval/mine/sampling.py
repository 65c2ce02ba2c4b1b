"""Choosing at random, stratum by stratum: the same seed chooses the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dialeval.core.errors import UsageError

Stratum = TypeVar("Stratum", bound=Hashable)


@dataclass(frozen=True)
class Chosen:
    """The places of what was chosen and of what is left, each in the order of the file."""

    places: tuple[int, ...]
    rest: tuple[int, ...]


def stratified(strata: Sequence[Stratum], sizes: Mapping[Stratum, int], *, seed: int = 0) -> Chosen:
    """Draw `sizes[s]` of the items of each stratum s, without replacement.

    Each stratum has random numbers of its own, by its place among the sorted ones: what is drawn
    from one does not depend on how many are drawn from another.

    >>> stratified(["a", "b", "a", "b", "b"], {"a": 1, "b": 2}).rest.__len__()
    2
    """
    members: dict[Stratum, list[int]] = {}
    for place, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(place)
    for stratum, size in sizes.items():
        there = len(members.get(stratum, ()))
        if not 0 <= size <= there:
            raise UsageError(f"{stratum}: found {there} to choose from, expected {size} or more")
    chosen: set[int] = set()
    for number, stratum in enumerate(sorted(members, key=str)):
        random = np.random.default_rng([seed, number])
        drawn = random.permutation(len(members[stratum]))[: sizes.get(stratum, 0)]
        chosen.update(members[stratum][place] for place in drawn)
    every = range(len(strata))
    return Chosen(
        tuple(place for place in every if place in chosen),
        tuple(place for place in every if place not in chosen),
    )


def proportional(strata: Sequence[Stratum], total: int) -> dict[Stratum, int]:
    """How many of each stratum make `total` in proportion to their sizes, by largest remainders.

    Equal remainders: the larger stratum first, then the one that comes first.

    >>> proportional(["a"] * 6 + ["b"] * 3 + ["c"], 5)
    {'a': 3, 'b': 2, 'c': 0}
    """
    if not 0 <= total <= len(strata):
        raise UsageError(f"found {len(strata)} to choose from, expected {total} or more")
    counts: dict[Stratum, int] = {}
    for stratum in strata:
        counts[stratum] = counts.get(stratum, 0) + 1
    sizes = {stratum: count * total // len(strata) for stratum, count in counts.items()}
    remainder = {s: count * total % len(strata) for s, count in counts.items()}
    order = sorted(counts, key=lambda s: (-remainder[s], -counts[s]))
    for stratum in order[: total - sum(sizes.values())]:
        sizes[stratum] += 1
    return sizes
