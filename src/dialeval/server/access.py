"""Who may do what: one table of all routes, checked in one place before any handler runs."""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.concurrency import run_in_threadpool

from dialeval.server.actor import ANYONE, Actor
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_request
from dialeval.server.secrets import form_key
from dialeval.server.services.accounts import actor_of_session, actor_of_token

SESSION_COOKIE = "__Host-dialeval-session"
VISITOR_COOKIE = "__Host-dialeval-visitor"
FORM_KEY = "form_key"

ANY: frozenset[str] = frozenset({"anyone", "team", "organiser"})
MEMBER = frozenset({"team", "organiser"})
TEAM = frozenset({"team"})
ORGANISER = frozenset({"organiser"})

API = "/api/v1"
ROUTES: dict[str, frozenset[str]] = {
    "GET /": ANY,
    "GET /style.css": ANY,
    "GET /register": ANY,
    "POST /register": ANY,
    "GET /sign-in": ANY,
    "POST /sign-in": ANY,
    "POST /sign-out": ANY,
    "GET /join/{invitation}": ANY,
    "POST /join/{invitation}": ANY,
    "GET /tasks/{task}": ANY,
    "GET /tasks/{task}/leaderboard": ANY,
    "GET /tasks/{task}/results": ANY,
    "GET /tasks/{task}/results/{path:path}": ANY,
    "GET /tasks/{task}/data/{language}": MEMBER,
    "GET /tasks/{task}/runs": TEAM,
    "POST /tasks/{task}/runs": TEAM,
    "GET /runs/{submission}": MEMBER,
    "POST /runs/{submission}": TEAM,
    "GET /runs/{submission}/file": MEMBER,
    "GET /organiser": ORGANISER,
    "POST /organiser/invitations": ORGANISER,
    "POST /organiser/token": ORGANISER,
    "POST /organiser/teams/token": ORGANISER,
    "GET /organiser/new": ORGANISER,
    "POST /organiser/new": ORGANISER,
    "GET /organiser/tasks/{task}": ORGANISER,
    "POST /organiser/tasks/{task}": ORGANISER,
    "POST /organiser/tasks/{task}/phases/{kind}": ORGANISER,
    "POST /organiser/tasks/{task}/phases/{kind}/close": ORGANISER,
    "POST /organiser/tasks/{task}/data": ORGANISER,
    "POST /organiser/tasks/{task}/baselines": ORGANISER,
    "POST /organiser/tasks/{task}/rescore": ORGANISER,
    "POST /organiser/tasks/{task}/publish": ORGANISER,
    "GET /organiser/tasks/{task}/export": ORGANISER,
    "POST /organiser/runs/{submission}": ORGANISER,
    "GET /healthz": ANY,
    "GET /readyz": ANY,
    "GET /api/docs": ANY,
    f"POST {API}/teams": ANY,
    f"GET {API}/team": TEAM,
    f"GET {API}/teams": ORGANISER,
    f"POST {API}/teams/{{name}}/token": ORGANISER,
    f"POST {API}/organisers": ANY,
    f"POST {API}/organisers/token": ANY,
    f"POST {API}/organisers/invitations": ORGANISER,
    f"GET {API}/tasks": ANY,
    f"POST {API}/tasks": ORGANISER,
    f"GET {API}/tasks/{{task}}": ANY,
    f"PATCH {API}/tasks/{{task}}": ORGANISER,
    f"PUT {API}/tasks/{{task}}/collections/{{language}}": ORGANISER,
    f"PUT {API}/tasks/{{task}}/phases/{{kind}}": ORGANISER,
    f"POST {API}/tasks/{{task}}/phases/{{kind}}/close": ORGANISER,
    f"POST {API}/tasks/{{task}}/baselines": ORGANISER,
    f"POST {API}/tasks/{{task}}/rescore": ORGANISER,
    f"POST {API}/tasks/{{task}}/publish": ORGANISER,
    f"GET {API}/tasks/{{task}}/export": ORGANISER,
    f"GET {API}/tasks/{{task}}/events": ORGANISER,
    f"GET {API}/tasks/{{task}}/data/{{language}}": MEMBER,
    f"GET {API}/tasks/{{task}}/rubric": ANY,
    f"GET {API}/tasks/{{task}}/leaderboard": ANY,
    f"GET {API}/tasks/{{task}}/results": ANY,
    f"GET {API}/tasks/{{task}}/results/{{path:path}}": ANY,
    f"GET {API}/tasks/{{task}}/quota": TEAM,
    f"POST {API}/tasks/{{task}}/submissions": TEAM,
    f"GET {API}/tasks/{{task}}/submissions": MEMBER,
    f"GET {API}/submissions/{{submission}}": MEMBER,
    f"GET {API}/submissions/{{submission}}/file": MEMBER,
    f"PATCH {API}/submissions/{{submission}}": TEAM,
    f"POST {API}/submissions/{{submission}}/withdraw": TEAM,
    f"POST {API}/submissions/{{submission}}/disqualify": ORGANISER,
    f"POST {API}/submissions/{{submission}}/reinstate": ORGANISER,
}


