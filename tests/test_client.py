"""The client of the score server: real servers, and false ones that answer as none should."""

from __future__ import annotations

import gzip
import json
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from servers import PASSWORD, Server, gold, run_between, run_bytes

import dialeval as de
from dialeval.cli import client as client_module
from dialeval.cli.credentials import credentials_file, load_credentials


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("client") / "server") as running:
        yield running


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes a person's tokens, or waits long."""
    for name in ("DIALEVAL_TOKEN", "DIALEVAL_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("DIALEVAL_PASSWORD", PASSWORD)
    monkeypatch.setattr(client_module, "WAITS", (0.01, 0.01))


@pytest.fixture
def at(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The real server's address, which commands find by themselves."""
    monkeypatch.setenv("DIALEVAL_SERVER", server.address)
    return server.address


@pytest.fixture
def organiser(server: Server, at: str, cli: Callable[..., Any]) -> str:
    """The organiser's token, which is also saved."""
    if server.invitation:
        link, server.invitation = f"{at}/join/{server.invitation}", ""
        joined = cli("task", "join", link, "--name", "Olga", "--json")
    else:
        joined = cli("task", "sign-in", "--name", "Olga", "--json")
    token: str = joined.json["token"]
    return token


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_bytes(run_bytes())
    return path


@pytest.fixture
def task(organiser: str, cli: Callable[..., Any], tmp_path: Path) -> Iterator[str]:
    """A task on the English sample with a quota of two; hidden again when the test is over."""
    slug = f"t{abs(hash(tmp_path)) % 10**9}"
    de.save(gold(), tmp_path / "gold.json")
    made = cli(
        *("task", "create", slug, "--title", "A task", "--time-zone", "Asia/Tokyo"),
        *("--collection", f"english={tmp_path / 'gold.json'}", "--development", "now.."),
        *("--daily", 2, "--total", 3, "--visible", "--json"),
    )
    assert made.json["languages"] == [{"language": "en", "dialogues": len(gold())}]
    assert made.json["visible"]
    yield slug
    assert cli("task", "change", slug, "--hidden", "--token", organiser).status == 0


def test_a_team_takes_part(cli, refused, task: str, run_file: Path, tmp_path: Path) -> None:
    team = cli("register", "Blue Lantern", "--organisation", "A harbour", "--json").json
    assert team["name"] == "Blue Lantern"
    assert "Blue Lantern" in refused("register", "Paper Boat")  # its token is not lost by chance

    assert cli("task", "data", task, "--language", "english", "--out", tmp_path / "d.jsonl").out
    data = de.load(tmp_path / "d.jsonl")
    assert data.ids == gold().ids
    assert not data.votes

    first = cli("submit", "-s", run_file, "--language", "english")
    assert first.status == 0
    expected = de.evaluate(de.load_run(run_file), gold()).mean
    for column in expected:
        criterion, _, measure = column.partition(".")
        assert f"{criterion} {measure.upper()}" in first.out
    assert "Left: 1 of 2 today, 2 of 3 in all." in first.out

    zipped = tmp_path / "better.jsonl.gz"
    lines = [json.dumps(record) for record in json.loads(run_between(0.5))]
    zipped.write_bytes(gzip.compress("\n".join(lines).encode()))
    second = cli(
        *("submit", "-s", zipped, "--language", "en", "--task", task, "--name", "better"),
        *("--description", "half and half", "--no-leaderboard", "--json"),
    ).json
    assert (second["name"], second["listed"], second["counting"]) == ("better", False, False)

    line = refused("submit", "-s", run_file, "--language", "english")
    assert line == (
        "error: all 2 submissions of today are used; the day ends at midnight in Asia/Tokyo"
    )
    assert "2 of 3" in cli("task", "history", task).out

    assert cli("task", "hide", second["id"], "--undo", "--json").json["counting"]
    board = cli("task", "leaderboard", task, "--sort", "A.nmd").out
    assert "Blue Lantern" in board
    assert f"{second['scores']['A.nmd']:.4f}" in board
    assert cli("task", "choose", second["id"], "--json").json["chosen"]
    assert "is withdrawn" in cli("task", "withdraw", second["id"]).out
    assert refused("task", "withdraw", second["id"]) == "error: the submission is withdrawn"
    history = cli("task", "history", task, "--json").json
    assert [one["status"] for one in history] == ["withdrawn", "scored"]


def test_an_organiser_runs_a_task(cli, refused, task: str, run_file: Path, tmp_path: Path) -> None:
    shown = cli("task", "show", task).out
    assert "Asia/Tokyo" in shown
    assert "en 30 dialogues" in shown
    changed = cli("task", "change", task, "--rule", "last", "--entries", 2, "--json").json
    assert (changed["rule"], changed["entries"], changed["title"]) == ("last", 2, "A task")
    phases = cli("task", "phase", task, "development", "--daily", 3, "--json").json["phases"]
    assert [(p["daily"], p["total"], p["open"]) for p in phases] == [(3, 3, True)]

    baseline = tmp_path / "popular.json"
    baseline.write_bytes(run_bytes("popularity"))
    name = ("--name", f"BL-{task}", "--language", "english")
    assert f"BL-{task}" in cli("task", "baseline", task, "-s", baseline, *name).out
    cli("register", f"Team {task}")
    sent = cli("submit", "-s", run_file, "--language", "en", "--task", task, "--json").json

    assert f"Team {task}" in cli("task", "submissions", task).out
    out = cli("task", "disqualify", sent["id"], "--reason", "seen before", "--json").json
    assert (out["status"], out["reason"]) == ("disqualified", "seen before")
    assert "disqualified: seen before" in cli("task", "history", task).out
    assert "is in again" in cli("task", "reinstate", sent["id"]).out
    assert "no language has two runs" not in refused("task", "disqualify", "nothing", "--reason=x")

    votes = gold()
    de.save(votes, tmp_path / "votes.jsonl.gz")
    assert cli("task", "change", task, "--collection", f"en={tmp_path / 'votes.jsonl.gz'}").out
    assert "2 submissions scored anew; 0 changed." in cli("task", "rescore", task).out

    closed = cli("task", "close", task, "--json").json["phases"]
    assert not closed[0]["open"]
    assert "no phase of the task is open" in refused("task", "close", task)
    published = cli("task", "publish", task, "--out", tmp_path / "results", "--json").json
    assert [row["team"] for row in published["boards"]["en"]] == [f"BL-{task}", f"Team {task}"]
    assert (tmp_path / "results/report.html").read_text().startswith("<!")
    kept = {
        p.relative_to(tmp_path / "results").as_posix()
        for p in (tmp_path / "results").rglob("*")
        if p.is_file()
    }
    assert kept == {*published["files"]}
    assert "report at" in cli("task", "results", task).out

    assert cli("task", "export", task, "--out", tmp_path / "all.zip").status == 0
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert "data/en.jsonl" in archive.namelist()
    assert "publish results" in cli("task", "events", task).out
    assert f"Team {task}" in cli("task", "teams").out
    token = cli("task", "team-token", f"Team {task}", "--json").json["token"]
    assert "the token is not right" in refused("task", "history", task)  # the one before is dead
    assert cli("task", "history", task, "--token", token).status == 0
    assert "/join/dialeval_invitation_" in cli("task", "invite").out
    assert task in cli("task", "list").out


def test_a_bad_file_is_refused_with_its_place(
    cli, refused, task: str, tmp_path: Path, write
) -> None:
    cli("register", f"Team {task}")
    records = json.loads(run_bytes())
    records[3]["quality"]["A"]["2"] = -0.1
    bad = write("bad.json", records)
    line = refused("submit", "-s", bad, "--language", "english", "--task", task)
    assert line == (
        f'error: {bad}: [3].quality.A["2"]: found -0.1, expected a finite number of 0 or more'
    )
    few = write("few.json", records[:2])
    assert f"error: {few}: found no prediction for" in refused(
        "submit", "-s", few, "--language", "english", "--task", task
    )
    cut = write("cut.json.gz", gzip.compress(run_bytes())[:-20])
    assert str(cut) in refused("submit", "-s", cut, "--language", "english", "--task", task)
    big = write("big.json", b" " * (10 * 2**20 + 1))
    assert "found more than 10 MB" in refused("submit", "-s", big, "--language", "en")
    none = tmp_path / "none.json"
    assert f"error: {none}: found no readable file" in refused(
        "submit", "-s", none, "--language", "en"
    )
    assert cli("task", "history", task, "--json").json == []  # nothing of this cost quota


@pytest.mark.usefixtures("organiser")
def test_what_cannot_be_made_is_said_before_anything_is(cli, refused, write, gold_records) -> None:
    create = ("task", "create", "new", "--title", "New")
    bare = write("bare.json", [{"id": r["id"], "turns": r["turns"]} for r in gold_records])
    assert "no votes" in refused(*create, "--collection", f"en={bare}")
    assert "LANGUAGE=FILE" in refused(*create, "--collection", "gold.json")
    assert "START..END" in refused(*create, "--development", "2026-01-05")
    assert "expected a date" in refused(*create, "--development", "soon..")
    assert "Asia/Tokyo" in refused(*create, "--time-zone", "Mars", "--final", "2026-01-05..")
    assert "needs a --collection" in refused(*create, "--visible")
    assert "new" not in cli("task", "list").out
    few = write("few.json", gold_records)
    line = refused(*create, "--collection", f"en={few}")
    assert "found 2 dialogues, expected at least 4; the task new is there, hidden" in line


@pytest.mark.usefixtures("organiser")
def test_a_rubric_of_ones_own(cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nspeakers = ["a", "b"]\n[[criteria]]\nid = "pace"\nscope = "dialogue"\n'
        'kind = "ordinal"\nlabels = ["1", "0"]\nmeasures = ["nmd"]\n'
    )
    rubric = ("--rubric", tmp_path / "mine.toml", "--best-by", "pace.nmd")
    made = cli("task", "create", "own", "--title", "Own", *rubric, "--json").json
    assert made["best_by"] == "pace.nmd"


def test_tokens_are_kept_for_their_owner_only(cli, task: str, run_file: Path, monkeypatch) -> None:
    token = cli("register", f"Team {task}", "--json").json["token"]
    path = credentials_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [*path.parent.iterdir()] == [path]
    roles = load_credentials()
    assert {role for saved in roles.values() for role in saved} == {"team", "organiser"}
    path.unlink()
    submit = ("submit", "-s", run_file, "--language", "en", "--task", task)
    assert "no token of a team is saved" in cli(*submit).err
    monkeypatch.setenv("DIALEVAL_TOKEN", token)
    assert cli(*submit).status == 0
    assert "the token is not right" in cli(*submit, "--token", "dialeval_team_x").err


def test_damaged_tokens(refused, run_file: Path) -> None:
    credentials_file().parent.mkdir(parents=True)
    credentials_file().write_text("{")
    line = refused("submit", "-s", run_file, "--language", "en")
    assert line.startswith(f"error: {credentials_file()}: found a damaged file")


def test_no_server(cli, refused, run_file: Path, monkeypatch) -> None:
    nowhere = ("--server", "http://127.0.0.1:9")
    line = "error: http://127.0.0.1:9: cannot be reached (Connection refused)"
    assert refused("register", "Blue Lantern", *nowhere) == line
    assert refused("task", "list", *nowhere) == line
    monkeypatch.setenv("DIALEVAL_TOKEN", "dialeval_team_x")
    submit = ("submit", "-s", run_file, "--language", "en", "--task", "t", *nowhere)
    assert refused(*submit, "--idempotency-key", "abc").startswith(
        f"{line}; whether the run arrived is not known; --idempotency-key abc sends it again"
    )
    assert cli(*submit).err.count("trying again") == 2
    for wrong in (
        "example.org",
        "ftp://example.org",
        "http://",
        "http://a:b@example.org",
        "http://[",
    ):
        assert "--server: found" in refused("task", "list", "--server", wrong)


@dataclass
class False_:
    """A server that answers what a test says, in turn; the last answer stays."""

    answers: list[Any]
    address: str = ""
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def false_server() -> Iterator[Callable[..., False_]]:
    """Starts false servers. An answer is (status, headers, value), or a function of the request
    that gives one, or None to hang up.
    """
    running = []

    def start(*answers: Any) -> False_:
        false = False_([*answers])

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = (self.command, self.path, headers, body)
                false.requests.append(request)
                said = false.answers.pop(0) if len(false.answers) > 1 else false.answers[0]
                said = said(request) if callable(said) else said
                if said is None:
                    self.close_connection = True
                    return
                status, more, value = said
                content = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                for name, text in {"content-length": str(len(content)), **more}.items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = answer

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        false.address = f"http://127.0.0.1:{server.server_port}"
        return false

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def test_a_lost_answer_counts_once(cli, task: str, at: str, false_server, run_file: Path) -> None:
    """The server takes the run and the connection breaks before its answer arrives."""
    token = cli("register", f"Team {task}", "--json").json["token"]

    def forwarded(request: Any) -> Any:
        method, path, headers, body = request
        sent = {name: value for name, value in headers.items() if name != "host"}
        with urlopen(Request(at + path, body or None, sent, method=method), timeout=60) as answer:
            return answer.status, {}, answer.read()

    between = false_server(lambda request: forwarded(request) and None, forwarded)
    sent = cli(
        *("submit", "-s", run_file, "--language", "en", "--task", task, "--token", token),
        *("--server", between.address, "--json"),
    )
    assert sent.status == 0
    assert sent.err.count("trying again") == 1
    keys = {headers["idempotency-key"] for _, _, headers, _ in between.requests}
    assert len(between.requests) == 2
    assert len(keys) == 1
    history = cli("task", "history", task, "--token", token, "--json").json
    assert [one["id"] for one in history] == [sent.json["id"]]


BUSY = (503, {"retry-after": "0"}, {"detail": "the database is away", "code": "unavailable"})


def test_only_what_is_safe_is_tried_again(cli, refused, false_server, run_file: Path) -> None:
    away = false_server(BUSY)
    assert refused("register", "A", "--server", away.address) == "error: the database is away"
    assert len(away.requests) == 1
    assert refused("task", "list", "--server", away.address) == "error: the database is away"
    assert len(away.requests) == 1 + 3
    back = false_server(BUSY, (200, {}, []))
    assert cli("task", "list", "--server", back.address, "--json").json == []
    submit = ("submit", "-s", run_file, "--language", "en", "--task", "t", "--token", "x")
    full = false_server((429, {}, {"detail": "all used", "code": "quota"}))
    assert refused(*submit, "--server", full.address) == "error: all used"
    assert len(full.requests) == 1


def test_large_files_are_sent_compressed(cli, false_server, write) -> None:
    false = false_server((422, {}, {"detail": "no", "code": "bad-request"}))
    large = write("large.json", b"[" + b" " * 100_000 + b"]")
    cli("submit", "-s", large, "--language", "en", "--task", "t", "--token", "x",
        "--server", false.address)  # fmt: skip
    _, path, headers, body = false.requests[0]
    assert path.startswith("/api/v1/tasks/t/submissions?language=en&")
    assert headers["authorization"] == "Bearer x"
    assert len(body) < 1000
    assert gzip.decompress(body) == large.read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        ("submit", "-s", "RUN", "--language", "en", "--task", "t", "--token", "secret"),
        ("task", "list", "--token", "secret"),
        ("register", "Blue Lantern"),
        ("task", "sign-in", "--name", "Olga"),
        ("task", "join", "http://example.org/join/x", "--name", "Olga"),
    ],
)
def test_secrets_are_not_sent_in_the_clear(
    refused, run_file: Path, monkeypatch, command: tuple[str, ...]
) -> None:
    asked: list[str] = []

    def no_network(server: str) -> Any:
        asked.append(server)
        raise OSError("the network is not for tests")

    monkeypatch.setattr(client_module, "_opener", no_network)
    args = [run_file if arg == "RUN" else arg for arg in command]
    line = refused(*args, "--server", "http://example.org")
    assert line.startswith("error: http://example.org: found plain http, expected https")
    assert asked == []
    assert "not for tests" in refused(*args, "--server", "http://example.org", "--insecure")
    assert {*asked} == {"http://example.org"}


