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
    from dialeval.cli.compare import write_results
    from dialeval.cli.evaluate import print_scores
    from dialeval.core.encode import save, save_run
    from dialeval.measures.evaluate import evaluate
    from dialeval.predictors.predict import predict
    from dialeval.report.provenance import Provenance
    from dialeval.report.results import Results, compare_language
    from dialeval.samples import sample
    from dialeval.stats.contest import Settings

    settings = Settings()
    comparisons = []
    for language, name in LANGUAGES.items():
        gold = sample(language)
        data = out / f"helpdesk-{language}.json"
        save(gold, data)
        print(
            f"\n{name}: {len(gold)} helpdesk dialogues, {int(gold.offsets[-1])} turns, "
            f"{len(gold.annotators)} simulated votes each"
        )
        runs = {model: predict(gold, model) for model in MODELS}
        for model, run in runs.items():
            save_run(run, out / "runs" / language / f"{model}.json")
        scores = [evaluate(run, gold) for run in runs.values()]
        print_scores(scores, f"{data} (simulated votes)")
        comparisons.append(compare_language(runs, gold, settings, language=language))
    inputs = sorted(path for path in out.rglob("*.json") if path.parent.name != "results")
    provenance = Provenance.now(settings.seed, {"votes": "simulated"}, inputs)
    page = write_results(Results(comparisons, settings, provenance), out / "results")
    if page:
        print(f"\nThe report, with pictures and significance tests: {page}")
    print(
        f"""The collections and the runs are in {out}/. Next:
  dialeval compare {out}/runs --gold {out}/helpdesk-en.json --out results
  dialeval evaluate {out}/runs/en/*.json --gold {out}/helpdesk-en.json --json
  dialeval stats {out}/helpdesk-zh.json
  dialeval predict --model uniform --data YOUR_DIALOGUES.json --out run.json
  dialeval --help"""
    )
