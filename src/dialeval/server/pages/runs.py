"""A team's runs: submitting, its history, its quota, what counts."""

from __future__ import annotations

import secrets
from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.actor import Actor
from dialeval.server.api.submissions import Key, file
from dialeval.server.api.tasks import Slug, Word
from dialeval.server.context import Context
from dialeval.server.pages.picture import over_time
from dialeval.server.pages.rendering import go, page
from dialeval.server.problems import Problem, bad_request
from dialeval.server.scoring import columns_of, task_rubric
from dialeval.server.services import submissions, tasks
from dialeval.server.services.leaderboard import shown_scores
from dialeval.server.services.tasks import language_code

router = APIRouter()
router.get("/runs/{submission}/file")(file)

HISTORY = 200
ACTIONS = {
    "list": {"listed": True},
    "hide": {"listed": False},
    "choose": {"chosen": True},
    "unchoose": {"chosen": False},
}


@router.get("/tasks/{task}/runs")
def history(
    context: CurrentContext, actor: CurrentActor, request: Request, task: Slug, by: Word = None
) -> Response:
    """What a team has sent, what it may still send, and how its scores went."""
    return _history(context, actor, request, task, by)


def _history(
    context: Context,
    actor: Actor,
    request: Request,
    slug: str,
    by: str | None = None,
    problem: Problem | None = None,
) -> Response:
    task = tasks.find_task(context, actor, slug)
    found, total = submissions.submissions_of(context, actor, slug, limit=HISTORY)
    columns = columns_of(task_rubric(task.rubric))
    column = by if by in columns else task.best_by
    visible = [s for s in found if s.phase.visibility != "hidden" and s.status == "scored"]
    return page(
        request,
        "runs.html",
        problem.status if problem else 200,
        task=task,
        problem=problem,
        runs=found,
        total=total,
        quota=submissions.quota_of(context, actor, slug),
        phase=tasks.open_phase(task.phases, context.now()),
        columns=columns,
        column=column,
        picture=over_time(visible, column, task.time_zone),
        shown_scores=shown_scores,
        idempotency_key=secrets.token_urlsafe(16),
    )


@router.post("/tasks/{task}/runs")
async def submit(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    run: Annotated[UploadFile, File()],
    language: Annotated[str, Form(max_length=20)],
    idempotency_key: Annotated[str, Form(max_length=100)],
    name: Annotated[str, Form(max_length=60)] = "",
    description: Annotated[str, Form(max_length=1000)] = "",
    listed: Annotated[bool, Form()] = False,
) -> Response:
    """Send a run: on to its scores, or why it is refused."""
    upload = submissions.Upload(
        language=language_code(language),
        content=await run.read(),
        name=name,
        description=description,
        listed=listed,
        idempotency_key=idempotency_key,
    )
    try:
        row, _ = await run_in_threadpool(submissions.submit, context, actor, task, upload)
    except Problem as problem:
        return await run_in_threadpool(_history, context, actor, request, task, None, problem)
    return go(f"/runs/{row.key}")


@router.get("/runs/{submission}")
def one(
    context: CurrentContext, actor: CurrentActor, request: Request, submission: Key
) -> Response:
    """A run and its scores."""
    row = submissions.find_submission(context, actor, submission)
    task = tasks.find_task(context, actor, row.task.slug)
    rubric = task_rubric(task.rubric)
    hidden = row.phase.visibility == "hidden" and not actor.is_organiser
    return page(
        request,
        "run.html",
        run=row,
        task=task,
        rubric=rubric,
        scores=None if hidden else shown_scores(row.scores),
        columns=columns_of(rubric),
    )


@router.post("/runs/{submission}")
def act(
    context: CurrentContext,
    actor: CurrentActor,
    submission: Key,
    action: Annotated[str, Form(max_length=20)],
) -> Response:
    """List, hide, choose or withdraw a run."""
    if action == "withdraw":
        row = submissions.withdraw(context, actor, submission)
        return go(f"/tasks/{row.task.slug}/runs", "withdrawn")
    if action not in ACTIONS:
        raise bad_request(f"unknown action {action!r}")
    row = submissions.change_submission(context, actor, submission, **ACTIONS[action])
    return go(f"/tasks/{row.task.slug}/runs", "saved")
