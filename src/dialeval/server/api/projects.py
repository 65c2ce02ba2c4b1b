"""Annotation projects, for organisers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.organising import rubric_of
from dialeval.server.api.schemas import In, TaskOut, Text
from dialeval.server.api.submissions import RUN_BODY
from dialeval.server.services.annotation import findings, overview, projects
from dialeval.server.services.live import ranking
from dialeval.server.services.tasks import language_code

router = APIRouter(tags=["annotation projects"])

Slug = Annotated[str, Path(max_length=60)]
Format = Literal["json", "jsonl", "csv"]


class PersonOut(BaseModel):
    """What an annotator has done."""

    pseudonym: str
    done: int
    repeats: int
    skipped: int
    open: int
    seconds: float | None
    revoked: bool


class ProjectOut(BaseModel):
    """A project and how far it is."""

    slug: str
    title: str
    language: str
    open: bool
    votes: int | None
    repeats: int
    dialogues: int
    planned: int
    done: int
    complete: int
    seconds: float | None
    people: list[PersonOut]

    @classmethod
    def of(cls, progress: overview.Progress) -> ProjectOut:
        project = progress.project
        names = ("slug", "title", "language", "open", "votes", "repeats")
        counts = ("dialogues", "planned", "done", "complete", "seconds")
        return cls(
            **{name: getattr(project, name) for name in names},
            **{name: getattr(progress, name) for name in counts},
            people=[PersonOut(**asdict(person)) for person in progress.people],
        )


class ProjectPatch(In):
    """Open or close."""

    open: bool


class InviteIn(In):
    """So many annotators, or these."""

    count: Annotated[int, Field(ge=1, le=200)] | None = None
    pseudonyms: Annotated[list[Annotated[Text, Field(max_length=60)]], Field(max_length=200)] = []


class LinkOut(BaseModel):
    """An annotator's link, shown this once."""

    pseudonym: str
    path: str


class FreezeIn(In):
    """The address of the task."""

    task: Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]


class FrozenOut(BaseModel):
    """The task that was made, and how many dialogues had no votes yet."""

    task: TaskOut
    left_out: int


@router.get("/projects")
def all_projects(context: CurrentContext) -> list[ProjectOut]:
    """All projects, newest first."""
    found = projects.all_projects(context)
    return [ProjectOut.of(overview.progress(context, project.slug)) for project, _ in found]


@router.post("/projects/{project}", status_code=201, openapi_extra=RUN_BODY)
async def create(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    project: Slug,
    title: Annotated[Text, Query(min_length=1, max_length=200)],
    rubric: Annotated[Text, Query(max_length=60)] = "helpdesk",
    instructions: Annotated[Text, Query(max_length=4000)] = "",
    language: Annotated[Text, Query(max_length=20)] = "en",
    votes: Annotated[int | None, Query(ge=1, le=10_000)] = None,
    repeats: Annotated[int, Query(ge=0, le=50)] = 0,
    idle_hours: Annotated[int, Query(ge=1, le=8760)] = 24,
    seed: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> ProjectOut:
    """A new project on the collection in the body. No `votes`: everyone judges every dialogue."""
    language = language_code(language)
    plan = projects.Plan(title, instructions, language, votes, repeats, idle_hours, seed)
    content = await request.body()
    form = rubric_of(rubric)
    await run_in_threadpool(projects.create_project, context, actor, project, form, plan, content)
    return ProjectOut.of(await run_in_threadpool(overview.progress, context, project))


@router.get("/projects/{project}")
def one(context: CurrentContext, project: Slug) -> ProjectOut:
    """How far a project is."""
    return ProjectOut.of(overview.progress(context, project))


@router.patch("/projects/{project}")
def change(
    context: CurrentContext, actor: CurrentActor, project: Slug, patch: ProjectPatch
) -> ProjectOut:
    """Open a project for annotators, or close it."""
    projects.change_project(context, actor, project, open=patch.open)
    return ProjectOut.of(overview.progress(context, project))


@router.post("/projects/{project}/annotators", status_code=201)
def invite(
    context: CurrentContext, actor: CurrentActor, project: Slug, given: InviteIn
) -> list[LinkOut]:
    """Links for annotators, shown this once."""
    names = given.pseudonyms or projects.next_pseudonyms(context, project, given.count or 1)
    made = projects.invite_annotators(context, actor, project, names)
    return [LinkOut(pseudonym=name, path=f"/annotate/{secret}") for name, secret in made]


@router.delete("/projects/{project}/annotators/{pseudonym}")
def revoke(
    context: CurrentContext,
    actor: CurrentActor,
    project: Slug,
    pseudonym: Annotated[str, Path(max_length=60)],
) -> ProjectOut:
    """Let a link stop working."""
    projects.revoke_annotator(context, actor, project, pseudonym)
    return ProjectOut.of(overview.progress(context, project))


@router.get("/projects/{project}/votes", response_class=Response)
def votes(
    context: CurrentContext, project: Slug, format: Format = "json", pseudonyms: bool = True
) -> Response:
    """The dialogues with all votes so far."""
    return votes_response(context, project, format, pseudonyms=pseudonyms)


def votes_response(
    context: CurrentContext, project: str, format: Format, *, pseudonyms: bool
) -> Response:
    """A download of a project's votes."""
    content, media = findings.exported(context, project, format, pseudonyms=pseudonyms)
    headers = {"content-disposition": f'attachment; filename="{project}.{format}"'}
    return Response(content, media_type=media, headers=headers)


@router.get("/projects/{project}/agreement")
def agreement(context: CurrentContext, project: Slug) -> dict[str, Any]:
    """The numbers of `dialeval agreement`, on the votes so far."""
    found: dict[str, Any] = msgspec.to_builtins(findings.agreement(context, project))
    return found


@router.get("/projects/{project}/ranking")
def rank(context: CurrentContext, project: Slug) -> dict[str, Any]:
    """The systems of a live test by people's judgements of their talks, with significance."""
    return ranking.ranking(context, project).to_json()


@router.post("/projects/{project}/freeze", status_code=201)
def freeze(
    context: CurrentContext, actor: CurrentActor, project: Slug, given: FreezeIn
) -> FrozenOut:
    """Make a task of the score server from the votes so far."""
    task, left_out = overview.freeze(context, actor, project, given.task)
    return FrozenOut(task=TaskOut.of(task, context.now()), left_out=left_out)
