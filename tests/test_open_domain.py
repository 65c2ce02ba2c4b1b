"""Open-domain evaluation: sheets and conversations, their points, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from scipy import stats

import dialeval as de

ASPECTS = {"syntax": 2, "content": 3, "emotion": 2, "divergence": 2, "context": 2}
HEAD = ["question", "reply", "", "annotators", *(f"m{i}" for i in range(1, 12))]
Rows = list[list[Any]]


def body(counts: list[list[int]], annotators: int = 3) -> Rows:
    return [[f"q{i}", f"r{i}", "", annotators, *row] for i, row in enumerate(counts)]


def closing(rows: Rows, scale: float = 1) -> Rows:
    sums = [sum(row[column] for row in rows) for column in range(4, 15)]
    total = sum(row[3] for row in rows)
    shares = [round(scale * value / total, 3) for value in sums]
    return [["total", "", "", total, *sums], ["share", "", "", "", *shares]]


def random_counts(questions: int, chance: float, seed: int) -> list[list[int]]:
    return np.random.default_rng(seed).binomial(3, chance, (questions, 11)).tolist()


@pytest.fixture(params=["csv", "xlsx"])
def sheet(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, Rows], Path]:
    """Write rows as a sheet, independently of the code under test."""

    def put(name: str, rows: Rows) -> Path:
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "csv":
            with path.open("w", newline="") as stream:
                csv.writer(stream).writerows(rows)
        else:
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append([None if cell == "" else cell for cell in row])
            book.save(path)
        return path

    return put


def expected_points(counts: list[list[int]], annotators: int = 3) -> dict[str, float]:
    """Points / (cases x metrics x annotators) x 100, and the sum."""
    points, column = {}, 0
    for aspect, metrics in ASPECTS.items():
        yes = sum(sum(row[column : column + metrics]) for row in counts)
        points[aspect] = yes / (len(counts) * metrics * annotators) * 100
        column += metrics
    return points | {"overall": sum(points.values())}


def means(found: Any, system: str) -> dict[str, float]:
    return {
        column.removesuffix(".points"): by_run[system]["mean"]
        for column, by_run in found["means"].items()
    }


def test_the_guidelines_example(cli, sheet) -> None:
    """200 cases of 2 metrics and 3 annotators: 1200 points at most; 900 of them are 75."""
    counts = [[3, 3, 0, 0, 0, 3, 3 if i < 100 else 0, 0, 0, 0, 0] for i in range(200)]
    path = sheet("system", [HEAD, *body(counts), *closing(body(counts))])
    found = cli("open-domain", "score", path, "--json")
    assert found.status == 0, found.err
    assert means(found.json, "system") == pytest.approx(
        {"syntax": 100, "content": 0, "emotion": 75, "divergence": 0, "context": 0, "overall": 175}
    )
    assert found.json["most"]["overall"] == 500
    assert found.json["differences"] == []
    assert found.json["questions"] == 200


def test_ranks_with_significance(cli, sheet, tmp_path: Path) -> None:
    tables = {"middle": random_counts(60, 0.6, 1), "good": random_counts(60, 0.8, 2)}
    paths = [sheet(name, [HEAD, *body(counts)]) for name, counts in tables.items()]
    args = ("--test", "t", "--out", tmp_path / "out", "--by-question", tmp_path / "points.csv")
    found = cli("open-domain", "score", *paths, *args, "--json").json
    for name, counts in tables.items():
        assert means(found, name) == pytest.approx(expected_points(counts))
    overall = found["means"]["overall.points"]
    assert (overall["good"]["rank"], overall["middle"]["rank"]) == (1, 2)
    better = {(b["run"], b["than"]) for b in found["better"] if b["column"] == "overall.points"}
    assert better == {("good", "middle")}
    rows = list(csv.DictReader((tmp_path / "points.csv").read_text().splitlines()))
    by_system = {
        name: [float(row["emotion.points"]) for row in rows if row["run"] == name]
        for name in tables
    }
    assert by_system["good"][0] == pytest.approx(sum(tables["good"][0][5:7]) / 6 * 100)
    file = tmp_path / "out/tables/open-domain-single-emotion-points-pairs.csv"
    pairs = list(csv.DictReader(file.read_text().splitlines()))
    assert (pairs[0]["better run"], pairs[0]["worse run"]) == ("good", "middle")
    p = stats.ttest_rel(by_system["good"], by_system["middle"]).pvalue
    assert float(pairs[0]["p"]) == pytest.approx(p, rel=1e-9)
    assert (tmp_path / "out/report.html").exists()


def test_unequal_numbers_of_annotators(cli, sheet) -> None:
    """All yes votes over all that could be: not the mean of the replies' shares."""
    rows = body([[2] * 11], annotators=2) + body([[0] * 11], annotators=6)
    rows[1][0] = "another"
    found = cli("open-domain", "score", sheet("s", rows), "--json").json
    assert means(found, "s") == pytest.approx(dict.fromkeys(ASPECTS, 25.0) | {"overall": 125.0})


