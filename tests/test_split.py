"""Training and test sets: the right numbers, nothing in common, the same wherever it runs."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import turn

import dialeval as de
from dialeval.mine.duplicates import shingles, signatures, similar_pairs

WORDS = re.findall(
    r"\w+",
    "order late refund broken screen router password email account invoice ship parcel box "
    "charge card battery sound light green error update install phone call support thanks please",
)


def text(random: np.random.Generator, length: int = 25) -> str:
    return " ".join(random.choice(WORDS, length))


def changed(random: np.random.Generator, words: str) -> str:
    """Nearly the same: another case, other punctuation, one word more."""
    return words.upper().replace(" ", ", ", 3) + f" {random.choice(WORDS)}"


def collection(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """2 to 7 turns; authors who come back; copies of earlier dialogues; in the order of time."""
    random = np.random.default_rng(seed)
    records: list[dict[str, Any]] = []
    for number in range(count):
        turns = 2 + number % 6
        said = [text(random) for _ in range(turns)]
        if number % 10 == 9:  # a copy, with as many turns
            old = records[int(random.integers(len(records)))]
            said = [changed(random, t["utterances"][0]) for t in old["turns"]]
        senders = ("customer", "helpdesk")
        records.append(
            {
                "id": f"d{number}",
                "turns": [turn(senders[i % 2], words) for i, words in enumerate(said)],
                "author": f"a{random.integers(count // 2)}",
                "time": f"2024-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            }
        )
    return records


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def turns_of(records: list[dict[str, Any]]) -> Counter[int]:
    return Counter(len(record["turns"]) for record in records)


def jaccard(one: dict[str, Any], other: dict[str, Any]) -> float:
    first, second = (
        {*shingles("\n".join(t["utterances"][0] for t in r["turns"])).tolist()}
        for r in (one, other)
    )
    return len(first & second) / len(first | second)


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def check_sides(train: list[dict[str, Any]], test: list[dict[str, Any]]) -> None:
    assert not {r["author"] for r in train} & {r["author"] for r in test}
    assert not {r["id"] for r in train} & {r["id"] for r in test}
    near = [jaccard(one, other) for one in test for other in train]
    assert max(near) < 0.8


@pytest.fixture
def run(cli, tmp_path: Path) -> Any:
    def split(path: Path, *more: object) -> tuple[Any, list[dict[str, Any]], list[dict[str, Any]]]:
        out, test = tmp_path / "train.jsonl", tmp_path / "test.jsonl"
        args = ("sample", path, "--by", "turns", "--out", out, "--test", test)
        found = cli(*args, "--apart", "author", "--json", *more)
        assert found.status == 0, found.err
        return found.json, load(out), load(test)

    return split


@pytest.mark.parametrize("split", ["random", "time"])
def test_sides_have_nothing_in_common(run, write, split: str, tmp_path: Path) -> None:
    records = collection(900)
    path, rest = write("all.jsonl", lines(records)), tmp_path / "rest.jsonl"
    take = ("--take", "2-6:50", "--take", "7:20", "--test-take", "2-7:10")
    found, train, test = run(path, *take, "--split", split, "--rest", rest)
    assert turns_of(train) == {2: 50, 3: 50, 4: 50, 5: 50, 6: 50, 7: 20}
    assert turns_of(test) == dict.fromkeys(range(2, 8), 10)
    check_sides(train, test)
    if split == "time":
        assert max(r["time"] for r in train) < min(r["time"] for r in test)
    assert found["turns"]["7"] == {"found": turns_of(records)[7], "chosen": 20, "test": 10}
    assert found["similar_pairs"] >= 80
    # Nothing is lost: whatever is in neither is in the rest, unchanged and in the file's order.
    every = {r["id"]: r for r in (*train, *test, *load(rest))}
    assert [every[r["id"]] for r in records] == records
    assert len(every) == len(train) + len(test) + len(load(rest))


@pytest.mark.parametrize("split", ["random", "time"])
def test_all_that_is_left_for_training(run, write, split: str) -> None:
    records = collection(600)
    path = write("all.jsonl", lines(records))
    found, train, test = run(path, "--test-each", 5, "--split", split)
    assert turns_of(test) == dict.fromkeys(range(2, 8), 5)
    check_sides(train, test)
    assert len(train) + len(test) + found["on_neither_side"] == 600
    # Without the conditions, the same authors are on both sides: the test can fail.
    plain, train, test = run(path, "--test-each", 50, "--split", split, "--similarity", 0)
    assert plain["similar_pairs"] == 0
    assert max(jaccard(a, b) for a in test for b in train) > 0.8


def test_seeds(run, write) -> None:
    path = write("all.jsonl", lines(collection(400)))
    first = run(path, "--test-each", 5)
    assert run(path, "--test-each", 5) == first
    other = run(path, "--test-each", 5, "--seed", 1)
    assert {r["id"] for r in other[2]} != {r["id"] for r in first[2]}


def test_large_groups_stay_in_training(run, write) -> None:
    records = collection(300)
    for record in records[:150]:
        record["author"] = "the one who writes all day"
    _, train, test = run(write("all.jsonl", lines(records)), "--test-size", 30)
    assert len(test) == 30
    assert sum(r["author"].startswith("the one") for r in train) == 150


def test_several_authors_and_none(run, write) -> None:
    records = collection(200)
    for record in records:
        record["author"] = []
    records[0]["author"], records[1]["author"], records[2]["author"] = ["x", "y"], ["y"], None
    found, _, _ = run(write("all.jsonl", lines(records)), "--test-each", 2, "--similarity", 0)
    assert found["connected"] == 2


def test_near_duplicates_against_all_pairs() -> None:
    """All pairs that are clearly similar are found, and none that is clearly not."""
    random = np.random.default_rng(4)
    texts = [text(random, 40) for _ in range(150)]
    for place in range(50):
        words = texts[place].split()
        for _ in range(place // 5):  # from the same to quite another
            words[int(random.integers(40))] = str(random.choice(WORDS))
        texts.append(" ".join(words))
    sets = [{*shingles(one).tolist()} for one in texts]
    found = {tuple(pair) for pair in similar_pairs(*signatures(texts), 0.8).tolist()}
    seen = 0
    for a, b in combinations(range(len(texts)), 2):
        similarity = len(sets[a] & sets[b]) / len(sets[a] | sets[b])
        if similarity > 0.92:
            assert (a, b) in found
            seen += 1
        elif similarity < 0.68:
            assert (a, b) not in found
    assert seen >= 5
    assert similar_pairs(*signatures(["", "!!", ""]), 0.8).tolist() == []


def test_chinese_and_masked_texts() -> None:
    texts = [
        "我的手机昨天坏了，请问怎么退货？@甲客服",
        "我的手机昨天坏了 请问怎么退货 @乙客服 http://t.cn/abc",
        "我的手机昨天坏了，请问怎么退货？[NAME-abcdefgh]",
        "套餐流量为什么这么快就没有了",
    ]
    assert similar_pairs(*signatures(texts), 0.8).tolist() == [[0, 1], [0, 2], [1, 2]]


def test_the_same_wherever_it_runs(cli, dask: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    records = collection(300)
    for part in range(3):
        (folder / f"{part}.jsonl").write_bytes(lines(records[part * 100 : part * 100 + 100]))
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(lines(records))
    found = []
    on_dask = ("--engine", "dask", "--scheduler", dask)
    for source, way in ((folder, ()), (folder, ("--jobs", 2)), (folder, on_dask), (whole, ())):
        out, test = tmp_path / "out.jsonl", tmp_path / "test.jsonl"
        args = ("sample", source, "--by", "turns", "--test-each", 5, "--apart", "author")
        result = cli(*args, "--out", out, "--test", test, *way, "--json")
        assert result.status == 0, result.err
        found.append((result.json, out.read_bytes(), test.read_bytes()))
    assert all(one == found[0] for one in found)
    parts = tmp_path / "parts"
    assert cli("sample", folder, "--size", 50, "--out", parts).status == 0
    assert json.loads((parts / "_manifest.json").read_text())["rows"] == 50
    assert cli("sample", folder, "--size", 50, "--out", parts, "--parts", "parquet").status == 0
    assert sum(len(de.load(part)) for part in parts.glob("*.parquet")) == 50


def test_votes_and_tables(cli, write, tmp_path: Path) -> None:
    """Rows stay whole: votes in collections, cells in tables."""
    gold = tmp_path / "gold.jsonl"
    de.save(de.sample("en"), gold)
    out = tmp_path / "out.jsonl"
    assert cli("sample", gold, "--size", 10, "--out", out).status == 0
    sampled = de.load(out)
    assert len(sampled) == 10
    assert len(sampled.annotators) == 19
    rows = "id,author,text,time\n" + "".join(
        f'{i},a{i % 40},"{text(np.random.default_rng(i), 9)}",{1700000000 + i}\n' for i in range(99)
    )
    table = write("q.csv", rows.encode())
    test = tmp_path / "test.csv"
    args = ("--split", "time", "--apart", "author", "--test-size", 5)
    found = cli("sample", table, "--out", tmp_path / "o.csv", "--test", test, *args)
    assert found.status == 0, found.err
    before, after = ([*csv.reader(t.splitlines())] for t in (rows, test.read_text()))
    assert after[0] == before[0]
    assert len(after) == 6
    assert all(row in before for row in after)


def test_bad_input(refused, write, tmp_path: Path) -> None:
    path = write("all.jsonl", lines(collection(60)))
    out, test = tmp_path / "out.jsonl", tmp_path / "test.jsonl"
    args = ("sample", path, "--out", out)
    both = (*args, "--test", test)
    assert "--test goes with --test-size" in refused(*both)
    assert "--test goes with --test-size" in refused(*args, "--size", 3, "--test-size", 4)
    assert "--take needs --by" in refused(*args, "--take", "2:3")
    assert "give --test FILE" in refused(*args, "--size", 3, "--apart", "author")
    assert "expected VALUE=N, or FROM-TO:N" in refused(*args, "--by", "turns", "--take", "2-6")
    assert "twice" in refused(*args, "--by", "turns", "--take", "2-6:1", "--take", "3:1")
    line = refused(*both, "--by", "turns", "--test-take", "2:61")
    there = turns_of(load(path))[2]
    assert f"2: found {there} for the test side (of {there}), expected 61" in line
    assert "9: found 0" in refused(*both, "--by", "turns", "--test-take", "9:1")
    line = refused(*both, "--test-size", 3, "--apart", "writer")
    assert "line 1: found no field 'writer'" in line
    assert "line 1 .turns: found no plain value" in refused(
        *both, "--test-size", 3, "--apart", "turns"
    )
    line = refused(*both, "--test-size", 3, "--split", "time", "--time", "author")
    assert "expected a time" in line
    assert "expected three files" in refused(*both, "--test-size", 3, "--rest", out)
    assert not out.exists()
    assert not test.exists()
