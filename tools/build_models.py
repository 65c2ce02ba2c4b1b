"""Train the four bundled models from the STC-3 training files, and cross-validate them.

    python tools/build_models.py --data DIR --runs RUNS [--only accurate-zh ...] [--folds 5]

DIR holds train_data_en.json and train_data_cn.json. English models learn also from the Chinese
dialogues that have no translation. The out-of-fold runs are written to RUNS, and the figures and
pictures of the cards come from there, also with --folds 0, which trains without cross-validation,
and with --cards, which only makes the cards anew. Needs the encoders (tools/build_encoders.py) and
the extras models, neural and report.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.run import align
from dialeval.measures.evaluate import balanced_means
from dialeval.predictors import get
from dialeval.predictors.bundled import blended
from dialeval.predictors.card import Card, data_of, installed, scores_of
from dialeval.predictors.crossval import cross_validate
from dialeval.predictors.encoder import bundled_encoder
from dialeval.predictors.predictor import run_of
from dialeval.predictors.recipe import recipe
from dialeval.predictors.store import load_model, load_saved, save_model
from dialeval.report.figures import Reliability, reliability_picture

BUNDLED = Path(__file__).resolve().parent.parent / "src/dialeval/predictors/models"
FILES = {"en": "train_data_en.json", "zh": "train_data_cn.json"}
MODELS = ("fast-en", "fast-zh", "accurate-en", "accurate-zh")
ABOUT = {
    "fast": "Predicts how people vote on helpdesk dialogues from hashed words and the structure of "
    "the dialogue: no pre-trained encoder, numpy and scipy only.",
    "accurate": "Predicts how people vote on helpdesk dialogues from the layers of a sentence "
    "encoder, hashed words and the structure of the dialogue.",
}
TERMS = """The weights may be used under the terms of dialeval (Apache-2.0) and of what they were
learned from: the annotations of the STC-3 collection are CC BY 4.0 (Zeng, Luo, Shang, Li, Sakai:
Test Collections and Measures for Evaluating Customer-Helpdesk Dialogues, EVIA 2017); its dialogues
belong to their authors and are for non-commercial research. No text of the collection is stored."""

NOTES = [
    "Chosen by cross-validation on the training file; the official test annotations were not used.",
    "One head for each of the 19 annotators, who are the same people in every dialogue; their mean "
    "is the prediction.",
]
MAPPED = (
    "Also learned from the Chinese training dialogues that have no translation: ridge regression "
    "on the parallel turns maps their features to English ones."
)
BLENDED = "As bundled, the distributions of `fast` are averaged in with a weight of 0.2."


def cross_validated(name: str, data: Path, folds: int, runs: Path) -> None:
    """Write the out-of-fold run of a model."""
    model, language = name.split("-")
    gold, parallel = collections(language, data)
    found = cross_validate(
        partial(get(model).new, language=language),
        gold,
        folds=folds,
        parallel=parallel,
        done=lambda k, score: print(f"{name} fold {k + 1}: {score}", flush=True),
    )
    de.save_run(found.run, runs / f"{name}.json")
    print(f"{name}: {found.score}", flush=True)


def trained(name: str, data: Path, out: Path) -> None:
    """Train a model on all dialogues and save it, its card without figures yet."""
    model, language = name.split("-")
    gold, parallel = collections(language, data)
    start = time.perf_counter()
    predictor = (
        get(model)
        .new(language=language)
        .fit(
            gold,
            parallel=parallel,
            progress=lambda e: print(f"{name} {e.number}/{e.epochs} {e.loss:.3f}", flush=True),
        )
    )
    used = [data_of(data / FILES[language], gold)]
    used += [data_of(data / FILES["zh"], parallel)] if parallel is not None else []
    card = Card(
        model=model,
        about=ABOUT[model],
        language=language,
        rubric=gold.rubric.name,
        data=used,
        seed=0,
        seconds=round(time.perf_counter() - start, 1),
        notes=[*NOTES, *([MAPPED] if parallel is not None else [])],
        dependencies=installed(),
        terms=TERMS,
    )
    save_model(predictor, out / name, card)
    print(f"{out / name}: trained in {card.seconds:.0f} s", flush=True)


def with_figures(name: str, data: Path, runs: Path, out: Path) -> None:
    """Put the cross-validation figures and the reliability picture into a model's card."""
    model, language = name.split("-")
    gold, _ = collections(language, data)
    run = de.load_run(runs / f"{name}.json")
    heading = "5-fold cross-validation on the training file"
    scores = {heading: de.evaluate(run, gold)}
    card = load_saved(out / name).card
    notes = [note for note in card.notes if note != BLENDED]
    if model == "accurate":
        fast = align(de.load_run(runs / f"fast-{language}.json"), gold)
        mixed = blended(align(run, gold), fast, gold.rubric, recipe("accurate", language))
        run = run_of("accurate", gold, mixed)
        scores[f"{heading}, with fast averaged in as bundled"] = de.evaluate(run, gold)
        notes.append(BLENDED)
    headed = {title: scores_of(score.mean) for title, score in scores.items()}
    title, score = [*scores.items()][-1]
    headed[f"{title}, every number of turns with the same weight"] = scores_of(
        balanced_means(score, gold)
    )
    picture = reliability_picture("reliability", reliabilities(run, gold))
    card = msgspec.structs.replace(
        card, scores=headed, notes=notes, pictures={"Reliability, out of fold": "reliability.svg"}
    )
    save_model(load_model(out / name), out / name, card, {"reliability.svg": picture.svg.encode()})


def reliabilities(run: de.Run, gold: Collection) -> list[Reliability]:
    """Expected scores and spreads, predicted and of people."""
    found = []
    predicted = align(run, gold)
    for criterion in gold.rubric.of_dialogues:
        values = np.array([float(label) for label in criterion.columns])
        moments = []
        for table in (predicted[criterion.id], gold.gold(criterion)):
            mean = table @ values
            moments.append((mean, np.sqrt(np.maximum(table @ values**2 - mean**2, 0))))
        (mean, spread), (real, real_spread) = moments
        found.append(Reliability(criterion.id, mean, real, spread, real_spread))
    return found


def collections(language: str, data: Path) -> tuple[Collection, Collection | None]:
    """The collection of a language, and for English the parallel one."""
    parallel = de.load(data / FILES["zh"]) if language == "en" else None
    return de.load(data / FILES[language]), parallel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="where out-of-fold runs are kept")
    parser.add_argument("--only", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--cards", action="store_true", help="only make the cards anew")
    parser.add_argument("--out", type=Path, default=BUNDLED)
    arguments = parser.parse_args()
    for language in FILES:
        bundled_encoder(language).remember()
    for name in arguments.only:
        if not arguments.cards:
            if arguments.folds:
                cross_validated(name, arguments.data, arguments.folds, arguments.runs)
            trained(name, arguments.data, arguments.out)
    for name in arguments.only:  # accurate needs the runs of fast
        with_figures(name, arguments.data, arguments.runs, arguments.out)


if __name__ == "__main__":
    main()
