"""Two sides of a collection, for training and for testing, with nothing in common.

What shares an author, or is nearly the same, is connected; what is connected stays on one side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dialeval.core.errors import UsageError

Stratum = TypeVar("Stratum", bound=Hashable)


@dataclass(frozen=True)
class Sides:
    """Places in the collection; `between` may be on neither side."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    between: NDArray[np.intp]


def connected(
    size: int, keys: Sequence[Sequence[Hashable]], pairs: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The number of each item's component: items that share a key or are a pair are connected.

    >>> connected(4, [["a"], ["b"], ["a", "c"], []], np.array([[1, 3]])).tolist()
    [0, 1, 0, 1]
    """
    first: dict[Hashable, int] = {}
    shared = [
        (first.setdefault(key, place), place) for place, own in enumerate(keys) for key in own
    ]
    links = np.concatenate([pairs.reshape(-1, 2), np.array(shared, np.intp).reshape(-1, 2)])
    graph = coo_array((np.ones(len(links), np.int8), (links[:, 0], links[:, 1])), (size, size))
    _, components = connected_components(graph, directed=False)
    return np.asarray(components, np.intp)


def random_sides(
    strata: Sequence[Stratum],
    wanted: Mapping[Stratum, int],
    components: NDArray[np.intp],
    *,
    seed: int = 0,
) -> Sides:
    """Components go to the test side in random order, until it has what is wanted of each stratum.

    Those of more than a tenth of what is wanted in all come last: they would crowd the test out.
    """
    members = _members(components)
    order = np.random.default_rng([seed, 1]).permutation(len(members)).tolist()
    large = max(1, sum(wanted.values()) // 10)
    order.sort(key=lambda component: len(members[component]) > large)
    lacking = Counter({stratum: size for stratum, size in wanted.items() if size})
    chosen = []
    for component in order:
        own = Counter(strata[place] for place in members[component])
        if any(lacking[stratum] > 0 for stratum in own):
            chosen.append(component)
            lacking.subtract({s: n for s, n in own.items() if s in lacking})
        if lacking and max(lacking.values()) <= 0:
            break
    _check(strata, wanted, lacking)
    on_test = np.isin(components, chosen)
    nowhere = np.empty(0, np.intp)
    return Sides(np.flatnonzero(~on_test), np.flatnonzero(on_test), nowhere)


def sides_by_time(
    strata: Sequence[Stratum],
    wanted: Mapping[Stratum, int],
    components: NDArray[np.intp],
    times: NDArray[np.float64],
) -> Sides:
    """The test side is later than all of the train side.

    The cut is the latest at which the components that begin after it have what is wanted of each
    stratum. What comes after the cut but is connected with something before it is on neither side.
    """
    members = _members(components)
    begin = np.full(len(members), np.inf)
    np.minimum.at(begin, components, times)
    lacking = Counter({stratum: size for stratum, size in wanted.items() if size})
    cut = np.inf
    for component in np.argsort(-begin, kind="stable").tolist():
        if (not lacking or max(lacking.values()) <= 0) and begin[component] < cut:
            break  # what begins at the same time is on the same side
        own = Counter(strata[place] for place in members[component])
        lacking.subtract({s: n for s, n in own.items() if s in lacking})
        cut = begin[component]
    _check(strata, wanted, lacking)
    on_test = begin[components] >= cut
    before = times < cut
    return Sides(
        np.flatnonzero(before & ~on_test),
        np.flatnonzero(on_test),
        np.flatnonzero(~before & ~on_test),
    )


def _members(components: NDArray[np.intp]) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(int(components.max(initial=-1)) + 1)]
    for place, component in enumerate(components.tolist()):
        members[component].append(place)
    return members


def _check(
    strata: Sequence[Stratum], wanted: Mapping[Stratum, int], lacking: Mapping[Stratum, int]
) -> None:
    for stratum, size in lacking.items():
        if size > 0:
            there = wanted[stratum] - size
            in_all = strata.count(stratum)
            raise UsageError(
                f"{stratum}: found {there} for the test side (of {in_all}), "
                f"expected {wanted[stratum]} or more"
            )
