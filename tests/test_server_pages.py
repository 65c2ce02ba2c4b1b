"""The server's pages in a real browser, as an organiser and a team use them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import HOSTILE, Watched
from servers import (
    PASSWORD,
    Api,
    Server,
    collection_bytes,
    gold,
    make_task,
    run_between,
    run_bytes,
)

import dialeval as de
from dialeval.core.decode_run import parse_run
from dialeval.server.access import API, ROUTES

TEAM = 'Lantern <b onclick="alert(1)">& "Sons"</b>'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("pages") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def organiser(server: Server) -> Iterator[Api]:
    with server.client() as http:
        yield server.organiser(http)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    contents = {
        "gold.json": collection_bytes(gold()),
        "uniform.json": run_bytes("uniform"),
        "better.json": run_between(0.5),
        "best.json": run_between(0.2),
        "wrong.json": json.dumps([{"id": "en-01", "quality": {"A": {"9": 1}}}]).encode(),
        "half.json": json.dumps(json.loads(run_bytes("uniform"))[:3]).encode(),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in contents}


def sign_in(watched: Watched, server: Server, api: Api) -> None:
    """Sign a browser in with a team's token."""
    watched.page.goto(f"{server.address}/sign-in")
    watched.page.get_by_label("Token").fill(api.token)
    watched.page.get_by_role("button", name="Sign in").first.click()
    watched.page.wait_for_url(f"{server.address}/")


def sign_in_organiser(watched: Watched, server: Server, path: str = "/organiser") -> None:
    watched.page.goto(f"{server.address}/sign-in?next={path}")
    watched.page.get_by_label("Name").fill("Olga")
    watched.page.get_by_label("Password").fill(PASSWORD)
    watched.page.get_by_role("button", name="Sign in").nth(1).click()
    watched.page.wait_for_url(f"{server.address}{path}")


