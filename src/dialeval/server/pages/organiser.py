"""The organisers' pages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from dialeval.core.errors import DialevalError
from dialeval.core.rubric import Rubric, built_in_rubrics, load_rubric, parse_rubric
from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.actor import Actor
from dialeval.server.api.organising import export_response
from dialeval.server.api.schemas import EARLIEST, LATEST, Offset
from dialeval.server.api.submissions import Key
from dialeval.server.api.tasks import Slug
from dialeval.server.context import Context
from dialeval.server.pages.rendering import go, page
from dialeval.server.problems import Problem, bad_file, bad_request
from dialeval.server.scoring import columns_of, task_rubric
from dialeval.server.services import accounts, events, results, submissions, tasks
from dialeval.server.services.leaderboard import shown_scores
from dialeval.server.services.tasks import language_code

router = APIRouter()

Field = Annotated[str, Form(max_length=500)]
ROWS = 50


@router.get("/organiser")
def dashboard(context: CurrentContext, actor: CurrentActor, request: Request) -> Response:
    """All tasks and teams, and what only organisers can do."""
    return _dashboard(context, actor, request)


def _dashboard(
    context: Context,
    actor: Actor,
    request: Request,
    *,
    link: str = "",
    token: tuple[str, str] | None = None,
) -> Response:
    moment = context.now()
    found = tasks.visible_tasks(context, actor)
    return page(
        request,
        "organiser.html",
        tasks=[(task, tasks.open_phase(task.phases, moment)) for task in found],
        teams=accounts.all_teams(context, 0, 1000),
        link=link,
        token=token,
    )


@router.post("/organiser/invitations")
def invite(context: CurrentContext, actor: CurrentActor, request: Request) -> Response:
    """A link for another organiser, shown once."""
    base = str(request.base_url).rstrip("/")
    link = f"{base}/join/{accounts.invite(context, actor)}"
    return _dashboard(context, actor, request, link=link)


@router.post("/organiser/token")
def own_token(context: CurrentContext, actor: CurrentActor, request: Request) -> Response:
    """A token for the command line, shown once."""
    token = ("you, on the command line", accounts.new_organiser_token(context, actor))
    return _dashboard(context, actor, request, token=token)


@router.post("/organiser/teams/token")
def team_token(
    context: CurrentContext, actor: CurrentActor, request: Request, team: Field
) -> Response:
    """A new token for a team that lost its own, shown once."""
    token = (team, accounts.new_team_token(context, actor, team))
    return _dashboard(context, actor, request, token=token)


@router.get("/organiser/new")
def new_task(request: Request) -> Response:
    """The form for a new task."""
    return _new_task(request)


def _new_task(
    request: Request, problem: Problem | None = None, given: dict[str, str] | None = None
) -> Response:
    return page(
        request,
        "new_task.html",
        problem.status if problem else 200,
        problem=problem,
        given=given or {},
        rubrics=built_in_rubrics(),
        zones=sorted(available_timezones()),
    )


@router.post("/organiser/new")
async def create(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    slug: Field,
    title: Field,
    language: Field,
    collection: Annotated[UploadFile, File()],
    description: Annotated[str, Form(max_length=20_000)] = "",
    rubric: Field = "helpdesk",
    own_rubric: Annotated[UploadFile | None, File()] = None,
    time_zone: Field = "UTC",
) -> Response:
    """Make a task with its first collection: both, or neither is kept."""
    given = {"slug": slug, "title": title, "description": description, "rubric": rubric}
    given |= {"time_zone": time_zone, "language": language}
    content = await collection.read()
    own = await own_rubric.read() if own_rubric and own_rubric.filename else None
    try:
        form = load_rubric(rubric) if own is None else _sent_rubric(own, own_rubric)
        rules = tasks.Rules(title=title, description=description, time_zone=time_zone)
        await run_in_threadpool(
            tasks.create_with_data,
            context,
            actor,
            slug,
            form,
            rules,
            language_code(language),
            content,
        )
    except DialevalError as error:
        problem = error if isinstance(error, Problem) else bad_file(error)
        return _new_task(request, problem, given)
    return go(f"/organiser/tasks/{slug}", "created")


def _sent_rubric(content: bytes, file: UploadFile | None) -> Rubric:
    name = (file.filename if file else "") or "rubric.toml"
    return parse_rubric(content, name if name.endswith(".json") else "rubric.toml")


@router.get("/organiser/tasks/{task}")
def task_page(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    offset: Offset = 0,
) -> Response:
    """Everything about a task."""
    return _task_page(context, actor, request, task, offset)


def _task_page(
    context: Context,
    actor: Actor,
    request: Request,
    slug: str,
    offset: int = 0,
    problem: Problem | None = None,
) -> Response:
    task = tasks.find_task(context, actor, slug)
    found, total = submissions.submissions_of(context, actor, slug, offset, ROWS)
    moment = context.now()
    return page(
        request,
        "organise_task.html",
        problem.status if problem else 200,
        task=task,
        problem=problem,
        runs=found,
        total=total,
        offset=offset,
        rows=ROWS,
        columns=columns_of(task_rubric(task.rubric)),
        phases={phase.kind: phase for phase in task.phases},
        opened=[phase.id for phase in task.phases if tasks.is_open(phase, moment)],
        kinds=tasks.KINDS,
        zones=sorted(available_timezones()),
        events=events.events_of(context, task.id),
        shown_scores=shown_scores,
        published=results.is_published(context, task),
    )


@router.post("/organiser/tasks/{task}")
def change(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    title: Field,
    time_zone: Field,
    rule: Annotated[tasks.Rule, Form()],
    best_by: Field,
    entries: Annotated[int, Form(ge=1, le=100)],
    description: Annotated[str, Form(max_length=20_000)] = "",
    visible: Annotated[bool, Form()] = False,
    reference: Annotated[bool, Form()] = False,
) -> Response:
    """Change the rules."""
    rules = tasks.Rules(
        title=title,
        description=description,
        time_zone=time_zone,
        visible=visible,
        rule=rule,
        best_by=best_by,
        entries=entries,
        reference=reference,
    )
    try:
        tasks.change_task(context, actor, task, rules)
    except Problem as problem:
        return _task_page(context, actor, request, task, problem=problem)
    return go(f"/organiser/tasks/{task}", "saved")


@router.post("/organiser/tasks/{task}/phases/{kind}")
def set_phase(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    kind: Literal["development", "final"],
    opens_at: Field,
    visibility: Annotated[tasks.Visibility, Form()],
    daily: Annotated[int, Form(ge=1, le=1_000_000)],
    total: Annotated[int, Form(ge=1, le=1_000_000)],
    closes_at: Field = "",
) -> Response:
    """Add or change a phase; its times are in the task's time zone."""
    try:
        zone = tasks.zone_of(tasks.find_task(context, actor, task))
        rules = tasks.PhaseRules(
            opens_at=_moment(opens_at, zone),
            closes_at=_moment(closes_at, zone) if closes_at else None,
            daily=daily,
            total=total,
            visibility=visibility,
        )
        tasks.set_phase(context, actor, task, kind, rules)
    except Problem as problem:
        return _task_page(context, actor, request, task, problem=problem)
    return go(f"/organiser/tasks/{task}", "saved")


