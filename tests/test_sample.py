"""Stratified choice: the right numbers, seeded, nothing lost, and what is refused."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DOMAINS = [f"topic {k}" for k in range(16)] + ["greeting", "chat"]


def questions() -> list[dict[str, Any]]:
    """100 of each of sixteen topics, 50 of each of two domains without one; 1700, mixed."""
    rows = [
        {"id": f"{domain}/{i}", "question": f"问题 {i}", "domain": domain, "votes": [1, 2]}
        for domain in DOMAINS
        for i in range(100 if domain.startswith("topic") else 50)
    ]
    np.random.default_rng(1).shuffle(rows)  # type: ignore[arg-type]
    return rows


def drawn(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())


def test_each_of_18_domains(cli, write, tmp_path: Path) -> None:
    rows = questions()
    path, out, rest = write("q.json", rows), tmp_path / "out.json", tmp_path / "rest.json"
    found = cli(
        "sample", path, "--by", "domain", "--each", 20, "--out", out, "--rest", rest, "--json"
    )
    assert found.status == 0, found.err
    chosen, left = drawn(out), drawn(rest)
    assert Counter(row["domain"] for row in chosen) == dict.fromkeys(DOMAINS, 20)
    assert found.json["chosen"] == 360
    assert found.json["domain"]["chat"] == {"found": 50, "chosen": 20}
    # Every row is in one of the two, whole, in the file's order.
    place = {row["id"]: p for p, row in enumerate(rows)}
    for part in (chosen, left):
        places = [place[row["id"]] for row in part]
        assert places == sorted(places)
    assert sorted(chosen + left, key=lambda row: place[row["id"]]) == rows


def test_the_seed_decides(cli, write, tmp_path: Path) -> None:
    path, out = write("q.json", questions()), tmp_path / "out.json"

    def sample(*more: object) -> set[str]:
        assert cli("sample", path, "--by", "domain", "--out", out, *more).status == 0
        return {row["id"] for row in drawn(out)}

    first = sample("--each", 10)
    assert sample("--each", 10) == first
    other = sample("--each", 10, "--seed", 1)
    # Two random halves of this kind share about a tenth, or a fifth where there are fifty.
    assert 5 < len(first & other) < 50
    # What is drawn of one domain does not hang on the others.
    more = sample("--each", 10, "--quota", "chat=50")
    assert {id for id in first if not id.startswith("chat")} <= more
    # Every question has the same chance.
    counts = Counter(
        id for seed in range(40) for id in sample("--quota", "chat=25", "--seed", seed)
    )
    assert len(counts) == 50
    assert 5 < min(counts.values()) <= max(counts.values()) < 35


@pytest.mark.parametrize(("size", "topic", "other"), [(500, {29, 30}, {15}), (1700, {100}, {50})])
def test_in_proportion(cli, write, tmp_path: Path, size, topic, other) -> None:
    path, out = write("q.json", questions()), tmp_path / "out.json"
    assert cli("sample", path, "--by", "domain", "--size", size, "--out", out).status == 0
    counts = Counter(row["domain"] for row in drawn(out))
    assert sum(counts.values()) == size
    for domain, count in counts.items():
        assert count in (topic if domain.startswith("topic") else other)


def test_other_fields_and_formats(cli, write, tmp_path: Path) -> None:
    lines = ["id,turns,text"] + [f'{i},{2 + i % 3},"a, ""b"" {i}"' for i in range(30)]
    path = write("q.csv", "\n".join(lines).encode())
    out = tmp_path / "out.csv"
    args = ("sample", path, "--by", "turns", "--quota", "2=7", "--quota", "3=2")
    assert cli(*args, "--out", out).status == 0
    chosen = list(csv.DictReader(out.read_text().splitlines()))
    assert Counter(row["turns"] for row in chosen) == {"2": 7, "3": 2}
    assert chosen[0]["text"] == f'a, "b" {chosen[0]["id"]}'
    assert cli(*args, "--out", tmp_path / "out.jsonl.gz").status == 0
    everything = ("--each", 10, "--rest", tmp_path / "rest.csv")
    assert cli("sample", path, "--by", "turns", *everything, "--out", out).status == 0
    assert (tmp_path / "rest.csv").read_text() == "id,turns,text\n"


def test_bad_input(refused, write, tmp_path: Path) -> None:
    path, out = write("q.json", questions()), tmp_path / "out.json"

    def line(*args: object) -> str:
        found = refused("sample", *args)
        assert not out.exists()
        return found

    end = ("--out", out)
    assert "chat: found 50 to choose from, expected 60" in line(
        path, "--by", "domain", "--quota", "chat=60", *end
    )
    assert "chat: found 50" in line(path, "--by", "domain", "--each", 51, *end)
    assert "sport: found 0" in line(path, "--by", "domain", "--quota", "sport=1", *end)
    assert "found 1700 to choose from" in line(path, "--by", "domain", "--size", 1701, *end)
    assert "give either --size" in line(path, "--by", "domain", *end)
    assert "give either --size" in line(path, "--by", "domain", "--size", 3, "--each", 3, *end)
    assert "expected VALUE=N" in line(path, "--by", "domain", "--quota", "chat", *end)
    assert "twice" in line(path, "--by", "domain", "--quota", "a=1", "--quota", "a=2", *end)
    assert "[0]: found no field 'dommain'" in line(path, "--by", "dommain", "--each", 1, *end)
    assert "[0].votes: found no plain value" in line(path, "--by", "votes", "--each", 1, *end)
    assert "ends in" in line(path, "--by", "domain", "--each", 1, "--out", tmp_path / "x.parquet")
    assert "expected two files" in line(
        path, "--by", "domain", "--each", 1, "--out", out, "--rest", out
    )
