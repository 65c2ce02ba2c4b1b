"""What was said, as a collection; and how the systems rank by people's judgements of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from dialeval.core.encode import lines_of
from dialeval.server.actor import Actor
from dialeval.server.annotation_tables import Project
from dialeval.server.context import Context
from dialeval.server.live_tables import LiveTest, Said, Talk
from dialeval.server.problems import bad_request
from dialeval.server.scoring import task_rubric
from dialeval.server.services.annotation.projects import Plan, create_project
from dialeval.server.services.live.talks import ENDED
from dialeval.server.services.live.tests import test_in

SYSTEM = "system"
"""The field of a dialogue that names the system under test."""


def transcripts(context: Context, slug: str) -> tuple[LiveTest, list[dict[str, Any]]]:
    """Every talk that ended with a reply, as a dialogue. Its system and sentence are fields."""
    with context.database.read() as session:
        test = test_in(session, slug)
        speakers = task_rubric(test.rubric).speakers
        talks = session.scalars(
            select(Talk)
            .options(joinedload(Talk.system))
            .where(Talk.live_test_id == test.id, Talk.status == ENDED)
            .order_by(Talk.opening, Talk.system_id, Talk.id)
        )
        return test, [_dialogue(session, talk, speakers) for talk in talks]


def _dialogue(session: Session, talk: Talk, speakers: tuple[str, ...]) -> dict[str, Any]:
    turns: list[dict[str, Any]] = []
    rows = session.scalars(select(Said).where(Said.talk_id == talk.id).order_by(Said.number))
    waits = []
    for row in rows:
        if row.reply is None or (not row.reply and turns):
            break
        turns.append({"sender": speakers[0], "utterances": [row.text]})
        turns.append({"sender": speakers[1], "utterances": [row.reply]})
        waits.append(row.milliseconds)
    fields = {SYSTEM: talk.system.name, "opening": talk.opening, "ended": talk.reason}
    return {"id": talk.key, "turns": turns, **fields, "milliseconds": waits}


def make_project(context: Context, actor: Actor, slug: str, project: str, votes: int) -> Project:
    """An annotation project on the talks; annotators cannot see which system is which."""
    test, dialogues = transcripts(context, slug)
    if not dialogues:
        raise bad_request("no talk has ended yet")
    plan = Plan(title=test.title, language=test.language, votes=votes)
    content = b"".join(lines_of(dialogues))
    return create_project(context, actor, project, task_rubric(test.rubric), plan, content)
