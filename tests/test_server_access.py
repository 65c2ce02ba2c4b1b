"""Who may do what, and what nobody outside learns: every route, as everybody."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import servers
from servers import Api, House, gold, run_between, run_bytes

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.decode_run import parse_run
from dialeval.server.access import ROUTES, SESSION_COOKIE
from dialeval.server.services.accounts import actor_of_token, start_session
from dialeval.server.settings import Rate

V1 = servers.API
ROLES = ("anyone", "team", "other", "organiser")
MARK = "Zorblax"
QUIET = "Quokka"
JSON = {"content-type": "application/json"}


def marked_gold() -> Collection:
    """The sample, with annotators whose names can be searched for."""
    records = json.loads(servers.collection_bytes(gold()))
    for record in records:
        for place, annotation in enumerate(record["annotations"]):
            annotation["annotator"] = f"{MARK}{place}"
        record["note"] = f"{MARK} thinks this one is hard"
    return parse_collection(json.dumps(records).encode(), gold().rubric, "marked", format="json")


@dataclass
class World:
    """A server with a published task, two teams and everybody's ways in."""

    house: House
    team: Api
    other: Api
    submission: str
    results: list[str]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    cookies: dict[str, str] = field(default_factory=dict)

    def api(self, role: str) -> Api:
        found = {"anyone": self.house.anyone, "team": self.team, "other": self.other}
        return found.get(role, self.house.organiser)

    def cookie(self, role: str) -> dict[str, str]:
        """The header of somebody who has signed in."""
        token = self.api(role).token
        if token is None:
            return {}
        if token not in self.cookies:
            actor = actor_of_token(self.house.context, token)
            self.cookies[token] = start_session(self.house.context, actor)
        return {"cookie": f"{SESSION_COOKIE}={self.cookies[token]}"}

    def new_task(self, **phase: Any) -> str:
        return servers.make_task(
            self.house.organiser,
            f"task-{next(self.numbers)}",
            collections={"en": gold(small=True)},
            phases={"development": phase},
        )

    def new_submission(self) -> str:
        return self.team.submit(self.new_task(), run_bytes(small=True))["id"]

    def invitation(self) -> str:
        path: str = self.house.organiser.ok("POST", "/organisers/invitations")["path"]
        return path.removeprefix("/join/")

    def call(self, role: str, method: str, path: str, **options: Any) -> Any:
        """As somebody: by token under /api, by cookie elsewhere."""
        if path.startswith("/api/"):
            return self.api(role).call(method, "/" + path, **options)
        headers = {**self.cookie(role), **options.pop("headers", {})}
        return self.house.http.request(
            method, path, headers=headers, follow_redirects=False, **options
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    url = f"sqlite:///{tmp_path_factory.mktemp('world')}/dialeval.sqlite"
    with servers.house(url) as house:
        task = servers.make_task(
            house.organiser, collections={"en": marked_gold()}, phases={"final": {}}
        )
        team, other = house.team("Team"), house.team("Other")
        sent = team.submit(task, run_bytes("popularity"))
        other.submit(task, run_between(0.5))
        quiet = house.team(f"Quiet {QUIET}")
        quiet.submit(task, run_bytes(), leaderboard="false", name=f"whisper {QUIET}")
        made = house.organiser.ok("POST", f"/tasks/{task}/publish")
        yield World(house, team, other, sent["id"], made["files"])


# Every route, as everybody

PHASE = {"opens_at": "2030-01-01T00:00:00Z"}
SMALL = partial(run_bytes, small=True)
# What a request to the route carries, and the status of an answer to who may.
CASES: dict[str, tuple[Callable[[World], dict[str, Any]], int]] = {
    f"POST {V1}/teams": (lambda w: {"json": {"name": f"New {next(w.numbers)}"}}, 201),
    f"POST {V1}/teams/{{name}}/token": (lambda _: {}, 200),
    f"POST {V1}/organisers": (
        lambda w: {
            "json": {
                "invitation": w.invitation(),
                "name": f"New {next(w.numbers)}",
                "password": servers.PASSWORD,
            }
        },
        201,
    ),
    f"POST {V1}/organisers/token": (lambda _: {"json": {"name": "x", "password": "y"}}, 401),
    f"POST {V1}/organisers/invitations": (lambda _: {}, 201),
    f"POST {V1}/tasks": (lambda w: {"json": {"slug": f"new-{next(w.numbers)}"}}, 201),
    f"PATCH {V1}/tasks/{{task}}": (lambda _: {"json": {"description": "d"}}, 200),
    f"PUT {V1}/tasks/{{task}}/collections/{{language}}": (
        lambda _: {"content": servers.collection_bytes(gold(small=True))},
        200,
    ),
    f"PUT {V1}/tasks/{{task}}/phases/{{kind}}": (
        lambda _: {"json": {"opens_at": servers.EARLY}},
        200,
    ),
    f"POST {V1}/tasks/{{task}}/phases/{{kind}}/close": (lambda _: {}, 200),
    f"POST {V1}/tasks/{{task}}/baselines": (
        lambda w: {
            "content": SMALL(),
            "params": {"name": f"Base {next(w.numbers)}", "language": "en"},
        },
        201,
    ),
    f"POST {V1}/tasks/{{task}}/rescore": (lambda _: {}, 200),
    f"POST {V1}/tasks/{{task}}/publish": (lambda _: {}, 422),  # there are no runs
    f"POST {V1}/tasks/{{task}}/submissions": (
        lambda _: {"content": SMALL(), "params": {"language": "en"}},
        201,
    ),
    f"PATCH {V1}/submissions/{{submission}}": (lambda _: {"json": {"listed": True}}, 200),
    f"POST {V1}/submissions/{{submission}}/withdraw": (lambda _: {}, 200),
    f"POST {V1}/submissions/{{submission}}/disqualify": (lambda _: {"json": {"reason": "r"}}, 200),
    f"POST {V1}/submissions/{{submission}}/reinstate": (lambda _: {}, 409),  # it is not out
}


# Projects of annotation and live tests have tests of their own for what they do; here they are
# asked for things that are not there, as everybody.
ELSEWHERE = re.compile(r" (/api/v1|/organiser)?/(new-)?(projects?|live|annotat|talk)")


def address(
    world: World, route: str, submission: str | None = None, task: str | None = None
) -> str:
    """The path of a route, with things that are there."""
    path = route.partition(" ")[2]
    if "{submission}" in path and submission is None:
        submission = world.new_submission()
    changes = not route.startswith("GET ")
    values = {
        "task": task or (world.new_task() if changes and "{task}" in path else "task"),
        "submission": submission or "",
        "invitation": world.invitation() if "{invitation}" in path else "",
        "language": "en",
        "kind": "development",
        "name": "Other" if changes and "{name}" in path else "",
        "path:path": world.results[0],
    }
    path = re.sub(r"{([^}]+)}", lambda part: values.get(part[1], "1"), path)
    assert "{" not in path
    return path


def is_api(route: str) -> bool:
    return route.partition(" ")[2].startswith("/api/")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_as_everybody(world: World, route: str, role: str) -> None:
    method = route.partition(" ")[0]
    path = address(world, route)
    options: dict[str, Any] = {}
    wanted = 200
    elsewhere = bool(ELSEWHERE.search(route))
    if method != "GET" and is_api(route) and elsewhere and method != "DELETE":
        options = {"json": {}}
    elif method != "GET" and is_api(route) and not elsewhere:
        make, wanted = CASES[route]  # a new route needs a case
        options = make(world)
    before = everything(world)
    answer = world.call(role, method, path, **options)
    kind = "team" if role == "other" else role
    if kind not in ROUTES[route]:
        if kind == "anyone" and method == "GET" and not is_api(route):
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/sign-in")
        else:
            assert answer.status_code == (401 if kind == "anyone" else 403)
        if is_api(route):
            problem = servers.problem(answer)
            assert problem["code"] == ("sign-in" if kind == "anyone" else "forbidden")
        assert everything(world) == before
    elif method != "GET" and not is_api(route):
        assert answer.status_code == 403, answer.text  # forms need the key of a page of ours
        assert everything(world) == before
    elif role == "other" and "{submission}" in route:
        assert answer.status_code == 404
        nothing = world.call(role, method, address(world, route, "f" * 24), **options)
        assert (nothing.status_code, without_keys(nothing)) == (404, without_keys(answer))
        assert everything(world) == before
    elif elsewhere:
        there = method == "GET" and "{" not in route
        assert answer.status_code in ((200,) if there else (404, 422)), answer.text[:500]
        assert everything(world) == before
    else:
        assert answer.status_code == wanted or (method == "GET" and answer.status_code == 303), (
            answer.text[:500]
        )
    if route.endswith("/teams/{name}/token") and answer.status_code == 200:
        world.other.token = answer.json()["token"]


def without_keys(answer: Any) -> str:
    """An answer's text without the keys of its forms, which are never the same."""
    return re.sub(r"\b[0-9a-f]{64}\b", "key", answer.text)


def everything(world: World) -> list[Any]:
    """What the tables hold, but sessions and attempts."""
    from sqlalchemy import text

    tables = ("teams", "organisers", "tasks", "task_collections", "phases", "submissions", "events")
    with world.house.context.database.engine.connect() as connection:
        return [connection.execute(text(f"SELECT * FROM {name}")).fetchall() for name in tables]


def test_the_table_itself_is_right() -> None:
    """Said a second time, from the other side: what is not named here is for organisers."""
    everybody = {
        *("/annotate/{link}", "/talk/{link}"),  # the link is the key
        *("/", "/style.css", "/register", "/sign-in", "/sign-out", "/join/{invitation}"),
        *("/healthz", "/readyz", "/api/docs", f"{V1}/organisers", f"{V1}/organisers/token"),
        *(f"{V1}/tasks", f"{V1}/tasks/{{task}}", f"{V1}/tasks/{{task}}/rubric", f"{V1}/teams"),
        *(f"{V1}/tasks/{{task}}/{name}" for name in ("leaderboard", "results")),
        *(f"/tasks/{{task}}{name}" for name in ("", "/leaderboard", "/results")),
        *(f"{start}/tasks/{{task}}/results/{{path:path}}" for start in ("", V1)),
    }
    organisers = {f"POST {V1}/tasks", f"PATCH {V1}/tasks/{{task}}", f"GET {V1}/teams"}
    teams = {
        *(f"{V1}/team", f"{V1}/tasks/{{task}}/quota", "/tasks/{task}/runs"),
        *(f"{start}/tasks/{{task}}/data/{{language}}" for start in ("", V1)),
        *(f"{V1}/tasks/{{task}}/submissions", f"{V1}/submissions/{{submission}}/withdraw"),
        *(f"{start}/{{submission}}{end}" for start in ("/runs", f"{V1}/submissions")
          for end in ("", "/file")),
    }  # fmt: skip
    for route, allowed in ROUTES.items():
        path = route.partition(" ")[2]
        assert ("anyone" in allowed) == (path in everybody and route not in organisers), route
        for role, start in (("annotator", f"{V1}/annotation"), ("tester", f"{V1}/talking")):
            assert (role in allowed) == path.startswith(start), route
        if "anyone" not in allowed:
            assert ("team" in allowed) == (path in teams), route


def test_every_case_is_a_route() -> None:
    changing = {r for r in ROUTES if is_api(r) and not r.startswith("GET ")}
    assert CASES.keys() == {route for route in changing if not ELSEWHERE.search(route)}


@pytest.mark.parametrize("route", [r for r in ROUTES if is_api(r)])
def test_a_wrong_token_is_refused_everywhere(world: World, route: str) -> None:
    path = address(world, route)
    for header in ("Bearer wrong", "Bearer", "Basic eDp5", "Bearer \xe9", f"{world.team.token}"):
        answer = world.house.http.request(
            route.partition(" ")[0], path, headers={"authorization": header.encode("latin-1")}
        )
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_session_is_no_token_and_a_token_no_session(world: World) -> None:
    cookie = world.cookie("team")["cookie"]
    http = world.house.from_address("10.0.0.1", follow_redirects=False)
    assert http.get(f"{V1}/team", headers={"cookie": cookie}).status_code == 401
    secret = cookie.partition("=")[2]
    bearer = {"authorization": f"Bearer {secret}"}
    assert http.get(f"{V1}/team", headers=bearer).status_code == 401
    token = {"cookie": f"{SESSION_COOKIE}={world.team.token}"}
    assert http.get("/tasks/task/runs", headers=token).status_code == 303
    bearer = {"authorization": f"Bearer {world.team.token}"}
    assert http.get("/tasks/task/runs", headers=bearer).status_code == 303


@pytest.mark.parametrize("host", ["x/api/?", "x/y?", "x/api/v1/team#", "[::1", "x y"])
def test_a_host_does_not_decide_what_is_the_api(world: World, host: str) -> None:
    """A page's form without key stays refused, and the API's answers stay the API's."""
    headers = {"host": host, **world.cookie("team")}
    http = world.house.http
    form = http.post(f"/runs/{world.submission}", headers=headers, data={"listed": "true"})
    assert form.status_code in (400, 403)
    answer = http.get(f"{V1}/team", headers={"host": host})
    assert answer.status_code in (400, 401)


def test_sessions_end(house: House) -> None:
    servers.make_task(house.organiser)
    team = house.team("A")
    context = house.context
    http = house.from_address("10.0.0.1", follow_redirects=False)
    assert team.token
    headers = {
        "cookie": f"{SESSION_COOKIE}={start_session(context, actor_of_token(context, team.token))}"
    }
    assert http.get("/tasks/task/runs", headers=headers).status_code == 200
    house.clock.move(days=13.9)
    assert http.get("/tasks/task/runs", headers=headers).status_code == 200
    house.clock.move(days=0.2)
    assert http.get("/tasks/task/runs", headers=headers).status_code == 303
    house.clock.move(days=-1)
    house.organiser.ok("POST", "/teams/A/token")
    assert http.get("/tasks/task/runs", headers=headers).status_code == 303


# Secrets are kept as hashes


def test_no_secret_is_in_the_database(tmp_path: Path) -> None:
    with servers.house(f"sqlite:///{tmp_path}/d.sqlite") as house:
        team = house.team("A")
        invitation = house.organiser.ok("POST", "/organisers/invitations")["path"][6:]
        given = {"name": "Olga", "password": servers.PASSWORD}
        token = house.anyone.ok("POST", "/organisers/token", json=given)["token"]
        assert team.token
        session = start_session(house.context, actor_of_token(house.context, team.token))
        kept = b"".join(path.read_bytes() for path in sorted(tmp_path.glob("d.sqlite*")))
        assert b"Olga" in kept
        for secret in (team.token, invitation, token, session, servers.PASSWORD):
            assert secret.encode() not in kept
            assert secret.rpartition("_")[2].encode() not in kept
        assert b"$argon2id$" in kept


# Limits


def chunks(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), 1 << 16):
        yield content[start : start + (1 << 16)]


