"""Tasks, leaderboards, results: what everybody may see."""

from __future__ import annotations

import mimetypes
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.schemas import BoardOut, Limit, Offset, ResultsOut, TaskOut
from dialeval.server.middleware import REPORT_POLICY
from dialeval.server.services import leaderboard, results, tasks

router = APIRouter(tags=["tasks"])

Slug = Annotated[str, Path(max_length=60)]
Word = Annotated[str | None, Query(max_length=100)]


@router.get("/tasks")
def all_tasks(
    context: CurrentContext, actor: CurrentActor, offset: Offset = 0, limit: Limit = 100
) -> list[TaskOut]:
    """All tasks that the asker may see, newest first."""
    found = tasks.visible_tasks(context, actor, offset, limit)
    return [TaskOut.of(task, context.now()) for task in found]


@router.get("/tasks/{task}")
def one_task(context: CurrentContext, actor: CurrentActor, task: Slug) -> TaskOut:
    """A task: its rules, languages and phases."""
    return TaskOut.of(tasks.find_task(context, actor, task), context.now())


@router.get("/tasks/{task}/rubric")
def rubric(context: CurrentContext, actor: CurrentActor, task: Slug) -> dict[str, Any]:
    """What is judged: criteria, labels, measures."""
    found: dict[str, Any] = msgspec.json.decode(tasks.find_task(context, actor, task).rubric)
    return found


@router.get("/tasks/{task}/data/{language}", response_class=Response)
def data(
    context: CurrentContext,
    actor: CurrentActor,
    task: Slug,
    language: Annotated[str, Path(max_length=20)],
) -> Response:
    """The dialogues without votes, as JSON lines."""
    return data_response(tasks.participants_data(context, actor, task, language), task, language)


def data_response(lines: bytes, task: str, language: str) -> Response:
    """A download of a task's dialogues."""
    headers = {"content-disposition": f'attachment; filename="{task}-{language}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


@router.get("/tasks/{task}/leaderboard")
def board(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    response: Response,
    task: Slug,
    language: Word = None,
    phase: Word = None,
    sort: Word = None,
    criterion: Word = None,
    offset: Offset = 0,
    limit: Limit = 1000,
) -> Any:
    """A leaderboard. With the ETag of an earlier answer, 304 says that nothing changed."""
    tag = board_tag(context, actor, task)
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    response.headers["etag"] = tag
    found = leaderboard.leaderboard(
        context,
        actor,
        task,
        language=language,
        phase=phase,
        sort=sort,
        criterion=criterion,
        offset=offset,
        limit=limit,
    )
    return BoardOut.of(found)


def board_tag(context: CurrentContext, actor: CurrentActor, task: str) -> str:
    """Changes when a leaderboard of the task could; organisers see more."""
    version, phases = leaderboard.board_version(context, actor, task)
    return f'"{version}{phases}{actor.role[0]}"'


@router.get("/tasks/{task}/results")
def official(context: CurrentContext, actor: CurrentActor, task: Slug) -> ResultsOut:
    """The official results, once they are published."""
    return ResultsOut.of(*results.published(context, actor, task))


@router.get("/tasks/{task}/results/{path:path}", response_class=Response)
def official_file(
    context: CurrentContext,
    actor: CurrentActor,
    task: Slug,
    path: Annotated[str, Path(max_length=200)],
) -> Response:
    """A file of the official results."""
    return file_response(results.published_file(context, actor, task, path), path)


def file_response(content: bytes, path: str) -> Response:
    """A file of a report; its pages bring their own style, and no script runs in them."""
    media = mimetypes.guess_type(path)[0] or "text/plain"
    if media.startswith("text/") or media == "image/svg+xml":
        media += "; charset=utf-8" if media.startswith("text/") else ""
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(content, media_type=media, headers=headers)
