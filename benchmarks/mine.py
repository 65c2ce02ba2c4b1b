"""Mining: posts a second from file to file, beside a pass that only parses the JSON.

    make bench                                      # 0.1 and 1 million posts
    python benchmarks/mine.py --posts 10000000      # and 10 million, about 3 GB

Each size in one run: a plain Python pass over the file (`json.loads` of every line), `dialeval
mine` on one core, and with two processes. Times are of whole processes, start included: by the
clock, and of the processors. The load of the machine stands beside. Writes benchmarks/mine.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dialeval as de

HERE = Path(__file__).resolve().parent
SIZES = (100_000, 1_000_000, 10_000_000)
PLAIN = """
import json, sys
with open(sys.argv[1], encoding="utf-8", errors="replace") as lines:
    for line in lines:
        try:
            json.loads(line)
        except ValueError:
            pass
"""


def timed(*command: object) -> dict[str, float]:
    """Seconds of a command by the clock and of processors, and memory of its largest process."""
    begin = time.perf_counter()
    arguments = [sys.executable, *map(str, command)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, arguments
    return {
        "seconds": round(time.perf_counter() - begin, 2),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 2),
        "largest_process_mb": round(used.ru_maxrss / 1024),
    }


def measured(posts: int, folder: Path) -> dict[str, Any]:
    file, out, known = folder / f"{posts}.jsonl", folder / "out.jsonl", folder / "known"
    timed("-m", "dialeval", "generate", file, "--posts", posts, "--answers", known)
    mine = ("-m", "dialeval", "mine", file, "--out", out)
    repeats = 3 if posts <= 1_000_000 else 1
    ways = {"plain": ("-c", PLAIN, file), "one": mine, "two": (*mine, "--jobs", 2)}
    best: dict[str, dict[str, float]] = {}
    loads = []
    for _ in range(repeats):  # in turn, so that the load of the machine meets all of them
        for way, command in ways.items():
            found = timed(*command)
            if way not in best or found["seconds"] < best[way]["seconds"]:
                best[way] = found
            loads.append(os.getloadavg()[0])
    expected = json.loads((known / "answers.json").read_text())["dialogues"]
    with out.open("rb") as lines:
        assert sum(1 for _ in lines) == expected
    plain, one, two = best["plain"], best["one"], best["two"]
    row = {
        "posts": posts,
        "gigabytes": round(file.stat().st_size / 1e9, 3),
        "dialogues": expected,
        **best,
        "posts_per_second": {way: round(posts / b["seconds"]) for way, b in best.items()},
        "one_to_plain": round(plain["seconds"] / one["seconds"], 3),
        "one_to_plain_by_processor": round(
            plain["processor_seconds"] / one["processor_seconds"], 3
        ),
        "two_to_plain": round(plain["seconds"] / two["seconds"], 3),
        "two_to_one": round(one["seconds"] / two["seconds"], 3),
        "load_of_the_machine": round(sum(loads) / len(loads), 1),
    }
    file.unlink()
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--posts", type=int, default=1_000_000, help="the largest size")
    parser.add_argument("--folder", type=Path, help="where files go meanwhile")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        rows = [measured(size, Path(name)) for size in SIZES if size <= arguments.posts]
    result = {
        "version": de.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "sizes": rows,
        "processor_seconds_per_million": [
            round(row["one"]["processor_seconds"] / row["posts"] * 1e6, 2) for row in rows
        ],
    }
    (HERE / "mine.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