def test_bodies_have_a_limit(tmp_path: Path) -> None:
    """On a real server: told by content-length, or counted in chunks."""
    with servers.Server(tmp_path / "server") as server, server.client() as http:
        organiser = server.organiser(http)
        task = servers.make_task(organiser, collections={"en": gold(small=True)})
        team = organiser.team("A")
        fits = SMALL() + b" " * ((10 << 20) - len(SMALL()))
        team.submit(task, fits)
        for route, api in (
            (f"POST /tasks/{task}/submissions?language=en", team),
            (f"PUT /tasks/{task}/collections/en", organiser),
            ("POST /teams", Api(http)),
            (f"PATCH /tasks/{task}", organiser),
        ):
            method, _, path = route.partition(" ")
            for large in (fits + b" ", chunks(fits + b" "), chunks(fits * 3)):
                with server.client() as fresh:
                    api = Api(fresh, api.token)
                    answer = api.call(method, path, content=large, headers=JSON)
                assert answer.status_code == 413, (route, answer.text)
                assert servers.problem(answer)["code"] == "too-large"
        assert organiser.ok("GET", f"/tasks/{task}/submissions")["total"] == 1


def test_a_bomb_is_not_unpacked(house: House) -> None:
    task = servers.make_task(house.organiser, collections={"en": gold(small=True)})
    team = house.team("A")
    bomb = gzip.compress(b"[" + b" " * (1 << 28))
    assert len(bomb) < 1 << 20
    start = time.monotonic()
    for answer in (
        team.send(task, bomb),
        team.send(task, gzip.compress(b" " * (6 << 20)) * 2),
        house.organiser.call("PUT", f"/tasks/{task}/collections/en", content=bomb),
    ):
        assert answer.status_code == 413
        assert servers.problem(answer)["code"] == "too-large"
    assert time.monotonic() - start < 20
    good = gzip.compress(SMALL())
    damaged = good[:30] + b"xxxx" + good[34:]
    for bad in (good[:-1], good[:20], b"\x1f\x8b", damaged, good + good[:9]):
        answer = team.send(task, bad)
        assert answer.status_code == 422
        assert servers.problem(answer)["code"] == "bad-file"


