"""The agreement of annotators as tables, JSON and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.agreement.cohen import agreements, kappas
from dialeval.agreement.findings import KAPPAS, NAMES, Agreement, PartAgreement
from dialeval.agreement.reading import reading
from dialeval.core.collection import Collection
from dialeval.core.files import write_text
from dialeval.report.provenance import Provenance
from dialeval.report.tables import Column, Table, json_text

LISTED = 10
"""How many divided items are listed a part."""


@dataclass(frozen=True)
class AgreementReport:
    """What was found, and everything that is made of it."""

    found: Agreement
    provenance: Provenance

    def tables(self) -> list[Table]:
        """All tables, in the order of a report."""
        return [
            overview_table(self.found),
            coefficient_table(self.found),
            *(pair_table(part) for part in self.found.parts if len(part.pairs.places)),
            *(rater_table(part) for part in self.found.parts),
            divided_table(self.found),
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, part by part."""
        return {
            "provenance": self.provenance.to_json(),
            "raters_are_named": self.found.collection.named,
            "parts": [part_json(part, self.found.collection) for part in self.found.parts],
        }

    def report(self, folder: str | Path) -> Path:
        """`agreement.json`, tables as CSV, Markdown and LaTeX, `agreement.html`; gives its path."""
        from dialeval.report.agreement_page import agreement_page

        self.write_tables(Path(folder))
        path = Path(folder) / "agreement.html"
        write_text(path, agreement_page(self.found, self.provenance))
        return path

    def write_tables(self, folder: Path) -> None:
        """`agreement.json`, and each table in `tables/`."""
        write_text(folder / "agreement.json", json_text(self.to_json()))
        for table in self.tables():
            table.write(folder / "tables", self.provenance)


def overview_table(found: Agreement) -> Table:
    """A row a part: how far votes agree."""
    columns = [Column("criterion"), Column("items", "number"), Column("raters", "number")]
    columns += [Column("percent", "effect"), Column("all agree", "number")]
    columns += [Column("of", "number"), Column("Fleiss' kappa", "effect")]
    columns += [Column("low", "effect"), Column("high", "effect"), Column("reading")]
    columns += [Column("alpha", "effect"), Column("AC1", "effect"), Column("Cohen", "effect")]
    rows = []
    for part in found.parts:
        value = {name: c.value for name, c in part.coefficients.items()}
        kappa = part.coefficients["fleiss"]
        rows.append(
            (
                part.title,
                int((part.votes > 0).sum()),
                int((part.part.codes >= 0).any(axis=0).sum()),
                value["percent"],
                *part.full,
                kappa.value,
                *kappa.interval,
                reading(kappa.value),
                value["alpha"],
                value["ac1"],
                value["cohen"],
            )
        )
    return Table("agreement", "How far votes agree", tuple(columns), tuple(rows))


def coefficient_table(found: Agreement) -> Table:
    """A row a part and coefficient."""
    columns = [Column("criterion"), Column("speaker"), Column("label"), Column("coefficient")]
    columns += [Column("value", "score"), Column("low", "score"), Column("high", "score")]
    columns += [Column("reading"), Column("reason")]
    rows = []
    for part in found.parts:
        of = part.part
        for name, one in part.coefficients.items():
            read = reading(one.value) if name in KAPPAS else ""
            where = (of.criterion.id, of.speaker or "", of.label or "")
            rows.append((*where, name, one.value, *one.interval, read, one.reason))
    return Table("coefficients", "All coefficients", tuple(columns), tuple(rows))


def part_coefficients(part: PartAgreement) -> Table:
    """The coefficients of one part, in words."""
    columns = [Column("coefficient"), Column("value", "effect"), Column("low", "effect")]
    columns += [Column("high", "effect"), Column("reading")]
    rows = [
        (
            NAMES[name],
            one.value,
            *one.interval,
            one.reason or (reading(one.value) if name in KAPPAS else ""),
        )
        for name, one in part.coefficients.items()
    ]
    return Table(f"{_file(part)}-coefficients", part.title, tuple(columns), tuple(rows))


def pair_table(part: PartAgreement) -> Table:
    """A row a pair of raters; their table of votes row by row, as in `11 6 / 5 14`."""
    pairs = part.pairs
    columns = [Column("rater"), Column("and rater"), Column("items", "number")]
    columns += [Column(name, "effect") for name in pairs.values]
    columns += [Column("low", "effect"), Column("high", "effect"), Column("table")]
    intervals = pairs.intervals or [(np.nan, np.nan)] * len(pairs.places)
    rows = [
        (
            part.raters[a],
            part.raters[b],
            int(table.sum()),
            *(float(values[pair]) for values in pairs.values.values()),
            *intervals[pair],
            " / ".join(" ".join(f"{cell:g}" for cell in row) for row in table),
        )
        for pair, ((a, b), table) in enumerate(
            zip(pairs.places.tolist(), pairs.tables, strict=True)
        )
    ]
    title = f"{part.title}: pairs of raters (interval: Cohen's kappa; labels in tables: "
    title += f"{', '.join(part.part.labels)})"
    return Table(f"{_file(part)}-pairs", title, tuple(columns), tuple(rows))