def test_a_task_from_its_making_to_its_results(
    browser: Any, server: Server, organiser: Api, files: dict[str, Path]
) -> None:
    """An organiser makes a task; a team registers, fails, submits; results are published."""
    office = Watched(browser)
    sign_in_organiser(office, server)
    page = office.page
    page.get_by_role("link", name="New task").click()
    page.get_by_label("Title").fill("Spring dialogues")
    page.get_by_label("Address").fill("spring")
    page.get_by_label("Description").fill("First line.\n\nSecond line.")
    page.get_by_label("Collection with votes").set_input_files(files["gold.json"])
    page.get_by_role("button", name="Make the task").click()
    page.wait_for_url("**/organiser/tasks/spring?note=created")
    office.check()
    page.locator("#development-opens").fill("2020-01-01T00:00")
    page.locator("#development-closes").fill("2100-01-01T00:00")
    page.locator('form[action$="phases/development"]').get_by_role("button").click()
    page.wait_for_url("**note=saved")
    page.locator("#final-opens").fill("2100-01-01T00:00")
    page.locator('form[action$="phases/final"]').get_by_role("button").click()
    page.locator("#baseline-name").fill("BL-uniform")
    page.locator("#baseline-run").set_input_files(files["uniform.json"])
    page.get_by_role("button", name="Add the baseline").click()
    page.wait_for_url("**note=baseline")
    page.get_by_label("Everybody sees the task").check()
    page.get_by_label("Best by").select_option("nugget.jsd")
    page.locator('form[action="/organiser/tasks/spring"]').get_by_role("button").click()
    page.wait_for_url("**note=saved")
    office.check()

    team = Watched(browser)
    team.refuse_dialogs()
    page = team.page
    page.goto(server.address)
    page.get_by_role("link", name="Register a team").click()
    page.get_by_label("Team name").fill(TEAM)
    page.get_by_role("button", name="Register").click()
    token = page.get_by_label("Token of").input_value()
    assert re.fullmatch(r"dialeval_team_[\w-]{43}", token)
    page.goto(f"{server.address}/tasks/spring")
    assert page.get_by_text("Second line.").count() == 1
    with page.expect_download() as download:
        page.get_by_role("link", name="download").click()
    records = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [set(record) for record in records] == [{"id", "turns"}] * len(gold())

    page.get_by_role("link", name="Your runs").click()
    for name, place, found in (
        ("wrong.json", "[0].quality.A", "'9'"),
        ("half.json", None, f"no prediction for {len(gold()) - 3} of {len(gold())} dialogues"),
    ):
        page.get_by_label("File").set_input_files(files[name])
        page.get_by_role("button", name="Submit").click()
        alert = page.get_by_role("alert")
        assert "The file is refused" in alert.inner_text()
        assert found in alert.inner_text()
        assert place is None or place in alert.inner_text()
        assert page.locator("#left").inner_text() == "5"
        team.check()
    for name in ("uniform.json", "better.json"):
        page.get_by_label("File").set_input_files(files[name])
        page.get_by_label("Name of the run").fill(f"{name} {HOSTILE}"[:60])
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/runs/*")
        assert page.locator(".scores .card").count() == 4
        team.check()
        page.get_by_role("link", name="Your runs").first.click()
    assert page.locator("#left").inner_text() == "3"
    assert page.locator("svg.over-time circle").count() == 2
    assert page.locator("table.board tbody tr").count() == 2
    team.check()

    # The numbers on the page are those of the library, to four decimals.
    api = Api(organiser.http, token)
    newest = api.ok("GET", "/tasks/spring/submissions")["submissions"][0]
    page.goto(f"{server.address}/runs/{newest['id']}")
    shown = [float(text) for text in page.locator(".scores dd").all_inner_texts()]
    assert shown == [*newest["scores"].values()]
    assert all(round(value, 4) == value for value in shown)

    page.get_by_role("link", name="Leaderboard").first.click()
    rows = page.locator("table.board tbody tr")
    assert rows.count() == 2
    assert TEAM in rows.first.inner_text()
    assert "you" in rows.first.inner_text()
    assert page.locator("main script, main img, main b[onclick]").count() == 0
    team.check()

    # The board changes by itself when another run comes in.
    page.locator("#live").wait_for(state="visible")
    other = organiser.team("Quiet Harbour")
    other.submit("spring", files["best.json"].read_bytes())
    page.locator("tr.changed", has_text="Quiet Harbour").wait_for()
    assert rows.count() == 3
    hidden = organiser.team("Nobody Knows")
    hidden.submit("spring", files["best.json"].read_bytes(), leaderboard=False)
    page.wait_for_timeout(4500)
    assert page.get_by_text("Nobody Knows").count() == 0
    team.check()

    page = office.page
    page.goto(f"{server.address}/organiser/tasks/spring")
    row = page.locator("tr", has_text="better.json")
    row.get_by_text("Disqualify").first.click()
    row.get_by_label("Reason").fill("Used the <i>wrong</i> data")
    row.get_by_role("button", name="Disqualify").click()
    page.wait_for_url("**note=disqualified")
    team.page.goto(f"{server.address}/runs/{newest['id']}")
    assert "Used the <i>wrong</i> data" in team.page.locator("main").inner_text()
    page.locator("tr", has_text="better.json").get_by_role("button", name="Reinstate").click()
    page.wait_for_url("**note=reinstated")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Publish results").click()
    page.wait_for_url("**/tasks/spring/results?note=published", timeout=60_000)
    official = page.locator(".official tbody tr")
    assert official.count() == 3
    assert "Quiet Harbour" in official.first.inner_text()
    letters = page.locator(".official tbody tr:first-child .letters").all_inner_texts()
    assert letters
    assert all(re.fullmatch("[a-z]+", text) for text in letters)
    office.check()
    page.get_by_role("link", name="Read the report").click()
    assert page.locator("h1").inner_text() == "Results"
    assert page.locator("article.reading").count() == 0
    office.check()
    with page.expect_download() as download:
        page.goto(f"{server.address}/organiser/tasks/spring")
        page.get_by_role("link", name="Export everything").click()
    assert download.value.suggested_filename == "spring.zip"
    assert all(url.startswith(server.address) for url in team.requests + office.requests)
    team.context.close()
    office.context.close()


