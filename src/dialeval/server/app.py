"""The application: routes, errors, and what surrounds them."""

from __future__ import annotations

import errno
import logging
from typing import Any

import sqlalchemy.exc
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from dialeval import __version__
from dialeval.server import api, health, pages
from dialeval.server.access import allowed_by_endpoint, authorise
from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.middleware import (
    HEADERS,
    AccessLog,
    BodyLimit,
    SecureHeaders,
    start_logging,
)
from dialeval.server.problems import Problem, unavailable
from dialeval.server.settings import Settings

log = logging.getLogger("dialeval.server")

DESCRIPTION = """
Send a team's or an organiser's token as `Authorization: Bearer ...`. Errors are problem documents
(RFC 9457). Scores are distances between predicted and voted distributions: lower is better.
"""


def create() -> FastAPI:
    """The application of a worker process, from the environment."""
    start_logging()
    settings = Settings.from_environment()
    return create_app(Context(Database(settings.database_url), settings))


def create_app(context: Context) -> FastAPI:
    """The application on a database that is up to date."""
    app = FastAPI(
        title="dialeval",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(authorise)],
    )
    app.state.context = context
    app.include_router(health.router)
    app.include_router(api.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(packages=[("dialeval.server.pages", "static")]))
    app.mount("/api/docs/assets", StaticFiles(packages=[("fastapi_swagger", "resources")]))
    app.state.allowed = allowed_by_endpoint(app)
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(sqlalchemy.exc.SQLAlchemyError, _on_database)
    app.add_exception_handler(OSError, _on_system)
    app.add_exception_handler(Exception, _on_mistake)
    app.add_middleware(BodyLimit, limit=context.settings.body_limit)
    app.add_middleware(SecureHeaders)
    app.add_middleware(AccessLog)
    return app


def answer(request: Request, problem: Problem) -> Response:
    """A problem as a document or, for people, as a page."""
    headers = {}
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    if problem.status == 503 or "retry_after" in problem.more:
        headers["retry-after"] = str(problem.more.get("retry_after", 5))
    headers |= problem.headers
    if request.scope["path"].startswith(("/api/", "/healthz", "/readyz")):
        media = "application/problem+json"
        return JSONResponse(problem.to_json(), problem.status, headers, media_type=media)
    return pages.problem_page(request, problem, headers)


async def _on_problem(request: Request, problem: Any) -> Response:
    return answer(request, problem)


async def _on_http(request: Request, error: Any) -> Response:
    codes = {401: "sign-in", 403: "forbidden", 404: "not-found", 413: "too-large"}
    code = codes.get(error.status_code, "bad-request")
    detail = "there is no such page" if error.status_code == 404 else str(error.detail)
    problem = Problem(error.status_code, code, detail)
    problem.headers = dict(error.headers or {})
    return answer(request, problem)


async def _on_validation(request: Request, error: Any) -> Response:
    """The first thing that is wrong; what was sent is not sent back."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return answer(request, Problem(422, "bad-request", f"{place}: {first['msg']}", place=place))


async def _on_database(request: Request, error: Any) -> Response:
    if isinstance(error, sqlalchemy.exc.IntegrityError):
        return answer(request, Problem(409, "conflict", "somebody was faster; try again"))
    if isinstance(error, sqlalchemy.exc.DataError):
        return answer(request, Problem(422, "bad-request", "a value that cannot be kept"))
    log.error("database: %s", error.__cause__ or error)
    return answer(request, unavailable())


async def _on_system(request: Request, error: Any) -> Response:
    log.error("system: %s", error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
        return answer(request, unavailable())
    return _mistake(request)


async def _on_mistake(request: Request, _error: Any) -> Response:
    return _mistake(request)


def _mistake(request: Request) -> Response:
    detail = "something went wrong on our side; nothing was changed"
    problem = Problem(500, "mistake", detail)
    problem.headers |= HEADERS  # it is answered outside of `SecureHeaders`
    return answer(request, problem)
