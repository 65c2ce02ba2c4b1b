"""Registering a team, signing in and out, and becoming an organiser."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import Response

from dialeval.server.access import SESSION_COOKIE, Address, CurrentContext
from dialeval.server.actor import Actor
from dialeval.server.pages.rendering import (
    go,
    keeps_cookies,
    page,
    with_session,
    without_session,
)
from dialeval.server.problems import Problem, not_found
from dialeval.server.services import accounts

router = APIRouter()

Field = Annotated[str, Form(max_length=500)]
Secret = Annotated[str, Path(max_length=200)]


@router.get("/register")
def register_page(request: Request) -> Response:
    """The form for a new team."""
    return page(request, "register.html", problem=None, given={})


@router.post("/register")
def register(
    context: CurrentContext,
    address: Address,
    request: Request,
    name: Field,
    organisation: Field = "",
    contact: Field = "",
    members: Field = "",
    website: Field = "",
) -> Response:
    """Register the team, sign it in, and show its token once."""
    given = {"organisation": organisation, "contact": contact, "members": members}
    given["website"] = website
    try:
        team, token = accounts.register_team(context, name, given, address)
    except Problem as problem:
        given["name"] = name
        return page(request, "register.html", problem.status, problem=problem, given=given)
    request.state.actor = Actor("team", team.id, team.name)
    secret = accounts.start_session(context, request.state.actor)
    request.state.session = secret
    server = str(request.base_url).rstrip("/")
    response = page(request, "registered.html", team=team, token=token, server=server)
    return with_session(response, secret)


@router.get("/sign-in")
def sign_in_page(request: Request, next: Annotated[str, Query(max_length=300)] = "/") -> Response:
    """For teams with a token, and organisers with a password."""
    return _sign_in_page(request, next)


def _sign_in_page(request: Request, next: str, problem: Problem | None = None) -> Response:
    status = problem.status if problem else 200
    return page(
        request,
        "sign_in.html",
        status,
        next=_local(next),
        problem=problem,
        keeps_cookies=keeps_cookies(request),
    )


@router.post("/sign-in")
def sign_in(
    context: CurrentContext,
    address: Address,
    request: Request,
    token: Field = "",
    name: Field = "",
    password: Field = "",
    next: Field = "/",
) -> Response:
    """Sign in as a team by its token, or as an organiser."""
    try:
        if token:
            secret = accounts.sign_in_team(context, token, address)
        else:
            actor = accounts.organiser_by_password(context, name, password, address)
            secret = accounts.start_session(context, actor)
    except Problem as problem:
        return _sign_in_page(request, next, problem)
    return with_session(go(_local(next)), secret)


@router.post("/sign-out")
def sign_out(context: CurrentContext, request: Request) -> Response:
    """End the session."""
    accounts.end_session(context, request.cookies.get(SESSION_COOKIE, ""))
    return without_session(go("/", "signed-out"))


@router.get("/join/{invitation}")
def join_page(context: CurrentContext, request: Request, invitation: Secret) -> Response:
    """The form behind an invitation."""
    if not accounts.invitation_is_good(context, invitation):
        raise not_found("invitation: it was used, is too old or never was")
    return page(request, "join.html", problem=None, name="", keeps_cookies=keeps_cookies(request))


@router.post("/join/{invitation}")
def join(
    context: CurrentContext,
    address: Address,
    request: Request,
    invitation: Secret,
    name: Field,
    password: Field,
) -> Response:
    """Become an organiser, once."""
    try:
        actor = accounts.join(context, invitation, name, password, address)
    except Problem as problem:
        if problem.code == "not-found":
            raise
        values = {"problem": problem, "name": name, "keeps_cookies": keeps_cookies(request)}
        return page(request, "join.html", problem.status, **values)
    return with_session(go("/organiser"), accounts.start_session(context, actor))


def _local(path: str) -> str:
    """A path on this server, so that nobody is sent elsewhere after signing in.

    >>> _local("/tasks/a"), _local("//evil.example"), _local("https://evil.example")
    ('/tasks/a', '/', '/')
    """
    safe = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if safe and path.isprintable() else "/"
