"""The annotator's page and the organiser's, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from accessibility import faults
from annotating import BRIEF, PANEL, dialogues, exported, in_file, make_project_at, votes_in
from browsing import HOSTILE, Watched
from servers import PASSWORD, Api, Server, collection_bytes, gold, make_task, run_bytes

from dialeval.server.settings import sqlite_url

LONG = "word " * 2000
OVERRIDE = "\u202eevil \u2066mixed אבג end"
EMOJI = "👩🏽‍🚒🏳️‍🌈"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("workbench") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def organiser(server: Server) -> Iterator[Api]:
    with server.client() as http:
        yield server.organiser(http)


class Bench:
    """An annotator's page of a project of its own."""

    number = 0

    def __init__(self, browser: Any, server: Server, organiser: Api) -> None:
        self.browser, self.server, self.organiser = browser, server, organiser
        self.watched: list[Watched] = []

    def make(self, records: list[dict[str, Any]], **plan: Any) -> str:
        """A project; gives the path of a link to it."""
        Bench.number += 1
        self.slug = f"bench{Bench.number}"
        make_project_at(sqlite_url(self.server.folder), records, self.slug, **plan)
        return self.link()

    def link(self) -> str:
        body = {"count": 1}
        (made,) = self.organiser.ok("POST", f"/projects/{self.slug}/annotators", json=body)
        path: str = made["path"]
        return path

    def open(self, path: str, width: int = 1280, scheme: str = "light") -> Watched:
        """The page in a browser of its own."""
        watched = Watched(self.browser, width, scheme)
        watched.refuse_dialogs()
        self.watched.append(watched)
        self.go(watched.page, path)
        return watched

    def go(self, page: Any, path: str) -> None:
        page.goto(self.server.address + path)
        page.locator("#dialogue .bubble, #rest:visible").first.wait_for()

    def votes(self) -> dict[Any, Any]:
        """What is finished."""
        return votes_in(json.loads(exported(self.organiser, self.slug)))

    def close(self) -> None:
        for watched in self.watched:
            assert all(url.startswith(self.server.address) for url in watched.requests)
            watched.context.close()


@pytest.fixture
def bench(browser: Any, server: Server, organiser: Api) -> Iterator[Bench]:
    made = Bench(browser, server, organiser)
    yield made
    made.close()


def said(page: Any) -> str:
    text: str = page.locator(".said p").first.inner_text()
    return text


def settle(page: Any) -> None:
    """Until everything is on the server."""
    page.locator("#state", has_text=re.compile("^(saved|已保存)$")).wait_for()


def checked(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        "input:checked", "inputs => inputs.map(input => input.value)"
    )
    return found


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def test_three_dialogues_by_keyboard_only(bench: Bench) -> None:
    """Numbers, arrows, Backspace, Enter: every question, a change of mind, finishing, the end."""
    watched = bench.open(bench.make(dialogues(PANEL, 3), rubric=PANEL))
    page = watched.page
    expected: dict[Any, Any] = {}
    senders = ["host", "guest", "caller"]
    for done in range(3):
        page.locator("#standing", has_text=f"{done} of 3").wait_for()
        first = said(page)
        place = int(first.split()[1].rstrip(","))
        turns = [senders[(place + turn) % 3] for turn in range(3)]
        # First the whole, then turns: their questions are not there yet.
        assert page.locator("fieldset:visible").count() == 1
        press(page, "4")  # mood: the fourth of seven is 0
        assert page.locator("fieldset:visible").count() == 6
        for sender in turns:  # the second move where there are moves, then clear: no
            press(page, "2 2" if sender != "caller" else "2")
        assert page.evaluate("document.activeElement.id") == "finish"
        # Back up to the whole dialogue: another answer by arrows, which the browser moves.
        for _ in range(6):
            press(page, "ArrowUp")
        press(page, "ArrowRight ArrowRight ArrowLeft")  # 0 to 1, to 2, and back to 1
        press(page, "ArrowDown Backspace")
        assert page.locator("#left").inner_text().startswith("1 question has")
        press(page, "Enter")
        press(page, "1")
        assert page.evaluate("document.activeElement.id") == "finish"
        labels: dict[Any, str] = {("mood", None): "1"}
        moves = {"host": ("asks", "steers"), "guest": ("tells", "jokes"), "caller": None}
        for turn, sender in enumerate(turns):
            if own := moves[sender]:
                labels["move", turn] = own[1]
            labels["clear", turn] = "no"
        again = next(key for key in labels if key[1] == 0)  # the question that was emptied
        labels[again] = {"move": (moves[turns[0]] or ("",))[0], "clear": "yes"}[again[0]]
        expected[first, "A1", 1] = labels
        watched.check()
        press(page, "Enter")
    page.get_by_text("All done. Thank you.").wait_for()
    assert page.locator("#standing").inner_text() == "3 of 3"
    watched.check()
    assert bench.votes() == expected


