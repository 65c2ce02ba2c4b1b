"""From posts to dialogues, step by step, over an engine.

    scan      every partition of posts: bad ones are counted, names found, lines spilled by thread
    gather    every bucket of threads: those that mention a found account, whole and in order
    extract   every part of threads: dialogues with the active accounts

Each step can end the work: accounts, active accounts, threads, dialogues.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from dialeval.core.encode import lines_of
from dialeval.core.files import writing
from dialeval.engine import Engine, Output, Partition, Work, buckets_for, opened_work, partitions
from dialeval.engine.inputs import SIZE
from dialeval.engine.work import Progress
from dialeval.mine.accounts import Account, Activity, found_accounts
from dialeval.mine.counts import ACTIVE, EXTRACT, GATHER, READ, Step, total
from dialeval.mine.dialogues import COLUMNS
from dialeval.mine.extract import Extract, Extracted, active_file, extract
from dialeval.mine.gather import COLUMNS as THREAD_COLUMNS
from dialeval.mine.gather import Gather, Gathered, activity_file, gather, names_file
from dialeval.mine.scan import Scan, Scanned, find_names, scan, spill_files
from dialeval.mine.settings import Settings


class Report(msgspec.Struct):
    """What mining did: the steps in their order, and the accounts it found."""

    steps: dict[str, Step]
    accounts: list[Account]
    resumed: int = 0
    """Tasks that an earlier run had done."""


class Mining:
    """Posts (or threads) to mine, how, on which engine, and beside which file the work is kept."""

    def __init__(
        self,
        given: Iterable[Path],
        settings: Settings,
        engine: Engine,
        beside: Path,
        progress: Progress | None = None,
        size: int = SIZE,
    ) -> None:
        self.parts = partitions(given, size=size)
        self.settings = settings
        self._buckets = buckets_for(self.parts, size)
        self._opened = partial(opened_work, beside, engine, inputs=self.parts, progress=progress)

    def accounts(self) -> Report:
        """Find the sought accounts by their names."""
        with self._opened(options=self._options("accounts")) as work:
            tasks = [Scan(part, self.settings) for part in self.parts]
            scanned = work.each("accounts", find_names, tasks, Scanned)
            return _report(work, {READ: total(s.step for s in scanned)}, _accounts(scanned))

    def active(self) -> Report:
        """Find them, and say which of them answer those who mention them."""
        with self._opened(options=self._options("active")) as work:
            read, threads, accounts, _ = self._gathered(work, _between_steps())
            return _report(work, {READ: read, GATHER: threads}, accounts)

    def threads(self, output: Output) -> Report:
        """Gather the threads that mention them."""
        with self._opened(options=self._options("threads", output)) as work:
            read, threads, accounts, rows = self._gathered(work, output)
            output.publish(work.folder / "threads", rows)
            return _report(work, {READ: read, GATHER: threads}, accounts)

    def dialogues(self, output: Output, accounts: Sequence[Account]) -> Report:
        """Take the dialogues with active accounts from threads that were gathered before."""
        options = self._options("dialogues", output) | {"accounts": accounts}
        with self._opened(options=options) as work:
            steps = self._extracted(work, self.parts, accounts, output)
            return _report(work, steps, list(accounts))

    def all(self, output: Output) -> Report:
        """From posts to dialogues."""
        with self._opened(options=self._options("all", output)) as work:
            read, threads, accounts, _ = self._gathered(work, _between_steps())
            parts = partitions([work.folder / "threads"])
            steps = self._extracted(work, parts, accounts, output)
            return _report(work, {READ: read, GATHER: threads, **steps}, accounts)

    def _options(self, what: str, output: Output | None = None) -> dict[str, Any]:
        return {"mine": what, "settings": self.settings, "parts": output.parts if output else ""}

    def _gathered(self, work: Work, output: Output) -> tuple[Step, Step, list[Account], list[int]]:
        """Scan posts and gather threads: both steps, the accounts, and the rows of each part."""
        folder, count = str(work.folder), len(self.parts)
        to_scan = [Scan(part, self.settings, folder, self._buckets) for part in self.parts]
        scanned = work.each("posts", scan, to_scan, Scanned)
        names = {one.name: one.key for part in scanned for one in part.names}
        with writing(names_file(work.folder)) as stream:
            stream.write(msgspec.json.encode(names))
        to_gather = [
            Gather(bucket, self._buckets, count, self.settings, folder, output)
            for bucket in range(self._buckets)
        ]
        gathered = work.each("threads", gather, to_gather, Gathered)
        for number in range(count):
            for spill in spill_files(work.folder, number):
                spill.unlink(missing_ok=True)  # they are as large as the posts
        activity = Activity(self.settings)
        for bucket in range(self._buckets):
            activity.merge(activity_file(work.folder, bucket).read_bytes())
        accounts = activity.judge(_accounts(scanned), self.settings.least)
        read, threads = total(s.step for s in scanned), total(g.step for g in gathered)
        return read, threads, accounts, [g.rows for g in gathered]

    def _extracted(
        self, work: Work, parts: Sequence[Partition], accounts: Iterable[Account], output: Output
    ) -> dict[str, Step]:
        """Take dialogues from threads, and publish them."""
        names = {a.key: a.name for a in accounts if a.active is not False}
        with writing(active_file(work.folder)) as stream:
            stream.write(msgspec.json.encode(names))
        tasks = [
            Extract(number, part, self.settings, str(work.folder), output)
            for number, part in enumerate(parts)
        ]
        extracted = work.each("dialogues", extract, tasks, Extracted)
        output.publish(work.folder / "dialogues", [e.rows for e in extracted])
        return {
            ACTIVE: total(e.active for e in extracted),
            EXTRACT: total(e.step for e in extracted),
        }


def _between_steps() -> Output:
    """Threads on their way to the next step."""
    return Output(Path("threads"), "jsonl", folder=True)


def _accounts(scanned: Iterable[Scanned]) -> dict[str, Account]:
    return found_accounts(part.names for part in scanned)


def _report(
    work: Work, steps: dict[str, Step], accounts: dict[str, Account] | list[Account]
) -> Report:
    found = [*accounts.values()] if isinstance(accounts, dict) else accounts
    return Report(steps, found, work.resumed)


def dialogues_at(path: Path, parts: str | None = None) -> Output:
    """An output of dialogues."""
    return Output.at(path, parts, COLUMNS)


def threads_at(path: Path, parts: str | None = None) -> Output:
    """An output of threads."""
    return Output.at(path, parts, THREAD_COLUMNS)


def write_accounts(accounts: Iterable[Account], path: Path) -> None:
    """Write accounts as JSONL, as `read_accounts` reads them."""
    with writing(path) as stream:
        stream.writelines(lines_of(msgspec.to_builtins(account) for account in accounts))
