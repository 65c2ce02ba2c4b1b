"""Live tests: testers talk with chatbots over real HTTP, blind; the talks are judged and ranked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browsing import Watched
from servers import Api, House, Server
from sqlalchemy import select

import dialeval as de
from dialeval.chatbots.http import answer_of, chatting
from dialeval.chatbots.retrieval import RetrievalChatbot
from dialeval.measures.points import evaluate_points
from dialeval.server.live_tables import Said, System, Talk

PAIRS = [
    ("I like cats", "Cats are lovely, do you have one?"),
    ("It rains today", "Take an umbrella with you"),
    ("I am hungry", "Shall we cook some noodles?"),
]
HOSTILE = "<script>alert(1)</script>\u202e<img src=x onerror=alert(1)>"


@contextmanager
def http_bot(handle: Any) -> Iterator[str]:
    """A bot that does with a request what a test says."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            handle(self)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(
    content: bytes, status: int = 200, kind: str = "application/json", **headers: str
) -> Any:
    def handle(request: Any) -> None:
        request.send_response(status)
        request.send_header("content-type", kind)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)

    return handle


@pytest.fixture(scope="module")
def retrieval() -> Iterator[str]:
    """The project's own retrieval chatbot, over HTTP."""
    with chatting(answer_of(RetrievalChatbot().fit(PAIRS))) as address:
        yield address


def make_test(organiser: Api, systems: dict[str, dict[str, Any]], **plan: Any) -> str:
    plan = {
        "slug": "talks",
        "title": "Talks",
        "openings": ["I like cats", "It rains today"],
        **plan,
    }
    organiser.ok("POST", "/live-tests", json=plan)
    for name, system in systems.items():
        body = {"name": name, "kind": "openai", "seconds": 2, **system}
        organiser.ok("POST", f"/live-tests/{plan['slug']}/systems", json=body)
    return str(plan["slug"])


def invited(organiser: Api, slug: str, count: int = 1) -> list[Api]:
    links = organiser.ok("POST", f"/live-tests/{slug}/testers", json={"count": count})
    return [Api(organiser.http, link["path"].rpartition("/")[2]) for link in links]


def say(tester: Api, talk: str, number: int, text: str) -> list[dict[str, Any]]:
    """The events of a turn."""
    reply = tester.call("POST", f"/talking/{talk}/turns/{number}", json={"text": text})
    assert reply.status_code == 200, reply.text
    lines = [line for line in reply.text.splitlines() if line]
    assert all(line.startswith("data: ") for line in lines)
    return [json.loads(line[6:]) for line in lines]


def text_of(events: list[dict[str, Any]]) -> str:
    assert events[-1] == {"done": True}, events
    return "".join(event["text"] for event in events[:-1])


def test_a_talk_with_the_retrieval_chatbot(house: House, retrieval: str) -> None:
    slug = make_test(
        house.organiser,
        {"A": {"url": f"{retrieval}/v1"}, "B": {"kind": "json", "url": f"{retrieval}/bot"}},
    )
    (tester,) = invited(house.organiser, slug)
    seen = set()
    pieces: list[int] = []
    for done in range(4):
        visit = tester.ok("POST", "/talking")
        assert (visit["done"], visit["left"]) == (done, 4 - done)
        talk = visit["talk"]
        assert tester.ok("POST", "/talking")["talk"] == talk, "the open talk stays"
        events = say(tester, talk["id"], 0, talk["opening"])
        pieces.append(len(events))
        reply = text_of(events).strip()
        assert reply in {comment for _, comment in PAIRS}
        assert text_of(say(tester, talk["id"], 0, talk["opening"])).strip() == reply, "kept"
        for number in range(1, 5):
            assert tester.ok("GET", f"/talking/{talk['id']}")["left"] == 5 - number
            assert text_of(say(tester, talk["id"], number, "I am hungry")).strip() == PAIRS[2][1]
        ended = tester.ok("GET", f"/talking/{talk['id']}")
        assert (ended["open"], ended["left"], len(ended["turns"])) == (False, 0, 5)
        refused = tester.refused(
            409, "POST", f"/talking/{talk['id']}/turns/5", json={"text": "More"}
        )
        assert refused["code"] == "closed"
        seen.add(talk["opening"])
    assert seen == {"I like cats", "It rains today"}
    assert sum(count > 2 for count in pieces) == 2, "replies of one system stream in pieces"
    assert tester.ok("POST", "/talking")["talk"] is None
    talks = house.organiser.ok("GET", f"/live-tests/{slug}/talks")
    assert sorted((t["system"], t["opening"]) for t in talks) == [
        ("A", 0),
        ("A", 1),
        ("B", 0),
        ("B", 1),
    ]
    assert all(len(t["turns"]) == 10 and t["ended"] == "turns" for t in talks)


