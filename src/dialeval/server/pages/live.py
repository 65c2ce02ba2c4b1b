"""The tester's page, and the organisers' pages of live tests."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Path, Request, UploadFile
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from dialeval.core.encode import lines_of
from dialeval.core.errors import DialevalError
from dialeval.core.rubric import built_in_rubrics
from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.live import Slug
from dialeval.server.context import Context
from dialeval.server.pages.organiser import chosen_rubric
from dialeval.server.pages.rendering import go, page
from dialeval.server.problems import Problem, bad_file, not_found
from dialeval.server.services.live import tests, transcripts
from dialeval.server.services.live.systems import Address
from dialeval.server.services.tasks import language_code

router = APIRouter()

Field = Annotated[str, Form(max_length=500)]


@router.get("/talk/{link}")
def talking(
    context: CurrentContext, request: Request, link: Annotated[str, Path(max_length=200)]
) -> Response:
    """Where testers talk. The link is the key; the page's script does the rest by the API."""
    if tests.actor_of_link(context, link).role != "tester":
        raise not_found("link: it was revoked or never was")
    response = page(request, "talk.html")
    response.headers["referrer-policy"] = "no-referrer"
    return response


@router.get("/organiser/new-live-test")
def new_test(request: Request) -> Response:
    """The form for a new live test."""
    return _new_test(request)


def _new_test(
    request: Request, problem: Problem | None = None, given: dict[str, str] | None = None
) -> Response:
    return page(
        request,
        "new_live_test.html",
        problem.status if problem else 200,
        problem=problem,
        given=given or {},
        rubrics=built_in_rubrics(),
    )


@router.post("/organiser/new-live-test")
async def create(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    slug: Field,
    title: Field,
    openings: Annotated[str, Form(max_length=1_000_000)],
    rubric: Field,
    own_rubric: Annotated[UploadFile | None, File()] = None,
    language: Field = "en",
    instructions: Annotated[str, Form(max_length=20_000)] = "",
    most_turns: Annotated[int, Form(ge=1, le=50)] = 5,
    talks: Annotated[int, Form(ge=1, le=100)] = 1,
) -> Response:
    """Make a live test."""
    given = {"slug": slug, "title": title, "openings": openings, "rubric": rubric}
    given |= {"language": language, "instructions": instructions}
    given |= {"most_turns": str(most_turns), "talks": str(talks)}
    try:
        form = await chosen_rubric(rubric, own_rubric)
        plan = tests.Plan(
            title=title,
            openings=openings.splitlines(),
            instructions=instructions,
            language=language_code(language),
            most_turns=most_turns,
            talks=talks,
        )
        await run_in_threadpool(tests.create_test, context, actor, slug, form, plan)
    except DialevalError as error:
        problem = error if isinstance(error, Problem) else bad_file(error)
        return _new_test(request, problem, given)
    return go(f"/organiser/live/{slug}", "live")


@router.get("/organiser/live/{test}")
def test_page(context: CurrentContext, request: Request, test: Slug) -> Response:
    """How a live test goes."""
    return _test_page(context, request, test)


def _test_page(
    context: Context,
    request: Request,
    slug: str,
    *,
    links: list[tuple[str, str]] | None = None,
    problem: Problem | None = None,
) -> Response:
    base = str(request.base_url).rstrip("/")
    return page(
        request,
        "live_test.html",
        problem.status if problem else 200,
        overview=tests.overview(context, slug),
        links=[(name, f"{base}/talk/{secret}") for name, secret in links or ()],
        problem=problem,
    )


@router.post("/organiser/live/{test}")
def change(
    context: CurrentContext,
    actor: CurrentActor,
    test: Slug,
    state: Annotated[Literal["open", "closed"], Form()],
) -> Response:
    """Open the live test or close it."""
    tests.change_test(context, actor, test, open=state == "open")
    return go(f"/organiser/live/{test}", "saved")


@router.post("/organiser/live/{test}/systems")
def add_system(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    test: Slug,
    name: Field,
    kind: Annotated[Literal["openai", "json"], Form()],
    url: Field,
    model: Field = "",
    key: Field = "",
    seconds: Annotated[int, Form(ge=1, le=120)] = 30,
) -> Response:
    """Add a system under test."""
    try:
        address = Address(kind, url.strip(), model, key, seconds)
        tests.add_system(context, actor, test, name, address)
    except Problem as problem:
        return _test_page(context, request, test, problem=problem)
    return go(f"/organiser/live/{test}", "system")


@router.post("/organiser/live/{test}/testers")
def invite(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    test: Slug,
    count: Annotated[int, Form(ge=1, le=200)],
) -> Response:
    """Links for more testers, shown once."""
    links = tests.invite_testers(context, actor, test, count)
    return _test_page(context, request, test, links=links)


@router.post("/organiser/live/{test}/revoke")
def revoke(context: CurrentContext, actor: CurrentActor, test: Slug, tester: Field) -> Response:
    """Let a link stop working."""
    tests.revoke_tester(context, actor, test, tester)
    return go(f"/organiser/live/{test}", "revoked")


@router.post("/organiser/live/{test}/project")
def make_project(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    test: Slug,
    project: Field,
    votes: Annotated[int, Form(ge=1, le=10_000)],
) -> Response:
    """An annotation project on the talks."""
    try:
        transcripts.make_project(context, actor, test, project, votes)
    except Problem as problem:
        return _test_page(context, request, test, problem=problem)
    return go(f"/organiser/projects/{project}", "project")


@router.get("/organiser/live/{test}/talks.jsonl")
def talks_file(context: CurrentContext, test: Slug) -> Response:
    """Every talk that ended, as a dialogue with its system."""
    lines = b"".join(lines_of(transcripts.transcripts(context, test)[1]))
    headers = {"content-disposition": f'attachment; filename="{test}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)
