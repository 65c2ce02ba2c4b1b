"""The annotator's page, and the organisers' pages of annotation projects."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, File, Form, Path, Request, UploadFile
from fastapi.responses import HTMLResponse, Response
from starlette.concurrency import run_in_threadpool

from dialeval.core.errors import DialevalError
from dialeval.core.rubric import built_in_rubrics
from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.projects import Format, Slug, votes_response
from dialeval.server.context import Context
from dialeval.server.middleware import REPORT_POLICY
from dialeval.server.pages.organiser import chosen_rubric
from dialeval.server.pages.rendering import go, page
from dialeval.server.problems import Problem, bad_file, bad_request, not_found
from dialeval.server.services.annotation import findings, overview, projects
from dialeval.server.services.live import ranking
from dialeval.server.services.tasks import language_code

router = APIRouter()

Field = Annotated[str, Form(max_length=500)]


@router.get("/annotate/{link}")
def workbench(
    context: CurrentContext, request: Request, link: Annotated[str, Path(max_length=200)]
) -> Response:
    """Where annotators work. The link is the key; the page's script does the rest by the API."""
    actor = projects.actor_of_link(context, link)
    if actor.role != "annotator":
        raise not_found("link: it was revoked or never was")
    response = page(request, "annotate.html")
    response.headers["referrer-policy"] = "no-referrer"
    return response


@router.get("/organiser/new-project")
def new_project(request: Request) -> Response:
    """The form for a new project."""
    return _new_project(request)


def _new_project(
    request: Request, problem: Problem | None = None, given: dict[str, str] | None = None
) -> Response:
    return page(
        request,
        "new_project.html",
        problem.status if problem else 200,
        problem=problem,
        given=given or {},
        rubrics=built_in_rubrics(),
    )


@router.post("/organiser/new-project")
async def create(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    slug: Field,
    title: Field,
    collection: Annotated[UploadFile, File()],
    language: Field = "en",
    instructions: Annotated[str, Form(max_length=20_000)] = "",
    rubric: Field = "helpdesk",
    own_rubric: Annotated[UploadFile | None, File()] = None,
    practice: Annotated[UploadFile | None, File()] = None,
    votes: Field = "",
    repeats: Annotated[int, Form(ge=0, le=50)] = 0,
    idle_hours: Annotated[int, Form(ge=1, le=8760)] = 24,
) -> Response:
    """Make a project."""
    given = {"slug": slug, "title": title, "language": language, "instructions": instructions}
    given |= {"rubric": rubric, "votes": votes, "repeats": str(repeats)}
    given |= {"idle_hours": str(idle_hours)}
    content = await collection.read()
    examples = await practice.read() if practice and practice.filename else None
    try:
        if votes and not votes.isdigit():
            raise bad_request("votes of a dialogue: a whole number, or nothing for everyone")
        form = await chosen_rubric(rubric, own_rubric)
        plan = projects.Plan(
            title=title,
            instructions=instructions,
            language=language_code(language),
            votes=int(votes) if votes else None,
            repeats=repeats,
            idle_hours=idle_hours,
        )
        await run_in_threadpool(
            projects.create_project, context, actor, slug, form, plan, content, examples
        )
    except DialevalError as error:
        problem = error if isinstance(error, Problem) else bad_file(error)
        return _new_project(request, problem, given)
    return go(f"/organiser/projects/{slug}", "project")


@router.get("/organiser/projects/{project}")
def project_page(context: CurrentContext, request: Request, project: Slug) -> Response:
    """How a project goes."""
    return _project_page(context, request, project)


def _project_page(
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
        "project.html",
        problem.status if problem else 200,
        progress=overview.progress(context, slug),
        of_systems=ranking.has_systems(context, slug),
        links=[(name, f"{base}/annotate/{secret}") for name, secret in links or ()],
        problem=problem,
    )


@router.post("/organiser/projects/{project}")
def change(
    context: CurrentContext,
    actor: CurrentActor,
    project: Slug,
    state: Annotated[Literal["open", "closed"], Form()],
) -> Response:
    """Open the project or close it."""
    projects.change_project(context, actor, project, open=state == "open")
    return go(f"/organiser/projects/{project}", "saved")


@router.post("/organiser/projects/{project}/annotators")
def invite(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    project: Slug,
    count: Annotated[int, Form(ge=1, le=200)],
) -> Response:
    """Links for more annotators, shown once."""
    names = projects.next_pseudonyms(context, project, count)
    links = projects.invite_annotators(context, actor, project, names)
    return _project_page(context, request, project, links=links)


@router.post("/organiser/projects/{project}/revoke")
def revoke(
    context: CurrentContext, actor: CurrentActor, project: Slug, annotator: Field
) -> Response:
    """Let a link stop working."""
    projects.revoke_annotator(context, actor, project, annotator)
    return go(f"/organiser/projects/{project}", "revoked")


@router.post("/organiser/projects/{project}/freeze")
def freeze(
    context: CurrentContext, actor: CurrentActor, request: Request, project: Slug, task: Field
) -> Response:
    """A task from the votes so far."""
    try:
        overview.freeze(context, actor, project, task)
    except Problem as problem:
        return _project_page(context, request, project, problem=problem)
    return go(f"/organiser/tasks/{task}", "created")


@router.get("/organiser/projects/{project}/votes.{format}")
def votes(
    context: CurrentContext, project: Slug, format: Format, pseudonyms: bool = True
) -> Response:
    """The votes so far, as a file."""
    return votes_response(context, project, format, pseudonyms=pseudonyms)


@router.get("/organiser/projects/{project}/ranking")
def rank(context: CurrentContext, request: Request, project: Slug) -> Response:
    """The systems of a live test, ranked."""
    row = projects.find_project(context, project)
    return page(request, "ranking.html", project=row, standings=ranking.ranking(context, project))


@router.get("/organiser/projects/{project}/agreement")
def agreement(context: CurrentContext, project: Slug) -> Response:
    """How far the annotators agree by now, with pictures."""
    html = findings.agreement_html(context, project)
    return HTMLResponse(html, headers={"content-security-policy": REPORT_POLICY})
