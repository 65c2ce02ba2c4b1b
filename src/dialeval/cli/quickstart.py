"""`dialeval quickstart`: dialogues evaluated, in some seconds, with nothing prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

LANGUAGES = {"en": "English", "zh": "Chinese"}
MODELS = ("uniform", "popularity")


def command(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the sample and runs are written.")
    ] = Path("quickstart"),
) -> None:
    """Try it out: predict, evaluate and print tables on a small sample of our own.

    The sample's dialogues are written for it, and its votes are simulated.

    Example: dialeval quickstart
    """
    from dialeval.cli.evaluate import print_scores
    from dialeval.core.encode import save, save_run
    from dialeval.measures.evaluate import evaluate
    from dialeval.predictors.predict import predict
    from dialeval.samples import sample

    for language, name in LANGUAGES.items():
        gold = sample(language)
        data = out / f"helpdesk-{language}.json"
        save(gold, data)
        print(
            f"\n{name}: {len(gold)} helpdesk dialogues, {int(gold.offsets[-1])} turns, "
            f"{len(gold.annotators)} simulated votes each"
        )
        scores = []
        for model in MODELS:
            run = predict(gold, model)
            save_run(run, out / language / f"{model}.json")
            scores.append(evaluate(run, gold))
        print_scores(scores, f"{data} (simulated votes)")
    print(
        f"""The collections and the runs are in {out}/. Next:
  dialeval evaluate {out}/en/*.json --gold {out}/helpdesk-en.json --json
  dialeval stats {out}/helpdesk-zh.json
  dialeval predict --model uniform --data YOUR_DIALOGUES.json --out run.json
  dialeval --help"""
    )
