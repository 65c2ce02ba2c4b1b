"""Scoring on one core, two local processes and a two-worker Dask cluster, for every bundled model.

    make bench

Whole runs of `dialeval score` from file to file, start of the workers included. Efficiency is the
rate of two workers by the clock, divided by twice the rate of one. Where other work shares the
machine that says little, so it is given by processor time too: what a dialogue costs on one worker,
and on two. Prints a line each and writes benchmarks/scale.json.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy: a worker is one core

import json  # noqa: E402
import platform  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from score import enlarged  # noqa: E402

import dialeval as de  # noqa: E402

HERE = Path(__file__).resolve().parent
SIZES = {"fast": 12_000, "accurate": 800}


@contextmanager
def cluster() -> Iterator[tuple[str, list[int]]]:
    """A scheduler with two workers of one thread each: its address, and the workers' processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield workers.scheduler_address, [*client.run(os.getpid).values()]


def processor_seconds(pid: int) -> float:
    import psutil

    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


def timed(source: Path, out: Path, model: str, options: list[str], pids: list[int]) -> Any:
    """A run of `dialeval score`; workers that are there already are counted by their ids."""
    before = sum(map(processor_seconds, pids))
    begin = time.perf_counter()
    command = [sys.executable, "-m", "dialeval", "score", source, "--out", out, "--model", model]
    process = subprocess.Popen([*map(str, command), *options], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, options
    inside = sum(map(processor_seconds, pids)) - before
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime + inside


def measured(language: str, kind: str, folder: Path, address: str, pids: list[int]) -> Any:
    size = SIZES[kind]
    source = folder / f"{kind}-{language}.jsonl"
    de.save(enlarged(language, size), source)
    dask = ["--engine", "dask", "--scheduler", address]
    ways: dict[str, tuple[list[str], list[int]]] = {
        "one_core": ([], []),
        "two_processes": (["--jobs", "2"], []),
        "two_dask_workers": (dask, pids),
    }
    timed(source, folder / "warm", kind, dask, pids)
    row: dict[str, Any] = {"model": kind, "language": language, "dialogues": size}
    for way, (options, workers) in ways.items():
        seconds, used = min(timed(source, folder / way, kind, options, workers) for _ in range(2))
        row[way] = {
            "dialogues_per_second": round(size / seconds, 1),
            "dialogues_per_processor_second": round(size / used, 1),
        }
    one = row["one_core"]
    for way in ("two_processes", "two_dask_workers"):
        rate, work = (row[way][name] / one[name] for name in one)
        row[way] |= {"efficiency": round(rate / 2, 3), "efficiency_by_processor": round(work, 3)}
    same = {(folder / way / "scores.jsonl").read_bytes() for way in ways}
    assert len(same) == 1, "the same scores wherever they are worked out"
    row["load_of_the_machine"] = round(os.getloadavg()[0], 1)
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    with tempfile.TemporaryDirectory() as name, cluster() as (address, pids):
        rows = [
            measured(language, kind, Path(name), address, pids)
            for kind in SIZES
            for language in ("en", "zh")
        ]
    result = {
        "version": de.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "models": rows,
    }
    (HERE / "scale.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
