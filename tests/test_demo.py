"""`dialeval serve --demo`: what it makes, once, and that its command lines work."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Api, Server
from sqlalchemy import text

from dialeval.core.errors import MissingExtraError, UsageError
from dialeval.server import demo
from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.settings import Rate, Settings


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    """A new server whose limits are as tight as can be: the demo must not be held up by them."""
    url = f"sqlite:///{tmp_path}/dialeval.sqlite"
    database = Database(url)
    database.migrate()
    yield Context(database, Settings(url, registrations=Rate(1, 3600), sign_ins=Rate(1, 3600)))
    database.engine.dispose()


def rows(context: Context) -> str:
    """A digest of everything in the database."""
    with context.database.engine.connect() as connection:
        tables = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'"))
        content = [
            (name, connection.execute(text(f"SELECT * FROM {name}")).all())
            for name in sorted(tables.scalars())
        ]
    return hashlib.sha256(repr(content).encode()).hexdigest()


def test_a_second_time_changes_nothing(context: Context, tmp_path: Path) -> None:
    first = demo.make_demo(context)
    assert len(first) == 2
    before = rows(context)
    assert demo.make_demo(context) == [
        "The demo is there from an earlier start, with its passwords."
    ]
    assert rows(context) == before
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"dialeval.sqlite"}


def test_a_real_server_is_left_alone(house) -> None:
    with pytest.raises(UsageError, match="has an organiser already"):
        demo.make_demo(house.context)
    assert house.anyone.ok("GET", "/tasks") == []


def test_without_the_model(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_kind: str) -> None:
        raise MissingExtraError("models", "models")

    monkeypatch.setattr(demo, "Bundled", missing)
    assert len(demo.make_demo(context)) == 2


def test_the_demo(tmp_path: Path, cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with Server(tmp_path / "server", options=["--demo"]) as server, server.client() as http:
        printed = (tmp_path / "server.out1").read_text().splitlines()
        password, token = printed[0].rpartition(" ")[2], printed[1].rpartition(" ")[2]
        anyone = Api(http)
        task = anyone.ok("GET", "/tasks/demo")
        assert [phase["open"] for phase in task["phases"]] == [True, False]
        assert [(p["daily"], p["total"]) for p in task["phases"]] == [(5, 50), (5, 50)]
        for language in ("en", "zh"):
            board = anyone.board("demo", language=language)["entries"]
            kinds = [entry["kind"] for entry in board]
            assert kinds.count("baseline") == 2
            assert kinds.count("team") >= 5
            assert "published" in kinds
        english = anyone.board("demo", language="en")["entries"]
        teams = [entry for entry in english if entry["kind"] == "team"]
        assert len({entry["rank"] for entry in teams}) < len(teams)  # a tie
        assert any(entry["mean_rank"] is None for entry in teams)  # one predicts no turns

        monkeypatch.setenv("DIALEVAL_SERVER", server.address)
        monkeypatch.setenv("DIALEVAL_PASSWORD", password)
        assert cli("task", "sign-in", "--name", "demo").status == 0
        sent = cli("task", "submissions", "demo", "--json").json
        assert {one["status"] for one in sent} == {"scored", "withdrawn", "disqualified"}
        assert any(not one["listed"] for one in sent)
        assert len({one["created_at"][:10] for one in sent}) >= 5  # days

        monkeypatch.setenv("DIALEVAL_TOKEN", token)
        data, run = tmp_path / "demo.jsonl", tmp_path / "run.json"
        assert cli("task", "data", "demo", "--language", "en", "--out", data).status == 0
        assert cli("predict", "--model", "fast", "--data", data, "--out", run).status == 0
        out = cli("submit", "-s", run, "--language", "english").out
        assert "Left: 4 of 5 today, 47 of 50 in all." in out
