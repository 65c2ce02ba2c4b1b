"""Which submissions count: the rule of the task, applied to one team, phase and language.

The answer is kept in `Submission.counting`, so that a leaderboard reads one row an entry. Every
transaction that could change it calls `recount`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, TypeVar

from sqlalchemy import Row, bindparam, select
from sqlalchemy.orm import Session

from dialeval.server.tables import Submission, Task

SCORED = "scored"
Sent = TypeVar("Sent", Submission, Row[Any])
"""A submission, or its columns that matter here."""

# Built once: every submission runs it. Columns, since whole rows take several times as long.
_BESIDE = (
    select(
        Submission.id,
        Submission.scores,
        Submission.listed,
        Submission.status,
        Submission.chosen,
        Submission.counting,
    )
    .where(
        Submission.team_id == bindparam("team"),
        Submission.phase_id == bindparam("phase"),
        Submission.language == bindparam("language"),
    )
    .order_by(Submission.id)
)
_BESIDE_ADDED = _BESIDE.where(Submission.counting | (Submission.id == bindparam("added")))


def recount(session: Session, task: Task, submission: Submission, *, added: bool = False) -> None:
    """Work out anew what counts among the submissions beside this one.

    When it was only `added`, nothing can begin to count but itself, so only those that count
    already stand beside it: a team with hundreds of runs waits no longer than others.
    """
    session.flush()
    beside = {
        "team": submission.team_id,
        "phase": submission.phase_id,
        "language": submission.language,
    }
    query = _BESIDE
    if added:
        query = _BESIDE_ADDED
        beside["added"] = submission.id
    rows = session.execute(query, beside).all()
    counting = {row.id for row in those_that_count(rows, task.rule, task.best_by, task.entries)}
    for row in rows:
        if row.counting != (row.id in counting):
            session.get_one(Submission, row.id).counting = row.id in counting


def recount_task(session: Session, task: Task) -> None:
    """Work out anew what counts in the whole task."""
    session.flush()
    order = (Submission.team_id, Submission.phase_id, Submission.language, Submission.id)
    query = select(Submission).where(Submission.task_id == task.id).order_by(*order)
    rows = session.scalars(query)
    for _, group in groupby(rows, key=lambda s: (s.team_id, s.phase_id, s.language)):
        _mark([*group], task)


def _mark(group: Sequence[Submission], task: Task) -> None:
    counting = {id(s) for s in those_that_count(group, task.rule, task.best_by, task.entries)}
    for submission in group:
        if submission.counting != (id(submission) in counting):
            submission.counting = id(submission) in counting


def those_that_count(group: Sequence[Sent], rule: str, best_by: str, entries: int) -> list[Sent]:
    """Of one team's submissions in order of time, those that stand for it.

    `best`: the lowest scores by a measure, the earlier of equal ones. `last`: the newest.
    `chosen`: those that the team chose, or the newest if it chose none.
    """
    entered = [s for s in group if s.listed and s.status == SCORED]
    if rule == "best":
        by_score = sorted(entered, key=lambda s: s.scores.get(best_by, float("inf")))
        return by_score[:entries]
    chosen = [s for s in entered if s.chosen]
    if rule == "chosen" and chosen:
        return chosen
    return entered[-entries:]
