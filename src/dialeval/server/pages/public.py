"""Pages for everybody: tasks, leaderboards, results."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from dialeval.server.access import CurrentActor, CurrentContext
from dialeval.server.api.schemas import Offset
from dialeval.server.api.tasks import Slug, Word, board_tag, data_response, file_response
from dialeval.server.pages.rendering import page, part_of_page, style
from dialeval.server.problems import Problem
from dialeval.server.scoring import columns_of, task_rubric
from dialeval.server.services import leaderboard, results, tasks

router = APIRouter()

ROWS = 100


@router.get("/")
def home(context: CurrentContext, actor: CurrentActor, request: Request) -> Response:
    """All tasks."""
    found = tasks.visible_tasks(context, actor)
    moment = context.now()
    shown = [(task, tasks.open_phase(task.phases, moment)) for task in found]
    return page(request, "home.html", tasks=shown)


@router.get("/style.css")
def stylesheet() -> Response:
    """The style of all pages."""
    return Response(style(), media_type="text/css", headers={"cache-control": "max-age=300"})


@router.get("/tasks/{task}")
def task_page(
    context: CurrentContext, actor: CurrentActor, request: Request, task: Slug
) -> Response:
    """What a task is about, and how to take part."""
    row = tasks.find_task(context, actor, task)
    return page(
        request,
        "task.html",
        task=row,
        rubric=task_rubric(row.rubric),
        phase=tasks.open_phase(row.phases, context.now()),
        opened=[phase.id for phase in row.phases if tasks.is_open(phase, context.now())],
        server=str(request.base_url).rstrip("/"),
        now=context.now(),
    )


@router.get("/tasks/{task}/data/{language}")
def data(context: CurrentContext, actor: CurrentActor, task: Slug, language: str) -> Response:
    """The dialogues without votes."""
    return data_response(tasks.participants_data(context, actor, task, language), task, language)


@router.get("/tasks/{task}/leaderboard")
def board(
    context: CurrentContext,
    actor: CurrentActor,
    request: Request,
    task: Slug,
    language: Word = None,
    phase: Word = None,
    sort: Word = None,
    criterion: Word = None,
    offset: Offset = 0,
    part: Annotated[bool, Query()] = False,
) -> Response:
    """The leaderboard; `part` gives only its table, or 304 if the reader has it already."""
    tag = board_tag(context, actor, task)
    if part and request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"etag": tag})
    found = leaderboard.leaderboard(
        context,
        actor,
        task,
        language=language,
        phase=phase,
        sort=sort,
        criterion=criterion,
        offset=offset,
        limit=ROWS,
    )
    rubric = task_rubric(found.task.rubric)
    values = {
        "board": found,
        "task": found.task,
        "criteria": [c for c in rubric.criteria if any(_is_of(x, c.id) for x in found.columns)],
        "chosen": {"language": found.language, "phase": found.phase, "criterion": criterion or ""},
        "offset": offset,
        "rows": ROWS,
        "own": actor.name if actor.role == "team" else "",
        "groups": {c.id: [x for x in found.columns if _is_of(x, c.id)] for c in rubric.criteria},
    }
    if part:
        response: Response = part_of_page("board.html", **values)
    else:
        all_criteria = [c.id for c in rubric.criteria]
        response = page(request, "leaderboard.html", all_criteria=all_criteria, **values)
    response.headers["etag"] = tag
    return response


def _is_of(column: str, criterion: str) -> bool:
    return column.partition(".")[0] == criterion


@router.get("/tasks/{task}/results")
def official(
    context: CurrentContext, actor: CurrentActor, request: Request, task: Slug
) -> Response:
    """The official results, or that there are none yet."""
    try:
        row, publication, files = results.published(context, actor, task)
    except Problem:
        row = tasks.find_task(context, actor, task)
        return page(request, "results.html", task=row, publication=None)
    rubric = task_rubric(row.rubric)
    boards = {
        language: leaderboard.leaderboard(context, actor, task, language=language, phase="final")
        for language in publication.boards
        if any(phase.kind == "final" for phase in row.phases)
    }
    return page(
        request,
        "results.html",
        task=row,
        publication=publication,
        files=files,
        boards=boards,
        groups={c.id: [x for x in columns_of(rubric) if _is_of(x, c.id)] for c in rubric.criteria},
        criteria=rubric.criteria,
    )


@router.get("/tasks/{task}/results/{path:path}")
def official_file(context: CurrentContext, actor: CurrentActor, task: Slug, path: str) -> Response:
    """The report, or another file of the results."""
    return file_response(results.published_file(context, actor, task, path), path)