def test_a_token_stays_with_its_server(refused, false_server, monkeypatch) -> None:
    thief = false_server((200, {}, []))
    moved = false_server((302, {"location": f"{thief.address}/api/v1/tasks"}, b""))
    line = refused("task", "list", "--token", "secret", "--server", moved.address)
    assert "has moved to" in line
    monkeypatch.setenv("http_proxy", thief.address)
    refused("task", "list", "--token", "secret", "--server", moved.address)
    assert thief.requests == []


def test_what_a_server_says_cannot_steer_a_terminal(cli, refused, false_server) -> None:
    evil = "\x1b]0;title\x07\x1b[31m\x9b31m\u202eevil"
    shown = {"slug": "t", "title": evil, "languages": [], "phases": [], "visible": True}
    false = false_server((200, {}, [shown]))
    for arguments in ((), ("--json",)):
        out = cli("task", "list", "--server", false.address, *arguments).out
        assert "evil" in out
        assert not any(char in out for char in "\x1b\x07\x9b\u202e")
    angry = false_server((422, {}, {"detail": evil + "\nerror: more", "code": "bad-request"}))
    line = refused("task", "list", "--server", angry.address)
    assert "evil error: more" in line
    assert "\x1b" not in line


def test_files_of_results_stay_in_their_folder(refused, false_server, tmp_path: Path) -> None:
    for name in ("../evil", "/etc/evil", "a/../../evil", "a\\..\\evil", ""):
        found = {"task": "t", "published_at": "2026-01-01", "boards": {}, "files": [name]}
        false = false_server((200, {}, found))
        out = tmp_path / "results"
        line = refused("task", "results", "t", "--out", out, "--server", false.address)
        assert "expected a path below the folder" in line
    assert not [*tmp_path.rglob("*evil*")]


