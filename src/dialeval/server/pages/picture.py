"""A team's scores over time: where the marks of a small picture go. The template draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from dialeval.server.tables import Submission

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 28


@dataclass(frozen=True)
class Mark:
    """A run in the picture."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Line:
    """The runs of one language and phase, and the best score so far as a path of steps."""

    title: str
    marks: Sequence[Mark]
    best: str


@dataclass(frozen=True)
class Picture:
    """Marks and axes, in the units of the viewBox."""

    lines: Sequence[Line]
    heights: Sequence[tuple[float, str]]
    days: Sequence[tuple[float, str]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM


def over_time(runs: Sequence[Submission], column: str, zone: str) -> Picture | None:
    """The picture of one measure; None if there are fewer than two runs to show."""
    scored = sorted((r for r in runs if column in r.scores), key=lambda r: r.created_at)
    if len(scored) < 2:
        return None
    times = [r.created_at.timestamp() for r in scored]
    values = [float(r.scores[column]) for r in scored]
    ticks = _ticks(min(values), max(values))
    low, high = min(ticks[0], *values), max(ticks[-1], *values)
    span = max(times[-1] - times[0], 1.0)

    def x(time: float) -> float:
        return round(LEFT + (time - times[0]) / span * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        share = (value - low) / ((high - low) or 1.0)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)

    lines = []
    for key in dict.fromkeys((r.language, r.phase.kind) for r in scored):
        own = [r for r in scored if (r.language, r.phase.kind) == key]
        marks = [
            Mark(
                x(r.created_at.timestamp()),
                y(float(r.scores[column])),
                f"{r.name}: {float(r.scores[column]):.4f}",
            )
            for r in own
        ]
        lines.append(Line(f"{key[0]}, {key[1]}", marks, _steps(marks)))
    place = ZoneInfo(zone)
    first, last = (r.created_at.astimezone(place) for r in (scored[0], scored[-1]))
    same_day = first.date() == last.date()
    style = "%H:%M" if same_day else "%Y-%m-%d"
    days = [(x(times[0]), first.strftime(style)), (x(times[-1]), last.strftime(style))]
    return Picture(lines, [(y(tick), f"{tick:.3g}") for tick in ticks], days)


def _steps(marks: Sequence[Mark]) -> str:
    """A path along the best mark so far; lower scores are better, and lie lower (larger y)."""
    path = f"M{marks[0].x} {marks[0].y}"
    best = marks[0].y
    for mark in marks[1:]:
        path += f"H{mark.x}"
        if mark.y > best:
            best = mark.y
            path += f"V{best}"
    return path


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers that span the values.

    >>> _ticks(0.113, 0.204)
    [0.1, 0.15, 0.2, 0.25]
    """
    raw = max(high - low, 1e-3) / 3
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
    start, end = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 10) for i in range(start, end + 1)]
