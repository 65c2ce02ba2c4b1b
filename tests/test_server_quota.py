"""No race passes a quota: many submissions of one team at the same moment."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import servers
from servers import Api, Server

from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.problems import Problem
from dialeval.server.services import submissions
from dialeval.server.services.accounts import actor_of_token

QUOTA = 5
AT_ONCE = 200


@pytest.fixture(scope="module", params=["sqlite", "sqlite-2", "postgres-4"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """SQLite with one process and with two, PostgreSQL with four."""
    kind, _, workers = request.param.partition("-")
    url = request.getfixturevalue("cluster").new_database() if kind == "postgres" else None
    folder = tmp_path_factory.mktemp("server")
    with Server(folder / "server", database_url=url, workers=int(workers or 1)) as server:
        yield server


@pytest.fixture(scope="module")
def organiser(server: Server) -> Iterator[Api]:
    with server.client() as http:
        yield server.organiser(http)


def at_once(
    server: Server, token: str | None, count: int, request: Callable[[Api, int], Any]
) -> list[Any]:
    """The answers to so many requests, each on a connection of its own, sent together."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Any:
        with server.client() as http:
            barrier.wait()
            return request(Api(http, token), number)

    with ThreadPoolExecutor(count) as threads:
        return [*threads.map(one, range(count))]


def small_task(organiser: Api, slug: str, **quotas: int) -> str:
    return servers.make_task(
        organiser,
        slug,
        collections={"en": servers.gold(small=True)},
        phases={"development": quotas},
    )


def test_exactly_the_quota_passes(server: Server, organiser: Api) -> None:
    runs = [servers.run_between(i / AT_ONCE, small=True) for i in range(AT_ONCE)]
    task = small_task(organiser, "quota", daily=QUOTA, total=50)
    team, other = organiser.team("Fast"), organiser.team("Other")
    answers = at_once(server, team.token, AT_ONCE, lambda api, i: api.send(task, runs[i]))
    assert Counter(a.status_code for a in answers) == {201: QUOTA, 429: AT_ONCE - QUOTA}
    for answer in answers:
        if answer.status_code == 429:
            document = servers.problem(answer)
            assert document["code"] == "quota"
            assert f"all {QUOTA} submissions of today" in document["detail"]
    taken = {a.json()["id"]: a.json()["scores"] for a in answers if a.status_code == 201}
    kept = team.ok("GET", f"/tasks/{task}/submissions")
    assert {s["id"]: s["scores"] for s in kept["submissions"]} == taken
    left = team.ok("GET", f"/tasks/{task}/quota")
    assert (left["used"], left["used_today"], left["left"]) == (QUOTA, QUOTA, 0)
    other.submit(task, runs[0])  # the quota is a team's own


def test_the_same_request_many_times_at_once_counts_once(server: Server, organiser: Api) -> None:
    task = small_task(organiser, "again", daily=QUOTA, total=QUOTA)
    team = organiser.team("Patient")
    run = servers.run_bytes(small=True)
    answers = at_once(server, team.token, 50, lambda api, _: api.send(task, run, key="k"))
    assert Counter(a.status_code for a in answers) == {201: 1, 200: 49}
    assert len({json.dumps(a.json(), sort_keys=True) for a in answers}) == 1
    assert team.ok("GET", f"/tasks/{task}/quota")["used"] == 1
    assert team.ok("GET", f"/tasks/{task}/submissions")["total"] == 1


def test_teams_and_an_organiser_do_not_stop_each_other(server: Server, organiser: Api) -> None:
    """Submissions, choices and changes of the rule at once: all succeed, the count is right."""
    task = small_task(organiser, "busy")
    teams = [organiser.team(f"Team {i}") for i in range(8)]
    for team in teams:
        team.submit(task, servers.run_bytes(small=True))

    def work(api: Api, number: int) -> list[int]:
        if number == 0:
            changes = [{"rule": "last"}, {"rule": "best"}] * 15
            path = f"/tasks/{task}"
            return [api.call("PATCH", path, json=change).status_code for change in changes]
        own = Api(api.http, teams[number - 1].token)
        statuses = []
        for i in range(8):
            sent = own.send(task, servers.run_between(i / 8, small=True))
            path = f"/submissions/{sent.json().get('id', '-')}"
            chosen = own.call("PATCH", path, json={"chosen": True})
            statuses += [sent.status_code, chosen.status_code]
        return statuses

    statuses = at_once(server, organiser.token, 9, work)
    assert Counter(status for some in statuses for status in some) == {201: 64, 200: 94}
    counting = [
        s["team"]
        for s in organiser.ok("GET", f"/tasks/{task}/submissions")["submissions"]
        if s["counting"]
    ]
    assert sorted(counting) == [team.name for team in teams]


@pytest.mark.parametrize("key", [None, "the same"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_counting_and_keeping_are_one_step(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    key: str | None,
) -> None:
    """Between them is time enough for everybody else, and each has a connection of its own."""
    url = f"sqlite:///{tmp_path}/dialeval.sqlite"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    counted = submissions.quota_in

    def slowly(*args: Any) -> Any:
        quota = counted(*args)
        time.sleep(0.1)
        return quota

    with servers.house(url) as house:
        task = small_task(house.organiser, "slow", daily=1, total=5)
        token = house.team("Fast").token
        assert token
        actor = actor_of_token(house.context, token)
        upload = submissions.Upload("en", servers.run_bytes(small=True), idempotency_key=key)
        contexts = [Context(Database(url), house.context.settings, house.clock) for _ in range(8)]
        monkeypatch.setattr(submissions, "quota_in", slowly)

        def one(context: Context) -> str:
            try:
                submission, new = submissions.submit(context, actor, task, upload)
            except Problem as problem:
                return problem.code
            finally:
                context.database.engine.dispose()
            return "new" if new else submission.key

        with ThreadPoolExecutor(len(contexts)) as threads:
            ends = Counter(threads.map(one, contexts))
        (kept,) = Api(house.http, token).ok("GET", f"/tasks/{task}/submissions")["submissions"]
        assert ends == {"new": 1, kept["id"] if key else "quota": 7}