def _moment(text: str, zone: ZoneInfo) -> datetime:
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=zone)
    except ValueError:
        raise bad_request("a time is a date and an hour, such as 2026-05-01T12:00") from None
    if not EARLIEST <= moment <= LATEST:
        raise bad_request("a date lies between 2000 and 2200")
    return moment


@router.post("/organiser/tasks/{task}/phases/{kind}/close")
def close(context: CurrentContext, actor: CurrentActor, task: Slug, kind: str) -> Response:
    """End a phase now."""
    tasks.close_phase(context, actor, task, kind)
    return go(f"/organiser/tasks/{task}", "closed")


@router.post("/organiser/tasks/{task}/data")
async def set_data(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    language: Field,
    collection: Annotated[UploadFile, File()],
) -> Response:
    """Add a language, or replace the votes of one."""
    content = await collection.read()
    try:
        await run_in_threadpool(
            tasks.put_collection, context, actor, task, language_code(language), content, None
        )
    except Problem as problem:
        return await run_in_threadpool(_task_page, context, actor, request, task, 0, problem)
    return go(f"/organiser/tasks/{task}", "data")


@router.post("/organiser/tasks/{task}/baselines")
async def baseline(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    name: Annotated[str, Form(max_length=60)],
    language: Field,
    run: Annotated[UploadFile, File()],
) -> Response:
    """Put a baseline on the leaderboards."""
    upload = submissions.Upload(language_code(language), await run.read(), name)
    try:
        await run_in_threadpool(submissions.submit_baseline, context, actor, task, upload)
    except Problem as problem:
        return await run_in_threadpool(_task_page, context, actor, request, task, 0, problem)
    return go(f"/organiser/tasks/{task}", "baseline")


@router.post("/organiser/tasks/{task}/rescore")
def rescore(context: CurrentContext, actor: CurrentActor, task: Slug) -> Response:
    """Score all submissions anew."""
    results.rescore(context, actor, task)
    return go(f"/organiser/tasks/{task}", "rescored")


@router.post("/organiser/tasks/{task}/publish")
def publish(context: CurrentContext, actor: CurrentActor, request: Request, task: Slug) -> Response:
    """Compare the runs that count and publish the results."""
    try:
        results.publish(context, actor, task)
    except Problem as problem:
        return _task_page(context, actor, request, task, problem=problem)
    return go(f"/tasks/{task}/results", "published")


@router.get("/organiser/tasks/{task}/export")
def export(context: CurrentContext, task: Slug) -> Response:
    """Everything about the task as a ZIP file."""
    return export_response(context, task)


@router.post("/organiser/runs/{submission}")
def judge(
    context: CurrentContext,
    actor: CurrentActor,
    submission: Key,
    action: Annotated[Literal["disqualify", "reinstate"], Form()],
    reason: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Disqualify a run with a reason, or let it in again."""
    if action == "disqualify":
        row = submissions.disqualify(context, actor, submission, reason)
        return go(f"/organiser/tasks/{row.task.slug}", "disqualified")
    row = submissions.reinstate(context, actor, submission)
    return go(f"/organiser/tasks/{row.task.slug}", "reinstated")
