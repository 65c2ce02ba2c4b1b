"""The score server under load, beside the cost of evaluation alone; and a large leaderboard.

    make bench

A real `dialeval serve` on SQLite in a temporary folder; clients in another process, with one
connection each. Submissions: a run over 390 dialogues with 19 votes each (the sample again and
again, under new ids), of about as many distributions as an official test set; beside it, before
and after in the same run, one process that parses and evaluates the same file and does nothing
else. The leaderboard: 1,000 teams and 20,000 submissions, as JSON and as a page. Prints a line a
measurement and writes benchmarks/server.json.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.decode_run import parse_run
from dialeval.core.encode import collection_records, lines_of, run_records
from dialeval.core.run import Distributions
from dialeval.predictors.predictor import run_of
from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.scoring import columns_of
from dialeval.server.services import accounts, tasks
from dialeval.server.settings import Settings, sqlite_url
from dialeval.server.tables import Phase, Submission, Task, Team

HERE = Path(__file__).resolve().parent
DIALOGUES = 390
SECONDS = 10.0
WARM = 1.0
CLIENTS = (1, 16)
LOADS = ((1, 1), (1, 16), (2, 16))
"""Processes of the server, and clients."""
TEAMS, SUBMISSIONS = 1_000, 20_000
HUGE = 1_000_000
SLUG = "bench"


def collection() -> Collection:
    """390 dialogues of the sample, under ids of their own."""
    sample = de.sample("en")
    chosen = sample.select(np.resize(np.arange(len(sample)), DIALOGUES))
    records = [*collection_records(chosen)]
    for place, record in enumerate(records):
        record["id"] = f"{place:016d}"
    content = b"".join(lines_of(records))
    return parse_collection(content, sample.rubric, "gold", format="jsonl")


def run_file(gold: Collection, seed: int = 0) -> bytes:
    """A run as systems write them: every label, all digits."""
    random = np.random.default_rng(seed)
    predicted: dict[str, Distributions] = {}
    for criterion in gold.rubric.criteria:
        size = len(gold) if criterion.scope == "dialogue" else int(gold.offsets[-1])
        values = random.gamma(1.0, size=(size, len(criterion.columns)))
        if criterion.scope == "turn":
            values = values * gold.own_labels(criterion)
        predicted[criterion.id] = values / values.sum(axis=1, keepdims=True)
    return json.dumps([*run_records(run_of("run", gold, predicted))]).encode()


# The server


@dataclass
class Prepared:
    """A database with a task and an open phase."""

    context: Context
    task: Task
    phase: Phase


def prepare(folder: Path, gold: Collection) -> Prepared:
    settings = Settings(sqlite_url(folder))
    context = Context(Database(settings.database_url), settings)
    context.database.migrate()
    organiser = accounts.join(
        context, accounts.invite(context), "bench", secrets.token_urlsafe(), "bench"
    )
    rules = tasks.Rules("Benchmark")
    tasks.create_task(context, organiser, SLUG, gold.rubric, rules)
    content = b"".join(lines_of(collection_records(gold)))
    tasks.put_collection(context, organiser, SLUG, "en", content, 0)
    opened = tasks.PhaseRules(datetime.now(UTC) - timedelta(days=1), None, HUGE, HUGE)
    phase = tasks.set_phase(context, organiser, SLUG, "development", opened)
    task = tasks.change_task(context, organiser, SLUG, tasks.Rules(visible=True))
    return Prepared(context, task, phase)


@contextmanager
def serving(folder: Path, workers: int = 1) -> Iterator[str]:
    """A server on the folder; its address."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment["DIALEVAL_REGISTRATIONS"] = f"{HUGE}/3600"
    command = [sys.executable, "-m", "dialeval", "serve", "--port", "0", "--folder", str(folder)]
    command += ["--workers", str(workers)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
        try:
            assert process.stdout
            line = next(line for line in process.stdout if line.startswith("dialeval serves at"))
            address = line.split()[3]
            wait_for(address)
            yield address
        finally:
            process.terminate()
            process.wait()


def wait_for(address: str) -> None:
    """Until the server answers."""
    for _ in range(600):
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        try:
            connection.request("GET", "/readyz")
            connection.getresponse()
            return
        except ConnectionError:
            time.sleep(0.1)
    raise TimeoutError(f"{address} does not answer")


# The clients, which run in a process of their own


@dataclass(frozen=True)
class Call:
    """A request that is made again and again."""

    method: str
    path: str
    body: bytes | None = None
    tokens: Sequence[str] = ()


def load(address: str, call: Call, clients: int, seconds: float) -> tuple[float, list[float]]:
    """Answers a second, and how long each took, of clients that ask without a pause."""
    taken: list[list[float]] = [[] for _ in range(clients)]
    start = threading.Barrier(clients + 1)

    def ask(client: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        tokens = call.tokens[client::clients]
        connection.connect()
        start.wait()
        end, place = time.perf_counter() + seconds, 0
        while (begin := time.perf_counter()) < end:
            headers = {"Content-Type": "application/json"} if call.body else {}
            if tokens:
                headers["Authorization"] = f"Bearer {tokens[place % len(tokens)]}"
            connection.request(call.method, call.path, call.body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{answer.status} {content[:500]!r}")
            taken[client].append(time.perf_counter() - begin)
            place += 1

    with_errors: list[BaseException] = []
    threading.excepthook = lambda hook: with_errors.append(hook.exc_value or RuntimeError())
    threads = [threading.Thread(target=ask, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    start.wait()
    begin = time.perf_counter()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - begin
    if with_errors:
        raise with_errors[0]
    times = [one for own in taken for one in own]
    return len(times) / elapsed, times


def alone(content: bytes, gold: Collection, seconds: float) -> float:
    """Files a second that one process parses and evaluates."""
    count, begin = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begin) < seconds:
        run = parse_run(content, gold.rubric, "run", format="json")
        score = de.evaluate(run, gold)
        assert score.mean
        count += 1
    return count / elapsed


def register(address: str, count: int) -> list[str]:
    """Tokens of new teams."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    tokens = []
    for team in range(count):
        body = json.dumps({"name": f"Team {team}"})
        connection.request("POST", "/api/v1/teams", body, {"Content-Type": "application/json"})
        tokens.append(json.loads(connection.getresponse().read())["token"])
    return tokens


def elsewhere(function: Any, *args: Any) -> Any:
    """The result of a function in a new process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def row(clients: int, rate: float, times: list[float]) -> dict[str, Any]:
    p50, p99 = np.quantile(times, [0.5, 0.99]) * 1000
    return {
        "clients": clients,
        "requests": len(times),
        "per_second": round(rate, 1),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
    }


# The measurements


def submissions(folder: Path) -> dict[str, Any]:
    """Submissions a second, beside evaluation alone before and after."""
    gold = collection()
    content = run_file(gold)
    prepare(folder, gold).context.database.engine.dispose()
    rows = []
    tokens: list[str] = []
    before = elsewhere(alone, content, gold, SECONDS / 2)
    for workers, clients in LOADS:
        with serving(folder, workers) as address:
            tokens = tokens or register(address, 320)  # so no team sends more than is usual
            path = f"/api/v1/tasks/{SLUG}/submissions?language=en"
            call = Call("POST", path, content, tokens)
            elsewhere(load, address, call, 4, WARM)
            rate, times = elsewhere(load, address, call, clients, SECONDS)
        after = elsewhere(alone, content, gold, SECONDS / 2)
        evaluation = (before + after) / 2
        measured = {
            "workers": workers,
            **row(clients, rate, times),
            "evaluation_alone_per_second": round(evaluation, 1),
            "ratio_to_evaluation_alone": round(rate / evaluation, 3),
        }
        print(json.dumps(measured), flush=True)
        rows.append(measured)
        before = after
    return {"dialogues": DIALOGUES, "file_kilobytes": len(content) // 1000, "load": rows}


def fill(prepared: Prepared) -> None:
    """1,000 teams with 20 runs each, as if all had been submitted."""
    random = np.random.default_rng(0)
    columns = columns_of(de.sample("en").rubric)
    scores = random.uniform(0.1, 0.4, (SUBMISSIONS, len(columns)))
    each = SUBMISSIONS // TEAMS
    moment = datetime.now(UTC)
    with prepared.context.database.write() as session:
        teams = [
            Team(name=f"Team {t}", name_key=f"team {t}", information={}, created_at=moment)
            for t in range(TEAMS)
        ]
        session.add_all(teams)
        session.flush()
        for place, team in enumerate(teams):
            own = scores[place * each : (place + 1) * each]
            best = int(own[:, 0].argmin())
            session.add_all(
                Submission(
                    key=secrets.token_hex(12),
                    task_id=prepared.task.id,
                    phase_id=prepared.phase.id,
                    team_id=team.id,
                    language="en",
                    name=f"run{number + 1}",
                    description="",
                    created_at=moment,
                    day=moment.date(),
                    scores=dict(zip(columns, values.tolist(), strict=True)),
                    remarks="",
                    listed=True,
                    status="scored",
                    counting=number == best,
                    sha256="0" * 64,
                )
                for number, values in enumerate(own)
            )


def leaderboard(folder: Path) -> dict[str, Any]:
    """The board of 1,000 teams as JSON and as a page."""
    prepared = prepare(folder, de.sample("en"))
    fill(prepared)
    prepared.context.database.engine.dispose()
    result: dict[str, Any] = {"teams": TEAMS, "submissions": SUBMISSIONS}
    paths = {
        "json": f"/api/v1/tasks/{SLUG}/leaderboard?limit={TEAMS}",
        "page": f"/tasks/{SLUG}/leaderboard",
    }
    with serving(folder) as address:
        for kind, path in paths.items():
            connection = http.client.HTTPConnection(urlsplit(address).netloc)
            connection.request("GET", path)
            answer = connection.getresponse()
            size = len(answer.read())
            if answer.status != 200:
                result[kind] = f"not measured: {path} answers {answer.status}"
                print(result[kind])
                continue
            elsewhere(load, address, Call("GET", path), 2, WARM)
            rows = []
            for clients in CLIENTS:
                measured = elsewhere(load, address, Call("GET", path), clients, SECONDS)
                rows.append(row(clients, *measured))
                print(kind, json.dumps(rows[-1]), flush=True)
            result[kind] = {"kilobytes": size // 1000, "load": rows}
    return result


def main() -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        result = {
            "version": de.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "cores": os.cpu_count(),
            "load_average_before": round(os.getloadavg()[0], 1),
            "submissions": submissions(Path(first)),
            "leaderboard": leaderboard(Path(second)),
        }
    (HERE / "server.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
