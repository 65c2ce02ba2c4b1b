"""Votes: every click is kept at once; an older click never undoes a newer one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import bindparam, case, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from dialeval.core.collection import Collection
from dialeval.core.rubric import Criterion
from dialeval.server.actor import Actor
from dialeval.server.annotation_tables import Annotator, Assignment, Item, Project, Vote
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_request
from dialeval.server.scoring import read_collection, task_rubric
from dialeval.server.services.annotation.assignments import (
    DONE,
    OPEN,
    held_annotator,
    open_assignment,
)

LONGEST_PAUSE = 120.0
"""Seconds; a longer pause counts as this much work."""
WHOLE = -1
"""The turn of a vote on the whole dialogue."""


@dataclass(frozen=True)
class Question:
    """One thing to answer about a dialogue: a criterion, of a turn or of the whole."""

    criterion: str
    turn: int
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Feedback:
    """What others said in practice, beside the annotator's own label."""

    criterion: str
    turn: int
    own: str
    others: dict[str, float]


def questions(collection: Collection, place: int) -> list[Question]:
    """Everything that is asked about a dialogue, in order: of the whole, then turn by turn."""
    turns = collection.dialogues[place].turns
    asked = [Question(c.id, WHOLE, c.columns) for c in collection.rubric.of_dialogues]
    for number, turn in enumerate(turns):
        for criterion in collection.rubric.of_turns:
            if labels := criterion.labels_of(turn.sender):
                asked.append(Question(criterion.id, number, labels))
    return asked


def dialogues_of(context: Context, project: Project, *, practice: bool = False) -> Collection:
    """The dialogues of a project or of its practice: from memory, or by its open transaction."""
    return context.collections.get((project.id, practice), lambda: _read(project, practice))


def _read(project: Project, practice: bool) -> Collection:
    content = project.practice if practice else project.content
    return read_collection(content or b"", task_rubric(project.rubric), "the project's data")


def _keep(insert: Any) -> Any:
    """The statement that keeps a vote unless a newer one is there."""
    newer = insert.excluded.sequence >= insert.table.c.sequence
    kept = {name: (insert.excluded[name], insert.table.c[name]) for name in ("label", "sequence")}
    return insert.on_conflict_do_update(
        index_elements=["assignment_id", "criterion", "turn"],
        set_={name: case((newer, new), else_=old) for name, (new, old) in kept.items()},
    )


# A click is the most frequent request by far: its statements are made once, without objects.
_OPEN = (
    select(
        Assignment.id,
        Assignment.project_id,
        Assignment.seconds,
        Assignment.last_at,
        Item.place,
        Item.practice,
    )
    .join(Item, Item.id == Assignment.item_id)
    .where(
        Assignment.key == bindparam("key"),
        Assignment.annotator_id == bindparam("annotator"),
        Assignment.status == OPEN,
    )
    .with_for_update(of=Assignment)
)
_KEEP = {
    True: _keep(sqlite.insert(Vote)),
    False: _keep(postgresql.insert(Vote)),
}
"""By whether the database is SQLite."""
_WORKED = (
    update(Assignment)
    .where(Assignment.id == bindparam("of"))
    .values(seconds=bindparam("spent"), last_at=bindparam("moment"))
)


def save_vote(
    context: Context,
    actor: Actor,
    key: str,
    criterion: str,
    turn: int | None,
    label: str | None,
    sequence: int,
) -> None:
    """Keep a label, or take it away (None). The same request twice is as good as once."""
    with context.database.write() as session:
        of = {"key": key, "annotator": actor.id}
        found = session.execute(_OPEN, of).one_or_none()
        if found is None:  # not theirs, ended, or given back: taken again, or refused
            open_assignment(session, held_annotator(session, actor), key)
            session.flush()
            found = session.execute(_OPEN, of).one()
        question = _question(context, session, found, criterion, turn)
        if label is not None and label not in question.labels:
            raise bad_request(f"the labels are {', '.join(question.labels)}")
        vote = {
            "assignment_id": found.id,
            "criterion": question.criterion,
            "turn": question.turn,
            "label": label or "",
            "sequence": sequence,
        }
        connection = session.connection()
        connection.execute(_KEEP[context.database.sqlite], vote)
        moment = context.now()
        spent = found.seconds + _pause(found.last_at, moment)
        connection.execute(_WORKED, {"of": found.id, "spent": spent, "moment": moment})