@pytest.fixture(scope="module")
def full_task(organiser: Api) -> Api:
    """A task with two languages, both phases, published rows and hostile names; gives a team."""
    slug = make_task(
        organiser,
        "full",
        title=f"Full {HOSTILE}",
        description=HOSTILE,
        collections={"en": gold(), "zh": gold("zh")},
        phases={
            "development": {"closes_at": "2100-01-01T00:00:00Z"},
            "final": {"opens_at": "2100-01-01T00:00:00Z", "visibility": "team"},
        },
        reference=True,
        rule="chosen",
    )
    team = organiser.team(HOSTILE)
    for place, weight in enumerate((0.9, 0.5, 0.3)):
        team.submit(slug, run_between(weight), name=f"run {place}", description=HOSTILE)
    organiser.team("A" * 60).submit(slug, run_bytes("uniform"))
    return team


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_every_screen(
    browser: Any, server: Server, full_task: Api, width: int, scheme: str
) -> None:
    """Wide and narrow, light and dark: no errors, nothing sticks out, hostile text is text."""
    team = Watched(browser, width, scheme)
    team.refuse_dialogs()
    run = full_task.ok("GET", "/tasks/full/submissions")["submissions"][0]["id"]
    pages = ["/", "/register", "/sign-in", "/tasks/full", "/tasks/full/leaderboard"]
    pages += ["/tasks/full/leaderboard?language=zh&criterion=A&phase=final", "/tasks/full/results"]
    pages += ["/no/such/page"]
    for path in pages:
        team.page.goto(server.address + path)
        team.check()
    sign_in(team, server, full_task)
    for path in [*pages, "/tasks/full/runs", f"/runs/{run}"]:
        team.page.goto(server.address + path)
        team.check()
        assert team.page.locator("main img, main script").count() == 0
    organiser = Watched(browser, width, scheme)
    organiser.refuse_dialogs()
    sign_in_organiser(organiser, server)
    for path in ["/organiser", "/organiser/new", "/organiser/tasks/full", f"/runs/{run}"]:
        organiser.page.goto(server.address + path)
        organiser.check()
        assert organiser.page.locator("main img, main script").count() == 0
    assert all(url.startswith(server.address) for url in team.requests + organiser.requests)
    team.context.close()
    organiser.context.close()


