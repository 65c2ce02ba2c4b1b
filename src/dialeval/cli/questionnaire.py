"""`dialeval questionnaire`: which questions to keep."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    CollectionArgument,
    JsonOption,
    ResamplesOption,
    RubricOption,
    SeedOption,
)

if TYPE_CHECKING:
    from dialeval.agreement.questions import Questionnaire


class Coefficient(StrEnum):
    """By what questions are judged."""

    fleiss = "fleiss"
    cohen = "cohen"
    alpha = "alpha"
    ac1 = "ac1"


def command(
    file: CollectionArgument,
    rubric: RubricOption = "questionnaire",
    threshold: Annotated[
        float, typer.Option("--threshold", help="Keep a question from this kappa on.")
    ] = 0.2,
    coefficient: Annotated[
        Coefficient, typer.Option("--coefficient", help="The kappa that decides.")
    ] = Coefficient.fleiss,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME=ID,ID",
            help="Questions averaged together; else what stands before the - of their ids.",
        ),
    ] = None,
    spare_one_sided: Annotated[
        bool,
        typer.Option(
            "--spare-one-sided", help="Keep questions whose kappa is low as votes are one-sided."
        ),
    ] = False,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 0,
    form: Annotated[
        Path | None,
        typer.Option("--next", metavar="FILE", help="Write the next round's form: a .toml rubric."),
    ] = None,
    json: JsonOption = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV: a line a question.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write tables, the form and a page."),
    ] = None,
) -> None:
    """Which yes-no questions people agree on: keep or drop, and the next round's form.

    Example: dialeval questionnaire quickstart/questionnaire-en.json --next round2.toml
    """
    from dialeval.agreement.questions import select_questions
    from dialeval.cli.output import print_json, write_with_page
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import UsageError
    from dialeval.report.provenance import Provenance
    from dialeval.report.questionnaire import QuestionnaireReport, question_table, write_form

    if json and csv:
        raise UsageError("--json and --csv: choose one")
    if form is not None and form.suffix != ".toml":
        raise UsageError(f"--next: found {form.name}, expected a name that ends in .toml")
    found = select_questions(
        load(file, rubric),
        threshold=threshold,
        coefficient=coefficient.value,
        groups=_groups(group),
        spare_one_sided=spare_one_sided,
        resamples=resamples,
        seed=seed,
    )
    options = {
        "rubric": rubric,
        "threshold": threshold,
        "coefficient": coefficient.value,
        "groups": group,
        "spare_one_sided": spare_one_sided,
        "resamples": resamples,
    }
    report = QuestionnaireReport(found, Provenance.now(seed, options, [file]))
    if form is not None:
        write_form(found, form)
    page = write_with_page(report, out) if out else None
    if json:
        print_json(report.to_json())
    elif csv:
        print(question_table(found).to_csv(), end="")
    else:
        print_questionnaire(found)
        if form:
            print(f"The next round's form: {form}")
        if page:
            print(f"The page, with pictures: {page}")


def _groups(given: list[str] | None) -> dict[str, list[str]] | None:
    from dialeval.core.errors import UsageError

    if not given:
        return None
    groups: dict[str, list[str]] = {}
    for text in given:
        name, _, ids = text.partition("=")
        if not name or not ids or name in groups:
            raise UsageError(f"--group: found {text!r}, expected NAME=ID,ID and each name once")
        groups[name] = ids.split(",")
    return groups


def print_questionnaire(found: Questionnaire) -> None:
    """The tables for people."""
    from dialeval.agreement.findings import NAMES
    from dialeval.cli.output import print_table
    from dialeval.report.questionnaire import group_table, question_table
    from dialeval.report.tables import shown

    rows: list[list[str]] = []
    last = ""
    for group, question, kappa, low, high, reading, *_, decision, _ in question_table(found).rows:
        if last and group != last:
            rows.append([])
        interval = f"{low:.3f} .. {high:.3f}" if low == low and low is not None else "–"
        rows.append([question, shown(kappa, "effect"), interval, reading, decision])
        last = group
    title = f"Questions by {NAMES[found.coefficient]}, kept from {found.threshold:g} on"
    columns = ["question", "kappa", "95% interval", "reading", "decision"]
    print_table(title, columns, rows, numbers=(1, 2))
    averages: list[list[str]] = []
    for name, asked, kept, mean, low, high, *_ in group_table(found).rows:
        interval = f"{low:.3f} .. {high:.3f}" if low == low else "–"
        counts = [shown(asked, "number"), shown(kept, "number")]
        averages.append([name, *counts, shown(mean, "effect"), interval])
    columns = ["questionnaire", "questions", "kept", "mean kappa", "95% interval"]
    print_table("Averages of the questionnaires", columns, averages, numbers=(1, 2, 3, 4))
    for verdict in found.verdicts:
        print(f"{'keep' if verdict.keep else 'drop'} {verdict.question}: {verdict.reason}")
    if any(not v.keep and v.found and v.found.paradox for v in found.verdicts):
        print("(--spare-one-sided keeps questions with one-sided votes.)")
