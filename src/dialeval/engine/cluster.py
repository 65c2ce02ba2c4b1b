"""The workers of a Dask cluster (extra `cluster`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from dialeval import __version__
from dialeval.core.errors import MissingExtraError, UsageError
from dialeval.engine.workers import Engine, OneCore, Queue, WorkerLostError

T = TypeVar("T")
R = TypeVar("R")

CONNECT_SECONDS = 30


class Dask(Engine):
    """The workers of a Dask cluster, which see the same files under the same names.

    The scheduler gives the tasks of a worker that dies to others.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("Dask clusters", "cluster") from None
        self.scheduler = scheduler
        try:
            self._client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise UsageError(f"--scheduler {scheduler}: no Dask scheduler ({reason})") from None
        self._check_workers()

    def _check_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            versions = set(self._client.run(_version).values())
        except TimeoutError:
            self.close()
            raise UsageError(f"--scheduler {self.scheduler}: it has no workers") from None
        except ModuleNotFoundError:
            versions = {"none"}
        if versions != {__version__}:
            self.close()
            found = ", ".join(sorted(versions))
            raise UsageError(f"the workers have dialeval {found}, expected {__version__}")

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        from distributed import KilledWorker, as_completed

        queue = Queue(len(tasks))
        running: dict[Any, int] = {}
        completed = as_completed(loop=self._client.loop)
        while True:
            while len(running) < self._window():
                place = queue.next()
                if place is None:
                    break
                future = self._client.submit(OneCore(function), tasks[place], pure=False)
                running[future] = place
                completed.add(future)
            if not running:
                break
            future = next(completed)
            if future.status == "pending":  # its worker died with the result: it is done again
                completed.add(future)
                continue
            place = running.pop(future)
            if future.status == "finished":
                yield place, future.result()
            elif future.status == "error" and isinstance(future.exception(), KilledWorker):
                raise WorkerLostError(f"task {place}: the workers that had it died")
            elif future.status == "error":
                queue.failed[place] = future.exception()
            else:
                raise WorkerLostError(f"the Dask scheduler at {self.scheduler} is gone")
            future.release()
        queue.settle()

    def _window(self) -> int:
        """Enough tasks for all cores that the cluster has now, and as many to come."""
        return 2 * max(1, sum(map(int, self._client.nthreads().values())))

    def close(self) -> None:
        self._client.close()


def _version() -> str:
    return __version__
