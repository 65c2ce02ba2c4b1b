"""Pictures of a comparison, drawn once by matplotlib (extra `report`): SVG, PDF, and for pages.

In a page the colours follow the reader's theme: what is drawn in the colours of `INK` comes out
as CSS variables.
"""

from __future__ import annotations

import html
import io
import logging
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.core.errors import MissingExtraError
from dialeval.core.files import writing
from dialeval.report.published import PublishedScore
from dialeval.report.tables import shown
from dialeval.stats.contest import Contest
from dialeval.stats.pairwise import achieved_levels

INK = {
    "#1c1c1a": "var(--ink)",
    "#6f6f68": "var(--muted)",
    "#d9d9d3": "var(--line)",
    "#2563a8": "var(--accent)",
    "#b45309": "var(--second)",
    "#dbe7f4": "var(--tint)",
    "#fcfcfa": "var(--paper)",
}
TEXT, MUTED, LINE, ACCENT, SECOND, TINT, PAPER = INK
PROVENANCE = "PROVENANCE"
WIDTH = 4.6
"""Inches. Narrow, so that a phone shows the letters at their size."""
STYLE: dict[str, Any] = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["Inter", "Helvetica Neue", "Arial", "Noto Sans CJK SC", "DejaVu Sans"],
    "font.size": 9,
    "grid.color": LINE,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 3,
    "text.color": TEXT,
    "xtick.color": MUTED,
    "ytick.color": TEXT,
    "text.parse_math": False,
}