def test_a_key_that_is_held_down_answers_once(bench: Bench) -> None:
    page = bench.open(bench.make(dialogues("helpdesk", 1))).page
    page.keyboard.down("1")
    for _ in range(5):
        page.keyboard.down("1")  # what a keyboard sends while a key stays down
    page.keyboard.up("1")
    assert len(checked(page)) == 1
    # Answered out of order, the next question is one that is there.
    press(page, "ArrowDown ArrowDown 1")
    press(page, "3")
    assert page.locator(".whole input:checked").count() == 3
    assert page.locator(".bubble fieldset:visible").count() > 0


def test_two_tabs(bench: Bench) -> None:
    """A vote in one appears in the other; finishing in one moves the other; nothing is doubled."""
    path = bench.make(dialogues(BRIEF, 3, 2), rubric=BRIEF)
    watched = bench.open(path)
    one, two = watched.page, watched.context.new_page()
    bench.go(two, path)
    assert said(one) == said(two)
    first = said(one)
    press(one, "1")
    two.locator("fieldset:visible").nth(1).wait_for()
    assert checked(two) == ["yes"]
    press(two, "ArrowUp 2")  # the other tab changes its mind
    one.locator("input[value=no]:checked").wait_for(state="attached")
    two.locator(".bubble .answer").nth(2).click()
    one.locator("input[value=asks]:checked").wait_for(state="attached")
    settle(one)
    one.bring_to_front()
    one.locator("#finish").click()
    for page in (one, two):
        page.locator("#standing", has_text="1 of 3").wait_for()
    second = said(one)
    assert second == said(two) != first
    # Both finish at the same time: one dialogue is done, not two.
    for page in (one, two):
        page.locator("#whole .answer").first.click()
        page.locator(".bubble .answer:visible").first.click()
    for page in (one, two):
        page.evaluate("document.getElementById('finish').click()")
    for page in (one, two):
        page.locator("#standing", has_text="2 of 3").wait_for()
    assert said(one) == said(two)
    assert said(one) not in (first, second)
    assert checked(one) == checked(two) == []
    votes = bench.votes()
    assert votes[first, "A1", 1]["good", None] == "no"
    assert "asks" in votes[first, "A1", 1].values()
    assert len(votes) == 2
    # Skipping the last one in one tab: it is the only one, so both get it again.
    two.get_by_role("button", name="Skip").click()
    settle(two)
    assert said(one) == said(two)
    watched.check()


def test_offline_in_the_middle_and_back(bench: Bench) -> None:
    """Clicks without a connection are kept, over a closed tab too, and sent when it is back."""
    path = bench.make(dialogues("helpdesk", 2))
    watched = bench.open(path)
    page = watched.page
    first = said(page)
    press(page, "1")
    settle(page)
    watched.context.set_offline(True)
    press(page, "2 3 1")
    page.locator("#state.off").wait_for()
    assert "kept in this browser" in page.locator("#state").inner_text()
    assert bench.votes() == {}
    press(page, "1 1")
    page.locator("#finish").click()  # remembered: it is finished when the connection is back
    page.wait_for_timeout(700)
    assert said(page) == first
    watched.context.set_offline(False)
    page.locator("#standing", has_text="1 of 2").wait_for()
    votes = bench.votes()
    assert [key[0] for key in votes] == [first]
    (labels,) = votes.values()
    assert [labels[name, None] for name in "ASE"] == ["2", "1", "0"]

    # The tab is closed while offline; a new one sends what the old one kept.
    second = said(page)
    watched.context.set_offline(True)
    press(page, "5 4")
    page.locator("#comment").fill("written on a train")
    page.locator("#state.off", has_text="3 to send").wait_for()
    page.close()
    watched.context.set_offline(False)
    page = watched.context.new_page()
    bench.go(page, path)
    assert said(page) == second
    assert checked(page) == ["-2", "-1"]
    assert page.locator("#comment").input_value() == "written on a train"
    settle(page)
    page.reload()
    page.locator("#dialogue .bubble").first.wait_for()
    assert checked(page) == ["-2", "-1"]
    offline = "net::ERR_INTERNET_DISCONNECTED"
    assert [p for p in watched.problems if offline not in p] == []


