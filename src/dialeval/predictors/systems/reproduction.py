"""Training every system of a campaign: jobs that can run anywhere and are not done twice.

A job trains one system in one language, on all dialogues but a fold, or on all for a test set. It
leaves a run and a record of how it went in the folder of what it depends on.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import load
from dialeval.core.decode_run import load_run
from dialeval.core.encode import save_run
from dialeval.core.files import writing
from dialeval.core.run import Prediction, Run
from dialeval.engine.workers import Engine
from dialeval.predictors.crossval import fold_of, joined
from dialeval.predictors.systems.recipes import RECIPES, changed, recipe_of
from dialeval.predictors.systems.system import System, system


@dataclass(frozen=True)
class Setting:
    """What is the same for all systems of one language."""

    language: str
    data: Path
    test: Path | None
    rubric: str
    folds: int
    seed: int
    out: Path
    embeddings: Path | None = None
    encoder: str | None = None
    budget: float = 0.0
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cache(self) -> Path:
        """Where the frozen vectors of texts are kept."""
        return self.out / "features"

    def new(self, name: str) -> System:
        """A system to be fitted."""
        return system(name).new(
            language=self.language,
            seed=self.seed,
            embeddings=self.embeddings,
            encoder=self.encoder_of(name),
            cache=self.cache,
            budget=self.budget,
            **self.changes,
        )

    def encoder_of(self, name: str) -> str | None:
        """The folder for a system: of several, the one of its place in a mean, else the first."""
        if not self.encoder:
            return None
        given = self.encoder.split(",")
        means = (recipe.members for recipe in RECIPES.values() if name in recipe.members)
        place = next((members.index(name) for members in means), 0)
        return given[min(place, len(given) - 1)]

    def folder(self, name: str) -> Path:
        """Where a system's jobs leave what they made: it changes with all that they depend on."""
        files = [path for path in (self.data, self.test, self.embeddings) if path is not None]
        recipe = changed(recipe_of(name), dict(self.changes))
        told = [self.rubric, self.folds if not self.test else 0, self.seed, self.budget]
        known = msgspec.json.encode(
            [told, self.encoder_of(name), [_sha256(path) for path in files], recipe]
        )
        digest = hashlib.sha256(known).hexdigest()[:12]
        return self.out / "jobs" / f"{name}-{self.language}-{digest}"


class Record(msgspec.Struct, frozen=True):
    """How a job went."""

    seconds: float
    stopped: bool
    """By the budget."""
    notes: list[str]


@dataclass(frozen=True)
class Job:
    """A system to be trained once."""

    system: str
    setting: Setting
    fold: int | None
    """The fold that is predicted; None to predict the test set."""
    folder: Path

    @property
    def run(self) -> Path:
        """The predictions."""
        return self.folder / f"{'test' if self.fold is None else self.fold}.json"

    @property
    def record(self) -> Path:
        """How it went; written last."""
        return self.run.with_suffix(".record")

    @property
    def title(self) -> str:
        """For people."""
        part = "" if self.fold is None else f", fold {self.fold + 1}/{self.setting.folds}"
        return f"{self.system} {self.setting.language}{part}"


def campaign_systems(campaign: str) -> list[str]:
    """The systems that took part in a campaign."""
    return [name for name, recipe in RECIPES.items() if campaign in recipe.campaigns]


def jobs_of(settings: Sequence[Setting], systems: Sequence[str]) -> list[Job]:
    """All jobs; a system is left out of languages in which it did not take part.

    A mean of others has no jobs of its own, but theirs.
    """
    jobs = []
    for setting in settings:
        own = [name for name in systems if setting.language in recipe_of(name).languages]
        trained = dict.fromkeys(t for name in own for t in recipe_of(name).members or (name,))
        for name in trained:
            folds = [None] if setting.test else [*range(setting.folds)]
            folder = setting.folder(name)
            jobs += [Job(name, setting, fold, folder) for fold in folds]
    return jobs


