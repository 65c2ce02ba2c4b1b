"""Leaderboards: the entries that count, ranked by any measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dialeval.core.errors import unknown_name
from dialeval.report.published import published_scores
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.problems import bad_request
from dialeval.server.scoring import columns_of, task_rubric
from dialeval.server.services.tasks import (
    collection_in,
    find_task,
    is_open,
    phase_of,
    task_in,
)
from dialeval.server.tables import Phase, Publication, Submission, Task, Team

DECIMALS = 4
PUBLISHED = "published"


@dataclass(frozen=True)
class Entry:
    """A row of a leaderboard. `rank` is None where it has no score by the chosen measure."""

    run: str
    team: str
    kind: str
    """`team`, `baseline`, or `published` for a figure of a paper, which has no rank."""
    scores: Mapping[str, float]
    submitted_at: datetime | None = None
    rank: int | None = None
    mean_rank: float | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    """By column: entries that share a letter do not differ significantly."""


@dataclass(frozen=True)
class Board:
    """A leaderboard of one phase and language."""

    task: Task
    phase: str
    language: str
    sort: str
    columns: Sequence[str]
    entries: Sequence[Entry]
    official: bool
    """Published results, with significance."""
    total: int
    closed: bool = False
    """Not to be seen yet."""


def leaderboard(
    context: Context,
    actor: Actor,
    slug: str,
    *,
    language: str | None = None,
    phase: str | None = None,
    sort: str | None = None,
    criterion: str | None = None,
    offset: int = 0,
    limit: int = 1000,
) -> Board:
    """The board of a task, by default of the phase that is or was open last.

    It is worked out once for every version of the task, whoever reads it.
    """
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        chosen = phase_of(task, phase) if phase else current_phase(task, context.now())
        if not task.collections:
            raise bad_request("the task has no data yet")
        language = collection_in(task, language or task.collections[0].language).language
        columns, sort = _columns(task, criterion, sort)
        publication = latest_publication(session, task) if chosen.kind == "final" else None
        official = publication is not None and language in publication.boards
        open_to_see = official or chosen.visibility == "public" or actor.is_organiser

        def ranked_entries() -> list[Entry]:
            if official and publication is not None:
                entries = [_official_entry(row) for row in publication.boards[language]]
            else:
                entries = _live_entries(session, task, chosen, language)
            if task.reference:
                entries += _published_entries(language, columns)
            return ranked_by(entries, sort, columns)

        key = (task.id, task.version, chosen.id, language, sort, *columns)
        ranked = context.boards.get(key, ranked_entries) if open_to_see else []
    page = ranked[offset : offset + limit]
    return Board(
        task, chosen.kind, language, sort, columns, page, official, len(ranked), not open_to_see
    )


def board_version(context: Context, actor: Actor, slug: str) -> tuple[int, str]:
    """What a leaderboard depends on: cheap to ask, for a reader who has it already."""
    task = find_task(context, actor, slug)
    moment = context.now()
    return task.version, "".join(
        "o" if is_open(p, moment) else "c" if p.opens_at <= moment else "-" for p in task.phases
    )


def current_phase(task: Task, moment: datetime) -> Phase:
    """The phase that opened last, or the first."""
    if not task.phases:
        raise bad_request("the task has no phase yet")
    opened = [phase for phase in task.phases if phase.opens_at <= moment]
    return opened[-1] if opened else task.phases[0]


def _columns(task: Task, criterion: str | None, sort: str | None) -> tuple[list[str], str]:
    rubric = task_rubric(task.rubric)
    columns = columns_of(rubric)
    if criterion:
        wanted = [c for c in columns if c.partition(".")[0] == criterion]
        if not wanted:
            known = [c.id for c in rubric.criteria]
            raise bad_request(str(unknown_name("criterion", criterion[:60], known)))
        columns = wanted
    default = task.best_by if task.best_by in columns else columns[0]
    if sort and sort not in columns:
        raise bad_request(str(unknown_name("measure", sort[:60], columns)))
    return columns, sort or default


def latest_publication(session: Session, task: Task) -> Publication | None:
    """The newest official results of a task."""
    query = select(Publication).where(Publication.task_id == task.id)
    return session.scalar(query.order_by(Publication.id.desc()).limit(1))


def _live_entries(session: Session, task: Task, phase: Phase, language: str) -> list[Entry]:
    query = (
        select(Submission.name, Submission.scores, Submission.created_at, Team.name, Team.baseline)
        .join(Team, Team.id == Submission.team_id)
        .where(
            Submission.phase_id == phase.id,
            Submission.language == language,
            Submission.counting,
        )
    )
    return [
        Entry(
            run_label(team, name, baseline, task.entries),
            team,
            "baseline" if baseline else "team",
            shown_scores(scores),
            created_at,
        )
        for name, scores, created_at, team, baseline in session.execute(query)
    ]


def run_label(team: str, name: str, baseline: bool, entries: int) -> str:
    """How a board calls a run: by its team, and by its own name where a team has several."""
    return team if baseline or entries == 1 else f"{team} {name}"


def shown_scores(scores: Mapping[str, Any]) -> dict[str, float]:
    """Scores as anybody outside sees them: to four decimals."""
    return {column: round(float(value), DECIMALS) for column, value in scores.items()}


def _official_entry(row: Mapping[str, Any]) -> Entry:
    moment = datetime.fromisoformat(row["submitted_at"]) if row["submitted_at"] else None
    return Entry(row["run"], row["team"], row["kind"], row["scores"], moment, groups=row["groups"])


def _published_entries(language: str, columns: Iterable[str]) -> list[Entry]:
    """Rows of the papers' tables, one a run and campaign."""
    wanted = set(columns)
    by_label: dict[str, dict[str, float]] = {}
    for row in published_scores():
        column = f"{row.criterion}.{row.measure}"
        if row.language == language and column in wanted:
            by_label.setdefault(row.label, {})[column] = row.score
    return [Entry(label, label, PUBLISHED, scores) for label, scores in by_label.items()]


def ranked_by(entries: Iterable[Entry], sort: str, columns: Sequence[str]) -> list[Entry]:
    """The entries by one measure: equal scores share the better rank, those without come last.

    Published figures stand where they belong but take no rank.
    """
    entries = [*entries]
    ranks = {column: _ranks(entries, column) for column in columns}
    placed = [
        replace(entry, rank=ranks[sort].get(place), mean_rank=_mean_rank(place, ranks))
        for place, entry in enumerate(entries)
    ]
    last = float("inf")
    return sorted(
        placed,
        key=lambda e: (
            e.scores.get(sort, last),
            e.kind == PUBLISHED,
            last if e.mean_rank is None else e.mean_rank,
            e.run.casefold(),
        ),
    )


def _ranks(entries: Sequence[Entry], column: str) -> dict[int, int]:
    """The rank of each place that competes and has a score."""
    scored = sorted(
        (e.scores[column], place)
        for place, e in enumerate(entries)
        if column in e.scores and e.kind != PUBLISHED
    )
    ranks: dict[int, int] = {}
    for rank, (score, place) in enumerate(scored, 1):
        tied = rank > 1 and scored[rank - 2][0] == score
        ranks[place] = ranks[scored[rank - 2][1]] if tied else rank
    return ranks


def _mean_rank(place: int, ranks: Mapping[str, Mapping[int, int]]) -> float | None:
    """Over all columns; None if the entry is missing from one."""
    own = [by_place[place] for by_place in ranks.values() if place in by_place]
    return round(sum(own) / len(own), 2) if own and len(own) == len(ranks) else None
