"""What a process keeps in memory: read once, until there is too much of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """The values asked for last, by key."""

    def __init__(self, most: int = 32) -> None:
        self.most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K, read: Callable[[], V]) -> V:
        """The value of a key; `read` makes it if it is not here."""
        with self._lock:
            if key not in self._values:
                self._values[key] = read()
                while len(self._values) > self.most:
                    self._values.popitem(last=False)
            self._values.move_to_end(key)
            return self._values[key]
