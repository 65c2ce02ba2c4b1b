"""The outcome of a questionnaire's round as tables, JSON, a page and the next round's form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dialeval.agreement.findings import NAMES, Coefficient
from dialeval.agreement.questions import Questionnaire
from dialeval.agreement.reading import reading
from dialeval.core.encode_rubric import rubric_toml
from dialeval.core.files import write_text
from dialeval.report.agreement import notes, part_json
from dialeval.report.agreement_figures import kappa_picture
from dialeval.report.agreement_page import levels
from dialeval.report.page import render
from dialeval.report.provenance import Provenance
from dialeval.report.tables import Column, Table, json_text, shown

MOST_TABLES = 10
"""Up to this many pairs of raters have their tables on the page."""


@dataclass(frozen=True)
class QuestionnaireReport:
    """What was found, and everything that is made of it."""

    found: Questionnaire
    provenance: Provenance

    def tables(self) -> list[Table]:
        """All tables, in the order of a report."""
        return [
            question_table(self.found),
            side_by_side(self.found),
            group_table(self.found),
            pooled_table(self.found),
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        found = self.found
        collection = found.agreement.collection
        return {
            "provenance": self.provenance.to_json(),
            "coefficient": found.coefficient,
            "threshold": found.threshold,
            "questions": [
                {
                    "question": verdict.question,
                    "group": verdict.group,
                    "decision": "keep" if verdict.keep else "drop",
                    "reason": verdict.reason,
                    "agreement": part_json(verdict.found, collection) if verdict.found else None,
                }
                for verdict in found.verdicts
            ],
            "groups": [
                {
                    "group": group.name,
                    "questions": group.questions,
                    "mean": _json(group.mean),
                    "percent": group.percent,
                    "ac1": group.ac1,
                    "all_agree": group.full,
                    "pairs": [
                        {"raters": pair, "table": table.astype(int).tolist(), "cohen": kappa}
                        for pair, (table, kappa) in group.pooled.items()
                    ],
                }
                for group in found.groups
            ],
            "differences": [
                {"groups": one.groups, "mean": _json(one.mean)} for one in found.differences
            ],
        }

    def report(self, folder: str | Path) -> Path:
        """The page `questionnaire.html` and what `write_tables` writes; gives the page's path."""
        self.write_tables(Path(folder))
        path = Path(folder) / "questionnaire.html"
        write_text(path, questionnaire_page(self.found, self.provenance))
        return path

    def write_tables(self, folder: Path) -> None:
        """`questionnaire.json`, each table in `tables/`, and `next.toml` if a question is left."""
        write_text(folder / "questionnaire.json", json_text(self.to_json()))
        for table in self.tables():
            table.write(folder / "tables", self.provenance)
        if any(verdict.keep for verdict in self.found.verdicts):
            write_form(self.found, folder / "next.toml")


def write_form(found: Questionnaire, path: Path) -> None:
    """The next round's form, as a rubric file."""
    collection = found.agreement.collection
    dropped = [verdict for verdict in found.verdicts if not verdict.keep]
    lines = [
        f"# The next round after {collection.source}, by {NAMES[found.coefficient]} "
        f"of {found.threshold:g} or more.",
        *(f"# Dropped: {verdict.question}: {verdict.reason}." for verdict in dropped),
    ]
    comment = "\n".join("# " + " ".join(line[2:].split()) for line in lines)
    write_text(path, f"{comment}\n{rubric_toml(found.next_round())}")


def question_table(found: Questionnaire) -> Table:
    """A row a question: its kappa, and what becomes of it."""
    columns = [Column("questionnaire"), Column("question"), Column("kappa", "effect")]
    columns += [Column("low", "effect"), Column("high", "effect"), Column("reading")]
    columns += [Column("percent", "effect"), Column("AC1", "effect")]
    columns += [Column("all agree", "number"), Column("of", "number")]
    columns += [Column("decision"), Column("reason")]
    rows: list[tuple[Any, ...]] = []
    for verdict in found.verdicts:
        figures: tuple[Any, ...] = (None, None, None, "", None, None, None, None)
        if verdict.found is not None:
            given = verdict.found.coefficients
            kappa = given[found.coefficient]
            figures = (kappa.value, *kappa.interval, reading(kappa.value))
            figures += (given["percent"].value, given["ac1"].value, *verdict.found.full)
        decision = "keep" if verdict.keep else "drop"
        rows.append((verdict.group, verdict.question, *figures, decision, verdict.reason))
    title = f"Questions by {NAMES[found.coefficient]}, kept from {found.threshold:g} on"
    return Table("questions", title, tuple(columns), tuple(rows))


