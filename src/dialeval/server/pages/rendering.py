"""Templates, and what every page needs: who is signed in, the key of its forms, a note."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dialeval import __version__
from dialeval.report.standings import LANGUAGES
from dialeval.server.access import SESSION_COOKIE, VISITOR_COOKIE
from dialeval.server.actor import ANYONE
from dialeval.server.problems import TITLES, Problem
from dialeval.server.secrets import form_key
from dialeval.server.services.accounts import SESSION

NOTES = {
    "saved": "Saved.",
    "created": "The task is made. It is hidden until you make it visible.",
    "data": "The data is set.",
    "baseline": "The baseline is on the leaderboards.",
    "closed": "The phase is closed.",
    "published": "The results are published.",
    "rescored": "All submissions are scored anew.",
    "withdrawn": "The run is withdrawn.",
    "disqualified": "The run is disqualified.",
    "reinstated": "The run counts again.",
    "signed-out": "You are signed out.",
}
"""What a page says after something was done; only these texts can come in by the address."""


@cache
def _environment() -> Environment:
    loader = ChoiceLoader(
        [PackageLoader("dialeval.server.pages"), PackageLoader("dialeval.report")]
    )
    environment = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["forms"] = environment.get_template("forms.html").module
    environment.filters["moment"] = moment
    environment.filters["input_moment"] = input_moment
    environment.filters["score"] = score
    environment.filters["language"] = lambda code: LANGUAGES.get(code, code)
    return environment


@cache
def style() -> str:
    """The reports' style and what the server's pages add to it."""
    parts = ("style.css", "server.css")
    return "\n".join(_environment().get_template(part).render() for part in parts)


def moment(value: datetime | None, zone: str = "UTC") -> str:
    """A time as people of a zone read it.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 1, 31, 15, 30, tzinfo=UTC), "Asia/Tokyo")
    '2026-02-01 00:30 JST'
    """
    return value.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %Z") if value else ""


def input_moment(value: datetime | None, zone: str) -> str:
    """A time as a form's field takes it."""
    return value.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M") if value else ""


def score(value: float | None) -> str:
    """
    >>> score(0.12345), score(None)
    ('0.1235', '–')
    """
    return "–" if value is None else f"{value:.4f}"


def page(request: Request, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """A page, with a visitor's cookie so that its forms have a key.

    The session is the request's, or the one in its state if the request has just begun one.
    """
    session = getattr(request.state, "session", request.cookies.get(SESSION_COOKIE))
    visitor = request.cookies.get(VISITOR_COOKIE) or secrets.token_urlsafe(16)
    html = (
        _environment()
        .get_template(template)
        .render(
            actor=getattr(request.state, "actor", ANYONE),
            form_key=form_key(visitor, session),
            note=NOTES.get(request.query_params.get("note", "")),
            path=request.url.path,
            version=__version__,
            **values,
        )
    )
    response = HTMLResponse(html, status)
    _set_cookie(response, VISITOR_COOKIE, visitor)
    return response


def part_of_page(template: str, **values: Any) -> HTMLResponse:
    """A piece of a page, for its script to put in."""
    return HTMLResponse(_environment().get_template(template).render(**values))


def problem_page(request: Request, problem: Problem, headers: Mapping[str, str]) -> Response:
    """What is wrong, for people. Who must sign in first is sent there."""
    if problem.code == "sign-in" and request.method == "GET":
        return RedirectResponse(f"/sign-in?next={request.url.path}", 303)
    title = TITLES.get(problem.code, "Something went wrong")
    response = page(request, "problem.html", problem.status, problem=problem, title=title)
    response.headers.update({k: v for k, v in headers.items() if k != "www-authenticate"})
    return response


def go(path: str, note: str = "") -> RedirectResponse:
    """On to another page after a form, with a note."""
    return RedirectResponse(f"{path}?note={note}" if note else path, 303)


def with_session(response: Response, secret: str) -> Response:
    """Sign the browser in."""
    _set_cookie(response, SESSION_COOKIE, secret, int(SESSION.total_seconds()))
    return response


def without_session(response: Response) -> Response:
    """Sign the browser out."""
    response.delete_cookie(SESSION_COOKIE, secure=True, httponly=True, samesite="lax")
    return response


def _set_cookie(response: Response, name: str, value: str, age: int | None = None) -> None:
    response.set_cookie(name, value, max_age=age, secure=True, httponly=True, samesite="lax")


def keeps_cookies(request: Request) -> bool:
    """Browsers keep our cookies over https, and on this machine."""
    host = request.url.hostname or ""
    if request.url.scheme == "https" or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
