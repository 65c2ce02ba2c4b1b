"""What the tests of the engine run: tasks that other processes find by their names."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import msgspec

from dialeval.engine import Output, Partition, bucket_frames, spilling


class Call(msgspec.Struct):
    """A number to square, and a folder that sees how often it was asked for."""

    number: int
    folder: str


def square(call: Call) -> int:
    with (Path(call.folder) / str(call.number)).open("a") as stream:
        stream.write("x")
    return call.number**2


def square_or_die(call: Call) -> int:
    """The first who gets number 3 is killed, as by kill -9."""
    died = Path(call.folder) / "died"
    if call.number == 3 and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(call)


def always_die(call: Call) -> int:
    if call.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(call)


def slow_square(call: Call) -> int:
    time.sleep(0.2)
    return square(call)


def fail_late(call: Call) -> int:
    """Number 1 fails after number 2."""
    if call.number in (1, 2):
        time.sleep(0.5 if call.number == 1 else 0)
        raise ValueError(f"number {call.number}")
    return square(call)


class Shuffled(msgspec.Struct):
    """Lines `key value` of a partition, or a bucket of them."""

    folder: str
    buckets: int
    partition: Partition | None = None
    bucket: int = 0
    spills: int = 0
    output: Output | None = None


def spill_lines(task: Shuffled) -> int:
    assert task.partition
    path = Path(task.folder) / f"spill-{task.partition.number}"
    count = 0
    with spilling(path, task.buckets) as spill:
        for block in task.partition.blocks():
            rows = [line for line in block.split(b"\n") if line]
            spill.add([row.split()[0].decode() for row in rows], rows)
            count += len(rows)
    return count


def gather_lines(task: Shuffled) -> int:
    assert task.output
    found: dict[str, list[bytes]] = {}
    spills = [Path(task.folder) / f"spill-{n}" for n in range(task.spills)]
    for keys, rows in bucket_frames(spills, task.bucket, task.buckets):
        for key, row in zip(keys, rows, strict=True):
            found.setdefault(key, []).append(row.split()[1])
    rows = (
        msgspec.json.encode({"key": key, "values": b" ".join(found[key]).decode()})
        for key in sorted(found)
    )
    return task.output.write_part(Path(task.folder), task.bucket, rows)
