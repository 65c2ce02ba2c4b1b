"""Train the four bundled models from the STC-3 training files, and cross-validate them.

    python tools/build_models.py --data DIR [--only accurate-zh ...] [--folds 5]

DIR holds train_data_en.json and train_data_cn.json. English models learn also from the Chinese
dialogues that have no translation. Cards carry the cross-validation figures; with --folds 0 those
of the card that is there are kept. Needs the encoders (tools/build_encoders.py) and the extras
models and neural.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.predictors import get
from dialeval.predictors.card import Card, data_of, installed, scores_of
from dialeval.predictors.crossval import cross_validate
from dialeval.predictors.encoder import bundled_encoder
from dialeval.predictors.store import is_model, load_saved, save_model

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


def balanced(score: de.Score, gold: Collection) -> dict[str, float]:
    """Means with the same weight for every number of turns, as in the official test set."""
    lengths = dict(zip(gold.ids, gold.lengths.tolist(), strict=True))
    groups: dict[int, list[int]] = {}
    for place, id in enumerate(score.ids):
        groups.setdefault(lengths[id], []).append(place)
    return {
        column: sum(values[rows].mean() for rows in groups.values()) / len(groups)
        for column, values in score.by_dialogue.items()
    }


def build(name: str, data: Path, folds: int, out: Path, runs: Path | None) -> None:
    model, language = name.split("-")
    golds = {code: de.load(data / file) for code, file in FILES.items()}
    gold, parallel = golds[language], golds["zh"] if language == "en" else None
    kind, folder = get(model), out / name
    scores: dict[str, dict[str, float]] = {}
    if folds:
        found = cross_validate(
            lambda: kind.new(language=language),
            gold,
            folds=folds,
            parallel=parallel,
            done=lambda k, score: print(f"{name} fold {k + 1}: {score}", flush=True),
        )
        heading = f"{folds}-fold cross-validation on the training file"
        scores[heading] = scores_of(found.score.mean)
        scores[f"{heading}, every number of turns with the same weight"] = scores_of(
            balanced(found.score, gold)
        )
        if runs is not None:
            de.save_run(found.run, runs / f"{name}.json")
        print(f"{name}: {found.score}", flush=True)
    elif is_model(folder):
        scores = load_saved(folder).card.scores
    start = time.perf_counter()
    predictor = kind.new(language=language).fit(
        gold,
        parallel=parallel,
        progress=lambda epoch: print(
            f"{name} {epoch.number}/{epoch.epochs} {epoch.loss:.3f}", flush=True
        ),
    )
    seconds = time.perf_counter() - start
    notes = [
        "Chosen by cross-validation on the training file; the official test annotations were "
        "not used.",
        "One head for each of the 19 annotators, who are the same people in every dialogue; their "
        "mean is the prediction.",
    ]
    if parallel is not None:
        notes.append(
            "Also learned from the Chinese training dialogues that have no translation: ridge "
            "regression on the parallel turns maps their features to English ones."
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
        seconds=round(seconds, 1),
        scores=scores,
        notes=notes,
        dependencies=installed(),
        terms=TERMS,
    )
    save_model(predictor, folder, card)
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{folder}: {size:.1f} MB, trained in {seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=MODELS, choices=MODELS)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=BUNDLED)
    parser.add_argument("--runs", type=Path, help="where out-of-fold runs are written")
    arguments = parser.parse_args()
    for language in FILES:
        bundled_encoder(language).remember()
    for name in arguments.only:
        build(name, arguments.data, arguments.folds, arguments.out, arguments.runs)


if __name__ == "__main__":
    main()
