"""Work that can stop and go on: which tasks of which step are done, and with what result.

Everything a run writes on its way lies in a hidden folder beside its output, with a journal: one
line a finished task. The same command on the same input finds it and does the rest.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeVar

import msgspec

from dialeval import __version__
from dialeval.core.errors import DataError, MissingExtraError, UsageError
from dialeval.engine.inputs import Partition
from dialeval.engine.workers import Engine

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[str, int, int], None]
"""Is told the step, and how many tasks of how many are done."""


class _Entry(msgspec.Struct, frozen=True):
    """A line of the journal: a task that is done."""

    step: str
    task: int
    result: msgspec.Raw


class _Head(msgspec.Struct, frozen=True):
    """The first line of the journal: what the work is for."""

    work: str


def fingerprint(options: Mapping[str, Any], inputs: Sequence[Partition]) -> str:
    """Says whether work is the same: version, options, and files by name, size and time."""
    files = {part.path for part in inputs}
    state = [(path, Path(path).stat().st_size, Path(path).stat().st_mtime_ns) for path in files]
    ranges = [(part.path, part.start, part.end) for part in inputs]
    text = msgspec.json.encode([__version__, options, sorted(state), ranges], order="sorted")
    return hashlib.sha256(text).hexdigest()


class Work:
    """Steps of tasks over an engine, in a folder that keeps what is done."""

    def __init__(
        self, folder: Path, engine: Engine, journal: IO[bytes], progress: Progress | None
    ) -> None:
        self.folder = folder
        self.engine = engine
        self._journal = journal
        self._progress = progress or (lambda _step, _done, _total: None)
        self._done: dict[str, dict[int, msgspec.Raw]] = {}
        for line in journal:
            entry = msgspec.json.decode(line, type=_Entry)
            self._done.setdefault(entry.step, {})[entry.task] = entry.result

    @property
    def resumed(self) -> int:
        """How many tasks an earlier run has done."""
        return sum(len(tasks) for tasks in self._done.values())

    def each(
        self, step: str, function: Callable[[T], R], tasks: Sequence[T], result: Any
    ) -> list[R]:
        """The results of all tasks of a step, in their order; those known already are not done.

        What a task writes must be whole when its function returns, and the same if it is done
        twice. Results are kept as JSON, of the type `result`.
        """
        decoder = msgspec.json.Decoder(result)
        known = {n: decoder.decode(raw) for n, raw in self._done.get(step, {}).items()}
        left = [number for number in range(len(tasks)) if number not in known]
        self._progress(step, len(known), len(tasks))
        for place, found in self.engine.map(function, [tasks[number] for number in left]):
            number = left[place]
            raw = msgspec.Raw(msgspec.json.encode(found))
            self._journal.write(msgspec.json.encode(_Entry(step, number, raw)) + b"\n")
            self._journal.flush()
            known[number] = found
            self._progress(step, len(known), len(tasks))
        return [known[number] for number in range(len(tasks))]


@contextmanager
def opened_work(
    beside: Path,
    engine: Engine,
    *,
    options: Mapping[str, Any],
    inputs: Sequence[Partition],
    progress: Progress | None = None,
) -> Iterator[Work]:
    """Work in a folder beside an output; it goes when the block ends well, or the input is bad.

    After any other failure it stays, and the next call with the same options goes on with it.
    """
    folder = beside.resolve().parent / f".{beside.name}.work"
    name = fingerprint(options, inputs)
    absent = [path for path in folder.parents if not path.exists()]
    with _locked(folder) as journal:
        if not _is_of(journal, name):
            for old in folder.iterdir():
                if old.name != JOURNAL:
                    shutil.rmtree(old) if old.is_dir() else old.unlink()
            journal.seek(0)
            journal.truncate()
            journal.write(msgspec.json.encode(_Head(name)) + b"\n")
            journal.flush()
        try:
            yield Work(folder, engine, journal, progress)
        except (DataError, MissingExtraError):
            shutil.rmtree(folder)
            with suppress(OSError):  # something else was put there meanwhile
                for path in absent:
                    path.rmdir()
            raise
        shutil.rmtree(folder)


@contextmanager
def room_beside(out: Path) -> Iterator[Path]:
    """A hidden folder for the while, beside an output: where workers of a cluster see it, too."""
    parent = next(path for path in out.resolve().parents if path.exists())
    try:
        room = TemporaryDirectory(dir=parent, prefix=f".{out.name}.")
    except OSError as error:
        raise UsageError(f"{out}: cannot be written ({error.strerror})") from None
    with room as folder:
        yield Path(folder)


JOURNAL = "journal.jsonl"


@contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    """The journal of a folder, for this process alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / JOURNAL).open("a+b")
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror})") from None
    with stream:
        with suppress(ImportError):  # no locks on Windows
            import fcntl

            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise UsageError(f"{folder}: another run is at work there") from None
        stream.seek(0)
        yield stream


def _is_of(journal: IO[bytes], name: str) -> bool:
    """Whether the journal is of this work; a last line that was cut off is taken away."""
    lines = journal.read().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        journal.truncate(sum(map(len, lines[:-1])))
        lines.pop()
    with suppress(msgspec.MsgspecError, IndexError):
        if msgspec.json.decode(lines[0], type=_Head).work == name:
            journal.seek(len(lines[0]))
            return True
    return False