DEEP = {
    "arrays": b"[" * 100_000 + b"]" * 100_000,
    "objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "open": b"[" * 100_000,
    "mixed": b'[{"a":' * 50_000,
    "inside": b'[{"id": "en-01", "quality": ' + b"[" * 500 + b"]" * 500 + b"}]",
    "rubric": b'{"slug": "deep", "rubric": {"name": ' + b"[" * 300 + b"]" * 300 + b"}}",
}
ODD = {
    "zero": b'{"name": "a\\u0000b", "slug": "a", "reason": "\\u0000", "title": "\\u0000"}',
    "zero byte": b"\x00",
    "surrogate": b'{"name": "\\ud800", "reason": "\\ud800", "title": "\\ud800", "slug": "a"}',
    "surrogate in a text": b'{"name": "odd", "contact": "\\ud800"}',
    "surrogate in a key": b'{"\\ud800": 1}',
    "surrogate in a rubric": b'{"slug": "odd", "rubric": {"name": "\\ud800"}}',
    "surrogate in a description": b'{"slug": "odd", "description": "\\ud800"}',
    "surrogate as a password": b'{"name": "Olga", "password": "\\ud800"}',
    "raw surrogate": b'{"name": "\xed\xa0\x80"}',
    "huge number": b'{"entries": 1' + b"0" * 5000 + b', "daily": 1' + b"0" * 400 + b"}",
    "huge real": b'{"entries": 1e999, "slug": "x", "daily": 1e999}',
    "nan": b'{"entries": NaN, "name": NaN, "reason": Infinity, "slug": "x", "rubric": NaN}',
    "utf-16": '{"name": 1}'.encode("utf-16"),
    "array": b"[]",
    "null": b"null",
    "quotes": b'"' + b'\\"' * 40_000,
    "nothing": b"",
    "text": b"hello",
    "huge run": b'[{"id": 1' + b"0" * 5000 + b"}]",
    "odd run": b'[{"id": "\\ud800", "quality": {"A": {"2": 1e999}}, "nugget": [{"\\ud800": 1}]}]',
}
TAKES_NOTHING = {
    route
    for route, (make, _) in CASES.items()
    if route.endswith(("/token", "/invitations", "/close", "/rescore", "/publish", "/withdraw"))
    or route.endswith("/reinstate")
} - {f"POST {V1}/organisers/token"}


@pytest.mark.parametrize("route", CASES)
def test_hostile_bodies_are_refused_and_fast(world: World, route: str) -> None:
    role = "team" if ROUTES[route] == {"team"} else "organiser"
    method = route.partition(" ")[0]
    submission = world.new_submission()
    params = {"language": "en", "name": "x"} if "{task}" in route else {}
    path = address(world, route, submission)
    for name, body in {**DEEP, **ODD}.items():
        start = time.monotonic()
        answer = world.call(role, method, path, content=body, headers=JSON, params=params)
        least = 200 if route in TAKES_NOTHING else 400
        assert least <= answer.status_code < 500, (name, answer.status_code, answer.text[:300])
        assert time.monotonic() - start < 5, name
        if "{name}" in route and answer.status_code == 200:
            world.other.token = answer.json()["token"]


@pytest.mark.parametrize(
    "query",
    ["%00", "a%00", "%ed%a0%80", "%ff", "1" * 5000, "../../etc/passwd", "'\"<script>", "%0d%0ax:y"],
)
def test_hostile_addresses_are_refused(world: World, query: str) -> None:
    for role in ROLES:
        for path in (
            f"{V1}/tasks/{query}",
            f"{V1}/tasks/a%3F{query}",
            f"{V1}/tasks/task/leaderboard?sort={query}",
            f"{V1}/tasks/task/leaderboard?phase={query}",
            f"{V1}/tasks/task/leaderboard?language={query}",
            f"{V1}/tasks/task/leaderboard?offset={query}",
            f"{V1}/tasks/task/results/{query}",
            f"{V1}/tasks/task/data/{query}",
            f"{V1}/submissions/{query}",
            f"/tasks/{query}",
            f"/runs/{query}",
            f"/join/{query}",
        ):
            answer = world.call(role, "GET", path)
            refused = answer.status_code == 303 or 400 <= answer.status_code < 500
            assert refused, (path, answer.status_code)
            assert answer.headers.get("location", "/sign-in").startswith("/sign-in")


def test_registration_has_a_rate(tmp_path: Path) -> None:
    with servers.house(f"sqlite:///{tmp_path}/d.sqlite", registrations=Rate(3, 600)) as house:
        first, second = house.from_address("10.0.0.1"), house.from_address("10.0.0.2")

        def register(http: Any, name: str) -> Any:
            return http.post(f"{V1}/teams", json={"name": name})

        assert [register(first, f"t{i}").status_code for i in range(3)] == [201] * 3
        house.clock.move(seconds=100)
        answer = register(first, "t3")
        assert answer.status_code == 429
        assert servers.problem(answer)["code"] == "too-many"
        assert 0 < int(answer.headers["retry-after"]) <= 500
        assert register(second, "t3").status_code == 201
        forwarded = {"x-forwarded-for": "10.0.0.9", "forwarded": "for=10.0.0.9"}
        body = {"name": "t4"}
        assert first.post(f"{V1}/teams", json=body, headers=forwarded).status_code == 429
        house.clock.move(seconds=int(answer.headers["retry-after"]))
        assert register(first, "t4").status_code == 201


def test_signing_in_has_a_rate(tmp_path: Path) -> None:
    with servers.house(f"sqlite:///{tmp_path}/d.sqlite", sign_ins=Rate(5, 300)) as house:
        first, second = house.from_address("10.0.0.1"), house.from_address("10.0.0.2")

        def sign_in(http: Any, password: str, name: str = "Olga") -> Any:
            return http.post(f"{V1}/organisers/token", json={"name": name, "password": password})

        assert [sign_in(first, servers.PASSWORD).status_code for _ in range(8)] == [200] * 8
        wrong = [sign_in(first, "wrong"), sign_in(first, "wrong", "Nobody")]
        assert [answer.status_code for answer in wrong] == [401, 401]
        assert wrong[0].content == wrong[1].content  # says nothing of who is there
        assert sign_in(first, servers.PASSWORD).status_code == 200  # and forgives nothing
        assert [sign_in(first, "wrong").status_code for _ in range(3)] == [401] * 3
        for password in ("wrong", servers.PASSWORD):
            answer = sign_in(first, password)
            assert answer.status_code == 429
            assert int(answer.headers["retry-after"]) > 0
        body = {"invitation": "guess", "name": "Eve", "password": servers.PASSWORD}
        assert first.post(f"{V1}/organisers", json=body).status_code == 429
        assert sign_in(second, servers.PASSWORD).status_code == 200
        house.clock.move(seconds=300)
        assert sign_in(first, servers.PASSWORD).status_code == 200


def test_a_team_cannot_sign_in_to_guess_on(tmp_path: Path) -> None:
    """A team's own success must not give its address new guesses at an organiser's password."""
    from dialeval.server.problems import Problem
    from dialeval.server.services.accounts import organiser_by_password, sign_in_team

    with servers.house(f"sqlite:///{tmp_path}/d.sqlite", sign_ins=Rate(3, 300)) as house:
        token = house.team("Eve").token
        assert token
        statuses = []
        for _ in range(4):
            with contextlib.suppress(Problem):
                sign_in_team(house.context, token, "10.0.0.1")
            with pytest.raises(Problem) as refused:
                organiser_by_password(house.context, "Olga", "guess", "10.0.0.1")
            statuses.append(refused.value.status)
        assert statuses == [401, 401, 401, 429] or statuses == [401, 401, 429, 429]


# What nobody outside learns


def bad_runs() -> Iterator[bytes]:
    """Runs that are wrong in every way the validator knows, and bodies that are no runs."""
    yield from DEEP.values()
    yield from ODD.values()
    whole = json.loads(run_bytes())
    for place in range(len(whole)):
        yield json.dumps(whole[:place] + whole[place + 1 :]).encode()
    for change in (
        {"id": "en-99"},
        {"quality": {}},
        {"quality": {"A": {"2": -1}}},
        {"nugget": []},
        {"nugget": [{}]},
        {"extra": 1},
        {"annotations": []},
    ):
        yield json.dumps([{**whole[0], **change}, *whole[1:]]).encode()
    yield json.dumps([*whole, whole[0]]).encode()


def crawl(world: World) -> Iterator[tuple[str, Any]]:
    """Everything that somebody outside can ask for."""
    for role in ("anyone", "team", "other"):
        for route in ROUTES:
            if "/export" in route or not route.startswith("GET "):
                continue
            for submission in (world.submission, "f" * 24):
                path = address(world, route, submission)
                if path.endswith("/" + world.results[0]):
                    paths = [path.removesuffix(world.results[0]) + file for file in world.results]
                else:
                    paths = [path]
                for one in paths:
                    yield f"{role} {one}", world.call(role, "GET", one)
        for path in (
            f"{V1}/tasks/task/export",
            "/organiser/tasks/task/export",
            f"{V1}/tasks/task/results/en.jsonl",
            f"{V1}/tasks/task/results/data/en.jsonl",
            f"{V1}/tasks/task/results/dialogues.csv",
            f"{V1}/tasks/nothing/data/en",
            f"{V1}/tasks/task/data/zh",
            f"{V1}/openapi.json",
            "/nothing",
            "/static/nothing",
        ):
            yield f"{role} {path}", world.call(role, "GET", path)
        for column in ("A.nmd", "nugget.jsd", "nothing"):
            path = f"{V1}/tasks/task/leaderboard"
            yield f"{role} board", world.call(role, "GET", path, params={"sort": column})
        for route in CASES:
            path = address(world, route, world.submission, "task")
            if role != "anyone" and route.endswith(("/withdraw", "/teams")):
                continue
            method = route.partition(" ")[0]
            for body in (b"", b"{}", b"[", b"[{}]"):
                yield f"{role} {route}", world.call(role, method, path, content=body, headers=JSON)
    for run in bad_runs():
        yield "a bad run", world.team.send("task", run)
    yield "a good run", world.team.send("task", run_bytes())
    yield "a good run again", world.team.send("task", run_bytes(), key="k")


def test_gold_the_half_and_scores_of_dialogues_stay_inside(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    from dialeval.server.middleware import JsonLines

    ids = set(gold().ids)
    scores = {
        (name, column): {f"{value:.4f}" for value in values}
        for name, run in (("popularity", run_bytes("popularity")), ("half", run_between(0.5)))
        for column, values in de.evaluate(
            parse_run(run, gold().rubric, "run", format="json"), gold()
        ).by_dialogue.items()
    }
    shares = {
        criterion.id: {f"{value:.4f}" for value in gold().gold(criterion).ravel()} - {"0.0000"}
        for criterion in gold().rubric.criteria
    }
    seen = 0
    with caplog.at_level(logging.INFO):
        for what, answer in crawl(world):
            seen += 1
            assert answer.status_code < 500, what
            assert not answer.content.startswith((b"PK", b"\x1f\x8b")), what  # no archive at all
            text = answer.text + "\n".join(f"{k}: {v}" for k, v in answer.headers.items())
            assert MARK not in text, what
            assert QUIET not in text, what  # a team that is on no board
            own = "/file" in what and answer.status_code == 200
            if "openapi.json" not in what:
                assert "annotation" not in text, what
            found = {id for id in ids if re.search(rf"\b{id}\b", text)}
            allowed = own or "/data/" in what
            assert len(found) <= 1 or (allowed and found == ids), (what, found)
            if own:
                continue
            numbers = {f"{float(n):.4f}" for n in re.findall(r"\b[01]\.\d{2,}", text)}
            for key, values in scores.items():
                assert len(numbers & values) < len(values) / 3, (what, key)
            for key, values in shares.items():
                assert len(numbers & values) < max(4, len(values) / 2), (what, key)
            if what.endswith(".svg"):
                marks = text.count("<use") + text.count("<circle")
                assert marks < len(gold()) * 2, what
    assert seen > 400
    ours = [record for record in caplog.records if record.name.startswith("dialeval")]
    logged = "\n".join(JsonLines().format(record) for record in ours)
    assert f"{V1}/tasks/task" in logged
    assert MARK not in logged
    assert "annotations" not in logged
    assert "/join/dialeval" not in logged
    for secret in (world.team.token, world.other.token, servers.PASSWORD, "dialeval_"):
        assert secret not in logged


def test_the_crawl_would_find_gold(world: World) -> None:
    """The search finds what it looks for where it is: in the organisers' export."""
    import io
    import zipfile

    content = world.house.organiser.call("GET", "/tasks/task/export").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read("data/en.jsonl").decode()
    assert MARK in text
    assert "annotation" in text


def test_hidden_tasks_are_not_there(house: House) -> None:
    task = servers.make_task(house.organiser, "hidden-one", visible=False)
    team = house.team("A")
    for api in (house.anyone, team):
        for path in ("", "/leaderboard", "/rubric", "/results"):
            there = api.call("GET", f"/tasks/{task}{path}")
            nowhere = api.call("GET", f"/tasks/nowhere{path}")
            assert (there.status_code, there.content) == (404, nowhere.content)
    for path in ("/data/en", "/submissions", "/quota"):
        team.refused(404, "GET", f"/tasks/{task}{path}")
    assert team.send(task, run_bytes()).status_code == 404
    for path in (f"/tasks/{task}", f"/tasks/{task}/leaderboard"):
        assert house.http.get(path).status_code == 404


def test_a_mistake_of_ours_is_told_without_details(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(world.house.app.state._state, "context", None)
    for path in (f"{V1}/tasks", "/"):
        answer = world.house.http.get(path)
        assert answer.status_code == 500
        assert "Traceback" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_answer_carries_the_headers(world: World) -> None:
    for path in (f"{V1}/tasks", "/", "/nothing", f"{V1}/team", "/healthz", f"{V1}/openapi.json"):
        headers = world.house.http.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-request-id"]
        assert "server" not in headers
    answer = world.house.http.delete(f"{V1}/tasks")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) & {"GET", "POST"}