def test_a_server_that_is_away_for_a_while(bench: Bench) -> None:
    """Errors of the server and pages of somebody else in between are waited out."""
    watched = bench.open(bench.make(dialogues(BRIEF, 1, 2), rubric=BRIEF))
    page = watched.page
    answers = iter([503, 200, 429])

    def broken(route: Any) -> None:
        status = next(answers, None)
        if status is None:
            route.continue_()
        else:
            route.fulfill(status=status, content_type="text/html", body="<h1>Welcome to our hotel")

    page.route("**/votes", broken)
    press(page, "1")
    page.locator("#state.off").wait_for()
    settle(page)
    press(page, "1")
    settle(page)
    page.locator("#finish").click()
    page.get_by_text("All done").wait_for()
    assert len(bench.votes()) == 1


def test_a_reload_in_the_middle(bench: Bench) -> None:
    watched = bench.open(bench.make(dialogues("helpdesk", 3), votes=1))
    page = watched.page
    first = said(page)
    press(page, "3 3")
    page.locator("#comment").fill("half way")
    page.reload()  # at once: what is on its way is sent by the next page
    page.locator("#dialogue .bubble").first.wait_for()
    assert said(page) == first
    assert checked(page) == ["0", "0"]
    assert page.locator("#comment").input_value() == "half way"
    assert page.locator("fieldset.active legend").inner_text().startswith("Do the two speakers")
    press(page, "3 1 1 1")
    page.locator("#comment").fill("half way, and to the end")
    page.locator("#finish").click()
    page.locator("#standing", has_text="1 of 3").wait_for()
    watched.check()
    assert len(bench.votes()) == 1
    office = sign_in(bench)
    office.page.goto(f"{bench.server.address}/organiser/projects/{bench.slug}")
    assert office.page.get_by_text("half way, and to the end").count() == 1


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (390, "light")])
def test_hostile_utterances_are_text(bench: Bench, width: int, scheme: str) -> None:
    texts = [HOSTILE, OVERRIDE, LONG, "x" * 10_000, EMOJI, "", " ", "a\nb", "</p><b>bold"]
    record = {
        "id": HOSTILE,
        "turns": [
            {"sender": ["customer", "helpdesk"][place % 2], "utterances": [text, "and then"]}
            for place, text in enumerate(texts)
        ],
    }
    path = bench.make([record], title=f"T {HOSTILE}"[:200], instructions=HOSTILE)
    watched = bench.open(path, width, scheme)
    page = watched.page
    shown = page.locator(".said p:first-of-type")
    assert shown.count() == len(texts)
    for place, text in enumerate(texts):
        if text.strip():
            assert shown.nth(place).text_content() == text
        else:
            assert shown.nth(place).inner_text() == "(an emoji or a photo)"
    for place in range(len(texts)):
        assert page.locator(".said").nth(place).locator("p").nth(1).inner_text() == "and then"
    assert page.locator("main script, main img, .said b, #instructions b").count() == 0
    assert page.locator("#instructions-text").text_content() == HOSTILE
    press(page, "1 2 3 1")
    # Labels stay readable beside overridden text, and nothing sticks out.
    watched.check()
    for box in (b.bounding_box() for b in page.locator(".answer:visible").all()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["height"] >= 40  # a finger's size
    assert faults(page) == []


def test_a_chinese_project_is_in_chinese(bench: Bench) -> None:
    records = json.loads(collection_bytes(gold("zh").select([0, 1]).without_votes()))
    watched = bench.open(bench.make(records, language="zh"), 390)
    page = watched.page
    assert page.evaluate("document.documentElement.lang") == "zh"
    assert page.locator("#whole legend").first.inner_text() == "顾客的问题在多大程度上得到了解决？"
    assert page.locator(".sender").first.inner_text() == "顾客"
    assert page.get_by_role("button", name="完成并继续").count() == 1
    press(page, "1 1 1")
    assert "触发：说明问题" in page.locator(".bubble").first.inner_text()
    seen = page.locator("body").inner_text()
    for word in ("Finish", "Skip", "question", "saved", "Customer"):
        assert word not in seen
    watched.check()
    assert faults(page) == []


def test_practice_shows_what_others_said(bench: Bench) -> None:
    example = json.loads(collection_bytes(gold().select([0])))
    path = bench.make(dialogues("helpdesk", 1), practice=example)
    watched = bench.open(path)
    page = watched.page
    assert page.get_by_role("heading", name="Practice").count() == 1
    assert page.get_by_role("button", name="Skip").count() == 0
    questions = 3 + len(example[0]["turns"])
    press(page, " ".join(["1"] * questions))
    press(page, "Enter")
    page.get_by_role("heading", name="What others said").wait_for()
    assert page.locator(".revealed").count() == questions
    assert page.locator(".share.own").count() == questions
    assert page.locator("fieldset input:enabled").count() == 0  # what is finished is finished
    shares = [
        int(text[:-1])
        for text in page.locator(".revealed").first.locator(".share .muted").all_inner_texts()
    ]
    votes = [annotation["quality"]["A"] for annotation in example[0]["annotations"]]
    assert shares == [round(100 * votes.count(label) / len(votes)) for label in (2, 1, 0, -1, -2)]
    watched.check()
    assert faults(page) == []
    press(page, "Enter")  # the button has the focus
    page.locator("#standing", has_text="1 of 2").wait_for()
    assert page.get_by_role("heading", name="Practice").count() == 0
    assert page.get_by_role("button", name="Skip").count() == 1
    assert bench.votes() == {}


def test_closed_revoked_and_wrong_links(bench: Bench) -> None:
    path = bench.make(dialogues(BRIEF, 2, 2), rubric=BRIEF)
    watched = bench.open(path)
    page = watched.page
    bench.organiser.ok("PATCH", f"/projects/{bench.slug}", json={"open": False})
    press(page, "1 1 Enter")
    page.get_by_text("The project is closed.").wait_for()
    bench.organiser.ok("PATCH", f"/projects/{bench.slug}", json={"open": True})
    bench.go(page, path)
    bench.organiser.ok("DELETE", f"/projects/{bench.slug}/annotators/A1")
    press(page, "1")
    page.get_by_text("This link does not work any more.").first.wait_for()
    watched.check()
    assert page.goto(bench.server.address + path).status == 404
    assert "There is nothing here" in page.locator("h1").inner_text()
    assert len(bench.votes()) == 1


def sign_in(bench: Bench, width: int = 1280, scheme: str = "light") -> Watched:
    watched = Watched(bench.browser, width, scheme)
    bench.watched.append(watched)
    page = watched.page
    page.goto(f"{bench.server.address}/sign-in?next=/organiser")
    page.get_by_label("Name").fill("Olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").nth(1).click()
    page.wait_for_url("**/organiser")
    return watched


def test_a_project_from_its_making_to_its_task(bench: Bench, tmp_path: Path) -> None:
    """An organiser makes a project of a rubric of their own, invites, watches, exports, freezes."""
    (tmp_path / "own.json").write_text(json.dumps(BRIEF))
    (tmp_path / "dialogues.json").write_bytes(in_file(dialogues(BRIEF, 4, 2)))
    (tmp_path / "wrong.json").write_bytes(in_file(dialogues(PANEL, 4)))
    office = sign_in(bench)
    page = office.page
    page.get_by_role("link", name="New project").click()
    page.get_by_label("Title").fill("Summer")
    page.get_by_label("Address").fill("summer")
    page.get_by_label("What annotators should do").fill("Read.\n\nThen judge.")
    page.get_by_label("Or your own rubric").set_input_files(tmp_path / "own.json")
    page.get_by_label("Votes of each dialogue").fill("2")
    for name in ("wrong.json", "dialogues.json"):
        page.get_by_label("Dialogues", exact=True).set_input_files(tmp_path / name)
        if name == "dialogues.json":  # a refused form comes back with all but its files
            assert page.get_by_label("Title").input_value() == "Summer"
            page.get_by_label("Or your own rubric").set_input_files(tmp_path / "own.json")
        page.get_by_role("button", name="Make the project").click()
        if name == "wrong.json":
            assert "sender" in page.get_by_role("alert").inner_text()
            office.check()
    page.wait_for_url("**/organiser/projects/summer?note=project")
    bench.slug = "summer"
    page.get_by_label("How many more").fill("2")
    page.get_by_role("button", name="Make links").click()
    links = page.locator("code.link").all_inner_texts()
    assert len(links) == 2
    assert all(link.startswith(f"{bench.server.address}/annotate/dialeval_") for link in links)
    assert faults(page) == []
    office.check()

    for link in links:
        annotator = bench.open(link.removeprefix(bench.server.address))
        assert "Then judge." in annotator.page.locator("#instructions").inner_text()
        for done in range(4):
            annotator.page.locator("#standing", has_text=f"{done} of 4").wait_for()
            press(annotator.page, "1 2 Enter" if done % 2 else "2 1 Enter")
        annotator.page.get_by_text("All done").wait_for()
        annotator.check()

    page.goto(f"{bench.server.address}/organiser/projects/summer")
    facts = dict(
        zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True)
    )
    assert facts["votes"] == "8 of 8"
    assert facts["dialogues complete"] == "4 of 4"
    rows = [row.split()[:2] for row in page.locator("table.board tbody tr").all_inner_texts()]
    assert rows == [["A1", "4"], ["A2", "4"]]
    office.check()
    for label, format in (("JSON", "json"), ("CSV without pseudonyms", "csv")):
        with page.expect_download() as download:
            page.get_by_role("link", name=label, exact=True).click()
        content = download.value.path().read_bytes()
        params = {"format": format, "pseudonyms": "without" not in label}
        assert content == exported(bench.organiser, "summer", **params)
        assert download.value.suggested_filename == f"summer.{format}"
    page.get_by_role("link", name="Agreement so far").click()
    assert "agreement" in page.locator("h1").inner_text().lower()
    assert page.locator("svg, img").count() > 0
    office.check()
    assert faults(page) == []
    page.goto(f"{bench.server.address}/organiser/projects/summer")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("tr", has_text="A2").get_by_role("button", name="Revoke").click()
    page.wait_for_url("**note=revoked")
    page.get_by_role("button", name="Close the project").click()
    page.wait_for_url("**note=saved")
    for address in ("Not good", "summer-task"):
        page.get_by_label("Freeze the votes").evaluate(
            "(field, text) => { field.removeAttribute('pattern'); field.value = text; }", address
        )
        page.get_by_role("button", name="Make the task").click()
        if address == "Not good":
            assert "small letters" in page.get_by_role("alert").inner_text()
    page.wait_for_url("**/organiser/tasks/summer-task?note=created")
    assert bench.organiser.ok("GET", "/tasks/summer-task")["languages"] == [
        {"language": "en", "dialogues": 4}
    ]
    office.check()


