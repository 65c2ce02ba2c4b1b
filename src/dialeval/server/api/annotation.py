"""What an annotator's page does: get a dialogue, keep every click, go on to the next."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, Field

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.schemas import In, Text
from dialeval.server.api.submissions import Key
from dialeval.server.services.annotation import work

router = APIRouter(tags=["annotation"])


class AboutOut(BaseModel):
    """The project of a link, and how far its annotator is."""

    title: str
    instructions: str
    language: str
    rubric: dict[str, Any]
    annotator: str
    done: int
    total: int
    seconds: float | None
    """The median time of a dialogue."""


class TurnOut(BaseModel):
    """A turn of a dialogue."""

    sender: str
    utterances: list[str]


class VoteOut(BaseModel):
    """A label that was given; no turn means the whole dialogue."""

    criterion: str
    turn: int | None
    label: str


class QuestionOut(BaseModel):
    """Something to answer."""

    criterion: str
    turn: int | None
    labels: list[str]


class ItemOut(BaseModel):
    """A dialogue to judge, with what was said of it so far."""

    id: str
    practice: bool
    turns: list[TurnOut]
    questions: list[QuestionOut]
    votes: list[VoteOut]
    comment: str
    sequence: int
    """Of the newest click that is kept."""


class NextOut(BaseModel):
    """The dialogue that is open; none when all is done."""

    item: ItemOut | None
    done: int
    total: int
    seconds: float | None


class VoteIn(In):
    """A click. No label takes the answer away."""

    criterion: Annotated[Text, Field(max_length=100)]
    turn: Annotated[int, Field(ge=0, le=100_000)] | None = None
    label: Annotated[Text, Field(min_length=1, max_length=100)] | None
    sequence: Annotated[int, Field(ge=0, lt=2**53)]
    """When it was clicked, in milliseconds: an older click never undoes a newer one."""


class CommentIn(In):
    """A remark on a dialogue."""

    comment: Annotated[Text, Field(max_length=4000)]


class SavedOut(BaseModel):
    """It is kept."""

    saved: bool = True


class FeedbackOut(BaseModel):
    """Practice: what others said."""

    criterion: str
    turn: int | None
    own: str
    others: dict[str, float]


class FinishedOut(BaseModel):
    """The dialogue is done."""

    feedback: list[FeedbackOut]


def _turn(turn: int) -> int | None:
    return None if turn < 0 else turn


@router.get("/annotation")
def about(context: CurrentContext, actor: CurrentActor) -> AboutOut:
    """The project: what to do, and what is asked."""
    project, standing = work.about(context, actor)
    return AboutOut(
        title=project.title,
        instructions=project.instructions,
        language=project.language,
        rubric=msgspec.json.decode(project.rubric),
        annotator=actor.name,
        **asdict(standing),
    )


@router.post("/annotation/item")
def item(context: CurrentContext, actor: CurrentActor) -> NextOut:
    """The dialogue that is open, or a new one. Two tabs get the same."""
    found, standing = work.next_dialogue(context, actor)
    if found is None:
        return NextOut(item=None, **asdict(standing))
    shown = ItemOut(
        id=found.key,
        practice=found.practice,
        turns=[TurnOut(sender=t.sender, utterances=[*t.utterances]) for t in found.dialogue.turns],
        questions=[
            QuestionOut(criterion=q.criterion, turn=_turn(q.turn), labels=[*q.labels])
            for q in found.questions
        ],
        votes=[
            VoteOut(criterion=criterion, turn=_turn(turn), label=label)
            for (criterion, turn), label in found.votes.items()
        ],
        comment=found.comment,
        sequence=found.sequence,
    )
    return NextOut(item=shown, **asdict(standing))


@router.put("/annotation/items/{item}/votes")
def vote(context: CurrentContext, actor: CurrentActor, item: Key, given: VoteIn) -> SavedOut:
    """Keep a click."""
    work.save_vote(context, actor, item, given.criterion, given.turn, given.label, given.sequence)
    return SavedOut()


@router.put("/annotation/items/{item}/comment")
def comment(context: CurrentContext, actor: CurrentActor, item: Key, given: CommentIn) -> SavedOut:
    """Keep a remark."""
    work.save_comment(context, actor, item, given.comment)
    return SavedOut()


@router.post("/annotation/items/{item}/finish")
def finish(context: CurrentContext, actor: CurrentActor, item: Key) -> FinishedOut:
    """All is answered. After practice, what others said."""
    feedback = work.finish(context, actor, item)
    shown = [
        FeedbackOut(criterion=f.criterion, turn=_turn(f.turn), own=f.own, others=f.others)
        for f in feedback
    ]
    return FinishedOut(feedback=shown)


@router.post("/annotation/items/{item}/skip")
def skip(context: CurrentContext, actor: CurrentActor, item: Key) -> SavedOut:
    """Give the dialogue back."""
    work.skip(context, actor, item)
    return SavedOut()