@pytest.mark.parametrize("scale", [1, 100])
def test_closing_rows_are_checked(cli, sheet, scale) -> None:
    rows = body(random_counts(20, 0.6, 5))
    end = closing(rows, scale)
    assert cli("open-domain", "score", sheet("right", [HEAD, *rows, *end])).status == 0
    end[0][6] += 2  # G, in row 22
    end[1][14] = round(end[1][14] + 0.01 * scale, 3)  # O, in row 23
    path = sheet("wrong", [HEAD, *rows, *end])
    found = cli("open-domain", "score", path, "--json")
    assert found.status == 1
    right = closing(rows)[0][6]
    assert found.json["differences"][0] == (
        f"{path}: G22: found {right + 2}, the rows above give {right}"
    )
    assert len(found.json["differences"]) == 2
    assert f"{path}: O23: found" in found.err
    assert means(found.json, "wrong") == pytest.approx(expected_points([row[4:] for row in rows]))


def test_a_sheet_without_names_and_totals(cli, sheet) -> None:
    counts = random_counts(5, 0.5, 1)
    rows = body(counts)
    rows[-1][1] = ""  # the system said nothing: still a reply
    found = cli("open-domain", "score", sheet("bare", rows), "--json").json
    assert found["questions"] == 5
    assert means(found, "bare") == pytest.approx(expected_points(counts))


BAD_CELLS = [
    (2, 4, "two", 'E4: found "two", expected a whole number of 0 to 3, the annotators'),
    (2, 5, 4, "F4: found"),
    (0, 6, -1, "G2: found"),
    (1, 7, 1.5, "H3: found"),
    (1, 8, "", "I3: found nothing"),
    (1, 3, 0, "D3: found"),
    (1, 3, "", "D3: found nothing"),
    (1, 3, "three", 'D3: found "three", expected a whole number of 1 or more'),
    (1, 0, "", "A3: found nothing, expected a question"),
    (2, 9, "=1+1", 'J4: found the formula "=1+1", expected a value'),
    (1, 3, "=COUNTA(A1:A9)", "D3: found the formula"),
]


@pytest.mark.parametrize(("row", "column", "value", "words"), BAD_CELLS)
def test_bad_cells(refused, sheet, tmp_path: Path, row, column, value, words) -> None:
    rows = body(random_counts(4, 0.5, 1))
    rows[row][column] = value
    path = sheet("bad", [HEAD, *rows, *closing(body(random_counts(4, 0.5, 1)))])
    line = refused("open-domain", "score", path, "--out", tmp_path / "out")
    assert line.startswith(f"error: {path}: {words}")
    assert not (tmp_path / "out").exists()


def test_formulas_in_closing_rows_are_refused(refused, sheet) -> None:
    rows = body(random_counts(4, 0.5, 1))
    end = closing(rows)
    end[0][4] = "=SUM(E2:E5)"
    line = refused("open-domain", "score", sheet("sums", [HEAD, *rows, *end]))
    assert 'E6: found the formula "=SUM(E2:E5)"' in line