def _pyplot_free() -> tuple[Any, Any]:
    """matplotlib and its Figure; no window system, no global state."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("pictures", "report") from None
    # Of the fonts in STYLE, whichever is there will do.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    return matplotlib, Figure


@dataclass(frozen=True)
class Picture:
    """A drawn figure under a name."""

    name: str
    figure: Any
    description: str

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text."""
        return self._saved("svg", {"Date": None, "Description": PROVENANCE}).decode()

    def inline(self) -> str:
        """SVG for a page: themed by CSS variables, and without ids that others may have too."""
        svg = self.svg[self.svg.index("<svg") :]
        for colour, variable in INK.items():
            svg = svg.replace(colour, variable)
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r'<g id="[^"]*"', "<g", svg)
        svg = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", svg, count=1)
        svg = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", svg, count=1)
        points = self.figure.get_figwidth() * 96
        label = _attribute(self.description)
        head = f'<svg role="img" aria-label="{label}" style="max-width:{points:.0f}px"'
        return svg.replace("<svg", head, 1)

    def write_as(self, path: Path, provenance: str) -> None:
        """One file, SVG or PDF by its name."""
        if path.suffix == ".svg":
            content = self.svg.replace(PROVENANCE, _attribute(provenance)).encode()
        else:
            content = self._saved("pdf", {"CreationDate": None, "Subject": provenance})
        with writing(path) as stream:
            stream.write(content)

    def _saved(self, format: str, metadata: dict[str, Any]) -> bytes:
        matplotlib, _ = _pyplot_free()
        stream = io.BytesIO()
        with (
            matplotlib.rc_context({**STYLE, "svg.hashsalt": self.name}),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # letters that no font here has become boxes
            self.figure.savefig(stream, format=format, metadata=metadata)
        return stream.getvalue()


def _attribute(text: str) -> str:
    return html.escape(text, quote=True)


def drawn(
    name: str,
    description: str,
    size: tuple[float, float],
    draw: Callable[[Any], None],
    *,
    left: float = 0.7,
    bottom: float = 0.5,
) -> Picture:
    """A picture of one pair of axes that `draw` fills, with these margins in inches.

    The margins are reckoned, not laid out by matplotlib: that would double the time.
    """
    matplotlib, figure_class = _pyplot_free()
    width, height = size
    with matplotlib.rc_context(STYLE):
        figure = figure_class(figsize=size)
        place = (
            left / width,
            bottom / height,
            1 - (left + 0.15) / width,
            1 - (bottom + 0.08) / height,
        )
        draw(figure.add_axes(place))
    return Picture(name, figure, description)


def room(labels: Sequence[str], points: float = 9) -> float:
    """Inches that the longest of these labels takes; wide letters count double."""
    longest = max(sum(2 if ord(char) > 0x2E7F else 1 for char in label) for label in labels)
    return 0.15 + longest * points * 0.55 / 72


def ranking_picture(
    name: str, contest: Contest, published: Sequence[PublishedScore] = ()
) -> Picture:
    """Dots at the means with their intervals, best on top; published scores as rings."""
    entries: list[tuple[float, str, tuple[float, float] | None]] = [
        (mean, run, interval)
        for mean, run, interval in zip(
            contest.means.tolist(), contest.runs, contest.intervals, strict=True
        )
    ]
    entries += [(row.score, row.label, None) for row in published]
    entries.sort(key=lambda entry: entry[0], reverse=not contest.higher)
    better = "higher" if contest.higher else "lower"

    def draw(axes: Any) -> None:
        for place, (mean, _, interval) in enumerate(entries):
            if interval is None:
                axes.plot(mean, place, "o", mfc=PAPER, mec=SECOND, ms=5)
            else:
                axes.plot(interval, (place, place), color=ACCENT, lw=1.6, solid_capstyle="round")
                axes.plot(mean, place, "o", color=ACCENT, ms=5)
        axes.set_yticks(range(len(entries)), [short(label) for _, label, _ in entries])
        axes.set_ylim(-0.6, len(entries) - 0.4)
        axes.set_xlabel(f"mean {contest.title} ({better} is better)")
        axes.grid(axis="x", lw=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)

    best = contest.runs[0]
    description = f"Mean {contest.title} of {len(entries)} runs, best: {best}"
    left = room([short(label) for _, label, _ in entries])
    return drawn(name, description, (WIDTH, 0.65 + 0.25 * len(entries)), draw, left=left)


def matrix_picture(name: str, contest: Contest) -> Picture:
    """The p-values of all pairs; significant ones are tinted."""
    m = len(contest.runs)
    show_values = m <= 12

    def draw(axes: Any) -> None:
        from matplotlib.patches import Rectangle

        for i in range(m):
            for j in range(m):
                if i == j:
                    continue
                significant = contest.p[i, j] < contest.alpha
                colour = TINT if significant else PAPER
                axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fc=colour, ec=LINE, lw=0.6))
                if show_values:
                    value = shown(float(contest.p[i, j]), "p").replace("0.", ".").replace("< ", "<")
                    ink = TEXT if significant else MUTED
                    axes.text(j, i, value, ha="center", va="center", fontsize=6, color=ink)
        names = [short(run) for run in contest.runs]
        axes.set_xticks(range(m), names, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(m), names)
        axes.tick_params(length=0, colors=TEXT, labelsize=8)
        axes.set_xlim(-0.5, m - 0.5)
        axes.set_ylim(m - 0.5, -0.5)
        for spine in axes.spines.values():
            spine.set_visible(False)

    pairs = m * (m - 1) // 2
    significant = len(contest.better)
    description = f"P-values of {pairs} pairs of runs, {significant} significant"
    margin = room([short(run) for run in contest.runs], 8)
    size = (WIDTH, 0.2 + 0.9 * margin + 0.3 * m)
    return drawn(name, description, size, draw, left=margin, bottom=0.1 + 0.9 * margin)


