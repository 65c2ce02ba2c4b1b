"""The demo's annotation project and live test, and the chatbots that answer in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import select

from dialeval.chatbots.http import Answer, answer_of, chatting
from dialeval.chatbots.retrieval import RetrievalChatbot
from dialeval.core.collection import Collection
from dialeval.core.encode import collection_records, lines_of
from dialeval.core.errors import MissingExtraError
from dialeval.core.rubric import load_rubric
from dialeval.samples import sample
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.live_tables import LiveTest, System
from dialeval.server.services.annotation import projects
from dialeval.server.services.live import tests
from dialeval.server.services.live.systems import Address

PROJECT = "demo"
LIVE_TEST = "demo"
PRACTICE = 2
MIRROR, RETRIEVAL = "Mirror", "Retrieval"
OPENINGS = (
    "I failed my driving test again today.",
    "My neighbour plays the drums at night.",
    "What should I cook for eight people?",
    "I finally finished painting the kitchen.",
)
INSTRUCTIONS = """\
Read the whole dialogue, judge it, then label its turns.

This is a demo: the first two dialogues are practice, and you see afterwards what others said.
"""


def make_judging(context: Context, organiser: Actor, address: str) -> list[str]:
    """An annotation project and a live test, each with a link to try it."""
    dialogues = sample("en")
    examples = dialogues.select(range(PRACTICE))
    rest = dialogues.select(range(PRACTICE, len(dialogues))).without_votes()
    plan = projects.Plan("Helpdesk dialogues (demo)", INSTRUCTIONS, votes=3, repeats=5)
    projects.create_project(
        context, organiser, PROJECT, dialogues.rubric, plan, _file(rest), _file(examples)
    )
    ((_, annotator),) = projects.invite_annotators(context, organiser, PROJECT, ["A1"])
    talk = tests.Plan(
        title="Small talk (demo)",
        openings=OPENINGS,
        instructions="Talk with a chatbot. You do not know which one it is.",
    )
    tests.create_test(context, organiser, LIVE_TEST, load_rubric("open-domain-multi"), talk)
    for name in (RETRIEVAL, MIRROR):
        nowhere = Address("openai", "http://127.0.0.1:9/v1", seconds=10)
        tests.add_system(context, organiser, LIVE_TEST, name, nowhere)
    ((_, tester),) = tests.invite_testers(context, organiser, LIVE_TEST, 1)
    return [
        f"Judge dialogues as an annotator: {address}/annotate/{annotator}",
        f"Talk with hidden chatbots as a tester: {address}/talk/{tester}",
    ]


def _file(collection: Collection) -> bytes:
    return b"".join(lines_of(collection_records(collection)))


@contextmanager
def chatbots(context: Context) -> Iterator[None]:
    """The chatbots of the demo's live test, on free ports while the server runs."""
    with chatting(_retrieval()) as retrieval, chatting(_mirror) as mirror:
        with context.database.write() as session:
            query = select(System).join(LiveTest, LiveTest.id == System.live_test_id)
            for system in session.scalars(query.where(LiveTest.slug == LIVE_TEST)):
                base = retrieval if system.name == RETRIEVAL else mirror
                system.url = f"{base}/v1"
        yield


def _retrieval() -> Answer:
    """Answers from the sample's posts; without its extra it can only ask back."""
    pairs = [
        (" ".join(dialogue.turns[0].utterances), " ".join(dialogue.turns[1].utterances))
        for dialogue in sample("questionnaire").dialogues
    ]
    try:
        return answer_of(RetrievalChatbot().fit(pairs))
    except MissingExtraError:
        return _mirror


def _mirror(text: str) -> str:
    return f"Why do you say: {text.rstrip('.?!')}?"
