"""Twenty annotators at once through a real server: nothing lost, nothing doubled, exact counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from annotating import dialogues, make_project_at
from crowd import SINGLE, check_all_is_kept, crowd, free_port
from servers import Server

from dialeval.server.settings import sqlite_url

PEOPLE, VOTES = 20, 19


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """SQLite, and PostgreSQL with two workers."""
    if request.param == "sqlite":
        return None
    url: str = request.getfixturevalue("postgres_url")
    return url


@contextmanager
def started(folder: Path, database_url: str | None, port: int) -> Iterator[Server]:
    """A server at a port of its own, so that it comes back where it was."""
    workers = 2 if database_url else 1
    options = ["--port", str(port)]
    with Server(folder, database_url=database_url, workers=workers, options=options) as server:
        assert server.address.endswith(f":{port}")
        yield server


@pytest.mark.parametrize("kills", [3])
def test_a_crowd_while_the_server_dies(
    tmp_path: Path, database_url: str | None, kills: int
) -> None:
    """kill -9 in the middle, several times: what was acknowledged is there, and counts hold."""
    number, port = 30, free_port()
    with started(tmp_path / "data", database_url, port) as server, server.client() as http:
        organiser = server.organiser(http)
        make_project_at(
            database_url or sqlite_url(server.folder),
            dialogues(SINGLE, number, 1),
            rubric=SINGLE,
            votes=VOTES,
        )
        people = crowd(organiser, "project", port, PEOPLE)
        people.start()
        for kill in range(1, kills + 1):
            people.wait_for(number * VOTES * kill // (kills + 1))
            server.kill()
            server.start()
        people.join()
        assert sum(line.broken for line in people.lines) >= kills
        check_all_is_kept(organiser, "project", people, number, VOTES)


@pytest.mark.parametrize(
    "number", [60, pytest.param(400, marks=pytest.mark.slow)], ids=["small", "full"]
)
def test_a_crowd(tmp_path: Path, database_url: str | None, number: int) -> None:
    """The plan is met exactly; 400 dialogues are the size of the campaigns' test sets."""
    port = free_port()
    with started(tmp_path / "data", database_url, port) as server, server.client() as http:
        organiser = server.organiser(http)
        make_project_at(
            database_url or sqlite_url(server.folder),
            dialogues(SINGLE, number, 1),
            rubric=SINGLE,
            votes=VOTES,
        )
        people = crowd(organiser, "project", port, PEOPLE)
        people.start()
        people.join()
        assert sum(line.broken for line in people.lines) == 0
        check_all_is_kept(organiser, "project", people, number, VOTES)