def distribution_picture(name: str, contest: Contest) -> Picture:
    """How each run's scores spread over the dialogues: quartiles, range of the middle 90%."""
    runs = contest.runs[::-1]
    quantiles = np.quantile(contest.scores[:, ::-1], [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)

    def draw(axes: Any) -> None:
        for place in range(len(runs)):
            low, first, middle, third, high = quantiles[:, place]
            axes.plot((low, high), (place, place), color=MUTED, lw=0.9)
            axes.barh(place, third - first, left=first, height=0.5, color=TINT, ec=ACCENT, lw=0.9)
            axes.plot((middle, middle), (place - 0.25, place + 0.25), color=ACCENT, lw=1.8)
        axes.set_yticks(range(len(runs)), [short(run) for run in runs])
        axes.set_ylim(-0.6, len(runs) - 0.4)
        axes.set_xlabel(f"{contest.title} of a {contest.unit}: median, middle half, middle 90%")
        axes.grid(axis="x", lw=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)

    description = f"Spread of {contest.title} over {len(contest.ids)} {contest.unit}s"
    left = room([short(run) for run in runs])
    return drawn(name, description, (WIDTH, 0.65 + 0.25 * len(runs)), draw, left=left)


def power_picture(name: str, contests: Sequence[Contest]) -> Picture:
    """Curves of achieved significance levels over the run pairs, one a measure."""

    def draw(axes: Any) -> None:
        for place, contest in enumerate(contests):
            levels = achieved_levels(contest.p)
            colour = (ACCENT, SECOND, MUTED, TEXT)[place % 4]
            style = ("-", "--", "-.", ":")[(place // 4) % 4]
            pairs = np.arange(1, levels.size + 1)
            axes.step(pairs, levels, style, where="mid", color=colour, label=contest.title)
        axes.axhline(contests[0].alpha, color=LINE, lw=1)
        axes.set_xlabel("run pairs, by p-value")
        axes.set_ylabel("achieved significance level")
        axes.legend(labelcolor=TEXT)
        axes.tick_params(length=0, colors=MUTED)

    measures = ", ".join(contest.title for contest in contests)
    return drawn(name, f"Achieved significance levels by {measures}", (WIDTH, 2.6), draw)


@dataclass(frozen=True)
class Reliability:
    """Means and spreads of votes, predicted and real, of many dialogues on one criterion."""

    criterion: str
    predicted: Any
    real: Any
    predicted_spread: Any
    real_spread: Any


def reliability_picture(name: str, criteria: Sequence[Reliability]) -> Picture:
    """Dialogues in ten equal groups by their prediction: what was predicted, what people said.

    Dots are expected scores, rings are spreads; on the diagonal both are right.
    """

    def grouped(x: Any, y: Any) -> tuple[list[float], list[float]]:
        groups = np.array_split(np.argsort(x, kind="stable"), 10)
        return [float(x[g].mean()) for g in groups], [float(y[g].mean()) for g in groups]

    def draw(axes: Any) -> None:
        low = min(float(c.predicted.min()) for c in criteria)
        high = max(float(c.predicted_spread.max()) for c in criteria)
        high = max(high, *(float(c.predicted.max()) for c in criteria))
        axes.plot((low, high), (low, high), color=LINE, lw=1)
        for place, c in enumerate(criteria):
            colour = (ACCENT, SECOND, MUTED, TEXT)[place % 4]
            x, y = grouped(c.predicted, c.real)
            axes.plot(x, y, "o-", color=colour, ms=4, lw=0.9, label=c.criterion)
            x, y = grouped(c.predicted_spread, c.real_spread)
            axes.plot(x, y, "o", mfc=PAPER, mec=colour, ms=4)
        axes.set_xlabel("predicted expected score (dots) and spread (rings)")
        axes.set_ylabel("of people's votes")
        axes.legend(labelcolor=TEXT)
        axes.tick_params(length=0, colors=MUTED)

    shown_for = ", ".join(c.criterion for c in criteria)
    return drawn(name, f"Predicted against real scores and spreads: {shown_for}", (WIDTH, 4), draw)


def topic_size_picture(
    name: str, differences: Sequence[float], sizes: Sequence[int], chosen: tuple[float, int]
) -> Picture:
    """The number of dialogues needed against the smallest difference to find."""

    def draw(axes: Any) -> None:
        axes.plot(differences, sizes, color=ACCENT)
        axes.plot(*chosen, "o", color=SECOND)
        note = f" n = {chosen[1]} at {chosen[0]:g}"
        axes.annotate(note, chosen, xytext=(6, 6), textcoords="offset points", color=TEXT)
        axes.set_xlabel("smallest difference to find (minD)")
        axes.set_ylabel("dialogues (n)")
        axes.set_yscale("log")
        axes.grid(lw=0.6)
        axes.tick_params(length=0, colors=MUTED)

    description = f"Dialogues needed by smallest difference; {chosen[1]} at {chosen[0]:g}"
    return drawn(name, description, (WIDTH, 3.0), draw)


def short(label: str, limit: int = 36) -> str:
    """A label that leaves room for the picture."""
    label = " ".join(label.split())
    return label if len(label) <= limit else label[: limit - 1] + "…"
