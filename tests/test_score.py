"""`dialeval score`: files that agree with each other, and a page that shows them."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from browsing import HOSTILE, Watched
from test_rubrics import COLLECTION, OWN

import dialeval as de

UNIFORM = ("--model", "uniform")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def table(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text, newline=""))]


def articles(page: Path) -> int:
    return page.read_text().count("<article")


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """The English sample without its votes."""
    path = tmp_path / "chats.jsonl"
    de.save(de.sample("en").without_votes(), path)
    return path


@pytest.fixture
def lively(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A model of random distributions, and all it said, by dialogue and criterion."""
    from dialeval.predictors import predict
    from dialeval.predictors.predictor import run_of

    random = np.random.default_rng(5)
    said: dict[str, Any] = {}

    def predicted(collection: de.Collection) -> de.Run:
        values = {}
        for c in collection.rubric.criteria:
            of_turns = c.scope == "turn"
            items = int(collection.offsets[-1]) if of_turns else len(collection)
            drawn = random.gamma(0.5, size=(items, len(c.columns))) + 1e-9
            if of_turns:
                drawn = np.where(collection.own_labels(c), drawn, 0)
            with np.errstate(invalid="ignore"):
                values[c.id] = drawn / drawn.sum(axis=1, keepdims=True)
        for place, id in enumerate(collection.ids):
            turns = slice(collection.offsets[place], collection.offsets[place + 1])
            said[id] = {
                c.id: values[c.id][turns] if c.scope == "turn" else values[c.id][place]
                for c in collection.rubric.criteria
            }
        return run_of("lively", collection, values)

    monkeypatch.setattr(predict, "find_model", lambda *_: SimpleNamespace(predict=predicted))
    return said


def test_outputs_agree(cli, chats: Path, tmp_path: Path, lively: dict[str, Any]) -> None:
    out = tmp_path / "deep" / "scores"
    result = cli("score", chats, "--out", out, "--part-size", 7)
    assert result.status == 0, result.err
    assert result.err == ""
    assert result.out == f"{out}: 30 dialogues, {sum(map(len, turns()))} turns, by accurate\n"
    assert sorted(path.name for path in out.iterdir()) == [
        "scores.csv",
        "scores.html",
        "scores.jsonl",
        "scores.parquet",
    ]
    records = lines((out / "scores.jsonl").read_text())
    rows = table((out / "scores.csv").read_text())
    assert [r["id"] for r in records] == [r["id"] for r in rows] == [*de.sample("en").ids]
    rubric = de.load_rubric("helpdesk")
    for record, row in zip(records, rows, strict=True):
        assert [*record] == ["id", "language", "quality", "nugget", "expected", "spread"]
        assert (row["file"], row["language"]) == (str(chats), record["language"])
        assert int(row["turns"]) == len(record["nugget"])
        for id in ("A", "S", "E"):
            p = lively[record["id"]][id]
            mean = p @ [2, 1, 0, -1, -2]
            spread = np.sqrt(p @ np.array([4, 1, 0, 1, 4]) - mean**2)
            assert [*record["quality"][id].values()] == pytest.approx(p)
            assert record["expected"][id] == pytest.approx(mean)
            assert record["spread"][id] == pytest.approx(spread)
            assert float(row[f"{id}.expected"]) == record["expected"][id]
            assert float(row[f"{id}.spread"]) == record["spread"][id]
        for label in rubric.criterion("nugget").columns:
            highest = max(turn.get(label, 0) for turn in record["nugget"])
            assert float(row[f"nugget.{label}"]) == highest
    # The JSONL is a run as well.
    run = de.load_run(out / "scores.jsonl")
    assert run.criteria == ("A", "S", "E", "nugget")
    assert same_as_parquet(rows, out / "scores.parquet")


def turns() -> list[Any]:
    return [dialogue.turns for dialogue in de.sample("en").dialogues]


def same_as_parquet(rows: list[dict[str, str]], path: Path) -> bool:
    import duckdb

    found = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(path)])
    names = [column[0] for column in found.description]
    text = [["" if cell is None else str(cell) for cell in row] for row in found.fetchall()]
    return names == [*rows[0]] and text == [[*row.values()] for row in rows]


