"""Live tests: what organisers set up, and what testers say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.organising import rubric_of
from dialeval.server.api.projects import LinkOut, ProjectPatch
from dialeval.server.api.schemas import In, Text
from dialeval.server.services.live import talks, tests, transcripts
from dialeval.server.services.live.systems import Address, SystemFailed

router = APIRouter(tags=["live tests"])

Slug = Annotated[str, Path(max_length=60)]
TalkKey = Annotated[str, Path(max_length=32)]


class LiveTestIn(In):
    """A new live test."""

    slug: Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
    title: Annotated[Text, Field(min_length=1, max_length=200)]
    openings: Annotated[
        list[Annotated[Text, Field(max_length=1000)]], Field(min_length=1, max_length=1000)
    ]
    rubric: Annotated[Text, Field(max_length=60)] | dict[str, Any] = "open-domain-multi"
    instructions: Annotated[Text, Field(max_length=4000)] = ""
    language: Annotated[Text, Field(max_length=20)] = "en"
    most_turns: Annotated[int, Field(ge=1, le=50)] = 5
    talks: Annotated[int, Field(ge=1, le=100)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class SystemIn(In):
    """A system under test. Its key is kept to call it, and never shown."""

    name: Annotated[Text, Field(min_length=1, max_length=60)]
    kind: Literal["openai", "json"]
    url: Annotated[Text, Field(min_length=1, max_length=500)]
    model: Annotated[Text, Field(max_length=200)] = ""
    key: Annotated[Text, Field(max_length=500)] = ""
    seconds: Annotated[int, Field(ge=1, le=120)] = 30


class SystemOut(BaseModel):
    """A system and its talks."""

    name: str
    kind: str
    url: str
    ended: int
    open: int
    failed: int
    planned: int


class TesterOut(BaseModel):
    """A tester and how many talks they had."""

    pseudonym: str
    talks: int
    revoked: bool


class LiveTestOut(BaseModel):
    """A live test and how far it is."""

    slug: str
    title: str
    language: str
    open: bool
    most_turns: int
    talks: int
    openings: list[str]
    systems: list[SystemOut]
    testers: list[TesterOut]

    @classmethod
    def of(cls, overview: tests.Overview) -> LiveTestOut:
        test = overview.test
        names = ("slug", "title", "language", "open", "most_turns", "talks")
        return cls(
            **{name: getattr(test, name) for name in names},
            openings=test.openings["sentences"],
            systems=[
                SystemOut(
                    name=s.system.name,
                    kind=s.system.kind,
                    url=s.system.url,
                    ended=s.ended,
                    open=s.open,
                    failed=s.failed,
                    planned=s.planned,
                )
                for s in overview.systems
            ],
            testers=[
                TesterOut(pseudonym=name, talks=had, revoked=revoked)
                for name, had, revoked in overview.testers
            ],
        )


class CountIn(In):
    """How many."""

    count: Annotated[int, Field(ge=1, le=200)]


class LabellingIn(In):
    """The address of the annotation project, and how many people judge each talk."""

    project: Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
    votes: Annotated[int, Field(ge=1, le=10_000)] = 3


class ExchangeOut(BaseModel):
    """What was said, and the reply if there is one."""

    said: str
    reply: str | None


class TalkOut(BaseModel):
    """A talk as its tester sees it."""

    id: str
    opening: str
    turns: list[ExchangeOut]
    left: int
    open: bool

    @classmethod
    def of(cls, talk: talks.TalkView) -> TalkOut:
        return cls(
            id=talk.key,
            opening=talk.opening,
            turns=[ExchangeOut(said=said, reply=reply) for said, reply in talk.said],
            left=talk.left,
            open=talk.status == talks.OPEN,
        )


class VisitOut(BaseModel):
    """What a tester's page shows; no talk when there is none left."""

    title: str
    instructions: str
    language: str
    most_turns: int
    done: int
    left: int
    """Talks that are still wanted, of all testers."""
    talk: TalkOut | None


class SayIn(In):
    """Something to say."""

    text: Annotated[Text, Field(min_length=1, max_length=2000)]


class EndIn(In):
    """Whether the talk ends because the system does not answer."""

    failed: bool = False


@router.get("/live-tests")
def all_tests(context: CurrentContext) -> list[LiveTestOut]:
    """All live tests."""
    found = tests.all_tests(context)
    return [LiveTestOut.of(tests.overview(context, test.slug)) for test in found]