def test_nothing_tells_the_system(house: House, retrieval: str) -> None:
    """Names, addresses and kinds of systems are in no answer that a tester gets."""
    with http_bot(answer(b"no", 500)) as broken:
        slug = make_test(
            house.organiser,
            {
                "Secretive": {
                    "url": f"{retrieval}/v1",
                    "model": "hidden-model",
                    "key": "hidden-key",
                },
                "Brokenbot": {"kind": "json", "url": broken},
            },
        )
        (tester,) = invited(house.organiser, slug)
        texts = []
        for _ in range(6):
            visit = tester.call("POST", "/talking")
            texts.append(visit.text)
            if visit.json()["talk"] is None:
                break
            id = visit.json()["talk"]["id"]
            texts.append(
                tester.call("POST", f"/talking/{id}/turns/0", json={"text": "I like cats"}).text
            )
            texts.append(tester.call("GET", f"/talking/{id}").text)
            texts.append(tester.call("POST", f"/talking/{id}/end", json={"failed": True}).text)
        whole = " ".join(texts)
        assert '{"failed": true}' in whole
        for word in ("Secretive", "Brokenbot", "hidden", "127.0.0.1", "openai", "500", "status"):
            assert word not in whole, word
        assert "hidden-key" not in house.organiser.call("GET", f"/live-tests/{slug}").text


@pytest.mark.parametrize(
    ("what", "handle"),
    [
        ("status 500", answer(b"{}", 500)),
        ("status 302", answer(b"", 302, location="http://127.0.0.1:1/")),
        ("not JSON", answer(b"hello")),
        ("not a JSON object", answer(b"[1]")),
        ("without a reply", answer(b"{}")),
        ("bytes", answer(b"x" * 300_000)),
        ("characters", answer(json.dumps({"reply": "x" * 30_000}).encode())),
        ("within 1 s", lambda _request: time.sleep(3)),
        ("JSON", answer(b"data: {oops}\n\n", kind="text/event-stream")),
    ],
)
def test_a_system_that_fails(house: House, what: str, handle: Any) -> None:
    """It is recorded why, the tester can ask again or give up, and another talk is planned."""
    with http_bot(handle) as bad:
        slug = make_test(
            house.organiser,
            {"Bad": {"kind": "json", "url": bad, "seconds": 1}},
            openings=["Hello"],
        )
        first, second = invited(house.organiser, slug, 2)
        talk = first.ok("POST", "/talking")["talk"]
        for _ in range(2):
            assert say(first, talk["id"], 0, "Hello")[-1] == {"failed": True}
        assert first.ok("GET", f"/talking/{talk['id']}")["turns"] == [
            {"said": "Hello", "reply": None}
        ]
        refused = first.refused(409, "POST", f"/talking/{talk['id']}/turns/1", json={"text": "?"})
        assert refused["code"] == "conflict"
        first.ok("POST", f"/talking/{talk['id']}/end", json={"failed": True})
        with house.context.database.read() as session:
            assert what in session.scalar(select(Talk.reason))
            reasons = session.scalar(select(Said.failures))["reasons"]
            assert len(reasons) == 2
        system = house.organiser.ok("GET", f"/live-tests/{slug}")["systems"][0]
        assert (system["failed"], system["ended"]) == (1, 0)
        assert second.ok("POST", "/talking")["talk"]["opening"] == "Hello", "another talk"
    assert house.organiser.ok("GET", f"/live-tests/{slug}/talks") == []