def test_scores_are_predictions(cli, chats: Path) -> None:
    run = de.predict(de.load(chats), "uniform")
    result = cli("score", chats, *UNIFORM)
    assert (result.status, result.err) == (0, "")
    for record, id in zip(lines(result.out), run.ids, strict=True):
        assert record["id"] == id
        assert [*record["quality"]["A"].values()] == [0.2] * 5
        assert record["nugget"][0] == dict.fromkeys(("CNUG0", "CNUG", "CNUG*", "CNaN"), 0.25)
        assert record["expected"]["A"] == pytest.approx(0)
        assert record["spread"]["A"] == pytest.approx(2**0.5)
        assert record["language"] == "en"
    printed = cli("score", chats, *UNIFORM, "--csv", "--part-size", 7)
    assert [row["id"] for row in table(printed.out)] == [*run.ids]
    marked = cli("score", chats, *UNIFORM, "--language", "fr").out
    assert {record["language"] for record in lines(marked)} == {"fr"}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Dialogues for several partitions, in two languages."""
    path = tmp_path / "many.jsonl"
    with path.open("wb") as stream:
        for copy in range(14):
            for dialogue in (*de.sample("en").dialogues, *de.sample("zh").dialogues):
                record = {"id": f"{dialogue.id}-{copy}", "turns": dialogue.turns}
                stream.write(msgspec.json.encode(record) + b"\n")
    return path


def test_the_same_scores_wherever_it_runs(
    cli, many: Path, dask: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dialeval.cli import score

    monkeypatch.setattr(score, "PARTITION", 100_000)
    engines = ((), ("--jobs", 2), ("--engine", "dask", "--scheduler", dask))
    printed, files = [], []
    for number, engine in enumerate(engines):
        out = tmp_path / f"out{number}"
        result = cli("score", many, "--model", "fast", "--out", out, *engine)
        assert result.status == 0, result.err
        kept = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
        # The page says where it came from, and that is the same too.
        files.append(kept)
        printed.append(cli("score", many, "--model", "fast", *engine).out)
    assert files[0] == files[1] == files[2]
    assert printed[0] == printed[1] == printed[2] == files[0]["scores.jsonl"].decode()
    assert [row["id"] for row in lines(printed[0])] == [*de.load(many).ids]
    assert len(files[0]) == 4


def test_scores_in_parts(cli, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dialeval.cli import score
    from dialeval.engine import partitions

    monkeypatch.setattr(score, "PARTITION", 100_000)
    ids = [*de.load(many).ids]
    for kind in ("jsonl.gz", "parquet"):
        out = tmp_path / kind
        assert cli("score", many, *UNIFORM, "--out", out, "--parts", kind).status == 0
        assert sorted(path.name for path in out.iterdir()) == ["scores", "scores.html"]
        parts = partitions([out / "scores"])
        assert len(parts) > 3
        found = [json.loads(bytes(row))["id"] for part in parts for _, row in part.records()]
        assert found == ids
    copies = tmp_path / "copies"
    copies.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (copies / name).write_bytes(many.read_bytes())
    assert len(lines(cli("score", copies, *UNIFORM).out)) == 2 * len(ids)


def test_an_id_that_comes_twice_in_other_partitions(
    refused, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dialeval.cli import score

    monkeypatch.setattr(score, "PARTITION", 100_000)
    last = many.read_bytes().count(b"\n") + 2
    with many.open("ab") as stream:
        stream.write(b"\n" + many.read_bytes().splitlines()[1] + b"\n")
    told = f'line {last} .id: found "en-02-0" again, expected ids once each (first: line 2)'
    assert told in refused("score", many, *UNIFORM, "--out", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many.jsonl"]


def test_several_files(cli, chats: Path, tmp_path: Path) -> None:
    """The same ids may come in each; records say which file they are of."""
    other = tmp_path / "copy.jsonl"
    other.write_bytes(chats.read_bytes())
    records = lines(cli("score", chats, other, *UNIFORM).out)
    assert [record["file"] for record in records] == [str(chats)] * 30 + [str(other)] * 30
    assert records[0]["id"] == records[30]["id"]
    out = tmp_path / "out"
    assert cli("score", chats, other, *UNIFORM, "--out", out).status == 0
    page = (out / "scores.html").read_text()
    anchors = re.findall(r'<article class="reading" id="(\w+)"', page)
    assert len(set(anchors)) == len(anchors) == 60
    assert set(re.findall(r'href="#(d\d+)"', page)) <= set(anchors)


def test_pipe(chats: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dialeval", "score", "-", *UNIFORM]
    done = subprocess.run(command, input=chats.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(lines(done.stdout.decode())) == 30
    assert [*tmp_path.iterdir()] == [chats]


def test_the_page_keeps_few(cli, chats: Path, tmp_path: Path, lively: dict[str, Any]) -> None:
    """However many dialogues come, the worst and the best are shown, and the others counted."""
    for most, shown in ((0, 0), (1, 1), (5, 5), (200, 30)):
        out = tmp_path / str(most)
        assert cli("score", chats, "--out", out, "--most", most, "--part-size", 4).status == 0
        page = (out / "scores.html").read_text()
        assert articles(out / "scores.html") == shown
        assert ("are not shown" in page) == (0 < shown < 30)
        # The model is random, so each time others are worst.
        means = {id: sum(p[c] @ [2, 1, 0, -1, -2] for c in "ASE") for id, p in lively.items()}
        order = sorted(means, key=lambda id: means[id])
        listed = re.findall(r"<tr><td>(?:<a href=\"#d\d+\">)?(en-\d+)", page)
        assert listed == order[:10] + order[::-1][:10]
        read = re.findall(r'<h4 class="name">(en-\d+)', page)
        worst, best = shown - shown // 2, shown // 2
        expected = order if shown == 30 else order[:worst] + order[::-1][:best]
        assert read == expected


def test_the_overview_counts(cli, chats: Path, tmp_path: Path, lively: dict[str, Any]) -> None:
    assert cli("score", chats, "--out", tmp_path / "out").status == 0
    page = (tmp_path / "out" / "scores.html").read_text()
    expected = [said["A"] @ [2, 1, 0, -1, -2] for said in lively.values()]
    assert f'<span class="number">{np.mean(expected):.2f}</span>' in page
    drawn = re.search(r'aria-label="Dialogues by expected score: ([^"]*)"', page)
    assert drawn
    counts = [int(part.rpartition(": ")[2]) for part in drawn[1].split(", ")]
    bins, _ = np.histogram(expected, bins=20, range=(-2, 2))
    assert counts == [count for count in bins if count]
    # In how many dialogues a turn most likely gives a solution.
    columns = de.load_rubric("helpdesk").criterion("nugget").columns
    likely = [{columns[k] for k in said["nugget"].argmax(axis=1)} for said in lively.values()]
    solved = sum("HNUG*" in labels for labels in likely)
    assert re.search(rf'HNUG\*</span>.*Goal: gives.*<td class="right">{solved}</td>', page)


def test_a_bad_part_leaves_nothing(refused, chats: Path, tmp_path: Path) -> None:
    with chats.open("a") as stream:
        stream.write('{"id": "bad", "turns": []}\n')
    out = tmp_path / "new" / "out"
    line = refused("score", chats, *UNIFORM, "--out", out, "--part-size", 10)
    assert "line 31 .turns: found no turns" in line
    assert [*tmp_path.iterdir()] == [chats]
    out.mkdir(parents=True)
    (out / "scores.csv").write_text("kept")
    refused("score", chats, *UNIFORM, "--out", out, "--part-size", 10)
    assert [path.read_text() for path in out.iterdir()] == ["kept"]


def test_what_does_not_go_together(refused, chats: Path, tmp_path: Path) -> None:
    assert "choose one" in refused("score", chats, *UNIFORM, "--csv", "--out", tmp_path / "out")
    assert "unknown model" in refused("score", chats, "--model", "nothing")
    assert "cannot be written" in refused("score", chats, *UNIFORM, "--out", chats)


def test_without_the_extras(
    cli, chats: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("jinja2", "duckdb"):
        monkeypatch.setitem(sys.modules, package, None)
    result = cli("score", chats, *UNIFORM, "--out", tmp_path / "out")
    assert result.status == 0
    assert result.err == "warning: pages need an extra: pip install 'dialeval[report]'\n"
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["scores.csv", "scores.jsonl"]


WORDS = """
name = "words"
speakers = ["chair", "member", "guest"]

