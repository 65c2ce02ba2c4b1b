"""What the tests of the server share: real servers, PostgreSQL, an API client, tasks and runs."""

from __future__ import annotations

import gzip
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx
import psycopg
from starlette.testclient import TestClient

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.encode import collection_records, run_records
from dialeval.server.app import create_app
from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.services.accounts import invite_first
from dialeval.server.settings import Rate, Settings

API = "/api/v1"
PASSWORD = "a long pass phrase"
PATIENCE = 60
"""Seconds to wait for a process to do what it will surely do; the machine may be busy."""
MANY = Rate(1_000_000, 3600)
EARLY = "2020-01-01T00:00:00Z"
COMMAND = [sys.executable, "-m", "dialeval", "serve", "--port", "0"]


# Runs and collections


@lru_cache
def gold(language: str = "en", small: bool = False) -> Collection:
    """The project's own sample, or four dialogues of it: two of two turns, two of three."""
    whole = de.sample(language)
    return whole.select([0, 1, 5, 6]) if small else whole


@lru_cache
def run_bytes(model: str = "uniform", language: str = "en", small: bool = False) -> bytes:
    """A run of a built-in model, as a JSON file."""
    collection = gold(language, small)
    return json.dumps([*run_records(de.predict(collection, model=model))]).encode()


def run_between(weight: float, language: str = "en", small: bool = False) -> bytes:
    """A run of its own for each weight: 0 is gold itself, 1 is uniform, a smaller one is better."""
    collection = gold(language, small)
    runs = json.loads(run_bytes("uniform", language, small))
    for run, record in zip(runs, collection_records(collection), strict=True):
        votes = record["annotations"]
        for criterion, shares in run["quality"].items():
            _mix(shares, [vote["quality"][criterion] for vote in votes], weight)
        for place, shares in enumerate(run["nugget"]):
            _mix(shares, [vote["nugget"][place] for vote in votes], weight)
    return json.dumps(runs).encode()


def _mix(shares: dict[str, float], votes: list[Any], weight: float) -> None:
    for label in shares:
        voted = sum(str(vote) == label for vote in votes) / len(votes)
        shares[label] = weight * shares[label] + (1 - weight) * voted


def collection_bytes(collection: Collection) -> bytes:
    """A collection with its votes, as a JSON file."""
    import msgspec

    return msgspec.json.encode([*collection_records(collection)])


# The API


