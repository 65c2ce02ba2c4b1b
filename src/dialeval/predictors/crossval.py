"""Cross-validation: every dialogue is predicted by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.decode_run import load_run
from dialeval.core.encode import save_run
from dialeval.core.errors import UsageError
from dialeval.core.run import Run, align
from dialeval.engine.workers import Engine, InProcess
from dialeval.measures.evaluate import Score, evaluate
from dialeval.predictors.predictor import Predictor, run_of


@dataclass(frozen=True)
class CrossValidation:
    """The out-of-fold run, and its scores fold by fold and in all."""

    run: Run
    score: Score
    folds: tuple[Score, ...]


def fold_of(ids: Sequence[str], folds: int, seed: int = 0) -> NDArray[np.intp]:
    """The fold of each id: it depends on the ids and the seed only, not on their order."""
    if not 2 <= folds <= len(ids):
        raise UsageError(f"folds: found {folds}, expected 2 to {len(ids)}, one dialogue a fold")
    order = sorted(range(len(ids)), key=lambda place: ids[place])
    shuffled = np.random.default_rng(seed).permutation(len(ids))
    fold = np.empty(len(ids), np.intp)
    fold[np.array(order)[shuffled]] = np.arange(len(ids)) % folds
    return fold


def cross_validate(
    make: Callable[[], Predictor],
    collection: Collection,
    *,
    folds: int = 5,
    seed: int = 0,
    parallel: Collection | None = None,
    engine: Engine | None = None,
    done: Callable[[int, Score], None] | None = None,
    keep: Path | None = None,
) -> CrossValidation:
    """Train on all folds but one and predict that one, for every fold.

    Dialogues of the fold that is held out are left out of `parallel` too. Folds run on the
    `engine`, here unless told. Finished ones are kept in the folder `keep`, and not done again.
    """
    fold = fold_of(collection.ids, folds, seed)
    make().prepare(collection)
    tasks = [
        (make, collection, parallel, fold == k, keep and keep.resolve() / f"{k}.json")
        for k in range(folds)
    ]
    runs: list[Run] = []
    scores: list[Score] = []
    for k, run in enumerate((engine or InProcess()).ordered(_fold, tasks)):
        runs.append(run)
        scores.append(evaluate(run, collection.select(np.flatnonzero(fold == k)), missing="skip"))
        if done:
            done(k, scores[-1])
    whole = joined(runs, collection)
    return CrossValidation(whole, evaluate(whole, collection, missing="skip"), tuple(scores))


Task = tuple[Callable[[], Predictor], Collection, Collection | None, NDArray[np.bool_], Path | None]


def _fold(task: Task) -> Run:
    """The predictions for what is held out, from the folder of kept ones or made now."""
    make, collection, parallel, held, kept = task
    test = collection.select(np.flatnonzero(held)).without_votes()
    if kept is not None and kept.is_file():
        return load_run(kept, collection.rubric)
    train = collection.select(np.flatnonzero(~held))
    others = _without(parallel, test) if parallel is not None else None
    run = make().fit(train, parallel=others).predict(test)
    if kept is not None:
        save_run(run, kept)
    return run


def joined(runs: Sequence[Run], collection: Collection) -> Run:
    """One run over the whole collection from runs over its folds."""
    predicted: dict[str, NDArray[np.float64]] = {}
    for run in runs:
        for id, values in align(run, collection, "skip").items():
            table = predicted.setdefault(id, values.copy())
            given = ~np.isnan(values[:, 0])
            table[given] = values[given]
    return run_of(runs[0].name, collection, predicted)


def _without(collection: Collection, held: Collection) -> Collection:
    kept = [place for place, id in enumerate(collection.ids) if id not in held.index]
    return collection.select(kept)
