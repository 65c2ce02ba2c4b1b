"""Submitting, and what a team does with its submissions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.schemas import (
    Limit,
    Offset,
    QuotaOut,
    SubmissionOut,
    SubmissionPatch,
    SubmissionsOut,
    Text,
)
from dialeval.server.api.tasks import Slug
from dialeval.server.problems import Problem
from dialeval.server.services import submissions
from dialeval.server.services.tasks import language_code

router = APIRouter(tags=["submissions"])

Key = Annotated[str, Path(max_length=32)]
RUN_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The run: a JSON array or JSON lines, gzipped or not.",
        "content": {
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            "application/x-ndjson": {"schema": {"type": "string"}},
            "application/gzip": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/tasks/{task}/submissions", status_code=201, openapi_extra=RUN_BODY)
async def submit(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    response: Response,
    task: Slug,
    language: Annotated[Text, Query(max_length=20)],
    name: Annotated[Text, Query(max_length=60)] = "",
    description: Annotated[Text, Query(max_length=1000)] = "",
    leaderboard: bool = True,
    idempotency_key: Annotated[Text | None, Header(min_length=1, max_length=200)] = None,
) -> SubmissionOut:
    """Send a run and get its scores. The same `Idempotency-Key` again gives the same answer."""
    upload = submissions.Upload(
        language=language_code(language),
        content=await request.body(),
        name=name,
        description=description,
        listed=leaderboard,
        idempotency_key=idempotency_key,
    )
    submission, new = await run_in_threadpool(submissions.submit, context, actor, task, upload)
    if not new:
        response.status_code = 200
        response.headers["idempotency-replayed"] = "true"
    return SubmissionOut.of(submission)


@router.get("/tasks/{task}/quota")
def quota(context: CurrentContext, actor: CurrentActor, task: Slug) -> QuotaOut:
    """What is left of the quota in the open phase."""
    found = submissions.quota_of(context, actor, task)
    if found is None:
        raise Problem(409, "phase-closed", "no phase of the task is open")
    return QuotaOut.of(found)


@router.get("/tasks/{task}/submissions")
def history(
    context: CurrentContext, actor: CurrentActor, task: Slug, offset: Offset = 0, limit: Limit = 100
) -> SubmissionsOut:
    """A team's own submissions, or all of them for an organiser."""
    found, total = submissions.submissions_of(context, actor, task, offset, limit)
    shown = [SubmissionOut.of(s, organiser=actor.is_organiser) for s in found]
    return SubmissionsOut(total=total, submissions=shown)


@router.get("/submissions/{submission}")
def one(context: CurrentContext, actor: CurrentActor, submission: Key) -> SubmissionOut:
    """A submission."""
    found = submissions.find_submission(context, actor, submission)
    return SubmissionOut.of(found, organiser=actor.is_organiser)


@router.get("/submissions/{submission}/file", response_class=Response)
def file(context: CurrentContext, actor: CurrentActor, submission: Key) -> Response:
    """The file as it was sent."""
    found, content = submissions.file_of(context, actor, submission)
    headers = {"content-disposition": f'attachment; filename="{found.key}.json"'}
    return Response(content, media_type="application/json", headers=headers)


@router.patch("/submissions/{submission}")
def change(
    context: CurrentContext, actor: CurrentActor, submission: Key, patch: SubmissionPatch
) -> SubmissionOut:
    """List a run or take it off the leaderboard; choose it as the final one, or not."""
    changed = submissions.change_submission(
        context, actor, submission, listed=patch.listed, chosen=patch.chosen
    )
    return SubmissionOut.of(changed)


@router.post("/submissions/{submission}/withdraw")
def withdraw(context: CurrentContext, actor: CurrentActor, submission: Key) -> SubmissionOut:
    """Take a run back. The quota it cost stays used."""
    return SubmissionOut.of(submissions.withdraw(context, actor, submission))
