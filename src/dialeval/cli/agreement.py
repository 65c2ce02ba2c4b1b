"""`dialeval agreement`: how far annotators agree."""

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
    from dialeval.agreement.findings import Agreement, PartAgreement

HEADS = {
    "alpha": "alpha",
    "alpha_ordinal": "ord.",
    "ac1": "AC1",
    "cohen": "Cohen",
    "cohen_quadratic": "quad.",
    "pearson": "r",
    "spearman": "rho",
}
FEW_PAIRS = 6
"""Up to this many pairs of raters are printed each."""
MOST_ITEMS = 2
"""How many divided items are printed a criterion."""


class By(StrEnum):
    """What criteria are split by."""

    speaker = "speaker"
    label = "label"


def command(
    file: CollectionArgument,
    rubric: RubricOption = "helpdesk",
    by: Annotated[
        list[By] | None,
        typer.Option("--by", help="Split criteria by speaker or label; may be repeated."),
    ] = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 0,
    json: JsonOption = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print CSV: a line a criterion and coefficient.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write tables and a page with pictures."),
    ] = None,
) -> None:
    """How far annotators agree: kappa, alpha, AC1 and more, and who and what stands out.

    Example: dialeval agreement quickstart/helpdesk-en.json --by label --out agreement
    """
    from dialeval.agreement.analysis import agreement_of
    from dialeval.cli.output import print_json, write_with_page
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import UsageError
    from dialeval.report.agreement import AgreementReport, coefficient_table
    from dialeval.report.provenance import Provenance

    if json and csv:
        raise UsageError("--json and --csv: choose one")
    collection = load(file, rubric)
    chosen = [one.value for one in by or ()]
    found = agreement_of(collection, by=chosen, resamples=resamples, seed=seed)
    options = {"rubric": rubric, "by": chosen, "resamples": resamples}
    report = AgreementReport(found, Provenance.now(seed, options, [file]))
    page = write_with_page(report, out) if out else None
    if json:
        print_json(report.to_json())
    elif csv:
        print(coefficient_table(found).to_csv(), end="")
    else:
        print_agreement(found)
        if page:
            print(f"The page, with pictures: {page}")


def print_agreement(found: Agreement) -> None:
    """The tables for people."""
    from dialeval.cli.output import print_table

    raters = len(found.collection.annotators)
    named = "" if found.collection.named else " (by place: the file names none)"
    title = f"Agreement in {found.collection.source}: {raters} raters{named}"
    rows = [_overview(part) for part in found.parts]
    columns = ["criterion", "agree", "full", "Fleiss", "95% interval", "reading"]
    print_table(title, columns, rows, numbers=(1, 2, 3, 4))
    heads = {name: head for name, head in HEADS.items() if _occurs(found, name)}
    rows = [[part.title, *(_value(part, name) for name in heads)] for part in found.parts]
    title = "Krippendorff's alpha (nominal, ordinal), Gwet's AC1, and means over pairs of raters: "
    title += "Cohen's kappa (plain, quadratic), Pearson's r, Spearman's rho"
    columns = ["criterion", *heads.values()]
    print_table(title, columns, rows, numbers=range(1, len(columns)))
    _print_pairs(found)
    _print_own(found)
    _print_apart(found)
    _print_notes(found)


def _occurs(found: Agreement, name: str) -> bool:
    return any(name in part.coefficients for part in found.parts)


def _overview(part: PartAgreement) -> list[str]:
    from dialeval.agreement.reading import reading

    full, of = part.full
    kappa = part.coefficients["fleiss"]
    low, high = kappa.interval
    return [
        part.title,
        "–" if (percent := part.coefficients["percent"].value) != percent else f"{percent:.0%}",
        f"{full:,}/{of:,}",
        _value(part, "fleiss"),
        f"{low:.3f} .. {high:.3f}" if low == low else "–",
        reading(kappa.value),
    ]


def _value(part: PartAgreement, name: str) -> str:
    from dialeval.report.tables import shown

    one = part.coefficients.get(name)
    return shown(one.value if one else None, "effect")


def _print_pairs(found: Agreement) -> None:
    """Cohen's kappa of each pair, where these are few."""
    from dialeval.cli.output import print_table
    from dialeval.report.tables import shown

    rows: list[list[str]] = []
    for part in found.parts:
        pairs = part.pairs
        if not 0 < len(pairs.places) <= FEW_PAIRS or part.part.label:
            continue
        if rows:
            rows.append([])
        for pair, (a, b) in enumerate(pairs.places.tolist()):
            kappa = shown(float(pairs.values["cohen"][pair]), "effect")
            if pairs.intervals and pairs.intervals[pair][0] == pairs.intervals[pair][0]:
                kappa += " ({:.3f} .. {:.3f})".format(*pairs.intervals[pair])
            names = f"{part.raters[a]}, {part.raters[b]}"
            rows.append(["" if pair else part.title, names, f"{pairs.tables[pair].sum():g}", kappa])
    if rows:
        columns = ["criterion", "raters", "items", "Cohen's kappa"]
        print_table("Pairs of raters", columns, rows, numbers=(2, 3))


def _print_own(found: Agreement) -> None:
    """How far raters agree with themselves, where some judged twice."""
    from dialeval.cli.output import print_table

    rows = [
        [
            part.title,
            f"{int(part.intra.sum()):,}",
            _value(part, "intra_percent"),
            _value(part, "intra_cohen"),
        ]
        for part in found.parts
        if part.intra is not None and part.intra.any()
    ]
    if rows:
        columns = ["criterion", "votes judged twice", "percent", "Cohen's kappa"]
        print_table("Raters with themselves", columns, rows, numbers=(1, 2, 3))


def _print_apart(found: Agreement) -> None:
    """Raters who stand out, and the items whose votes are most divided."""
    import numpy as np

    from dialeval.cli.output import print_table
    from dialeval.report.agreement import divided_table

    rows = [
        [part.title, part.raters[rater], f"{part.rest.kappa[rater]:.3f}", reason]
        for part in found.parts
        for rater in range(len(part.raters))
        if (reason := part.apart(rater))
    ]
    if rows:
        columns = ["criterion", "rater", "kappa with rest", ""]
        print_table("Raters who stand out", columns, rows, numbers=(2,))
    items: dict[str, list[str]] = {}
    for title, dialogue, turn, entropy, _ in divided_table(found, MOST_ITEMS).rows:
        where = f"{dialogue} turn {turn}" if turn else dialogue
        items.setdefault(title, []).append(f"{where} ({entropy:.2f})")
    rows = [
        [title, f"{float(np.nanmean(found[title].entropy)):.3f}", ", ".join(divided)]
        for title, divided in items.items()
    ]
    if rows:
        columns = ["criterion", "mean", "most divided"]
        print_table("Entropy of an item's votes, 0 to 1", columns, rows, numbers=(1,))


def _print_notes(found: Agreement) -> None:
    from dialeval.report.agreement import notes

    for part in found.parts:
        for note in notes(part, found):
            print(f"{part.title}: {note}")
        for name, one in part.coefficients.items():
            if one.reason:
                print(f"{part.title}: no {name}: {one.reason}")