def run_jobs(
    jobs: Sequence[Job], engine: Engine, done: Callable[[Job, Record], None] | None = None
) -> int:
    """Do what is not done yet; gives how many that were."""
    waiting = [job for job in jobs if not job.record.is_file()]
    by_setting: dict[str, tuple[Setting, list[str]]] = {}
    for job in waiting:
        _, names = by_setting.setdefault(job.setting.language, (job.setting, []))
        names.append(job.system)
    for _ in engine.map(_prepare, [*by_setting.values()]):
        pass
    for place, record in engine.map(_train, waiting):
        if done:
            done(waiting[place], record)
    return len(waiting)


def finished(
    jobs: Sequence[Job], systems: Sequence[str]
) -> Iterator[tuple[str, str, Run, list[Record]]]:
    """For each language and system: its whole run, and how its jobs went."""
    groups: dict[str, dict[str, list[Job]]] = {}
    for job in jobs:
        groups.setdefault(job.setting.language, {}).setdefault(job.system, []).append(job)
    for language, by_system in groups.items():
        for name in systems:
            recipe = recipe_of(name)
            parts = [by_system[one] for one in recipe.members or (name,) if one in by_system]
            if parts:
                runs = [_whole_run(own, recipe.run) for own in parts]
                yield language, name, _mean(runs), _records(parts)


def _whole_run(jobs: Sequence[Job], name: str) -> Run:
    setting = jobs[0].setting
    collection = collection_of(setting.test or setting.data, setting.rubric)
    return joined([load_run(job.run, collection.rubric, name=name) for job in jobs], collection)


def _mean(runs: Sequence[Run]) -> Run:
    first = runs[0]
    predictions = {
        id: Prediction(np.mean([run.predictions[id].values for run in runs], axis=0), one.lengths)
        for id, one in first.predictions.items()
    }
    return Run(first.name, first.ids, predictions, first.rubric)


def _records(parts: Sequence[Sequence[Job]]) -> list[Record]:
    """How the trainings of a system went, side by side: what a mean took is what all took."""
    records = []
    for jobs in zip(*parts, strict=True):
        own = [msgspec.json.decode(job.record.read_bytes(), type=Record) for job in jobs]
        notes = [*dict.fromkeys(note for one in own for note in one.notes)]
        seconds = sum(one.seconds for one in own)
        records.append(Record(seconds, any(one.stopped for one in own), notes))
    return records


def collection_of(path: Path, rubric: str) -> Collection:
    """A collection, read once in a process as long as its file stays the same."""
    return _loaded(path, rubric, _written(path))


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@lru_cache(4)
def _loaded(path: Path, rubric: str, _written: int) -> Collection:
    return load(path, rubric)


def _sha256(path: Path) -> str:
    return _digest(path, _written(path))


@lru_cache
def _digest(path: Path, _written: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _prepare(task: tuple[Setting, list[str]]) -> None:
    """Frozen vectors for all systems of a language."""
    setting, names = task
    for path in (setting.data, setting.test):
        for name in dict.fromkeys(names) if path else ():
            assert path is not None
            setting.new(name).prepare(collection_of(path, setting.rubric))


def _train(job: Job) -> Record:
    """Train, predict, and leave the run and its record."""
    setting = job.setting
    collection = collection_of(setting.data, setting.rubric)
    if job.fold is None:
        assert setting.test is not None
        train, test = collection, collection_of(setting.test, setting.rubric)
    else:
        held = fold_of(collection.ids, setting.folds, setting.seed) == job.fold
        train = collection.select(np.flatnonzero(~held))
        test = collection.select(np.flatnonzero(held))
    start = time.monotonic()
    predictor = setting.new(job.system).fit(train)
    record = Record(round(time.monotonic() - start, 1), predictor.stopped, predictor.notes())
    save_run(predictor.predict(test.without_votes()), job.run)
    with writing(job.record) as stream:
        stream.write(msgspec.json.encode(record))
    return record
