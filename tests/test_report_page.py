"""The report in a real browser: no errors, nothing fetched, readable on a phone and in the dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import HOSTILE, Watched
from test_compare import noisy

import dialeval as de


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    de.save(de.sample("en"), folder / "gold.json")
    records = json.loads((folder / "gold.json").read_text())
    for record in records:  # any dialogue may be shown
        record["turns"][0]["utterances"] = [HOSTILE]
    (folder / "gold.json").write_text(json.dumps(records))
    gold = de.load(folder / "gold.json")
    names = (HOSTILE, "TEAM-run1", "中文-run0")
    runs = {name: noisy(gold, name, 0.2 + 0.3 * k, k) for k, name in enumerate(names)}
    return de.compare(runs, gold, trials=100, reference=True).report(folder / "out")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(browser: Any, page_file: Path, width: int, scheme: str) -> None:
    watched = Watched(browser, width, scheme)
    watched.refuse_dialogs()
    page = watched.page
    page.goto(page_file.as_uri())
    watched.check()
    assert watched.requests == [page_file.as_uri()]
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.locator("figure svg").count() >= 8 * 3
    first = page.locator("figure svg").first
    assert first.get_attribute("aria-label")
    ink = first.locator("text").first.evaluate("e => getComputedStyle(e).fill")
    assert ink != paper
    # What came from data is text.
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 0
    assert page.get_by_text(HOSTILE).count() > 0
    assert page.get_by_text("中文-run0").count() > 0
    watched.context.close()


def test_in_print(browser: Any, page_file: Path, tmp_path: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000


def test_the_bars_are_the_distributions(browser: Any, page_file: Path) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())
    article = page.locator("article.reading").first
    id = article.locator(".sender").first.inner_text().split(" · ")[0]
    gold = de.load(page_file.parent.parent / "gold.json")
    criterion = gold.rubric.criterion("A")
    expected = gold.gold(criterion)[gold.index[id]]
    label = article.locator(".bar.people .shares").first.get_attribute("aria-label")
    shares = [f"{c} {100 * p:.0f}%" for c, p in zip(criterion.columns, expected, strict=True)]
    assert label == "people: " + ", ".join(shares)