@pytest.mark.usefixtures("full_task")
def test_by_keyboard_only(browser: Any, server: Server, files: dict[str, Path]) -> None:
    """A team registers, submits, chooses and sorts without a mouse; focus is always visible."""
    watched = Watched(browser)
    page = watched.page
    page.goto(server.address)

    def tab_to(what: Any) -> None:
        for _ in range(80):
            page.keyboard.press("Tab")
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", page.evaluate("document.activeElement.outerHTML")
            if what.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"no way to {what}")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    tab_to(page.get_by_role("link", name="Register a team"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/register")
    page.keyboard.type("Keyboard team")  # the field has the focus
    page.keyboard.press("Enter")
    page.get_by_text("Keyboard team is registered").wait_for()
    page.goto(f"{server.address}/tasks/full/runs")
    file = page.get_by_label("File")
    tab_to(file)
    file.set_input_files(files["better.json"])  # what a file dialog would do
    tab_to(page.get_by_label("Show it on the leaderboard"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    page.goto(f"{server.address}/tasks/full/runs")
    tab_to(page.get_by_role("button", name="Choose", exact=True))
    page.keyboard.press("Enter")
    page.wait_for_url("**note=saved")
    assert page.locator("tbody .badge", has_text="chosen").count() == 1
    page.goto(f"{server.address}/tasks/full/leaderboard")
    tab_to(page.locator("thead a", has_text="RNSS"))
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=nugget.rnss**")
    column = [text.split("\n")[0] for text in page.locator("td.sorted").all_inner_texts()]
    numbers = [float(text) for text in column if text != "–"]
    assert numbers == sorted(numbers)
    assert len(numbers) > 3
    watched.check()
    watched.context.close()


def test_forms_of_other_sites_do_nothing(
    browser: Any, server: Server, full_task: Api, tmp_path: Path
) -> None:
    """Another site's page sends our form with the user's cookies: nothing happens."""
    watched = Watched(browser)
    sign_in(watched, server, full_task)
    run = full_task.ok("GET", "/tasks/full/submissions")["submissions"][0]
    attack = tmp_path / "attack.html"
    for key in ("", "0" * 64):
        attack.write_text(
            f'<form method="post" action="{server.address}/runs/{run["id"]}">'
            f'<input name="action" value="withdraw"><input name="form_key" value="{key}"></form>'
            "<script>document.forms[0].submit()</script>"
        )
        watched.page.goto(attack.as_uri())
        watched.page.wait_for_url(f"{server.address}/runs/*")
        assert watched.page.locator("h1").inner_text() == "Sign in first"
        # Even without SameSite, with all cookies of the user, the key is missing.
        answer = watched.context.request.post(
            f"{server.address}/runs/{run['id']}", form={"action": "withdraw", "form_key": key}
        )
        assert answer.status == 403
    assert full_task.ok("GET", f"/submissions/{run['id']}")["status"] == "scored"
    watched.context.close()


def test_cookies_and_headers(browser: Any, server: Server, full_task: Api) -> None:
    """Cookies are for our pages alone; no inline script may run, and signing out ends it."""
    watched = Watched(browser)
    sign_in(watched, server, full_task)
    cookies = {cookie["name"]: cookie for cookie in watched.context.cookies()}
    session = cookies["__Host-dialeval-session"]
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httpOnly"], cookie["path"]) == (True, True, "/")
        assert cookie["sameSite"] == "Lax"
    answer = watched.page.goto(f"{server.address}/tasks/full")
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    watched.page.get_by_role("button", name="Sign out").click()
    watched.page.get_by_text("You are signed out.").wait_for()
    watched.context.add_cookies([{**session, "url": None, "domain": session["domain"]}])
    watched.page.goto(f"{server.address}/tasks/full/runs")
    assert "/sign-in?next=/tasks/full/runs" in watched.page.url
    watched.context.close()


def test_signing_in_leads_nowhere_else(browser: Any, server: Server, full_task: Api) -> None:
    watched = Watched(browser)
    page = watched.page
    for place in ("https://evil.example/", "//evil.example", "/\\evil.example"):
        page.goto(f"{server.address}/sign-in?next={place}")
        page.get_by_label("Token").fill(full_task.token)
        page.get_by_role("button", name="Sign in").first.click()
        page.wait_for_url(f"{server.address}/")
    page.goto(f"{server.address}/sign-in")
    page.get_by_label("Token").fill("dialeval_team_wrong")
    page.get_by_role("button", name="Sign in").first.click()
    assert "are not right" in page.get_by_role("alert").inner_text()
    watched.context.close()


def test_the_api_is_documented(browser: Any, server: Server) -> None:
    """Every route of the API is on its page, which fetches nothing from elsewhere."""
    watched = Watched(browser)
    watched.page.goto(f"{server.address}/api/docs")
    watched.page.locator(".opblock").first.wait_for()
    shown = watched.page.locator(".opblock").count()
    assert shown == sum(name.split()[1].startswith(API) for name in ROUTES)
    assert watched.problems == []
    assert all(url.startswith((server.address, "data:")) for url in watched.requests)
    watched.context.close()


def test_double_clicks_count_once(browser: Any, server: Server, organiser: Api) -> None:
    """The same form sent twice is one submission."""
    make_task(organiser, "once")
    team = organiser.team("Twice")
    watched = Watched(browser)
    sign_in(watched, server, team)
    page = watched.page
    page.goto(f"{server.address}/tasks/once/runs")
    form = page.locator("form.submit")
    fields = {
        name: form.locator(f"[name={name}]").input_value()
        for name in ("form_key", "idempotency_key", "language")
    }
    file = {"name": "run.json", "mimeType": "text/plain", "buffer": run_bytes("uniform")}
    answers = [
        watched.context.request.post(
            f"{server.address}/tasks/once/runs", multipart={**fields, "run": file}
        )
        for _ in range(2)
    ]
    assert answers[0].url == answers[1].url
    assert "/runs/" in answers[0].url
    assert team.ok("GET", "/tasks/once/quota")["used"] == 1
    watched.context.close()


def test_the_scores_of_a_run(organiser: Api) -> None:
    """The page of a final run shows what `evaluate` gives on the whole collection."""
    make_task(organiser, "whole", phases={"final": {}})
    content = run_between(0.4)
    team = organiser.team("Whole team")
    sent = team.submit("whole", content)
    collection = gold()
    expected = de.evaluate(parse_run(content, collection.rubric, "run"), collection).mean
    assert sent["scores"] == {column: round(value, 4) for column, value in expected.items()}
