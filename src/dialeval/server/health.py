"""Is the process alive, and can it work?"""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from dialeval.server.access import CurrentContext
from dialeval.server.middleware import DOCS_POLICY
from dialeval.server.problems import Problem

router = APIRouter(include_in_schema=False)

DOCS = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API - dialeval</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/api/docs/assets/swagger-ui.css">
</head>
<body>
<div id="api"></div>
<script src="/api/docs/assets/swagger-ui-bundle.js"></script>
<script src="/static/docs.js"></script>
</body>
</html>
"""


class Health(BaseModel):
    """Fine."""

    status: str = "ok"


@router.get("/healthz")
def health() -> Health:
    """The process answers."""
    return Health()


@router.get("/readyz")
def ready(context: CurrentContext) -> Health:
    """The database answers and has the tables that this version needs."""
    context.database.check()
    if context.database.revision() != context.database.newest():
        raise Problem(
            503, "unavailable", "the database is not up to date: dialeval serve --migrate"
        )
    return Health()


@router.get("/api/docs")
def docs() -> HTMLResponse:
    """The API's documentation; its script is our own copy of Swagger UI's package."""
    return HTMLResponse(DOCS, headers={"content-security-policy": DOCS_POLICY})
