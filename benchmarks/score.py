"""Scoring: dialogues a second of the bundled models, file to file on one core.

    make bench

Beside them, in the same run: the TF-IDF transform of `fast` alone, and the encoder of `accurate`
alone, over the same texts; and the time from the start of `dialeval score` on 10 dialogues to its
end. Prints a table and writes benchmarks/score.json.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy: one core

import json  # noqa: E402
import platform  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import dialeval as de  # noqa: E402
from dialeval.core.collection import Collection  # noqa: E402
from dialeval.predictors.bundled import bundled_model  # noqa: E402
from dialeval.predictors.encoder import bundled_encoder  # noqa: E402
from dialeval.predictors.features import turn_texts  # noqa: E402
from dialeval.predictors.ngrams import cleaned  # noqa: E402

HERE = Path(__file__).resolve().parent
SIZES = {"fast": 6000, "accurate": 120}
PART = 1000


def enlarged(language: str, size: int) -> Collection:
    """The sample again and again, under new ids, without votes."""
    sample = de.sample(language)
    chosen = sample.select(np.resize(np.arange(len(sample)), size)).without_votes()
    dialogues = [
        type(d)(f"{language}-{place:06}", d.turns) for place, d in enumerate(chosen.dialogues)
    ]
    return Collection(dialogues, sample.rubric)


def seconds(action: Callable[[], object], repeats: int = 2) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def file_to_file(source: Path, target: Path, model: str) -> None:
    from dialeval.cli.score import command

    command([source], out=target, model=model)


def transformed(texts: list[str], model: Any, turns_a_part: int) -> None:
    for start in range(0, len(texts), turns_a_part):
        part = [cleaned(text) for text in texts[start : start + turns_a_part]]
        model.features.words(part)


def measured(language: str, kind: str, folder: Path) -> dict[str, Any]:
    size = SIZES[kind]
    collection = enlarged(language, size)
    source = folder / f"{kind}-{language}.jsonl"
    de.save(collection, source)
    texts, model = turn_texts(collection), bundled_model(kind, language)
    file_to_file(source, folder / "warm", kind)
    whole = seconds(partial(file_to_file, source, folder / "out", kind))
    turns_a_part = PART * len(texts) // size
    row = {"model": kind, "language": language, "dialogues_per_second": round(size / whole, 1)}
    if kind == "fast":
        alone = seconds(partial(transformed, texts, model, turns_a_part))
        row["tfidf_alone_per_second"] = round(size / alone, 1)
        row["ratio_to_tfidf_alone"] = round(alone / whole, 3)
    else:
        alone = seconds(partial(bundled_encoder(language).encode, texts))
        row["encoder_alone_per_second"] = round(size / alone, 1)
        row["ratio_to_encoder_alone"] = round(alone / whole, 3)
    print(json.dumps(row), flush=True)
    return row


def start(kind: str, folder: Path) -> dict[str, Any]:
    """Whole processes on 10 dialogues."""
    source = folder / "ten.jsonl"
    de.save(enlarged("en", 10), source)
    command = [sys.executable, "-m", "dialeval", "score", str(source), "--model", kind]
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        best = min(best, time.perf_counter() - begin)
    return {"model": kind, "start_to_end_of_10_seconds": round(best, 2)}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {
            "version": de.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "start": [start(kind, folder) for kind in SIZES],
            "one_core": [
                measured(language, kind, folder) for kind in SIZES for language in ("en", "zh")
            ],
        }
    print(json.dumps(result["start"]))
    (HERE / "score.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