def rater_table(part: PartAgreement) -> Table:
    """A row a rater: against the rest, and against themselves."""
    columns = [Column("rater"), Column("items", "number"), Column("agrees with rest", "effect")]
    columns += [Column("kappa with rest", "effect"), Column("bias", "effect")]
    if part.intra is not None:
        columns += [Column("judged twice", "number"), Column("agrees with self", "effect")]
        columns += [Column("kappa with self", "effect")]
    columns.append(Column("stands out"))
    rest = part.rest
    rows = []
    for rater, name in enumerate(part.raters):
        if not (part.part.codes[:, rater] >= 0).any():
            continue
        values = (float(x[rater]) for x in (rest.percent, rest.kappa, rest.bias))
        own: tuple[Any, ...] = ()
        if part.intra is not None:
            table = part.intra[rater]
            own = (int(table.sum()), float(agreements(table)), float(kappas(table)))
        rows.append((name, int(rest.items[rater]), *values, *own, part.apart(rater)))
    title = f"{part.title}: each rater against the rest"
    return Table(f"{_file(part)}-raters", title, tuple(columns), tuple(rows))


def divided_table(found: Agreement, most: int = LISTED) -> Table:
    """The items of each criterion, or each of its speakers, whose votes are most divided."""
    split = {p.part.criterion.id for p in found.parts if p.part.speaker is not None}
    columns = [Column("criterion"), Column("dialogue"), Column("turn", "number")]
    columns += [Column("entropy", "effect"), Column("votes")]
    rows = [
        (part.title, *row)
        for part in found.parts
        if part.part.label is None
        and (part.part.speaker is not None or part.part.criterion.id not in split)
        for row in divided_items(part, found.collection, most)
    ]
    title = "Items whose votes are most divided"
    return Table("divided-items", title, tuple(columns), tuple(rows))


def divided_items(
    part: PartAgreement, collection: Collection, most: int = LISTED
) -> list[tuple[str, int | None, float, str]]:
    """Dialogue, turn (from 1, None for the whole), entropy and votes of the most divided items."""
    rows = []
    for item in part.divided_items(most):
        place = int(part.part.items[item])
        turn = None
        if part.part.criterion.scope == "turn":
            place, within = collection.dialogue_of(place)
            turn = within + 1
        votes = ", ".join(
            f"{label} {count:g}"
            for label, count in zip(part.part.labels, part.counts[item], strict=True)
            if count
        )
        rows.append((collection.ids[place], turn, float(part.entropy[item]), votes))
    return rows


def notes(part: PartAgreement, found: Agreement) -> list[str]:
    """What a reader of the figures should know."""
    of, seen, lines = part.part, part.seen, []
    if part.paradox:
        top = int(seen.shares.argmax())
        kappa, ac1 = part.coefficients["fleiss"].value, part.coefficients["ac1"].value
        said = "is not defined" if np.isnan(kappa) else f"is only {kappa:.3f}"
        lines.append(
            f"Fleiss' paradox: {seen.percent:.0%} of pairs of votes agree, and kappa {said}, "
            f"because {seen.shares[top]:.0%} of the votes are {of.labels[top]}: chance alone "
            f"would explain as much. AC1, which allows for this, is {ac1:.3f}."
        )
    apart = {of.criterion.labels_of(s) for s in found.collection.rubric.speakers} - {()}
    if of.speaker is None and of.label is None and len(apart) > 1:
        lines.append(
            "Speakers have labels of their own, which makes agreement by chance look rarer than "
            "it is: read the figures by speaker."
        )
    several = part.votes[part.votes > 1]
    if several.size and several.min() < several.max():
        lines.append(f"Items have {several.min():g} to {several.max():g} votes.")
    single = int((part.votes == 1).sum())
    if single:
        lines.append(
            f"{single:,} items have a single vote: they count for the shares of labels, not for "
            "agreement."
        )
    if of.unvoted:
        lines.append(f"{of.unvoted:,} items have no vote.")
    if found.resamples and len(part.pairs.places) and not part.pairs.intervals:
        lines.append("Too many pairs of raters for intervals of their coefficients.")
    return lines


def part_json(part: PartAgreement, collection: Collection) -> dict[str, Any]:
    """One part as plain values."""
    of = part.part
    full, several = part.full
    return {
        "criterion": of.criterion.id,
        "speaker": of.speaker,
        "label": of.label,
        "labels": of.labels,
        "items": int((part.votes > 0).sum()),
        "items_with_two_votes": several,
        "items_without_votes": of.unvoted,
        "votes": int(part.votes.sum()),
        "shares": dict(zip(of.labels, part.seen.shares.tolist(), strict=True)),
        "all_agree": full,
        "fleiss_paradox": part.paradox,
        "coefficients": {
            name: {
                "value": one.value,
                "low": one.interval[0],
                "high": one.interval[1],
                **({"reading": reading(one.value)} if name in KAPPAS else {}),
                **({"reason": one.reason} if one.reason else {}),
            }
            for name, one in part.coefficients.items()
        },
        "pairs": [
            {
                "raters": [part.raters[a], part.raters[b]],
                "items": int(table.sum()),
                "table": table.astype(int).tolist(),
                **{name: float(values[pair]) for name, values in part.pairs.values.items()},
                **(
                    dict(zip(("low", "high"), part.pairs.intervals[pair], strict=True))
                    if part.pairs.intervals
                    else {}
                ),
            }
            for pair, ((a, b), table) in enumerate(
                zip(part.pairs.places.tolist(), part.pairs.tables, strict=True)
            )
        ],
        "raters": _records(rater_table(part)),
        "divided_items": [
            dict(zip(("dialogue", "turn", "entropy", "votes"), row, strict=True))
            for row in divided_items(part, collection)
        ],
    }


def _records(table: Table) -> list[dict[str, Any]]:
    return [
        {name.replace(" ", "_"): value for name, value in record.items()}
        for record in table.to_records()
    ]


def _file(part: PartAgreement) -> str:
    """A name for the part's files; labels may hold any character."""
    of = part.part
    if of.label is not None:
        return f"{of.criterion.id}-label{of.criterion.columns.index(of.label) + 1}"
    kept = [char if char.isalnum() or char in "-_" else "-" for char in of.title]
    return "".join(kept)