[[criteria]]
id = "tone"
scope = "dialogue"
kind = "ordinal"
labels = ["warm", "cool", "cold"]
measures = ["nmd"]

[[criteria]]
id = "topic"
scope = "dialogue"
kind = "nominal"
labels = ["Money", "money", "other"]
measures = ["jsd"]
"""
ONLY_TURNS = (
    "name = 'turns'\nspeakers = ['chair', 'member', 'guest']\n"
    "[[criteria]]\nid = 'clear'\nscope = 'turn'\nkind = 'ordinal'\n"
    "labels = ['1', '2', '3']\nmeasures = ['nmd']\n"
)


@pytest.mark.parametrize(
    ("rubric", "columns"),
    [
        (OWN, ["pace.expected", "pace.spread", "on-topic.yes", "on-topic.no"]),
        (
            WORDS,
            ["tone.expected", "tone.spread", "topic.Money", "topic.money", "topic.other"],
        ),
        (ONLY_TURNS, []),
    ],
)
def test_own_rubrics(
    cli, write, tmp_path: Path, rubric: str, columns: list[str], lively: dict[str, Any]
) -> None:
    own = tmp_path / "own.toml"
    own.write_text(rubric)
    plain = [{"id": one["id"], "turns": one["turns"]} for one in COLLECTION]
    data, out = write("data.json", plain), tmp_path / "out"
    result = cli("score", data, "--rubric", own, "--out", out)
    assert (result.status, result.err) == (0, "")
    rows = table((out / "scores.csv").read_text())
    assert [*rows[0]][4:] == columns
    assert articles(out / "scores.html") == 2
    records = lines((out / "scores.jsonl").read_text())
    if rubric == OWN:
        assert records[0]["on-topic"][2] is None
        pace = lively["17"]["pace"] @ [3, 2, 1, 0, -1, -2, -3]
        assert records[0]["expected"] == {"pace": pytest.approx(pace)}
        highest = np.nanmax(lively["17"]["on-topic"], axis=0)
        assert [float(rows[0][c]) for c in columns[2:]] == pytest.approx([*highest])
    elif rubric == WORDS:
        assert records[0]["expected"]["tone"] == pytest.approx(lively["17"]["tone"] @ [2, 1, 0])
        assert float(rows[0]["topic.money"]) == pytest.approx(lively["17"]["topic"][1])
    else:
        assert records[0]["expected"] == {}
        assert "Worst" not in (out / "scores.html").read_text()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of hostile dialogues, made by the command itself."""
    folder = tmp_path_factory.mktemp("score")
    long = "x" * 3000
    records = [
        {"id": id, "turns": [{"sender": "customer", "utterances": [text, ""]}]}
        for id, text in ((HOSTILE, HOSTILE), (long, long), ("中文", "我的手机坏了"), ("a\rb", ""))
    ]
    data = folder / "<b>data.json"
    data.write_text(json.dumps(records))
    other = folder / "other.json"
    other.write_text(json.dumps(records))
    command = [sys.executable, "-m", "dialeval", "score", data, other, *UNIFORM]
    subprocess.run([*command, "--out", folder / "out"], check=True, capture_output=True)
    assert [row["id"] for row in table((folder / "out/scores.csv").read_bytes().decode())] == [
        record["id"] for record in records * 2
    ]
    return folder / "out" / "scores.html"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(browser: Any, page_file: Path, width: int, scheme: str) -> None:
    watched = Watched(browser, width, scheme)
    watched.refuse_dialogs()
    page = watched.page
    page.goto(page_file.as_uri())
    watched.check()
    assert watched.requests == [page_file.as_uri()]
    # What came from data is text.
    assert page.locator("img, script, td b").count() == 0
    assert page.get_by_text(HOSTILE).count() > 0
    assert page.locator("article").count() == 8
    # Each list leads to its dialogues, and a turn wears its most likely label.
    link = page.locator("table.ends a").first
    target = page.locator(link.get_attribute("href"))
    assert target.locator("h4").inner_text().startswith(link.inner_text())
    tag = target.locator(".tag").first
    assert (tag.inner_text(), tag.get_attribute("title")) == (
        "CNUG0",
        "Trigger: states the problem",
    )
    assert target.locator(".expected b").first.inner_text() == "0.00 ± 1.41"
    # Two of everything scored alike: one bar in the middle of the histogram, as high as can be.
    heights = (
        page.locator(".histogram")
        .first.locator("span > span")
        .evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().height)")
    )
    assert [place for place, height in enumerate(heights) if height] == [10]
    assert heights[10] > 60
    watched.context.close()


def test_in_print(browser: Any, page_file: Path, tmp_path: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(page_file.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.pdf(path=tmp_path / "scores.pdf")
    assert (tmp_path / "scores.pdf").stat().st_size > 10_000