def test_the_system_or_the_tester_ends_it(house: House) -> None:
    with http_bot(answer(json.dumps({"reply": "Bye", "end": True}).encode())) as bot:
        slug = make_test(
            house.organiser, {"X": {"kind": "json", "url": bot}}, openings=["One", "Two"]
        )
        (tester,) = invited(house.organiser, slug)
        talk = tester.ok("POST", "/talking")["talk"]
        assert text_of(say(tester, talk["id"], 0, talk["opening"])) == "Bye"
        assert not tester.ok("GET", f"/talking/{talk['id']}")["open"]
    with http_bot(answer(json.dumps({"reply": "Go on"}).encode())) as bot:
        with house.context.database.write() as session:
            for system in session.scalars(select(System)):
                system.url = bot
        talk = tester.ok("POST", "/talking")["talk"]
        say(tester, talk["id"], 0, talk["opening"])
        tester.ok("POST", f"/talking/{talk['id']}/end", json={"failed": False})
    ends = [t["ended"] for t in house.organiser.ok("GET", f"/live-tests/{slug}/talks")]
    assert sorted(ends) == ["system", "tester"]


def test_only_allowed_addresses(house: House) -> None:
    make_test(house.organiser, {})
    for url in (
        "ftp://host/x",
        "file:///etc/passwd",
        "http://",
        "host/x",
        "http://user@host/",
        "http://169.254.169.254/latest",
        "http://[fe80::1]/",
        "http://0.0.0.0/",
    ):
        body = {"name": "Evil", "kind": "json", "url": url}
        house.organiser.refused(422, "POST", "/live-tests/talks/systems", json=body)


def test_links_are_for_one_test(house: House, retrieval: str) -> None:
    """A tester reaches nothing else: no other test's talk, no organiser's page, no annotation."""
    system = {"A": {"url": f"{retrieval}/v1"}}
    make_test(house.organiser, system, slug="one")
    make_test(house.organiser, system, slug="two")
    (first,), (second,) = invited(house.organiser, "one"), invited(house.organiser, "two")
    talk = first.ok("POST", "/talking")["talk"]["id"]
    for method, path in (("GET", ""), ("POST", "/end"), ("POST", "/turns/0")):
        body = {"json": {"text": "Hi"} if "turns" in path else {}} if method == "POST" else {}
        second.refused(404, method, f"/talking/{talk}{path}", **body)
    for path in (
        "/live-tests",
        "/live-tests/one",
        "/live-tests/one/talks",
        "/teams",
        "/annotation",
    ):
        assert first.call("GET", path).status_code == 403
    house.organiser.ok("DELETE", "/live-tests/one/testers/T1")
    assert first.call("POST", "/talking").status_code == 401
    assert second.call("POST", "/talking").status_code == 200


def test_talks_are_judged_and_ranked(house: House, retrieval: str) -> None:
    """Talks become a project, annotators cannot tell systems, and points rank the systems."""
    with http_bot(answer(json.dumps({"reply": "No."}).encode())) as dull:
        slug = make_test(
            house.organiser,
            {"Good": {"url": f"{retrieval}/v1"}, "Dull": {"kind": "json", "url": dull}},
            openings=[f"I like cats {n}" for n in range(6)],
        )
        (tester,) = invited(house.organiser, slug)
        while (visit := tester.ok("POST", "/talking"))["talk"]:
            talk = visit["talk"]
            say(tester, talk["id"], 0, talk["opening"])
            say(tester, talk["id"], 1, "I am hungry")
            tester.ok("POST", f"/talking/{talk['id']}/end", json={})
    body = {"project": "judged", "votes": 2}
    house.organiser.ok("POST", f"/live-tests/{slug}/project", json=body)
    house.organiser.refused(422, "GET", "/projects/judged/ranking")
    links = house.organiser.ok("POST", "/projects/judged/annotators", json={"count": 2})
    for link in links:
        annotator = Api(house.http, link["path"].rpartition("/")[2])
        while True:
            answered = annotator.call("POST", "/annotation/item")
            assert "Good" not in answered.text
            assert "Dull" not in answered.text
            item = answered.json()["item"]
            if item is None:
                break
            for sequence, question in enumerate(item["questions"]):
                good = item["turns"][question["turn"]]["utterances"] != ["No."]
                vote = {**question, "label": question["labels"][0 if good else -1]}
                vote = {k: vote[k] for k in ("criterion", "turn", "label")}
                path = f"/annotation/items/{item['id']}/votes"
                annotator.ok("PUT", path, json={**vote, "sequence": sequence})
            annotator.ok("POST", f"/annotation/items/{item['id']}/finish")
    ranking = house.organiser.ok("GET", "/projects/judged/ranking")
    overall = ranking["means"]["overall.points"]
    assert (overall["Good"]["rank"], overall["Dull"]["rank"]) == (1, 2)
    # By hand: two turns; logic 2, trigger 2, the turn itself 2, on topic 2; the dull one 2 a turn.
    assert (overall["Good"]["mean"], overall["Dull"]["mean"]) == (16.0, 4.0)
    export = house.organiser.call("GET", "/projects/judged/votes").content
    folder = Path(house.context.settings.database_url.removeprefix("sqlite:///")).parent
    (folder / "votes.json").write_bytes(export)
    whole = de.load(folder / "votes.json", "open-domain-multi")
    assert evaluate_points(whole, "all").mean["overall.points"] == pytest.approx(10.0)


