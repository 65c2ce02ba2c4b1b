"""`dialeval compare`: the official results of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.evaluate import Missing
from dialeval.cli.options import (
    AlphaOption,
    JobsOption,
    JsonOption,
    RubricOption,
    SeedOption,
    StrictOption,
    TestName,
    TestOption,
    TrialsOption,
)


def command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUNS...", help="A folder of runs, or the files.")
    ],
    gold: Annotated[
        list[Path], typer.Option("--gold", help="The collection with votes; once a language.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results are written.")],
    manifest: Annotated[
        Path | None,
        typer.Option("--manifest", help="Names, teams and languages of runs: .toml or .json."),
    ] = None,
    rubric: RubricOption = "helpdesk",
    test: TestOption = TestName.tukey,
    trials: TrialsOption = 5000,
    alpha: AlphaOption = 0.05,
    seed: SeedOption = 0,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", help="Use this measure, not the rubric's; may be repeated."),
    ] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Add published results to the rankings.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave bad runs out instead of stopping.")
    ] = False,
    missing: Annotated[
        Missing, typer.Option("--missing", help="Dialogues without prediction or votes.")
    ] = Missing.error,
    strict: StrictOption = False,
    jobs: JobsOption = 1,
    json: JsonOption = False,
) -> None:
    """Compare runs: rankings, significance tests, effect sizes, and a report to read.

    Example: dialeval compare runs/ --gold test_en.json --gold test_cn.json --out results
    """
    from dialeval.cli.output import print_json, warn
    from dialeval.cli.standings import print_ranks, print_written, write_results
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import UsageError
    from dialeval.report.campaign import find_entries, gold_language, read_campaign
    from dialeval.report.provenance import Provenance
    from dialeval.report.results import Results, compare_language
    from dialeval.stats.contest import Settings

    settings = Settings(test.value, trials, alpha, seed, jobs)
    golds = {}
    for path in gold:
        collection = load(path, rubric)
        language = gold_language(path, collection)
        if language in golds:
            raise UsageError(f"--gold: two collections in one language, {language}")
        golds[language] = collection
    entries = find_entries(runs, manifest)
    campaign = read_campaign(
        entries, golds, missing=missing.value, strict=strict, skip_bad=skip_bad
    )
    for reason in campaign.left_out:
        warn(f"left out: {reason}")
    if not campaign.runs:
        raise UsageError("no run is left to compare")
    comparisons = [
        compare_language(
            parts,
            golds[language],
            settings,
            language=language,
            measures=measure,
            missing=missing.value,
        )
        for language, parts in campaign.runs.items()
    ]
    options = {
        "test": test.value,
        "trials": trials,
        "alpha": alpha,
        "rubric": rubric,
        "measures": measure,
        "missing": missing.value,
        "strict": strict,
        "reference": reference,
        "left_out": campaign.left_out,
    }
    inputs = [*gold, *(entry.file for entry in entries if entry.file.is_file())]
    provenance = Provenance.now(seed, options, inputs)
    results = Results(comparisons, settings, provenance, reference, campaign.teams)
    page = write_results(results, out)
    if json:
        print_json(results.to_json())
        return
    for comparison in comparisons:
        print_ranks(comparison)
    print_written(out, page)