@pytest.fixture(scope="module")
def everything(organiser: Api) -> dict[str, str]:
    """A task with runs and results, and projects at work: the addresses of all kinds of pages."""
    make_task(
        organiser,
        "full",
        title="Full",
        description="About it",
        collections={"en": gold(), "zh": gold("zh")},
        phases={"final": {}},
        reference=True,
    )
    team = organiser.team("Lantern")
    run = team.submit("full", run_bytes("popularity"))["id"]
    organiser.team("Quiet Harbour").submit("full", run_bytes("uniform"))
    organiser.ok("POST", "/tasks/full/publish")
    return {"run": run, "token": team.token or ""}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_serious_fault_on_any_page(
    bench: Bench, everything: dict[str, str], width: int, scheme: str
) -> None:
    found: list[str] = []

    def visit(watched: Watched, *paths: str) -> None:
        for path in paths:
            answer = watched.page.goto(bench.server.address + path)
            assert answer.status in (200, 404), path
            watched.check()
            found.extend(faults(watched.page))

    public = ["/", "/register", "/sign-in", "/tasks/full", "/tasks/full/leaderboard"]
    public += ["/tasks/full/leaderboard?language=zh", "/tasks/full/results", "/no/such/page"]
    anyone = Watched(bench.browser, width, scheme)
    bench.watched.append(anyone)
    invitation = bench.organiser.ok("POST", "/organisers/invitations")["path"]
    visit(anyone, *public, invitation)

    team = Watched(bench.browser, width, scheme)
    bench.watched.append(team)
    team.page.goto(f"{bench.server.address}/sign-in")
    team.page.get_by_label("Token").fill(everything["token"])
    team.page.get_by_role("button", name="Sign in").first.click()
    team.page.wait_for_url(f"{bench.server.address}/")
    visit(team, "/", "/tasks/full/runs", f"/runs/{everything['run']}", "/tasks/full/leaderboard")

    path = bench.make(dialogues("helpdesk", 5), votes=2)
    office = sign_in(bench, width, scheme)
    visit(office, "/organiser", "/organiser/new", "/organiser/tasks/full", "/organiser/new-project")
    annotator = bench.open(path, width, scheme)
    found += faults(annotator.page)
    press(annotator.page, "1 2 3 1")
    annotator.page.locator("#comment").fill("a remark")
    found += faults(annotator.page)
    settle(annotator.page)
    press(annotator.page, "Tab")
    visit(office, f"/organiser/projects/{bench.slug}")
    assert found == []
