"""What organisers do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from dialeval.core.errors import DialevalError
from dialeval.core.rubric import Rubric, load_rubric, parse_rubric
from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.schemas import (
    EventOut,
    LanguageOut,
    PhaseIn,
    PhaseOut,
    ReasonIn,
    RescoredOut,
    ResultsOut,
    RulesIn,
    SubmissionOut,
    TaskIn,
    TaskOut,
    Text,
    phase_out,
)
from dialeval.server.api.submissions import RUN_BODY, Key
from dialeval.server.api.tasks import Slug
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_file, bad_request
from dialeval.server.scoring import check_depth
from dialeval.server.services import events, export, results, submissions, tasks
from dialeval.server.services.tasks import language_code

router = APIRouter(tags=["organising"])

LanguagePath = Annotated[str, Path(max_length=20)]
CHUNK = 1 << 16


@router.post("/tasks", status_code=201)
def create(context: CurrentContext, actor: CurrentActor, task: TaskIn) -> TaskOut:
    """A new task. It is hidden until it has data and a phase and is made visible."""
    given = task.model_dump(exclude={"slug", "rubric"})
    created = tasks.create_task(
        context, actor, task.slug, rubric_of(task.rubric), tasks.Rules(**given)
    )
    return TaskOut.of(created, context.now())


def rubric_of(given: str | dict[str, Any]) -> Rubric:
    """A built-in rubric by its name, or one that was sent whole."""
    if isinstance(given, str) and given.endswith((".toml", ".json")):
        raise bad_request("a rubric is the name of a built-in one, or sent whole")
    try:
        if isinstance(given, str):
            return load_rubric(given)
        content = msgspec.json.encode(given)
        check_depth(content)
        return parse_rubric(content, "rubric.json")
    except (UnicodeEncodeError, OverflowError, RecursionError):
        raise bad_request("the rubric holds what JSON cannot") from None
    except Problem:
        raise
    except DialevalError as error:
        raise bad_file(error) from None


@router.patch("/tasks/{task}")
def change(context: CurrentContext, actor: CurrentActor, task: Slug, rules: RulesIn) -> TaskOut:
    """Change a task; what is left out stays."""
    changed = tasks.change_task(context, actor, task, tasks.Rules(**rules.model_dump()))
    return TaskOut.of(changed, context.now())


@router.put("/tasks/{task}/collections/{language}", openapi_extra=RUN_BODY)
async def put_collection(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    language: LanguagePath,
    seed: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
) -> LanguageOut:
    """The dialogues with votes in a language. `seed` decides the half, else chance does."""
    content = await request.body()
    code = language_code(language)
    row = await run_in_threadpool(tasks.put_collection, context, actor, task, code, content, seed)
    return LanguageOut(language=row.language, dialogues=row.dialogues)


@router.put("/tasks/{task}/phases/{kind}")
def put_phase(
    context: CurrentContext, actor: CurrentActor, task: Slug, kind: tasks.Kind, phase: PhaseIn
) -> PhaseOut:
    """Add a phase or change it."""
    rules = tasks.PhaseRules(**phase.model_dump())
    return phase_out(tasks.set_phase(context, actor, task, kind, rules), context.now())


@router.post("/tasks/{task}/phases/{kind}/close")
def close_phase(
    context: CurrentContext, actor: CurrentActor, task: Slug, kind: tasks.Kind
) -> PhaseOut:
    """End a phase now."""
    return phase_out(tasks.close_phase(context, actor, task, kind), context.now())


@router.post("/tasks/{task}/baselines", status_code=201, openapi_extra=RUN_BODY)
async def baseline(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    name: Annotated[Text, Query(min_length=1, max_length=60)],
    language: Annotated[Text, Query(max_length=20)],
) -> SubmissionOut:
    """A baseline's run, which stands on every leaderboard of the task."""
    upload = submissions.Upload(language_code(language), await request.body(), name)
    row = await run_in_threadpool(submissions.submit_baseline, context, actor, task, upload)
    return SubmissionOut.of(row, organiser=True)


@router.post("/tasks/{task}/rescore")
def rescore(context: CurrentContext, actor: CurrentActor, task: Slug) -> RescoredOut:
    """Score all submissions anew, for instance after votes were mended."""
    count, changed = results.rescore(context, actor, task)
    return RescoredOut(submissions=count, changed=changed)


@router.post("/tasks/{task}/publish", status_code=201)
def publish(
    context: CurrentContext,
    actor: CurrentActor,
    task: Slug,
    seed: Annotated[int, Query(ge=0, lt=2**32)] = 0,
) -> ResultsOut:
    """Compare the runs that count over the whole collection and publish the results."""
    results.publish(context, actor, task, seed=seed)
    return ResultsOut.of(*results.published(context, actor, task))


@router.post("/submissions/{submission}/disqualify")
def disqualify(
    context: CurrentContext, actor: CurrentActor, submission: Key, given: ReasonIn
) -> SubmissionOut:
    """Take a run out, for a reason that its team can read."""
    changed = submissions.disqualify(context, actor, submission, given.reason)
    return SubmissionOut.of(changed, organiser=True)


@router.post("/submissions/{submission}/reinstate")
def reinstate(context: CurrentContext, actor: CurrentActor, submission: Key) -> SubmissionOut:
    """Let a disqualified run in again."""
    changed = submissions.reinstate(context, actor, submission)
    return SubmissionOut.of(changed, organiser=True)


@router.get("/tasks/{task}/events")
def task_events(context: CurrentContext, actor: CurrentActor, task: Slug) -> list[EventOut]:
    """What was done in a task, newest first."""
    row = tasks.find_task(context, actor, task)
    return [EventOut.of(event) for event in events.events_of(context, row.id)]


@router.get("/tasks/{task}/export", response_class=StreamingResponse)
def export_task(context: CurrentContext, task: Slug) -> StreamingResponse:
    """Everything about a task, votes included, as a ZIP file."""
    return export_response(context, task)


def export_response(context: Context, task: str) -> StreamingResponse:
    """A download of everything about a task."""
    stream = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it is sent)
    try:
        export.export(context, task, stream)
    except BaseException:
        stream.close()
        raise
    stream.seek(0)
    headers = {"content-disposition": f'attachment; filename="{task}.zip"'}
    return StreamingResponse(_chunks(stream), media_type="application/zip", headers=headers)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    with stream:
        while chunk := stream.read(CHUNK):
            yield chunk
