"""Groups of runs that do not differ significantly, as letters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def group_letters(p: NDArray[np.float64], alpha: float) -> list[str]:
    """Letters for runs in order from best to worst: two share one exactly if p >= alpha.

    The insert-and-absorb way of H.-P. Piepho (2004), An Algorithm for a Letter-Based
    Representation of All-Pairwise Comparisons: begin with one group of all; each significant pair
    splits the groups that hold both; a group inside another is absorbed.

    >>> group_letters(np.array([[1, 0.5, 0.01], [0.5, 1, 0.2], [0.01, 0.2, 1]]), 0.05)
    ['a', 'ab', 'b']
    """
    runs = len(p)
    groups = [frozenset(range(runs))]
    for i in range(runs):
        for j in range(i + 1, runs):
            if p[i, j] < alpha:
                groups = _split(groups, i, j)
    groups.sort(key=sorted)
    lettered = [(_letter(number), group) for number, group in enumerate(groups)]
    return ["".join(letter for letter, group in lettered if i in group) for i in range(runs)]


def _split(groups: list[frozenset[int]], i: int, j: int) -> list[frozenset[int]]:
    parts: list[frozenset[int]] = []
    for group in groups:
        parts += [group - {j}, group - {i}] if {i, j} <= group else [group]
    distinct = [*dict.fromkeys(parts)]
    return [g for g in distinct if not any(g < other for other in distinct)]


def _letter(number: int) -> str:
    """a to z, then a1 to z1 and so on."""
    return chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "")
