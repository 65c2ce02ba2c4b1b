"""Around every request: the size of its body, the headers of the answer, the access log."""

from __future__ import annotations

import json
import logging
import secrets
import sys
import time
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("dialeval.access")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; frame-ancestors 'none'"
)
DOCS_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class BodyLimit:
    """Refuses bodies above a size, told or counted."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        length = Headers(scope=scope).get("content-length", "0")
        told = int(length) if length.isdecimal() else 0
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if max(told, received) > self.limit:
                raise HTTPException(413, f"a request holds at most {self.limit >> 20} MB")
            return message

        return await self.app(scope, limited, send)


class SecureHeaders:
    """What browsers are told with every answer, unless the handler says it otherwise."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers)


class AccessLog:
    """One line of JSON a request. The query is left out: it may hold what is not for logs."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        start = time.perf_counter()
        id = secrets.token_hex(8)
        status = 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = id
            await send(message)

        try:
            return await self.app(scope, receive, noted)
        finally:
            actor = scope.get("state", {}).get("actor")
            line = {
                "request": id,
                "method": scope["method"],
                "path": _logged_path(scope),
                "status": status,
                "ms": round((time.perf_counter() - start) * 1000, 1),
                "client": scope["client"][0] if scope.get("client") else None,
                "actor": f"{actor.role} {actor.id}" if actor and actor.id else "anyone",
            }
            log.info("request", extra={"fields": line})


def _logged_path(scope: Scope) -> str:
    """The path, but an invitation's secret stays out of the log."""
    path: str = scope["path"]
    return "/join/..." if path.startswith("/join/") else path


class JsonLines(logging.Formatter):
    """Log records as lines of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def start_logging() -> None:
    """Log to standard error, one JSON document a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("dialeval.access", "dialeval.server", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
