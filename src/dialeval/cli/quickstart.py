"""`dialeval quickstart`: dialogues evaluated, in some seconds, with nothing prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

LANGUAGES = {"en": "English", "zh": "Chinese"}
BASELINES = ("uniform", "popularity")


def command(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where the sample and runs are written.")
    ] = Path("quickstart"),
) -> None:
    """Try it out: predict, evaluate, compare and score a small sample of our own.

    The sample's dialogues are written for it, and its votes are simulated.

    Example: dialeval quickstart
    """
    from dialeval.cli.evaluate import print_scores
    from dialeval.cli.score import command as score
    from dialeval.cli.standings import write_results
    from dialeval.core.encode import save, save_run
    from dialeval.measures.evaluate import evaluate
    from dialeval.predictors.bundled import has_encoders
    from dialeval.predictors.encoder import bundled_encoder
    from dialeval.predictors.predict import predict
    from dialeval.report.provenance import Provenance
    from dialeval.report.results import Results, compare_language
    from dialeval.samples import sample
    from dialeval.stats.contest import Settings

    settings = Settings()
    models = ("fast", "accurate") if has_encoders() else ("fast",)
    if has_encoders():
        for language in LANGUAGES:
            bundled_encoder(language).remember()  # the sample is predicted and then scored
    comparisons = []
    for language, name in LANGUAGES.items():
        gold = sample(language)
        data = out / f"helpdesk-{language}.json"
        save(gold, data)
        print(
            f"\n{name}: {len(gold)} helpdesk dialogues, {int(gold.offsets[-1])} turns, "
            f"{len(gold.annotators)} simulated votes each"
        )
        runs = {model: predict(gold, model) for model in (*BASELINES, *models)}
        for model, run in runs.items():
            save_run(run, out / "runs" / language / f"{model}.json")
        scores = [evaluate(run, gold) for run in runs.values()]
        print_scores(scores, f"{data} (simulated votes)")
        comparisons.append(compare_language(runs, gold, settings, language=language))
    inputs = sorted([*out.glob("*.json"), *(out / "runs").rglob("*.json")])
    provenance = Provenance.now(settings.seed, {"votes": "simulated"}, inputs)
    page = write_results(Results(comparisons, settings, provenance), out / "results", ["svg"])
    if page:
        print(f"\nThe report, with pictures and significance tests: {page}")
    save(sample("questionnaire"), out / "questionnaire-en.json")
    files = [out / f"helpdesk-{language}.json" for language in LANGUAGES]
    print("\nWhat people would say of the sample, without asking them (dialeval score):")
    score(files, out=out / "scores")
    print(
        f"""The collections and the runs are in {out}/. Next:
  dialeval compare {out}/runs --gold {out}/helpdesk-en.json --out results
  dialeval evaluate {out}/runs/en/*.json --gold {out}/helpdesk-en.json --json
  dialeval stats {out}/helpdesk-zh.json
  dialeval agreement {out}/helpdesk-en.json --out agreement
  dialeval questionnaire {out}/questionnaire-en.json --next round2.toml
  dialeval score YOUR_DIALOGUES.json --out scores
  dialeval --help"""
    )