@dataclass
class Api:
    """A client of the API with somebody's token, or nobody's."""

    http: Any
    token: str | None = None
    name: str = ""

    def call(self, method: str, path: str, **options: Any) -> Any:
        """An answer, whatever its status. The path is below /api/v1 unless it begins with //."""
        headers = dict(options.pop("headers", {}))
        if self.token is not None:
            headers.setdefault("authorization", f"Bearer {self.token}")
        address = path[1:] if path.startswith("//") else API + path
        return self.http.request(method, address, headers=headers, **options)

    def ok(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of an answer that must be a success."""
        answer = self.call(method, path, **options)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json()

    def refused(self, status: int, method: str, path: str, **options: Any) -> dict[str, Any]:
        """The problem document of an answer that must be a refusal."""
        answer = self.call(method, path, **options)
        assert answer.status_code == status, (method, path, answer.status_code, answer.text)
        return problem(answer)

    def send(self, task: str, content: bytes, **options: Any) -> Any:
        """The answer to a submission; `key` is its idempotency key."""
        headers = {"content-type": "application/json"}
        if key := options.pop("key", None):
            headers["idempotency-key"] = key
        params = {"language": "en", **options}
        path = f"/tasks/{task}/submissions"
        return self.call("POST", path, content=content, params=params, headers=headers)

    def submit(self, task: str, content: bytes, **options: Any) -> Any:
        """A submission that must be taken."""
        answer = self.send(task, content, **options)
        assert answer.status_code in (200, 201), (answer.status_code, answer.text)
        return answer.json()

    def board(self, task: str, **params: Any) -> Any:
        """A leaderboard."""
        return self.ok("GET", f"/tasks/{task}/leaderboard", params=params)

    def team(self, name: str) -> Api:
        """A new team's client."""
        answer = Api(self.http).ok("POST", "/teams", json={"name": name})
        return Api(self.http, answer["token"], name)


def problem(answer: Any) -> dict[str, Any]:
    """A problem document, checked to be one."""
    assert answer.headers["content-type"].startswith("application/problem+json"), answer.text
    document: dict[str, Any] = answer.json()
    assert document["status"] == answer.status_code
    assert document["type"] == f"urn:dialeval:{document['code']}"
    assert document["title"]
    assert document["detail"]
    if answer.status_code == 503 or document["code"] == "too-many":
        assert int(answer.headers["retry-after"]) > 0
    return document


def join(http: Any, invitation: str, name: str = "Olga") -> Api:
    """An organiser who used an invitation."""
    body = {"invitation": invitation, "name": name, "password": PASSWORD}
    return Api(http, Api(http).ok("POST", "/organisers", json=body)["token"], name)


def make_task(
    organiser: Api,
    slug: str = "task",
    *,
    collections: dict[str, Collection] | None = None,
    phases: dict[str, dict[str, Any]] | None = None,
    visible: bool = True,
    seed: int | None = None,
    **rules: Any,
) -> str:
    """A task on the sample, by default with an open development phase and generous quotas."""
    organiser.ok("POST", "/tasks", json={"slug": slug, **rules})
    for language, collection in (collections or {"en": gold()}).items():
        path = f"/tasks/{slug}/collections/{language}"
        params = {} if seed is None else {"seed": seed}
        organiser.ok("PUT", path, content=collection_bytes(collection), params=params)
    generous = {"opens_at": EARLY, "daily": 1000, "total": 1000}
    for kind, phase in (phases or {"development": {}}).items():
        organiser.ok("PUT", f"/tasks/{slug}/phases/{kind}", json={**generous, **phase})
    if visible:
        organiser.ok("PATCH", f"/tasks/{slug}", json={"visible": True})
    return slug


def zipped(content: bytes) -> bytes:
    """Gzipped."""
    return gzip.compress(content)


# The application in this process, with a clock of our own


@dataclass
class Clock:
    """The time that a test says it is."""

    moment: datetime = field(default_factory=lambda: datetime(2026, 3, 2, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)

    def at(self, text: str) -> None:
        self.moment = datetime.fromisoformat(text)


@dataclass
class House:
    """An application in this process with an organiser."""

    app: Any
    context: Context
    http: Any
    organiser: Api
    clock: Clock

    @property
    def anyone(self) -> Api:
        return Api(self.http)

    def team(self, name: str) -> Api:
        return self.organiser.team(name)

    def from_address(self, address: str, **options: Any) -> Any:
        """A client at another address."""
        return TestClient(self.app, client=(address, 50000), **options)


@contextmanager
def house(url: str, **settings: Any) -> Iterator[House]:
    """The application on a new database."""
    kept = replace(Settings(url, registrations=MANY, sign_ins=MANY, trials=200), **settings)
    database = Database(url)
    clock = Clock()
    try:
        database.migrate()
        context = Context(database, kept, clock)
        app = create_app(context)
        with TestClient(app, raise_server_exceptions=False) as http:
            invitation = invite_first(context)
            assert invitation
            yield House(app, context, http, join(http, invitation), clock)
    finally:
        database.engine.dispose()


# Real servers


class Server:
    """A `dialeval serve` process, in a process group of its own."""

    def __init__(
        self,
        folder: Path,
        *,
        database_url: str | None = None,
        workers: int = 1,
        environment: dict[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.folder, self.workers = folder, workers
        self.options = [*options, *(["--migrate"] if database_url else [])]
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("DIALEVAL_")
        }
        self.environment.pop("DATABASE_URL", None)
        if database_url:
            self.environment["DATABASE_URL"] = database_url
        self.environment |= {
            "DIALEVAL_REGISTRATIONS": "1000000/3600",
            "DIALEVAL_SIGN_INS": "1000000/3600",
            "DIALEVAL_TRIALS": "200",
            **(environment or {}),
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.address = self.invitation = ""
        self.starts = 0

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def log(self) -> str:
        """Everything that was written to standard error since the first start."""
        return self._file("err").read_text()

    def _file(self, name: str) -> Path:
        return self.folder.parent / f"{self.folder.name}.{name}"

    def start(self) -> None:
        """Start it and wait until it can work."""
        self.starts += 1
        out = self._file(f"out{self.starts}")
        command = [*COMMAND, "--folder", str(self.folder), "--workers", str(self.workers)]
        command += self.options
        with out.open("wb") as stdout, self._file("err").open("ab") as stderr:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=self.environment,
                start_new_session=True,
            )
        try:
            self._wait(out)
        except BaseException:
            self.kill()
            raise

    def _wait(self, out: Path) -> None:
        assert self.process
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process.poll() is None, f"the server ended: {self.log[-2000:]}"
            for line in out.read_text().splitlines():
                if line.startswith("dialeval serves at "):
                    self.address = line.split()[3]
                if line.startswith("Become the first organiser"):
                    self.invitation = line.rpartition("/join/")[2]
            if self.address and self._ready():
                return
            time.sleep(0.02)
        raise AssertionError(f"the server does not start: {self.log[-2000:]}")

    def _ready(self) -> bool:
        try:
            return httpx.get(f"{self.address}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def client(self, **options: Any) -> httpx.Client:
        """A client with connections of its own."""
        return httpx.Client(base_url=self.address, timeout=PATIENCE, **options)

    def organiser(self, http: httpx.Client) -> Api:
        """The first organiser, by the link that the server printed."""
        assert self.invitation, "the server printed no link"
        return join(http, self.invitation)

    def terminate(self) -> int:
        """Ask it to stop; its exit status."""
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """kill -9, the processes it started included."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.process, self.address = None, ""


# PostgreSQL


def postgres_programs() -> Path:
    """The folder of initdb and postgres; Debian does not put it in PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[4])
    if found:
        return found[-1].parent
    if there := shutil.which("initdb"):
        return Path(there).resolve().parent
    raise AssertionError("the tests need PostgreSQL (Debian: apt-get install postgresql)")


class Cluster:
    """A PostgreSQL cluster in a temporary folder, reached through a socket there."""

    def __init__(self) -> None:
        self.programs = postgres_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="dialeval-pg-", dir="/tmp"))
        self.process: subprocess.Popen[bytes] | None = None
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        init = [self.programs / "initdb", "-D", self.folder / "data", "-U", "postgres"]
        init += ["-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        done = subprocess.run(
            [*map(str, init)], cwd=self.folder, capture_output=True, check=False, **self.user
        )
        assert done.returncode == 0, done.stderr.decode()

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [self.programs / "postgres", "-D", self.folder / "data", "-k", self.folder]
        command += ["-c", "listen_addresses="]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*map(str, command)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.user,
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                log_text = (self.folder / "log").read_text()
                assert self.process.poll() is None, log_text
                assert time.monotonic() < end, log_text
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop it at once: connections are cut."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)
            self.process = None

    def remove(self) -> None:
        """Stop it and take it away."""
        self.stop()
        shutil.rmtree(self.folder)

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """The address of a new, empty database."""
        name = f"d{uuid.uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)