def test_half_a_download_is_none(refused, false_server, tmp_path: Path) -> None:
    cut = false_server((200, {"content-length": "1000"}, b"half"))
    out = tmp_path / "data.jsonl"
    line = refused(
        "task", "data", "t", "--language", "en", "--out", out, "--token", "x",
        "--server", cut.address,
    )  # fmt: skip
    assert "cannot be reached" in line
    assert [*tmp_path.glob("*data*")] == []


def test_other_servers(refused, false_server) -> None:
    page = false_server((200, {}, b"<html>"))
    assert "expected a dialeval server" in refused("task", "list", "--server", page.address)
    proxy = false_server((400, {}, b"<html>"))
    line = f"error: {proxy.address}: answers 400 Bad Request"
    assert refused("task", "list", "--server", proxy.address) == line


def test_participants_need_no_extra(run_file: Path) -> None:
    """The client runs without what the server needs."""
    code = (
        "import sys\n"
        "for name in ('fastapi', 'starlette', 'sqlalchemy', 'pydantic', 'httpx', 'uvicorn',"
        " 'argon2', 'dialeval.server'): sys.modules[name] = None\n"
        "from dialeval.cli import main\n"
        f"sys.argv = ['dialeval', 'submit', '-s', {str(run_file)!r}, '--language', 'en',"
        " '--task', 't', '--token', 'x', '--server', 'https://127.0.0.1:9']\n"
        "from dialeval.cli import client; client.WAITS = ()\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: https://127.0.0.1:9: cannot be reached")


def test_help_has_examples(cli) -> None:
    from dialeval.cli.task import COMMANDS

    commands = [("register",), ("submit",), *(("task", name) for name in COMMANDS)]
    for command in commands:
        assert f"Example: dialeval {' '.join(command)}" in " ".join(cli(*command, "-h").out.split())
