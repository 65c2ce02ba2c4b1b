"""The API, version 1: JSON over HTTP with bearer tokens."""

from fastapi import APIRouter, Security
from fastapi.security import HTTPBearer

from dialeval.server.api import (
    accounts,
    annotation,
    live,
    organising,
    projects,
    submissions,
    tasks,
)
from dialeval.server.api.schemas import ProblemOut

router = APIRouter(
    prefix="/api/v1",
    # For the document only: access.py decides.
    dependencies=[Security(HTTPBearer(auto_error=False, description="A token"))],
    responses={"4XX": {"model": ProblemOut, "content": {"application/problem+json": {}}}},
)
for part in (tasks, accounts, submissions, organising, projects, annotation, live):
    router.include_router(part.router)
