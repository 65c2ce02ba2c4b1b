"""Comparing runs: the randomised Tukey HSD test against a plain loop, and a whole campaign.

    make bench

Prints a table and writes benchmarks/compare.json. Ratios are measured in one run.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.run import Prediction, Run
from dialeval.stats.randomised import tukey_hsd

HERE = Path(__file__).resolve().parent
DIALOGUES, RUNS, TRIALS = 390, 10, 5000
PLAIN_TRIALS = 250
"""The plain loop is timed on this many trials, and scaled: its time is linear."""


def plain_tukey(scores: list[list[float]], trials: int) -> list[list[float]]:
    """The same algorithm, one trial, one dialogue, one run at a time."""
    n, m = len(scores), len(scores[0])
    means = [sum(row[i] for row in scores) / n for i in range(m)]
    hits = [[0] * m for _ in range(m)]
    for _ in range(trials):
        totals = [0.0] * m
        for row in scores:
            shuffled = row[:]
            random.shuffle(shuffled)
            for i in range(m):
                totals[i] += shuffled[i]
        spread = (max(totals) - min(totals)) / n
        for i in range(m):
            for j in range(m):
                hits[i][j] += spread >= abs(means[i] - means[j])
    return [[count / trials for count in row] for row in hits]


def test_speed() -> dict[str, float]:
    table = np.random.default_rng(0).beta(2, 12, (DIALOGUES, RUNS))
    start = time.perf_counter()
    plain_tukey(table.tolist(), PLAIN_TRIALS)
    plain = (time.perf_counter() - start) * TRIALS / PLAIN_TRIALS
    times = {}
    for jobs in (1, 2):
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            tukey_hsd(table, trials=TRIALS, jobs=jobs)
            best = min(best, time.perf_counter() - start)
        times[jobs] = best
    return {
        "plain_seconds": round(plain, 2),
        "seconds": round(times[1], 3),
        "seconds_2_jobs": round(times[2], 3),
        "ratio_to_plain": round(plain / times[1], 1),
        "ratio_to_plain_2_jobs": round(plain / times[2], 1),
    }


def large(language: str) -> Collection:
    """The sample again and again, under new ids, until it has as many dialogues as a test set."""
    sample = de.sample(language)
    places = np.resize(np.arange(len(sample)), DIALOGUES)
    gold = sample.select(places)
    dialogues = [
        type(d)(f"{language}-{place:04}", d.turns, d.fields)
        for place, d in enumerate(gold.dialogues)
    ]
    return Collection(dialogues, gold.rubric, gold.votes, gold.annotators)


def noisy(gold: Collection, noise: float, seed: int) -> Run:
    source = np.random.default_rng(seed)
    run = de.predict(gold, model="uniform")
    for criterion in gold.rubric.criteria:
        base = run.predictions[criterion.id]
        values = (gold.gold(criterion) + noise * source.random(base.values.shape)) * (
            base.values > 0
        )
        run.predictions[criterion.id] = Prediction(
            values / values.sum(axis=1, keepdims=True), base.lengths
        )
    return run


def campaign_speed(folder: Path) -> dict[str, float]:
    """`dialeval compare` on ten runs in each of two languages: sixteen tables and the report."""
    arguments = ["compare", str(folder / "runs"), "--out", str(folder / "out"), "--jobs", "2"]
    for language in ("en", "zh"):
        gold = large(language)
        de.save(gold, folder / f"gold-{language}.json")
        arguments += ["--gold", str(folder / f"gold-{language}.json")]
        for place in range(RUNS):
            name = f"TEAM{place // 3}-run{place % 3}"
            made = noisy(gold, 0.05 + 0.02 * place, place)
            de.save_run(made, folder / "runs" / language / f"{name}.json")
    start = time.perf_counter()
    command = [sys.executable, "-m", "dialeval", *arguments]
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    tables = len([*(folder / "out/tables").glob("*-ranking.csv")])
    return {"rankings": tables, "campaign_seconds": round(seconds, 1)}


def main() -> None:
    result = {
        "version": de.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
        "dialogues": DIALOGUES,
        "runs": RUNS,
        "trials": TRIALS,
        **test_speed(),
    }
    with tempfile.TemporaryDirectory() as folder:
        result |= campaign_speed(Path(folder))
    print(json.dumps(result, indent=2))
    (HERE / "compare.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
