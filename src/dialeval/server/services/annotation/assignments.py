"""Who judges what: balanced, random for each annotator, and nothing to one person twice.

`Item.taken` counts the people who have a dialogue or have judged it. It goes up only by a
statement that also checks that there is room, so however many ask at once, no dialogue is given
to more people than planned.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Select, exists, func, select, update
from sqlalchemy.orm import Session, joinedload

from dialeval.server.actor import Actor
from dialeval.server.annotation_tables import Annotator, Assignment, Item, Project
from dialeval.server.context import Context
from dialeval.server.problems import Problem, not_found

OPEN, DONE, SKIPPED, RELEASED = "open", "done", "skipped", "released"
APART = 5
"""A repeat comes after at least so many other dialogues."""
CANDIDATES = 64


def current_item(context: Context, actor: Actor) -> Assignment | None:
    """The dialogue that an annotator has open, or a new one; None when all is done.

    The annotator is held while this is decided, so two tabs get the same dialogue.
    """
    with context.database.write() as session:
        annotator = _annotator(session, actor)
        project = annotator.project
        query = _own(annotator).where(Assignment.status == OPEN).order_by(Assignment.id)
        opened = session.scalar(query.limit(1))
        if opened is not None:
            return opened
        if not project.open:
            raise Problem(409, "closed", "the project is closed; thank you for your votes")
        moment = context.now()
        _release_abandoned(session, project, moment)
        given = (
            _practice(session, annotator, moment)
            or _due_repeat(session, annotator, moment)
            or _new(session, annotator, moment)
            or _skipped_again(session, annotator, moment)
        )
        session.flush()
        return given


def skip(context: Context, actor: Actor, key: str) -> None:
    """Give a dialogue back to the pool; it comes again only when nothing else is left."""
    with context.database.write() as session:
        annotator = _annotator(session, actor)
        assignment = open_assignment(session, annotator, key)
        if assignment.item.practice:
            raise Problem(409, "conflict", "practice is not skipped")
        _give_back(session, assignment, SKIPPED)


def release_open(session: Session, project: Project, *, annotator_id: int) -> None:
    """Give back what somebody has open."""
    query = select(Assignment).where(
        Assignment.project_id == project.id,
        Assignment.annotator_id == annotator_id,
        Assignment.status == OPEN,
    )
    for assignment in session.scalars(query):
        _give_back(session, assignment, RELEASED)


def open_assignment(session: Session, annotator: Annotator, key: str) -> Assignment:
    """An annotator's own dialogue, to be changed.

    One that went back to the pool is taken again if there is room, so that somebody who comes
    back after a long pause loses nothing.
    """
    query = _own(annotator).where(Assignment.key == key)
    # Held: whoever gives abandoned dialogues back passes over this one until we are done.
    assignment = session.scalar(query.with_for_update(of=Assignment))
    if assignment is None:
        raise not_found("dialogue")
    if assignment.status == RELEASED:
        others = select(Assignment.id).where(
            Assignment.annotator_id == annotator.id, Assignment.status == OPEN
        )
        if session.scalar(others.limit(1)) is None and _take_again(session, assignment, annotator):
            assignment.status = OPEN
    if assignment.status != OPEN:
        raise Problem(409, "closed", f"this dialogue is {assignment.status}")
    return assignment


def _annotator(session: Session, actor: Actor) -> Annotator:
    query = select(Annotator).options(joinedload(Annotator.project)).where(Annotator.id == actor.id)
    annotator = session.scalar(query.with_for_update(of=Annotator))
    if annotator is None or annotator.revoked_at is not None:
        raise Problem(401, "sign-in", "this link does not work any more")
    return annotator


def held_annotator(session: Session, actor: Actor) -> Annotator:
    """The annotator who asks, held until the transaction ends."""
    return _annotator(session, actor)


def _own(annotator: Annotator) -> Select[Assignment]:
    return (
        select(Assignment)
        .options(joinedload(Assignment.item))
        .where(Assignment.annotator_id == annotator.id)
    )


def _practice(session: Session, annotator: Annotator, moment: datetime) -> Assignment | None:
    query = (
        select(Item)
        .where(Item.project_id == annotator.project_id, Item.practice, ~_has(annotator))
        .order_by(Item.place)
    )
    item = session.scalar(query.limit(1))
    return None if item is None else _assigned(session, annotator, item, 1, moment)


def _due_repeat(session: Session, annotator: Annotator, moment: datetime) -> Assignment | None:
    """A dialogue judged a while ago, when as many repeats as planned are not given yet."""
    if not annotator.project.repeats:
        return None
    query = _own(annotator).join(Item).where(~Item.practice).order_by(Assignment.id)
    past = [*session.scalars(query)]
    repeated = {a.item_id for a in past if a.round == 2}
    first = [a for a in past if a.round == 1 and a.status == DONE]
    if len(repeated) >= len(first) * annotator.project.repeats // 100:
        return None
    waiting = [a for a in first[:-APART] if a.item_id not in repeated]
    if not waiting:
        return None
    items = {a.item.place: a.item for a in waiting}
    return _assigned(session, annotator, items[_by_lot(annotator, items)[0]], 2, moment)


def _new(session: Session, annotator: Annotator, moment: datetime) -> Assignment | None:
    """One of the dialogues that the fewest people have, by lot; of all, if everyone judges all."""
    while True:
        query = select(Item.id, Item.place).where(*_pool(annotator))
        if annotator.project.votes is not None:
            fewest = select(func.min(Item.taken)).where(*_pool(annotator)).scalar_subquery()
            query = query.where(Item.taken == fewest)
        found = {place: id for id, place in session.execute(query)}
        if not found:
            return None
        for place in _by_lot(annotator, found)[:CANDIDATES]:
            item = session.get_one(Item, found[place])
            if _take(session, item, annotator):
                return _assigned(session, annotator, item, 1, moment)


def _skipped_again(session: Session, annotator: Annotator, moment: datetime) -> Assignment | None:
    """What the annotator skipped or let go, if there is still room for it."""
    query = _own(annotator).where(Assignment.status.in_((SKIPPED, RELEASED)))
    for assignment in session.scalars(query.order_by(Assignment.last_at)):
        if _take_again(session, assignment, annotator):
            assignment.status, assignment.last_at = OPEN, moment
            return assignment
    return None


def _pool(annotator: Annotator) -> list[ColumnElement[bool]]:
    votes = annotator.project.votes
    room: list[ColumnElement[bool]] = [] if votes is None else [Item.taken < votes]
    return [Item.project_id == annotator.project_id, ~Item.practice, *room, ~_has(annotator)]


def _has(annotator: Annotator) -> ColumnElement[bool]:
    return exists().where(Assignment.item_id == Item.id, Assignment.annotator_id == annotator.id)


def _take(session: Session, item: Item, annotator: Annotator) -> bool:
    """One place of a dialogue, if there is one."""
    if item.practice:
        return True
    votes = annotator.project.votes
    statement = update(Item).where(Item.id == item.id).values(taken=Item.taken + 1)
    if votes is not None:
        statement = statement.where(Item.taken < votes)
    return session.scalar(statement.returning(Item.id)) is not None


def _take_again(session: Session, assignment: Assignment, annotator: Annotator) -> bool:
    """The place that was given back, if it is still free. A repeat has none of its own."""
    return assignment.round > 1 or _take(session, assignment.item, annotator)


def _assigned(
    session: Session, annotator: Annotator, item: Item, round: int, moment: datetime
) -> Assignment:
    assignment = Assignment(
        key=secrets.token_hex(12),
        project_id=annotator.project_id,
        item=item,
        annotator_id=annotator.id,
        round=round,
        status=OPEN,
        opened_at=moment,
        last_at=moment,
        seconds=0.0,
        comment="",
    )
    session.add(assignment)
    return assignment


def _give_back(session: Session, assignment: Assignment, status: str) -> None:
    assignment.status = status
    if assignment.round == 1:
        statement = update(Item).where(Item.id == assignment.item_id, ~Item.practice)
        session.execute(statement.values(taken=Item.taken - 1))


def _release_abandoned(session: Session, project: Project, moment: datetime) -> None:
    before = moment - timedelta(hours=project.idle_hours)
    query = (
        select(Assignment)
        .join(Item)
        .where(
            Assignment.project_id == project.id,
            Assignment.status == OPEN,
            Assignment.last_at < before,
            ~Item.practice,
        )
        .order_by(Assignment.id)
        .with_for_update(of=Assignment, skip_locked=True)
    )
    for assignment in session.scalars(query):
        _give_back(session, assignment, RELEASED)


def _by_lot(annotator: Annotator, places: Iterable[int]) -> list[int]:
    """Places in an order of this annotator's own: the same wherever the seed is the same."""
    seed = f"{annotator.project.seed}:{annotator.pseudonym}:"

    def lot(place: int) -> bytes:
        return hashlib.sha256(f"{seed}{place}".encode()).digest()

    return sorted(places, key=lot)
