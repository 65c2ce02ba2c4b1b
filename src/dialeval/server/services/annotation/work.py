"""What an annotator sees and does, gathered."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dialeval.core.dialogue import Dialogue
from dialeval.server.actor import Actor
from dialeval.server.annotation_tables import Annotator, Assignment, Item, Project, Vote
from dialeval.server.context import Context
from dialeval.server.services.annotation.assignments import APART, DONE, current_item, skip
from dialeval.server.services.annotation.overview import median_seconds
from dialeval.server.services.annotation.votes import (
    Question,
    dialogues_of,
    finish,
    questions,
    save_comment,
    save_vote,
)

__all__ = ["about", "finish", "next_dialogue", "save_comment", "save_vote", "skip"]


@dataclass(frozen=True)
class Standing:
    """How far an annotator is."""

    done: int
    total: int
    seconds: float | None


@dataclass(frozen=True)
class OpenDialogue:
    """A dialogue to judge, with what the annotator said of it so far."""

    key: str
    practice: bool
    dialogue: Dialogue
    questions: list[Question]
    votes: dict[tuple[str, int], str]
    comment: str
    sequence: int
    """Of the newest click: those to come must have higher ones, whatever their clock says."""


def about(context: Context, actor: Actor) -> tuple[Project, Standing]:
    """The project of an annotator, and how far they are."""
    with context.database.read() as session:
        annotator = session.get_one(Annotator, actor.id)
        return annotator.project, _standing(session, annotator)


def next_dialogue(context: Context, actor: Actor) -> tuple[OpenDialogue | None, Standing]:
    """The dialogue that is open or comes next."""
    assignment = current_item(context, actor)
    with context.database.read() as session:
        annotator = session.get_one(Annotator, actor.id)
        standing = _standing(session, annotator)
        if assignment is None:  # nothing is left, whatever the share was
            return None, replace(standing, total=standing.done)
        practice, place = assignment.item.practice, assignment.item.place
        collection = dialogues_of(context, annotator.project, practice=practice)
        given = [*session.scalars(select(Vote).where(Vote.assignment_id == assignment.id))]
    found = OpenDialogue(
        assignment.key,
        practice,
        collection.dialogues[place],
        questions(collection, place),
        {(vote.criterion, vote.turn): vote.label for vote in given if vote.label},
        assignment.comment,
        max((vote.sequence for vote in given), default=0),
    )
    return found, standing


def _standing(session: Session, annotator: Annotator) -> Standing:
    """Dialogues done, of those that would be this annotator's share.

    Practice and repeats count as dialogues like all others, so that repeats stay hidden.
    """
    project = annotator.project
    query = select(Assignment.seconds).where(
        Assignment.annotator_id == annotator.id, Assignment.status == DONE
    )
    seconds = [*session.scalars(query)]
    items = select(Item.practice, func.count()).where(Item.project_id == project.id)
    counts = {row[0]: row[1] for row in session.execute(items.group_by(Item.practice))}
    practice, dialogues = counts.get(True, 0), counts.get(False, 0)
    people = session.scalar(
        select(func.count()).where(
            Annotator.project_id == project.id, Annotator.revoked_at.is_(None)
        )
    )
    share = dialogues
    if project.votes is not None:
        share = min(dialogues, -(-dialogues * project.votes // max(people or 1, 1)))
    repeats = min(share * project.repeats // 100, max(share - APART, 0))
    total = practice + share + repeats
    return Standing(len(seconds), max(total, len(seconds)), median_seconds(seconds))
