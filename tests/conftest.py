"""What the tests share: the command line as a person uses it, small collections, STC-3."""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """Run `dialeval ARGS...` through its real entry point, in this process."""

    def run(*args: object) -> Result:
        from dialeval.cli import main

        monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, args)])
        capsys.readouterr()
        status = 0
        with warnings.catch_warnings():
            try:
                main()
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def refused(cli: Callable[..., Result]) -> Callable[..., str]:
    """Run a command that must be refused with one clear line; gives the line."""

    def run(*args: object) -> str:
        result = cli(*args)
        assert result.status == 2, result
        assert result.out == ""
        lines = [line for line in result.err.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1, result.err
        assert lines[0].startswith("error: ")
        assert "Traceback" not in result.err
        return lines[0]

    return run


def turn(sender: str, *utterances: str) -> dict[str, Any]:
    return {"sender": sender, "utterances": list(utterances)}


@pytest.fixture
def gold_records() -> list[dict[str, Any]]:
    """Two dialogues with three votes each, in the STC-3 format."""
    return [
        {
            "id": "d1",
            "turns": [turn("customer", "It broke"), turn("helpdesk", "Restart", "it")],
            "annotations": [
                {"quality": {"A": 2, "S": 1, "E": 0}, "nugget": ["CNUG0", "HNUG"]},
                {"quality": {"A": 1, "S": 1, "E": -1}, "nugget": ["CNUG0", "HNUG*"]},
                {"quality": {"A": 1, "S": -2, "E": 0}, "nugget": ["CNaN", "HNaN"]},
            ],
        },
        {
            "id": "d2",
            "turns": [turn("customer", "Hello", ""), turn("helpdesk", ""), turn("customer", "Bye")],
            "annotations": [
                {"quality": {"A": 0, "S": 0, "E": 0}, "nugget": ["CNaN", "HNaN", "CNaN"]},
                {"quality": {"A": -2, "S": -1, "E": 0}, "nugget": ["CNUG", "HNaN", "CNUG*"]},
                {"quality": {"A": -1, "S": 0, "E": 2}, "nugget": ["CNUG0", "HNUG", "CNaN"]},
            ],
        },
    ]


QUALITY = {"2": 0.15, "1": 0.25, "0": 0.3, "-1": 0.2, "-2": 0.1}
CUSTOMER = {"CNUG0": 0.2, "CNUG": 0.5, "CNUG*": 0.2, "CNaN": 0.1}
HELPDESK = {"HNUG": 0.6, "HNUG*": 0.3, "HNaN": 0.1}


@pytest.fixture
def run_records() -> list[dict[str, Any]]:
    """A run over the dialogues of `gold_records`."""
    quality = {"A": dict(QUALITY), "S": dict(QUALITY), "E": dict(QUALITY)}
    first = {"id": "d1", "quality": quality, "nugget": [dict(CUSTOMER), dict(HELPDESK)]}
    second = {
        "id": "d2",
        "quality": json.loads(json.dumps(quality)),
        "nugget": [dict(CUSTOMER), dict(HELPDESK), dict(CUSTOMER)],
    }
    return [first, second]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, Any], Path]:
    """Write a value as JSON (or bytes as they are) under a name in a temporary folder."""

    def put(name: str, value: Any) -> Path:
        path = tmp_path / name
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        path.write_bytes(content)
        return path

    return put


@pytest.fixture(scope="session")
def stc3() -> Path:
    """The folder of the research collection; tests that use it are marked `stc3`."""
    folder = Path(os.environ.get("DIALEVAL_STC3", ROOT.parent / "shared/data/stc3"))
    if not folder.is_dir():
        pytest.skip("the STC-3 collection is not here (DIALEVAL_STC3)")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, by Playwright."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "these tests need a browser: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A PostgreSQL cluster for all tests of this process; without PostgreSQL they fail."""
    from servers import Cluster

    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def postgres_url(cluster: Any) -> str:
    """The address of a new, empty PostgreSQL database."""
    url: str = cluster.new_database()
    return url


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    """The server's application in this process, on SQLite, with a clock that tests move."""
    import servers

    with servers.house(f"sqlite:///{tmp_path}/dialeval.sqlite") as found:
        yield found


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[Any]:
    """A Dask scheduler and two workers, each a process of its own."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def dask(dask_cluster: Any) -> str:
    """The address of its scheduler."""
    address: str = dask_cluster.scheduler_address
    return address