def save_comment(context: Context, actor: Actor, key: str, comment: str) -> None:
    """Keep a remark on a dialogue."""
    with context.database.write() as session:
        _, assignment = _held(session, actor, key)
        assignment.comment = comment
        _worked(assignment, context.now())


def finish(context: Context, actor: Actor, key: str) -> list[Feedback]:
    """All is answered: on to the next. After practice, what others said."""
    with context.database.write() as session:
        annotator, assignment = _held(session, actor, key, finished=True)
        collection = dialogues_of(context, annotator.project, practice=assignment.item.practice)
        place = assignment.item.place
        given = votes_of(session, assignment)
        asked = questions(collection, place)
        missing = [q for q in asked if (q.criterion, q.turn) not in given]
        if missing:
            where = [
                {"criterion": q.criterion, "turn": None if q.turn == WHOLE else q.turn}
                for q in missing
            ]
            detail = f"{len(missing)} of {len(asked)} questions have no answer yet"
            raise Problem(409, "unfinished", detail, missing=where)
        if assignment.status != DONE:
            _worked(assignment, context.now())
            assignment.status, assignment.finished_at = DONE, context.now()
    if not assignment.item.practice:
        return []
    return [_feedback(collection, place, q, given[q.criterion, q.turn]) for q in asked]


def votes_of(session: Session, assignment: Assignment) -> dict[tuple[str, int], str]:
    """The labels given so far, by criterion and turn."""
    query = select(Vote).where(Vote.assignment_id == assignment.id, Vote.label != "")
    return {(v.criterion, v.turn): v.label for v in session.scalars(query)}


def _held(
    session: Session, actor: Actor, key: str, *, finished: bool = False
) -> tuple[Annotator, Assignment]:
    annotator = held_annotator(session, actor)
    if finished:  # the answer may have been lost on its way: finishing twice is fine
        query = select(Assignment).where(
            Assignment.key == key,
            Assignment.annotator_id == annotator.id,
            Assignment.status == DONE,
        )
        done = session.scalar(query)
        if done is not None:
            return annotator, done
    return annotator, open_assignment(session, annotator, key)


def _question(
    context: Context, session: Session, found: Any, criterion: str, turn: int | None
) -> Question:
    collection = context.collections.get(
        (found.project_id, found.practice),
        lambda: _read(session.get_one(Project, found.project_id), found.practice),
    )
    wanted = (criterion, WHOLE if turn is None else turn)
    for question in questions(collection, found.place):
        if (question.criterion, question.turn) == wanted:
            return question
    raise bad_request("this dialogue has no such question")


def _worked(assignment: Assignment, moment: datetime) -> None:
    assignment.seconds += _pause(assignment.last_at, moment)
    assignment.last_at = moment


def _pause(last: datetime, moment: datetime) -> float:
    return max(0.0, min((moment - last).total_seconds(), LONGEST_PAUSE))


def _feedback(collection: Collection, place: int, question: Question, own: str) -> Feedback:
    criterion: Criterion = collection.rubric.criterion(question.criterion)
    item = place if question.turn == WHOLE else int(collection.offsets[place]) + question.turn
    shares = np.nan_to_num(collection.gold(criterion)[item])
    others = {
        label: round(float(shares[criterion.columns.index(label)]), 3) for label in question.labels
    }
    return Feedback(question.criterion, question.turn, own, others)