def allowed_by_endpoint(app: FastAPI) -> dict[Any, frozenset[str]]:
    """Who may call each handler. A route that is not in the table is a mistake, and so is a row
    of the table without a route.
    """
    found = {
        f"{method} {route.path}": route.endpoint
        for route in iter_route_contexts(app.routes)
        if isinstance(route.original_route, APIRoute)
        for method in route.methods or ()
    }
    if found.keys() != ROUTES.keys():
        raise RuntimeError(f"access.py and the routes differ: {found.keys() ^ ROUTES.keys()}")
    return {endpoint: ROUTES[name] for name, endpoint in found.items()}


async def authorise(request: Request) -> None:
    """Find out who asks and whether they may; every route depends on this."""
    allowed: frozenset[str] = request.app.state.allowed[request.scope["endpoint"]]
    path: str = request.scope["path"]  # `request.url` begins with what the client says is its host
    if "\x00" in path or "\x00" in str(request.query_params):
        raise bad_request("an address holds no zero bytes")
    context: Context = request.app.state.context
    of_api = path.startswith("/api/")
    actor = await run_in_threadpool(_bearer if of_api else _signed_in, context, request)
    request.state.actor = actor
    if actor.role not in allowed:
        if actor is ANYONE:
            raise Problem(401, "sign-in", "this needs a token" if of_api else "sign in first")
        raise Problem(403, "forbidden", f"a {actor.role} may not do this")
    if not of_api and request.method not in ("GET", "HEAD"):
        await _check_form(request)


def _bearer(context: Context, request: Request) -> Actor:
    """The holder of the request's token. A wrong token is refused even where none is needed."""
    header = request.headers.get("authorization")
    if header is None:
        return ANYONE
    scheme, _, token = header.partition(" ")
    actor = actor_of_token(context, token.strip()) if scheme.lower() == "bearer" else ANYONE
    if actor is ANYONE:
        raise Problem(401, "sign-in", "the token is not right")
    return actor


def _signed_in(context: Context, request: Request) -> Actor:
    secret = request.cookies.get(SESSION_COOKIE)
    return actor_of_session(context, secret) if secret else ANYONE


async def _check_form(request: Request) -> None:
    """Forms of other sites cannot know the key of ours."""
    visitor = request.cookies.get(VISITOR_COOKIE, "")
    form = await request.form()
    sent = str(form.get(FORM_KEY, ""))
    wanted = form_key(visitor, request.cookies.get(SESSION_COOKIE))
    if not visitor or not hmac.compare_digest(sent.encode(), wanted.encode()):
        detail = "this form is too old, or your browser takes no cookies: load the page again"
        raise Problem(403, "forbidden", detail)


def current_actor(request: Request) -> Actor:
    """Who makes the request, as `authorise` found out."""
    actor: Actor = request.state.actor
    return actor


def current_context(request: Request) -> Context:
    """What the services work with."""
    context: Context = request.app.state.context
    return context


def address_of(request: Request) -> str:
    """The client's address, for limits."""
    return request.client.host if request.client else "unknown"


CurrentActor = Annotated[Actor, Depends(current_actor)]
CurrentContext = Annotated[Context, Depends(current_context)]
Address = Annotated[str, Depends(address_of)]