def test_a_formula_for_a_reply(refused, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in body(random_counts(3, 0.5, 1)):
        book.active.append(row)
    book.active["B2"] = '=HYPERLINK("http://example.org")'
    book.save(tmp_path / "s.xlsx")
    assert "B2: found the formula" in refused("open-domain", "score", tmp_path / "s.xlsx")


def test_missing_columns(refused, sheet) -> None:
    rows = [row[:13] for row in [HEAD, *body(random_counts(4, 0.5, 1))]]
    line = refused("open-domain", "score", sheet("narrow", rows))
    assert "row 1: found 13 columns, expected 15: A question, B reply, D annotators" in line


def test_bad_files(refused, tmp_path: Path, sheet) -> None:
    (tmp_path / "no.xlsx").write_bytes(b"not a workbook")
    assert "no readable workbook" in refused("open-domain", "score", tmp_path / "no.xlsx")
    assert "no readable file" in refused("open-domain", "score", tmp_path / "none.xlsx")
    (tmp_path / "latin.csv").write_bytes("é".encode("latin-1"))
    assert "not UTF-8" in refused("open-domain", "score", tmp_path / "latin.csv")
    assert "found nothing" in refused("open-domain", "score", sheet("empty", []))
    assert "no replies" in refused("open-domain", "score", sheet("head", [HEAD]))
    assert "yes/no criteria of dialogues only" in refused(
        "open-domain", "score", sheet("s", body([[1] * 11])), "--rubric", "helpdesk"
    )


def test_damaged_workbooks(write, cli, tmp_path: Path) -> None:
    """Whatever bytes are wrong: read, or one clear line."""
    path = tmp_path / "replies.xlsx"
    cli("open-domain", "sheet", write("replies.json", collection()), "--out", path)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in random.integers(len(whole), size=4):
            damaged[place] = random.integers(256)
        path.write_bytes(damaged)
        found = cli("open-domain", "score", path)
        assert found.status in (0, 1, 2)
        assert "Traceback" not in found.err
        refused += found.status == 2
    assert refused > 20


def test_systems_asked_different_questions(cli, refused, sheet) -> None:
    counts = random_counts(6, 0.5, 1)
    one, two = sheet("one", body(counts)), sheet("two", body(counts)[:4])
    assert f'{two}: found nothing for "q4"' in refused("open-domain", "score", one, two)
    found = cli("open-domain", "score", one, two, "--missing", "skip", "--json").json
    assert found["questions"] == 4


REPLIES = [
    "=1+1",
    "=_=",
    "+1",
    "-_-",
    "@you",
    "'quoted'",
    'He said "no", then left\nhome',
    "好的，明天见。",
    "2",
]


def collection(votes: bool = True) -> list[dict[str, Any]]:
    rubric = de.load_rubric("open-domain-single")
    random = np.random.default_rng(8)
    records = []
    for place, reply in enumerate(REPLIES):
        turns = [
            {"sender": "person", "utterances": [f"question {place}"]},
            {"sender": "chatbot", "utterances": [reply]},
        ]
        record: dict[str, Any] = {"id": f"question {place}", "turns": turns}
        if votes:
            record["annotations"] = [
                {"quality": {c.id: str(random.choice(["yes", "no"])) for c in rubric.criteria}}
                for _ in range(3)
            ]
        records.append(record)
    return records


@pytest.mark.parametrize("ending", ["xlsx", "csv"])
def test_a_sheet_is_written_and_read(cli, write, tmp_path: Path, ending: str) -> None:
    source, path = write("replies.json", collection()), tmp_path / f"replies.{ending}"
    assert cli("open-domain", "sheet", source, "--out", path).status == 0
    from dialeval.core.sheet import load_sheet

    read = load_sheet(path, de.load_rubric("open-domain-single"))
    assert read.differences == ()
    assert read.closing == 2
    assert [d.turns[1].text for d in read.collection.dialogues] == REPLIES
    first = cli("open-domain", "score", source, "--json").json
    assert cli("open-domain", "score", path, "--json").json["means"] == first["means"]
    if ending == "xlsx":  # nothing in it is a formula
        cells = [cell for row in openpyxl.load_workbook(path).active for cell in row]
        assert not [cell for cell in cells if cell.data_type == "f"]
        assert cells[15 + 1].value == "=1+1"
    else:  # nor does a program that opens it take anything for one
        rows = list(csv.reader(path.read_text().splitlines()))
        assert rows[1][1] == "'=1+1"


def test_a_form_to_fill_in(cli, refused, write, tmp_path: Path) -> None:
    source, path = write("replies.json", collection(votes=False)), tmp_path / "form.csv"
    assert cli("open-domain", "sheet", source, "--out", path).status == 0
    assert len(path.read_text().splitlines()) == 1 + len(REPLIES) + 1  # one reply has two lines
    assert "D2: found nothing" in refused("open-domain", "score", path)
    assert "expected a name" in refused("open-domain", "sheet", source, "--out", tmp_path / "x.txt")


def conversation(id: str, turns: list[tuple[Any, Any, Any]], annotators: int = 1) -> dict[str, Any]:
    """Turns as (logic, trigger, on-topic); a list holds a label for each annotator."""

    def votes(k: int, a: int) -> list[Any]:
        labels = [turn[k][a] if isinstance(turn[k], list) else turn[k] for turn in turns]
        return [cell for label in labels for cell in (None, label)]

    texts = [
        {"sender": sender, "utterances": ["…"]} for _ in turns for sender in ("person", "chatbot")
    ]
    annotations = [
        {"logic": votes(0, a), "trigger": votes(1, a), "on-topic": votes(2, a)}
        for a in range(annotators)
    ]
    return {"id": id, "turns": texts, "annotations": annotations}


def multi(cli, path: Path) -> dict[str, float]:
    found = cli("open-domain", "multi", path, "--json")
    assert found.status == 0, found.err
    return means(found.json, path.stem)


ALL_RIGHT = (2, "2", "yes")


@pytest.mark.parametrize(
    ("turns", "annotators", "expected"),
    [
        ([ALL_RIGHT] * 5, 1, (10, 10, 10, 10, 40)),
        # The fifth turn is the last that counts.
        ([ALL_RIGHT] * 5 + [(0, 0, "no")] * 2, 1, (10, 10, 10, 10, 40)),
        ([(0, 0, "no")] + [ALL_RIGHT] * 6, 1, (8, 8, 10, 8, 34)),
        ([(1, 0, "yes"), (2, 1, "no"), (0, 0, "no")], 1, (3, 1, 6, 2, 12)),
        ([(0, 0, "no")], 1, (0, 0, 2, 0, 2)),
        # Annotators are averaged.
        ([([2, 1], [0, 1], ["yes", "no"]), (2, 2, "yes")], 2, (3.5, 2.5, 4, 3, 13)),
    ],
)
def test_conversations_by_hand(cli, write, turns, annotators, expected) -> None:
    found = multi(cli, write("bot.json", [conversation("c", turns, annotators)]))
    assert tuple(found.values()) == pytest.approx(expected)
    assert [*found] == [
        "logical-association", "conversation-trigger", "turns", "topical-turns", "overall",
    ]  # fmt: skip


def test_a_question_without_reply_is_no_turn(cli, write) -> None:
    record = conversation("c", [ALL_RIGHT, ALL_RIGHT])
    record["turns"].append({"sender": "person", "utterances": ["Hello?"]})
    for votes in record["annotations"][0].values():
        votes.append(None)
    assert multi(cli, write("bot.json", [record]))["overall"] == 16


def test_conversations_are_ranked(cli, write) -> None:
    random = np.random.default_rng(3)
    files = []
    for name, chance in (("poor", 0.2), ("rich", 0.9)):
        records = []
        for i in range(20):
            turns = [
                (int(random.binomial(2, chance)), int(random.binomial(2, chance)), "yes")
                for _ in range(4)
            ]
            records.append(conversation(f"s{i}", turns))
        files.append(write(f"{name}.json", records))
    found = cli("open-domain", "multi", *files, "--json").json
    assert found["conversations"] == 20
    assert found["most"]["overall"] == 40
    assert found["means"]["overall.points"]["rich"]["rank"] == 1
    assert ("rich", "poor") in {(b["run"], b["than"]) for b in found["better"]}


def test_bad_conversations(refused, write) -> None:
    record = conversation("c", [(3, 0, "yes")])
    line = refused("open-domain", "multi", write("a.json", [record]))
    assert "[0].annotations[0].logic[1]: found 3, expected one of 2, 1, 0" in line
    record = conversation("c", [ALL_RIGHT, (None, 1, "yes")])
    line = refused("open-domain", "multi", write("b.json", [record]))
    assert "dialogue 'c', turn 4: found no votes on logic" in line
    record = conversation("c", [ALL_RIGHT])
    record["annotations"][0]["logic"][0] = 2
    assert "a label of person: none" in refused("open-domain", "multi", write("c.json", [record]))
    del record["annotations"]
    assert "no votes" in refused("open-domain", "multi", write("d.json", [record]))
    turns = [{"sender": "poster", "utterances": ["x"]}]
    record = {"id": 1, "turns": turns, "annotations": [{"quality": {"fluent": "yes"}}]}
    line = refused("open-domain", "multi", write("e.json", [record]), "--rubric", "stc2")
    assert "has no aspects" in line


ASPECT_RUBRIC = """
name = "own"
speakers = ["a", "b"]

[[criteria]]
id = "ok"
scope = "dialogue"
kind = "yes-no"
measures = ["jsd"]

[[criteria]]
id = "turn"
scope = "turn"
kind = "nominal"
labels = ["red", "blue"]
measures = ["jsd"]

[[aspects]]
id = "one"
criteria = ["ok"]
scale = 10
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('criteria = ["ok"]', 'criteria = ["okay"]', 'aspects[0].criteria: found "okay"'),
        ('criteria = ["ok"]', 'criteria = ["ok", "ok"]', "aspects[0].criteria: found ok, ok"),
        ('criteria = ["ok"]', 'criteria = ["ok", "turn"]', "criteria of dialogues and of turns"),
        ('criteria = ["ok"]', "criteria = []", "aspects[0]: found no points"),
        ("scale = 10", "scale = 0", "aspects[0].scale: found 0"),
        ("scale = 10", "each = -1", "aspects[0].each: found -1"),
        ('id = "one"', 'id = "overall"', 'aspects[0].id: found "overall"'),
        ('name = "own"', 'name = "own"\nmost_turns = 0', "most_turns: found 0"),
        ('id = "ok"', 'id = "ok"\npoints = { yes = 1 }', "criteria[0].points: found yes"),
        (
            'id = "ok"',
            'id = "ok"\npoints = { yes = 1, no = -1 }',
            "criteria[0].points.no: found -1",
        ),
    ],
)
def test_aspects_that_are_wrong(refused, tmp_path: Path, old, new, words) -> None:
    assert old in ASPECT_RUBRIC
    path = tmp_path / "own.toml"
    path.write_text(ASPECT_RUBRIC.replace(old, new, 1))
    assert words in refused("validate", path)


def test_labels_without_points(refused, write, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(ASPECT_RUBRIC.replace('criteria = ["ok"]', 'criteria = ["turn"]'))
    turns = [{"sender": "a", "utterances": ["x"]}]
    record = {"id": 1, "turns": turns, "annotations": [{"turn": ["red"]}]}
    line = refused("open-domain", "multi", write("x.json", [record]), "--rubric", path)
    assert "criterion 'turn': its labels have no points" in line


def test_the_rubrics_are_the_campaigns() -> None:
    single, multi = (de.load_rubric(f"open-domain-{name}") for name in ("single", "multi"))
    assert {a.id: len(a.criteria) for a in single.aspects} == ASPECTS
    assert [id for a in single.aspects for id in a.criteria] == [c.id for c in single.criteria]
    for rubric in (single, multi, de.load_rubric("stc2")):
        for criterion in rubric.criteria:
            assert set(criterion.question) == set(criterion.name) == {"en", "zh"}
    assert json.dumps([c.id for c in multi.criteria]) == '["logic", "trigger", "on-topic"]'
