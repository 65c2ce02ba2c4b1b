"""Evaluation throughput against the plain reference of the tests, and the start of the program.

    make bench

Prints a table and writes benchmarks/evaluate.json. Ratios are measured in one run: absolute
times depend on the machine and on what else it does.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dialeval as de

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import reference  # noqa: E402

SIZES = (390, 3_900, 100_000)
ANNOTATORS = 19
REFERENCE_SAMPLE = 2_000
"""The plain loop is timed on this many dialogues at most, and scaled: its time is linear."""


def records(size: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Gold and run records of random dialogues of 2 to 7 turns."""
    random = np.random.default_rng(seed)
    gold, run = [], []
    for d in range(size):
        senders = ["customer" if t % 2 == 0 else "helpdesk" for t in range(random.integers(2, 8))]
        scores = random.integers(-2, 3, (ANNOTATORS, 3)).tolist()
        labels = [reference.LABELS[sender] for sender in senders]
        picks = random.random((ANNOTATORS, len(senders)))
        gold.append(
            {
                "id": f"d{d}",
                "turns": [{"sender": sender, "utterances": ["..."]} for sender in senders],
                "annotations": [
                    {
                        "quality": dict(zip("ASE", scores[a], strict=True)),
                        "nugget": [
                            own[int(picks[a, t] * len(own))] for t, own in enumerate(labels)
                        ],
                    }
                    for a in range(ANNOTATORS)
                ],
            }
        )
        quality = random.dirichlet(np.ones(5), 3).tolist()
        run.append(
            {
                "id": f"d{d}",
                "quality": {
                    c: dict(zip(reference.ORDINAL, quality[i], strict=True))
                    for i, c in enumerate("ASE")
                },
                "nugget": [
                    dict(zip(own, random.dirichlet(np.ones(len(own))).tolist(), strict=True))
                    for own in labels
                ],
            }
        )
    return gold, run


def write_records(size: int, folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The records, also as the files gold-SIZE.jsonl and run-SIZE.jsonl."""
    gold, run = records(size)
    for name, content in (("gold", gold), ("run", run)):
        (folder / f"{name}-{size}.jsonl").write_text("\n".join(map(json.dumps, content)))
    return gold, run


def seconds(action: Callable[[], object], repeats: int = 3) -> float:
    """The best time of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


PEAK = """
import sys
import dialeval as de
run = de.load_run(sys.argv[2])
gold = de.load(sys.argv[1])
de.evaluate(run, gold)
with open("/proc/self/status") as status:  # not getrusage: that would count the parent's peak
    print(*(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def peak_megabytes(gold: Path, run: Path) -> float:
    """Peak memory of a process of its own that loads both files and evaluates."""
    command = [sys.executable, "-c", PEAK, str(gold), str(run)]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout) / 1024


def measured(size: int, folder: Path) -> dict[str, Any]:
    """One row: the plain loop, loading, the first evaluation of a gold, and further ones."""
    gold_records, run_records = write_records(size, folder)
    gold_file, run_file = folder / f"gold-{size}.jsonl", folder / f"run-{size}.jsonl"
    gold_few, run_few = gold_records[:REFERENCE_SAMPLE], run_records[:REFERENCE_SAMPLE]
    del gold_records, run_records
    plain = seconds(lambda: reference.mean_scores(gold_few, run_few)) * size / len(gold_few)
    loading = seconds(lambda: (de.load(gold_file), de.load_run(run_file)), 1)
    run = de.load_run(run_file)
    fresh = [de.load(gold_file) for _ in range(3)]
    first = min(seconds(lambda gold=gold: de.evaluate(run, gold), 1) for gold in fresh)
    again = seconds(lambda: de.evaluate(run, fresh[0]))
    megabytes = (gold_file.stat().st_size + run_file.stat().st_size) / 1e6
    return {
        "dialogues": size,
        "reference_dialogues_per_second": round(size / plain),
        "first_dialogues_per_second": round(size / first),
        "again_dialogues_per_second": round(size / again),
        "ratio_first_to_reference": round(plain / first, 1),
        "ratio_again_to_reference": round(plain / again, 1),
        "load_megabytes_per_second": round(megabytes / loading, 1),
        "peak_megabytes": round(peak_megabytes(gold_file, run_file)),
    }


def throughput(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for size in SIZES:
        rows.append(measured(size, folder))
        print(json.dumps(rows[-1]))
    return rows


def start(folder: Path) -> dict[str, float]:
    """Whole processes: the command on 390 dialogues, --help, and Python with numpy alone."""
    program = [sys.executable, "-m", "dialeval"]
    files = [str(folder / "run-390.jsonl"), "--gold", str(folder / "gold-390.jsonl")]
    commands = {
        "evaluate_390_seconds": [*program, "evaluate", *files],
        "help_seconds": [*program, "--help"],
        "import_numpy_seconds": [sys.executable, "-c", "import numpy"],
        "python_seconds": [sys.executable, "-c", "pass"],
    }
    times = {
        name: round(
            seconds(partial(subprocess.run, command, capture_output=True, check=True), 7), 3
        )
        for name, command in commands.items()
    }
    print(json.dumps(times))
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(min(SIZES), folder)
        result = {
            "version": de.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cores": os.cpu_count(),
            "start": start(folder),
            "throughput": throughput(folder),
        }
    (HERE / "evaluate.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