@router.post("/live-tests", status_code=201)
def create(context: CurrentContext, actor: CurrentActor, given: LiveTestIn) -> LiveTestOut:
    """A new live test, without systems yet."""
    plan = tests.Plan(**given.model_dump(exclude={"slug", "rubric"}))
    tests.create_test(context, actor, given.slug, rubric_of(given.rubric), plan)
    return LiveTestOut.of(tests.overview(context, given.slug))


@router.get("/live-tests/{test}")
def one(context: CurrentContext, test: Slug) -> LiveTestOut:
    """How far a live test is."""
    return LiveTestOut.of(tests.overview(context, test))


@router.patch("/live-tests/{test}")
def change(
    context: CurrentContext, actor: CurrentActor, test: Slug, patch: ProjectPatch
) -> LiveTestOut:
    """Open a live test for testers, or close it."""
    tests.change_test(context, actor, test, open=patch.open)
    return LiveTestOut.of(tests.overview(context, test))


@router.post("/live-tests/{test}/systems", status_code=201)
def add_system(
    context: CurrentContext, actor: CurrentActor, test: Slug, given: SystemIn
) -> LiveTestOut:
    """A system under test; its address may be called from now on."""
    address = Address(**given.model_dump(exclude={"name"}))
    tests.add_system(context, actor, test, given.name, address)
    return LiveTestOut.of(tests.overview(context, test))


@router.post("/live-tests/{test}/testers", status_code=201)
def invite(
    context: CurrentContext, actor: CurrentActor, test: Slug, given: CountIn
) -> list[LinkOut]:
    """Links for testers, shown this once."""
    made = tests.invite_testers(context, actor, test, given.count)
    return [LinkOut(pseudonym=name, path=f"/talk/{secret}") for name, secret in made]


@router.delete("/live-tests/{test}/testers/{pseudonym}")
def revoke(
    context: CurrentContext,
    actor: CurrentActor,
    test: Slug,
    pseudonym: Annotated[str, Path(max_length=60)],
) -> LiveTestOut:
    """Let a link stop working."""
    tests.revoke_tester(context, actor, test, pseudonym)
    return LiveTestOut.of(tests.overview(context, test))


@router.get("/live-tests/{test}/talks")
def all_talks(context: CurrentContext, test: Slug) -> list[dict[str, Any]]:
    """Every talk that ended, as a dialogue with its system."""
    return transcripts.transcripts(context, test)[1]


@router.post("/live-tests/{test}/project", status_code=201)
def make_project(
    context: CurrentContext, actor: CurrentActor, test: Slug, given: LabellingIn
) -> dict[str, str]:
    """An annotation project on the talks; annotators cannot see which system is which."""
    made = transcripts.make_project(context, actor, test, given.project, given.votes)
    return {"project": made.slug}


@router.post("/talking")
def visit(context: CurrentContext, actor: CurrentActor) -> VisitOut:
    """The talk that is open, or a new one with a hidden system."""
    found = talks.visit(context, actor)
    names = ("title", "instructions", "language", "most_turns")
    return VisitOut(
        **{name: getattr(found.test, name) for name in names},
        done=found.done,
        left=found.planned,
        talk=None if found.talk is None else TalkOut.of(found.talk),
    )


@router.post(
    "/talking/{talk}/turns/{number}",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
def say(
    context: CurrentContext,
    actor: CurrentActor,
    talk: TalkKey,
    number: Annotated[int, Path(ge=0, lt=50)],
    given: SayIn,
) -> StreamingResponse:
    """Say something; the reply streams as events `{"text": ...}`, then `{"done": true}`."""
    pieces = talks.say(context, actor, talk, number, given.text)
    return StreamingResponse(_events(pieces), media_type="text/event-stream")


def _events(pieces: Iterator[str]) -> Iterator[str]:
    try:
        for text in pieces:
            yield _event({"text": text})
    except SystemFailed:  # its reason is in the records; a tester must not tell systems apart by it
        yield _event({"failed": True})
        return
    yield _event({"done": True})


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


@router.get("/talking/{talk}")
def read(context: CurrentContext, actor: CurrentActor, talk: TalkKey) -> TalkOut:
    """A talk of the tester's own."""
    return TalkOut.of(talks.view_of(context, actor, talk))


@router.post("/talking/{talk}/end")
def end(context: CurrentContext, actor: CurrentActor, talk: TalkKey, given: EndIn) -> TalkOut:
    """End a talk."""
    talks.end(context, actor, talk, failed=given.failed)
    return TalkOut.of(talks.view_of(context, actor, talk))
