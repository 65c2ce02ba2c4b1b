"""Pictures of agreement: coefficients, pairs of raters, raters against the rest, divided items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dialeval.agreement.findings import NAMES, PartAgreement
from dialeval.agreement.reading import LEVELS
from dialeval.report.figures import (
    ACCENT,
    LINE,
    MUTED,
    PAPER,
    SECOND,
    TEXT,
    WIDTH,
    Picture,
    drawn,
    room,
    short,
)

MOST_RATERS = 30
"""Among more raters, the pictures show those who agree least with the rest."""
WRITTEN = 10
"""Up to this many raters the picture of pairs has numbers in it."""
BINS = 20


def kappa_picture(
    name: str,
    parts: Sequence[PartAgreement],
    coefficient: str = "fleiss",
    threshold: float | None = None,
) -> Picture:
    """A kappa with its interval (dots) and AC1 (rings), on the scale of the readings."""
    shown = parts[::-1]
    chosen = [part.coefficients[coefficient] for part in shown]

    def draw(axes: Any) -> None:
        for bound, _ in LEVELS[:-1]:
            axes.axvline(bound, color=LINE, lw=0.8, ls=(0, (2, 2)), zorder=0)
        axes.axvline(0, color=MUTED, lw=0.8, zorder=0)
        if threshold is not None:
            axes.axvline(threshold, color=SECOND, lw=1, zorder=0)
        for place, (part, kappa) in enumerate(zip(shown, chosen, strict=True)):
            axes.plot(part.coefficients["ac1"].value, place, "o", mfc=PAPER, mec=SECOND, ms=5)
            axes.plot(kappa.interval, (place, place), color=ACCENT, lw=1.6)
            axes.plot(kappa.value, place, "o", color=ACCENT, ms=5)
        axes.set_yticks(range(len(shown)), [short(part.title) for part in shown])
        axes.set_ylim(-0.6, len(shown) - 0.4)
        ends = [end for kappa in chosen for end in (kappa.value, kappa.interval[0])]
        ends += [part.coefficients["ac1"].value for part in shown]
        axes.set_xlim(min([0.0, *(end for end in ends if end == end)]) - 0.03, 1.03)
        axes.set_xlabel(f"{NAMES[coefficient]} (dots), AC1 (rings)")
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)

    description = f"{NAMES[coefficient]}: " + ", ".join(
        f"{part.title} {part.coefficients[coefficient].value:.2f}" for part in parts
    )
    left = room([short(part.title) for part in shown])
    return drawn(name, description, (WIDTH, 0.65 + 0.25 * len(shown)), draw, left=left)


def pairs_picture(name: str, part: PartAgreement) -> Picture:
    """Cohen's kappa of every pair of raters: the darker, the higher."""
    chosen = _chosen(part)
    m = len(chosen)
    place = {rater: i for i, rater in enumerate(chosen)}

    def draw(axes: Any) -> None:
        from matplotlib.collections import PatchCollection
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        patches, colours = [], []
        for (a, b), kappa in zip(
            part.pairs.places.tolist(), part.pairs.values["cohen"].tolist(), strict=True
        ):
            if a not in place or b not in place or kappa != kappa:
                continue
            for row, column in ((place[a], place[b]), (place[b], place[a])):
                corner = (column - 0.5, row - 0.5)
                strength = min(max(kappa, 0.0), 1.0)
                patches.append(Rectangle(corner, 1, 1))
                colours.append(to_rgba(ACCENT, strength))
                if m <= WRITTEN:
                    ink = PAPER if strength > 0.55 else TEXT
                    text = f"{kappa:.2f}"
                    axes.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
        axes.add_collection(PatchCollection(patches, facecolors=colours, edgecolors="none"))
        names = [short(part.raters[rater], 14) for rater in chosen]
        axes.set_xticks(range(m), names, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(m), names)
        axes.tick_params(length=0, colors=TEXT, labelsize=7)
        axes.set_xlim(-0.5, m - 0.5)
        axes.set_ylim(m - 0.5, -0.5)
        for spine in axes.spines.values():
            spine.set_color(LINE)

    kappas = part.pairs.values["cohen"]
    known = kappas[~np.isnan(kappas)]
    bounds = f", from {known.min():.2f} to {known.max():.2f}" if known.size else ""
    description = f"{part.title}: Cohen's kappa of {len(kappas)} pairs of raters{bounds}"
    margin = room([short(part.raters[rater], 14) for rater in chosen], 7)
    side = min(0.28 * m, WIDTH - margin - 0.15)
    size = (WIDTH, 0.2 + margin + max(side, 0.6))
    return drawn(name, description, size, draw, left=margin, bottom=0.1 + margin)


def raters_picture(name: str, part: PartAgreement) -> Picture:
    """Each rater's kappa with the rest; those who stand out in another colour."""
    kappa = part.rest.kappa
    chosen = sorted(_chosen(part), key=lambda rater: float(kappa[rater]))

    def draw(axes: Any) -> None:
        known = kappa[~np.isnan(kappa)]
        if known.size:
            axes.axvline(float(np.median(known)), color=MUTED, lw=1)
        for place, rater in enumerate(chosen):
            colour = SECOND if part.apart(rater) else ACCENT
            axes.plot(float(kappa[rater]), place, "o", color=colour, ms=4.5)
        axes.set_yticks(range(len(chosen)), [short(part.raters[r], 20) for r in chosen])
        axes.set_ylim(-0.6, len(chosen) - 0.4)
        axes.set_xlabel("kappa with the rest")
        axes.grid(axis="x", lw=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0, labelsize=8)
        axes.spines["left"].set_visible(False)

    description = f"{part.title}: kappa of each rater with the rest"
    left = room([short(part.raters[rater], 20) for rater in chosen], 8)
    return drawn(name, description, (WIDTH, 0.65 + 0.19 * len(chosen)), draw, left=left)


def entropy_picture(name: str, part: PartAgreement) -> Picture:
    """How many items have votes how divided."""
    known = part.entropy[~np.isnan(part.entropy)]
    counts, edges = np.histogram(known, BINS, (0, max(1.0, float(known.max(initial=1)))))

    def draw(axes: Any) -> None:
        axes.bar(edges[:-1], counts, np.diff(edges) * 0.9, align="edge", color=ACCENT)
        axes.set_xlabel("entropy of an item's votes: 0 all agree, 1 all labels alike")
        axes.set_ylabel("items")
        axes.tick_params(length=0, colors=MUTED)

    description = f"{part.title}: entropy of votes of {known.size} items, mean "
    description += f"{known.mean():.2f}" if known.size else "not known"
    return drawn(name, description, (WIDTH, 2.2), draw, left=0.75)


def _chosen(part: PartAgreement) -> list[int]:
    """The raters that are drawn: all with votes, or those who agree least."""
    voted = np.flatnonzero(part.rest.items)
    worst = voted[np.argsort(part.rest.kappa[voted], kind="stable")][:MOST_RATERS]
    return sorted(worst.tolist())