@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(
    browser: Any, retrieval: str, tmp_path_factory: pytest.TempPathFactory, width: int
) -> None:
    """A tester has a talk of five turns, meets a system that hangs, and hostile text is text."""
    with (
        Server(tmp_path_factory.mktemp("live") / "data") as server,
        server.client() as http,
        http_bot(lambda _request: time.sleep(4)) as hanging,
        http_bot(answer(json.dumps({"reply": HOSTILE}).encode())) as hostile,
    ):
        organiser = server.organiser(http)
        for name, system, opening in (
            ("good", {"url": f"{retrieval}/v1"}, "I like cats"),
            ("hangs", {"kind": "json", "url": hanging, "seconds": 1}, "Hello"),
            ("hostile", {"kind": "json", "url": hostile}, HOSTILE),
        ):
            make_test(organiser, {name: system}, slug=name, openings=[opening])
        watched = Watched(browser, width)
        watched.refuse_dialogs()
        page = watched.page

        def visit(slug: str) -> None:
            link = organiser.ok("POST", f"/live-tests/{slug}/testers", json={"count": 1})[0]
            page.goto(server.address + link["path"])
            page.locator("#send").wait_for()

        visit("good")
        assert page.locator("#text").input_value() == "I like cats"
        assert not page.locator("#text").is_editable()
        page.keyboard.press("Enter")  # the button has the focus
        page.get_by_text("Cats are lovely").wait_for()
        for _ in range(4):
            page.locator("#text:not([readonly])").wait_for()
            page.keyboard.type("It rains today")
            page.keyboard.press("Enter")
            page.locator("#say:visible, #rest:visible").wait_for()
        page.get_by_text("The talk has ended.").wait_for()
        assert page.locator(".bubble").count() == 10
        watched.check()
        page.get_by_role("button", name="Next talk").click()
        page.get_by_text("All talks are had").wait_for()
        visit("hangs")
        page.locator("#send").click()
        page.get_by_text("The system did not answer").wait_for()
        page.reload()
        page.get_by_role("button", name="Ask once more").click()
        page.get_by_text("The system did not answer").wait_for()
        page.get_by_role("button", name="Give up").click()
        page.locator("#send").wait_for()
        visit("hostile")
        page.locator("#send").click()
        page.locator(".side0").wait_for()
        page.locator("#end:visible").wait_for()
        assert page.locator("main img, main script").count() == 0
        assert HOSTILE in page.locator(".side0 p").text_content()
        watched.check()
        watched.context.close()


def test_the_command(cli: Any, tmp_path: Path, refused: Any) -> None:
    """`dialeval ranked chat` needs pairs and a port."""
    (tmp_path / "pairs.jsonl").write_text("")
    assert "no pairs" in refused("ranked", "chat", "--repository", tmp_path / "pairs.jsonl")
    assert "Example: dialeval ranked chat" in cli("ranked", "chat", "--help").out
