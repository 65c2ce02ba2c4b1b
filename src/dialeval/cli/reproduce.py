"""`dialeval reproduce`: the result section of a campaign, from its systems built again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    EngineOption,
    JobsOption,
    JsonOption,
    RubricOption,
    SchedulerOption,
    SeedOption,
    TrialsOption,
    pairs,
)
from dialeval.cli.train import SettingOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialeval.core.run import Run
    from dialeval.predictors.systems.reproduction import Job, Record, Setting
    from dialeval.report.reproduction import Rebuilt
    from dialeval.report.results import Comparison
    from dialeval.stats.contest import Settings

BASELINES = {"uniform": "BL-uniform", "popularity": "BL-popularity"}


def command(
    campaign: Annotated[str, typer.Option("--campaign", help="ntcir14-stc3 or ntcir16-dialeval2.")],
    data: Annotated[
        list[str], typer.Option("--data", metavar="LANG=FILE", help="A collection with votes.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where all is written.")],
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="LANG=FILE", help="Predict this, not held-out folds."),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Of the cross-validation.")] = 5,
    systems: Annotated[
        str | None, typer.Option("--systems", metavar="A,B", help="Only these.")
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option("--embeddings", metavar="LANG=FILE", help="Word vectors; else learned."),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", metavar="LANG=DIR", help="A Hugging Face folder."),
    ] = None,
    budget: Annotated[
        float, typer.Option("--budget", min=0, metavar="MINUTES", help="A training ends then.")
    ] = 0.0,
    rubric: RubricOption = "helpdesk",
    settings: SettingOption = None,
    trials: TrialsOption = 5000,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
) -> None:
    """Train all systems of a campaign, compare them, and put the published figures beside.

    What is finished is not done again when the same command is given again. With --budget each
    training stops after the epoch in which its time is up, and keeps its best epoch.

    Example: dialeval reproduce --campaign ntcir14-stc3 --data en=train_data_en.json --out results
    """
    from dialeval.cli.output import print_json, print_table
    from dialeval.cli.standings import print_ranks, print_written, write_results
    from dialeval.engine import open_engine
    from dialeval.predictors.systems.reproduction import finished, jobs_of, run_jobs
    from dialeval.report.provenance import Provenance
    from dialeval.report.reproduction import reproduction_table
    from dialeval.report.results import Results
    from dialeval.stats.contest import Settings

    names = _systems(campaign, systems)
    options = {"test": test, "embeddings": embeddings, "encoder": encoder}
    given = _settings(data, options, rubric, folds, seed, out, budget, settings)
    todo = jobs_of(given, names)
    with open_engine(jobs, engine, scheduler) as workers:
        trained = run_jobs(todo, workers, _show)
    done = [*finished(todo, names)]
    tested = Settings("tukey", trials, 0.05, seed, jobs)
    comparisons, rebuilt = [], []
    for setting in given:
        own = [
            (name, run, records) for lang, name, run, records in done if lang == setting.language
        ]
        comparison = _compared(setting, [run for _, run, _ in own], tested)
        if comparison is not None:
            comparisons.append(comparison)
            rebuilt += [_rebuilt(setting, run, records) for _, run, records in own]
    if not comparisons:
        print(f"{out / 'runs'}: {len(done)} runs; no votes to compare them with")
        return
    inputs = [path for one in given for path in (one.data, one.test, one.embeddings) if path]
    asked = {"campaign": campaign, "systems": names, "folds": folds, "budget": budget}
    asked |= {"test": test, "settings": settings, "encoder": encoder, "trials": trials}
    provenance = Provenance.now(seed, asked, inputs)
    results = Results(comparisons, tested, provenance, reference=True)
    page = write_results(results, out, ("svg",))
    table = reproduction_table(campaign, rebuilt)
    table.write(out / "tables", provenance)
    if json:
        print_json({"trained": trained, "systems": table.to_records()})
        return
    for comparison in comparisons:
        print_ranks(comparison)
    columns = [column.name for column in table.columns]
    print_table(table.title, columns, table.cells, numbers=table.numbers, wide=True)
    print_written(out, page)


def _systems(campaign: str, systems: str | None) -> list[str]:
    from dialeval.core.errors import unknown_name
    from dialeval.predictors.systems.reproduction import campaign_systems
    from dialeval.report.published import CAMPAIGNS

    if campaign not in CAMPAIGNS:
        raise unknown_name("campaign", campaign, CAMPAIGNS)
    known = campaign_systems(campaign)
    chosen = systems.split(",") if systems else known
    for name in chosen:
        if name not in known:
            raise unknown_name(f"system of {campaign}", name, known)
    return [name for name in known if name in chosen]


def _settings(
    data: list[str],
    options: dict[str, list[str] | None],
    rubric: str,
    folds: int,
    seed: int,
    out: Path,
    budget: float,
    settings: list[str] | None,
) -> list[Setting]:
    """What was told of each language, checked before anything is trained."""
    from dialeval.cli.train import setting_values
    from dialeval.core.errors import DataError, UsageError
    from dialeval.predictors.crossval import fold_of
    from dialeval.predictors.recipe import LANGUAGES
    from dialeval.predictors.systems.reproduction import Setting, collection_of

    files = pairs(data, "--data")
    told = {name: pairs(values, f"--{name}") for name, values in options.items()}
    for option, found in {"data": files, **told}.items():
        for language in found:
            expected = LANGUAGES if option == "data" else tuple(files)
            if language not in expected:
                expects = f"expected one of {', '.join(expected)}"
                raise UsageError(f"--{option}: found language {language!r}, {expects}")
    made = []
    for language, file in files.items():
        paths = {name: found.get(language) for name, found in told.items()}
        for path in (paths["embeddings"], paths["encoder"]):
            for part in path.split(",") if path else ():
                if not Path(part).exists():
                    raise DataError(part, "", "nothing", "a file or folder")
        setting = Setting(
            language,
            Path(file),
            Path(paths["test"]) if paths["test"] else None,
            rubric,
            folds,
            seed,
            out,
            Path(paths["embeddings"]) if paths["embeddings"] else None,
            paths["encoder"],
            budget,
            setting_values(settings),
        )
        collection = collection_of(setting.data, rubric)
        if not collection.votes:
            raise DataError(file, "", "no votes", "a collection to learn from")
        if setting.test is None:
            fold_of(collection.ids, folds, seed)
        else:
            collection_of(setting.test, rubric)
        made.append(setting)
    return made


def _compared(setting: Setting, runs: Sequence[Run], settings: Settings) -> Comparison | None:
    """The runs of a language, written, and compared where there are votes."""
    from dialeval.core.encode import save_run
    from dialeval.predictors.predict import predict
    from dialeval.predictors.systems.reproduction import collection_of
    from dialeval.report.results import compare_language

    gold = collection_of(setting.test or setting.data, setting.rubric)
    for run in runs:
        save_run(run, setting.out / "runs" / setting.language / f"{run.name}.json")
    if not gold.votes:
        return None
    compared = {name: predict(gold, model) for model, name in BASELINES.items()}
    compared |= {run.name: run for run in runs}
    return compare_language(compared, gold, settings, language=setting.language, missing="skip")


def _rebuilt(setting: Setting, run: Run, records: Sequence[Record]) -> Rebuilt:
    from dialeval.measures.evaluate import balanced_means, evaluate
    from dialeval.predictors.systems.reproduction import collection_of
    from dialeval.report.reproduction import Rebuilt

    gold = collection_of(setting.test or setting.data, setting.rubric)
    score = evaluate(run, gold, missing="skip")
    stopped = sum(record.stopped for record in records)
    remarks = [f"budget ended {stopped} of {len(records)} trainings"] if stopped else []
    seconds = sum(record.seconds for record in records) / len(records)
    balanced = balanced_means(score, gold)
    return Rebuilt(setting.language, run.name, score, balanced, round(seconds, 1), remarks)


def _show(job: Job, record: Record) -> None:
    """One line a training on standard error."""
    import sys

    ended = ", ended by the budget" if record.stopped else ""
    print(f"{job.title}: {record.seconds:.0f} s{ended}", file=sys.stderr, flush=True)