def side_by_side(found: Questionnaire) -> Table:
    """The kappas of the questionnaires beside each other, and their averages."""
    columns = [Column("", "number")]
    kappas = []
    for group in found.groups:
        columns += [Column(group.name), Column(f"{group.name} kappa", "effect")]
        of = [found.agreement[id].coefficients[found.coefficient].value for id in group.questions]
        kappas.append([*zip(group.questions, of, strict=True)])
    lines = zip_longest(*kappas, fillvalue=("", None))
    rows = [(n, *(cell for pair in line for cell in pair)) for n, line in enumerate(lines, 1)]
    average = (cell for group in found.groups for cell in ("average", group.mean.value))
    title = "Questionnaires side by side"
    return Table("side-by-side", title, tuple(columns), (*rows, ("", *average)))


def group_table(found: Questionnaire) -> Table:
    """Averages of the questionnaires, and the differences between them."""
    columns = [Column("questionnaire"), Column("questions", "number"), Column("kept", "number")]
    columns += [Column("mean kappa", "effect"), Column("low", "effect"), Column("high", "effect")]
    columns += [Column("percent", "effect"), Column("AC1", "effect"), Column("all agree", "effect")]
    rows: list[tuple[Any, ...]] = []
    for group in found.groups:
        kept = sum(v.keep for v in found.verdicts if v.group == group.name)
        figures = (group.mean.value, *group.mean.interval, group.percent, group.ac1, group.full)
        rows.append((group.name, len(group.questions), kept, *figures))
    for one in found.differences:
        more = (one.mean.value, *one.mean.interval, None, None, None)
        rows.append((" minus ".join(one.groups), None, None, *more))
    return Table("averages", "Averages of the questionnaires", tuple(columns), tuple(rows))


def pooled_table(found: Questionnaire) -> Table:
    """Cohen's kappa of each pair of raters, the questions of a questionnaire taken together."""
    columns = [Column("rater"), Column("and rater")]
    columns += [Column(group.name, "effect") for group in found.groups]
    pairs = dict.fromkeys(pair for group in found.groups for pair in group.pooled)
    rows = [
        (
            *pair,
            *(group.pooled[pair][1] if pair in group.pooled else None for group in found.groups),
        )
        for pair in pairs
    ]
    title = "Cohen's kappa of each pair of raters, all questions of a questionnaire together"
    return Table("pairs", title, tuple(columns), tuple(rows))


def questionnaire_page(found: Questionnaire, provenance: Provenance) -> str:
    """The whole page as HTML."""
    agreement = found.agreement
    collection = agreement.collection
    parts = [verdict.found for verdict in found.verdicts if verdict.found is not None]
    texts = {c.id: c.question.get("en", "") for c in collection.rubric.criteria}
    return render(
        "questionnaire.html",
        provenance=provenance,
        source=collection.source,
        dialogues=len(collection),
        raters=len(collection.annotators),
        resamples=agreement.resamples,
        coefficient=NAMES[found.coefficient],
        threshold=f"{found.threshold:g}",
        kept=sum(verdict.keep for verdict in found.verdicts),
        picture=kappa_picture("kappa", parts, found.coefficient, found.threshold).inline(),
        levels=levels(),
        verdicts=[
            (v, texts[v.question], notes(v.found, agreement) if v.found else [])
            for v in found.verdicts
        ],
        questions=question_table(found),
        sides=side_by_side(found),
        averages=group_table(found),
        pairs=pooled_table(found),
        tables=_tables(found),
    )


def _tables(found: Questionnaire) -> list[tuple[str, list[dict[str, Any]]]]:
    """The tables of pairs of raters by questionnaire, where these are few enough to show."""
    return [
        (
            group.name,
            [
                {
                    "first": first,
                    "second": second,
                    "kappa": shown(kappa, "effect"),
                    "labels": labels,
                    "rows": [*zip(labels, table.astype(int).tolist(), strict=True)],
                }
                for (first, second), (table, kappa) in group.pooled.items()
            ],
        )
        for group in found.groups
        if 0 < len(group.pooled) <= MOST_TABLES
        for labels in [found.agreement[group.questions[0]].part.labels]
    ]


def _json(one: Coefficient) -> dict[str, Any]:
    value = {"value": one.value, "low": one.interval[0], "high": one.interval[1]}
    return value | ({"reason": one.reason} if math.isnan(one.value) else {})
