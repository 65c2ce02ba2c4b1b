"""Applying a function to many items at the speed of `map`, though some of them fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def mapped(
    function: Callable[[T], R],
    items: Iterable[T],
    errors: tuple[type[Exception], ...],
    rescue: Callable[[int, Exception], R],
) -> list[R]:
    """The function of each item; of those that fail, by their place, what `rescue` makes of it.

    >>> mapped(int, ["1", "x", "3"], (ValueError,), lambda place, error: -place)
    [1, -1, 3]
    """
    results: list[R] = []
    rest = iter(items)
    while True:
        try:
            results.extend(map(function, rest))
        except errors as error:  # what came before it is in the list already
            results.append(rescue(len(results), error))
        else:
            return results
