"""Who does the work: this process, local processes, or (in `cluster.py`) a Dask cluster."""

from __future__ import annotations

import gc
import os
import signal
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import wraps
from multiprocessing import get_context
from typing import Generic, TypeVar

from dialeval.core.errors import DialevalError, UsageError, unknown_name

T = TypeVar("T")
R = TypeVar("R")

LOSSES = 3
"""How often in a row workers may die before anything is done."""
ENGINES = ("local", "dask")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerLostError(DialevalError):
    """Workers die again and again; what is done is kept."""


class Engine(ABC):
    """Applies a function to tasks. Both must be picklable, the function by its name.

    A task may be done more than once, when a worker dies: doing it again must do no harm.
    """

    @abstractmethod
    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        """Each task's place and result, as they are done.

        Of several errors the one of the first task is raised, whoever fails first.
        """

    def ordered(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """The results in the order of the tasks, each as soon as all before it are there."""
        early: dict[int, R] = {}
        expected = 0
        for place, result in self.map(function, tasks):
            early[place] = result
            while expected in early:
                yield early.pop(expected)
                expected += 1

    def close(self) -> None:  # noqa: B027 - nothing to do for some
        """Let the workers go."""


class InProcess(Engine):
    """One task after another, here.

    >>> [*InProcess().ordered(abs, [3, -4])]
    [3, 4]
    """

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        for place, task in enumerate(tasks):
            yield place, OneCore(function)(task)


class Queue:
    """Which tasks to hand out next, and what to raise in the end."""

    def __init__(self, tasks: int) -> None:
        self.waiting = deque(range(tasks))
        self.failed: dict[int, BaseException] = {}

    def next(self) -> int | None:
        """The next task; after a failure only those that come before it still matter."""
        if not self.waiting or (self.failed and min(self.failed) < self.waiting[0]):
            return None
        return self.waiting.popleft()

    def again(self, places: Sequence[int]) -> None:
        """Tasks that were handed out, and lost."""
        self.waiting = deque(sorted([*places, *self.waiting]))

    def settle(self) -> None:
        """Raise the error of the first task that failed."""
        if self.failed:
            raise self.failed[min(self.failed)]


class Processes(Engine):
    """Local processes. When one is killed, its pool is made anew and the lost tasks run again."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        queue = Queue(len(tasks))
        running: dict[Future[R], int] = {}
        losses = 0
        while True:
            lost: list[int] = []
            while not lost and len(running) <= self.jobs:  # one more, so that nobody waits
                place = queue.next()
                if place is None:
                    break
                try:
                    running[self._submit(function, tasks[place])] = place
                except BrokenProcessPool:
                    lost.append(place)
            if not running and not lost:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done if not lost else ():
                place, error = running.pop(future), future.exception()
                if error is None:
                    losses = 0
                    yield place, future.result()
                elif isinstance(error, BrokenProcessPool):
                    lost.append(place)
                else:
                    queue.failed[place] = error
            if lost:
                losses += 1
                if losses > LOSSES:
                    raise WorkerLostError(f"worker processes died {losses} times in a row")
                queue.again([*lost, *running.values()])
                running.clear()
                self.close()
        queue.settle()

    def _submit(self, function: Callable[[T], R], task: T) -> Future[R]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.jobs, get_context("spawn"), initializer=_leave_interrupts
            )
        with _one_thread_each():  # processes start with the tasks that they are for
            return self._pool.submit(OneCore(function), task)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


class OneCore(Generic[T, R]):
    """A function for one core: numeric libraries make no threads, wherever it runs.

    Threads share sums out in another order, which shows in the last digits.
    """

    def __init__(self, function: Callable[[T], R]) -> None:
        self.function = function

    def __call__(self, task: T) -> R:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return self.function(task)


def without_cycles(function: Callable[[T], R]) -> Callable[[T], R]:
    """For tasks that make many objects and no circles of them: nobody needs to look for any."""

    @wraps(function)
    def run(task: T) -> R:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return function(task)
        finally:
            if enabled:
                gc.enable()

    return run


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that the person sees; it lets its workers end what they do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that start now are one core's worth: numeric libraries make no threads in them."""
    absent = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(absent, "1"))
    try:
        yield
    finally:
        for name in absent:
            del os.environ[name]


@contextmanager
def open_engine(
    jobs: int = 1, engine: str = "local", scheduler: str | None = None
) -> Iterator[Engine]:
    """The engine that these options ask for, until the block ends.

    >>> with open_engine() as engine:
    ...     [*engine.map(len, ["ab", "c"])]
    [(0, 2), (1, 1)]
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if engine == "dask":
        if scheduler is None:
            raise UsageError("--engine dask needs --scheduler ADDRESS, such as tcp://host:8786")
        if jobs != 1:
            raise UsageError("--jobs is of local processes: a Dask cluster has its own workers")
        from dialeval.engine.cluster import Dask

        chosen: Engine = Dask(scheduler)
    elif scheduler is not None:
        raise UsageError("--scheduler goes with --engine dask")
    else:
        chosen = InProcess() if jobs == 1 else Processes(jobs)
    try:
        yield chosen
    finally:
        chosen.close()
