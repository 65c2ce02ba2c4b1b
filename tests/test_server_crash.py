"""Nothing is lost: killed servers, full disks, dead databases, and a stop in the middle of work."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import random
import sqlite3
import subprocess
import threading
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import servers
from servers import Api, Cluster, Server, gold, run_between, run_bytes

CLIENTS = 4
SMALL = {"en": gold(small=True)}


class Client:
    """A team that goes on submitting, and remembers what it was told."""

    def __init__(self, team: Api, seed: int) -> None:
        self.team, self.random = team, random.Random(seed)
        self.acknowledged: dict[str, Any] = {}
        self.unknown: dict[str, bytes] = {}
        self.surprises: list[str] = []

    def work(self, http: httpx.Client, stop: threading.Event) -> None:
        """Submit until the server is gone; now and then hide a run or take it back."""
        api = Api(http, self.team.token)
        while not stop.is_set():
            key, run = uuid.uuid4().hex, run_between(self.random.random(), small=True)
            self.unknown[key] = run
            try:
                self.note(key, api.send("task", run, key=key))
                if self.acknowledged and self.random.random() < 0.3:
                    sent = self.random.choice([*self.acknowledged.values()])
                    path = f"/submissions/{sent['id']}"
                    if self.random.random() < 0.5:
                        api.call("PATCH", path, json={"listed": self.random.random() < 0.5})
                    else:
                        api.call("POST", f"{path}/withdraw")
            except httpx.TransportError:
                return

    def note(self, key: str, answer: Any) -> None:
        if answer.status_code in (200, 201):
            self.acknowledged[key] = answer.json()
            del self.unknown[key]
        else:
            self.surprises.append(answer.text)

    def kept(self, http: httpx.Client) -> dict[str, Any]:
        """What the server has of it, by id; the count and the quota agree."""
        api = Api(http, self.team.token)
        found: dict[str, Any] = {}
        while True:
            params = {"offset": len(found), "limit": 1000}
            page = api.ok("GET", "/tasks/task/submissions", params=params)
            found |= {s["id"]: s for s in page["submissions"]}
            if len(found) >= page["total"] or not page["submissions"]:
                break
        assert len(found) == page["total"]
        assert api.ok("GET", "/tasks/task/quota")["used"] == len(found)
        return found

    def check(self, http: httpx.Client) -> None:
        """After a restart: what was acknowledged is there, what was not can be sent again."""
        assert self.surprises == []
        kept = self.kept(http)
        for sent in self.acknowledged.values():
            assert kept[sent["id"]]["scores"] == sent["scores"]
            assert kept[sent["id"]]["sha256"] == sent["sha256"]
        assert len(kept) <= len(self.acknowledged) + len(self.unknown)
        api = Api(http, self.team.token)
        for key, run in [*self.unknown.items()]:
            first, second = (api.send("task", run, key=key) for _ in range(2))
            assert first.status_code in (200, 201)
            assert second.status_code == 200
            assert first.json()["id"] == second.json()["id"]
            self.note(key, first)
        kept = self.kept(http)
        assert kept.keys() == {sent["id"] for sent in self.acknowledged.values()}
        counting = [s for s in kept.values() if s["counting"]]
        entered = [s for s in kept.values() if s["listed"] and s["status"] == "scored"]
        assert len(counting) == min(1, len(entered))
        if entered:
            best = min(s["scores"]["A.rsnod"] for s in entered)
            assert counting[0]["scores"]["A.rsnod"] == best


def kill_again_and_again(server: Server, rounds: int) -> Iterator[Api]:
    """The organiser after the last restart."""
    chance = random.Random(rounds)
    server.start()
    with server.client() as http:
        token = server.organiser(http).token
        organiser = Api(http, token)
        quotas = {"development": {"daily": 1_000_000, "total": 1_000_000}}
        servers.make_task(organiser, collections=SMALL, phases=quotas)
        clients = [Client(organiser.team(f"Team {i}"), i) for i in range(CLIENTS)]
    for _ in range(rounds):
        stop = threading.Event()
        connections = [server.client() for _ in clients]
        threads = [
            threading.Thread(target=client.work, args=(http, stop))
            for client, http in zip(clients, connections, strict=True)
        ]
        for thread in threads:
            thread.start()
        time.sleep(chance.uniform(0.05, 0.5))
        server.kill()
        stop.set()
        for thread in threads:
            thread.join()
        for http in connections:
            http.close()
        server.start()
        with server.client() as http:
            for client in clients:
                client.check(http)
    assert sum(len(client.acknowledged) for client in clients) > rounds * 2
    with server.client() as http:
        organiser = Api(http, token)
        check_files(organiser)
        yield organiser


def check_files(organiser: Api) -> None:
    """Every row has its file, whole."""
    content = organiser.call("GET", "/tasks/task/export").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        rows = [*csv.DictReader(io.StringIO(archive.read("submissions.csv").decode()))]
        assert rows
        for row in rows:
            file = archive.read(f"submissions/{row['id']}.json")
            assert hashlib.sha256(file).hexdigest() == row["sha256"]
    total = organiser.ok("GET", "/tasks/task/submissions", params={"limit": 1})["total"]
    assert total == len(rows)
    rescored = organiser.ok("POST", "/tasks/task/rescore")
    assert rescored == {"submissions": total, "changed": 0}


@pytest.mark.slow
def test_killed_fifty_times_on_sqlite(tmp_path: Path) -> None:
    with servers_stopped(Server(tmp_path / "server")) as server:
        for _ in kill_again_and_again(server, 50):
            pass
        server.kill()
    with closing(sqlite3.connect(tmp_path / "server" / "dialeval.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.slow
def test_killed_on_postgres(tmp_path: Path, postgres_url: str) -> None:
    with servers_stopped(Server(tmp_path / "server", database_url=postgres_url)) as server:
        for _ in kill_again_and_again(server, 8):
            pass


class servers_stopped:
    """Whatever happens, no server is left running."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def __enter__(self) -> Server:
        return self.server

    def __exit__(self, *_: object) -> None:
        self.server.kill()


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB."""
    folder = tmp_path / "server"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a file system, and not everywhere")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as stream:
        for size in (1 << 16, 1 << 10):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_disk_is_told_and_recovers(small_disk: Path) -> None:
    with Server(small_disk) as server, server.client() as http:
        organiser = server.organiser(http)
        servers.make_task(organiser)
        team = organiser.team("A")
        team.submit("task", run_bytes())
        filler = fill(small_disk)
        taken = 1
        for number in range(500):  # what the log of SQLite has room for may still be taken
            run = run_between(number / 500)
            answer = team.send("task", run, key=str(number))
            if answer.status_code != 201:
                break
            taken += 1
        assert answer.status_code == 503
        document = servers.problem(answer)
        assert (document["code"], "nothing was changed" in document["detail"]) == (
            "unavailable",
            True,
        )
        assert team.send("task", run, key=str(number)).status_code == 503
        assert Api(http).call("POST", "/teams", json={"name": "New"}).status_code == 503
        assert http.get("/healthz").status_code == 200
        assert http.get("/readyz").status_code in (200, 503)
        assert team.ok("GET", "/tasks/task/submissions")["total"] == taken  # reading goes on
        assert team.ok("GET", "/tasks/task/quota")["used"] == taken
        assert len(organiser.board("task")["entries"]) == 1
        filler.unlink()
        assert team.send("task", run, key=str(number)).status_code == 201
        assert team.send("task", run, key=str(number)).status_code == 200
        assert team.ok("GET", "/tasks/task/quota")["used"] == taken + 1
        organiser.team("New")
        check_files(organiser)
        server.kill()
    with closing(sqlite3.connect(small_disk / "dialeval.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# A dead database


def test_a_dead_database_is_told_and_recovers(tmp_path: Path) -> None:
    cluster = Cluster()
    try:
        cluster.start()
        url = cluster.new_database()
        with Server(tmp_path / "server", database_url=url) as server, server.client() as http:
            organiser = server.organiser(http)
            servers.make_task(organiser, collections=SMALL)
            team = organiser.team("A")
            run = run_bytes(small=True)
            team.submit("task", run)
            for _ in range(2):
                cluster.stop()
                answers = [
                    team.send("task", run, key="k"),
                    Api(http).call("POST", "/teams", json={"name": "B"}),
                    Api(http).call("GET", "/tasks/task/leaderboard"),
                    http.get("/readyz"),
                ]
                for answer in answers:
                    assert answer.status_code == 503
                    assert servers.problem(answer)["code"] == "unavailable"
                    assert "postgres" not in answer.text
                assert http.get("/tasks/task").status_code == 503
                assert http.get("/healthz").status_code == 200
                cluster.start()
                assert http.get("/readyz").status_code == 200
                assert team.send("task", run, key="k").status_code in (200, 201)
                assert team.ok("GET", "/tasks/task/quota")["used"] == 2
    finally:
        cluster.remove()


# Starting and stopping


def test_a_stop_lets_work_finish(tmp_path: Path) -> None:
    with servers_stopped(Server(tmp_path / "server")) as server:
        server.start()
        with server.client() as http:
            organiser = server.organiser(http)
            servers.make_task(organiser, collections=SMALL)
            for name in "AB":
                organiser.team(name).submit("task", run_bytes(small=True))
            answers: list[Any] = []
            with server.client() as slow:
                api = Api(slow, organiser.token)
                thread = threading.Thread(
                    target=lambda: answers.append(api.call("POST", "/tasks/task/publish"))
                )
                thread.start()
                time.sleep(1)
                assert not answers
                status = server.terminate()
                thread.join()
        assert status in (0, -15)
        assert answers[0].status_code == 201
        lines = [json.loads(line) for line in server.log.splitlines()]
        assert all(line.keys() >= {"at", "level", "event"} for line in lines)
        requests = [line for line in lines if line["event"] == "request"]
        assert requests[-1]["path"] == "/api/v1/tasks/task/publish"
        assert {"method", "status", "ms", "client", "actor", "request"} <= requests[-1].keys()
        assert requests[-1]["actor"].startswith("organiser ")
        server.process = None
        server.start()
        with server.client() as http:
            results = Api(http).ok("GET", "/tasks/task/results")
            assert results["boards"] == answers[0].json()["boards"]


def test_one_organiser_link_and_one_only(tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    with servers_stopped(server):
        server.start()
        first = server.invitation
        assert first
        server.terminate()
        server.process = None
        server.start()
        assert server.invitation != first
        with server.client() as http:
            body = {"invitation": first, "name": "Eve", "password": servers.PASSWORD}
            Api(http).refused(404, "POST", "/organisers", json=body)
            server.organiser(http)
        assert server.terminate() in (0, -15)
        server.process, server.invitation = None, ""
        server.start()
        assert server.invitation == ""  # there is an organiser


def serve(tmp_path: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    server = Server(tmp_path / "server", environment=environment)
    command = [*servers.COMMAND, "--folder", str(server.folder), *options]
    return subprocess.run(
        command, env=server.environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_postgres_is_migrated_when_told_so(tmp_path: Path, postgres_url: str) -> None:
    done = serve(tmp_path, DATABASE_URL=postgres_url)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: the database is at nothing")
    assert line.endswith("run dialeval serve --migrate")
    with Server(tmp_path / "server", database_url=postgres_url) as server, server.client() as http:
        servers.make_task(server.organiser(http), collections=SMALL)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "DATABASE_URL"),
        ("mysql://u@h/d", "mysql"),
        ("postgresql://nobody@/nothing?host=/nowhere", "cannot be used"),
        ("sqlite:////nowhere/at/all.sqlite", "cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line(tmp_path: Path, url: str, says: str) -> None:
    done = serve(tmp_path, DATABASE_URL=url)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert says in line


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_migrations_make_what_the_tables_say(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    from dialeval.server.database import Database
    from dialeval.server.tables import Base

    url = f"sqlite:///{tmp_path}/d.sqlite"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    database = Database(url)
    try:
        assert database.revision() is None
        database.migrate()
        database.migrate()
        assert database.revision() == database.newest()
        with database.engine.connect() as connection:
            context = MigrationContext.configure(
                connection, opts={"compare_type": True, "compare_server_default": True}
            )
            assert compare_metadata(context, Base.metadata) == []
    finally:
        database.engine.dispose()
