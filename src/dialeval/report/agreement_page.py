"""The page of agreement: how far people agree, who and what stands out."""

from __future__ import annotations

from typing import Any

import numpy as np

from dialeval.agreement.findings import Agreement, PartAgreement
from dialeval.agreement.reading import LEVELS, reading
from dialeval.core.collection import Collection
from dialeval.core.dialogue import Turn
from dialeval.report.agreement import (
    notes,
    overview_table,
    pair_table,
    part_coefficients,
    rater_table,
)
from dialeval.report.agreement_figures import (
    MOST_RATERS,
    entropy_picture,
    kappa_picture,
    pairs_picture,
    raters_picture,
)
from dialeval.report.dialogues import Bar, colours
from dialeval.report.page import render
from dialeval.report.provenance import Provenance
from dialeval.report.tables import Table

READ = 3
"""How many divided items are shown with their text."""
MOST_TABLES = 6
"""How many pairs' tables are shown: of more, the pairs that agree most and least."""


def agreement_page(found: Agreement, provenance: Provenance) -> str:
    """The whole page as HTML."""
    whole = [part for part in found.parts if part.part.label is None]
    return render(
        "agreement.html",
        provenance=provenance,
        source=found.collection.source,
        dialogues=len(found.collection),
        raters=len(found.collection.annotators),
        named=found.collection.named,
        votes=int(sum(p.votes.sum() for p in whole if p.part.speaker is None)),
        resamples=found.resamples,
        overview=overview_table(found),
        picture=kappa_picture("kappa", whole).inline(),
        levels=levels(),
        most_raters=MOST_RATERS,
        parts=[_part(part, found) for part in whole],
    )


def levels() -> list[tuple[str, str]]:
    """The words for kappa and the range of each."""
    words = [word for _, word in LEVELS]
    bounds = [f".{100 * bound:.0f}" for bound, _ in LEVELS[:-1]]
    ranges = [f"up to {bounds[0]}", *(f"to {bound}" for bound in bounds[1:]), f"above {bounds[-1]}"]
    return [*zip(words, ranges, strict=True)]


def _part(part: PartAgreement, found: Agreement) -> dict[str, Any]:
    criterion = part.part.criterion
    name = criterion.name.get("en", "")
    kappa = part.coefficients["fleiss"].value
    several = len(part.pairs.places) > 0
    full, of = part.full
    return {
        "id": part.title.replace(" ", "-"),
        "title": " · ".join(filter(None, (criterion.id, name, part.part.speaker))),
        "question": criterion.question.get("en", ""),
        "kappa": "–" if np.isnan(kappa) else f"{kappa:.3f}",
        "reading": reading(kappa),
        "full": full,
        "of": of,
        "share": full / of if of else 0.0,
        "notes": notes(part, found),
        "bar": _bar(part, part.seen.shares.tolist()),
        "coefficients": part_coefficients(part),
        "pairs": pairs_picture("pairs", part).inline() if several else "",
        "pair_table": _without_cells(pair_table(part)) if several else None,
        "tables": _tables(part),
        "raters": raters_picture("raters", part).inline() if several else "",
        "rater_table": rater_table(part),
        "entropy": entropy_picture("entropy", part).inline() if of else "",
        "apart": [
            (part.raters[rater], reason)
            for rater in range(len(part.raters))
            if (reason := part.apart(rater))
        ],
        "items": [_item(part, found.collection, item) for item in part.divided_items(READ)],
    }


def _without_cells(pairs: Table) -> Table:
    """The table of pairs without its last column: the page draws what stands there."""
    rows = tuple(row[:-1] for row in pairs.rows)
    return Table(pairs.name, pairs.title, pairs.columns[:-1], rows)


def _bar(part: PartAgreement, shares: list[float]) -> Bar:
    labels = [*part.part.labels]
    look = colours(part.part.criterion, labels)
    return Bar("votes", tuple(zip(labels, shares, look, strict=True)))


def _tables(part: PartAgreement) -> list[dict[str, Any]]:
    """The labels-by-labels tables of some pairs, those that agree most first."""
    kappas = np.nan_to_num(part.pairs.values["cohen"], nan=-2.0)
    order = np.argsort(-kappas, kind="stable")
    if order.size > MOST_TABLES:
        order = np.concatenate([order[: MOST_TABLES // 2], order[-MOST_TABLES // 2 :]])
    return [
        {
            "first": part.raters[int(part.pairs.places[pair, 0])],
            "second": part.raters[int(part.pairs.places[pair, 1])],
            "kappa": f"{kappas[pair]:.3f}" if kappas[pair] >= -1 else "–",
            "labels": part.part.labels,
            "rows": [*zip(part.part.labels, part.pairs.tables[pair].astype(int), strict=True)],
        }
        for pair in order.tolist()
    ]


def _item(part: PartAgreement, collection: Collection, item: int) -> dict[str, Any]:
    """A divided item with the text that was judged."""
    place = int(part.part.items[item])
    within: int | None = None
    if part.part.criterion.scope == "turn":
        place, within = collection.dialogue_of(place)
    dialogue = collection.dialogues[place]
    turns: tuple[Turn, ...] = dialogue.turns
    if within is not None:  # the turn and the one before it
        turns = turns[max(0, within - 1) : within + 1]
    counts = part.counts[item]
    return {
        "id": dialogue.id,
        "turn": None if within is None else within + 1,
        "entropy": f"{part.entropy[item]:.2f}",
        "votes": int(counts.sum()),
        "bar": _bar(part, (counts / counts.sum()).tolist()),
        "turns": turns,
    }
