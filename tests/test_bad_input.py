"""Bad input gets one clear line and status 2, and leaves nothing behind."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

BAD_RUNS = {
    "not JSON": (b"quality: 1", "line 1, column 1", "not JSON"),
    "cut off": (b'[{"id": "d1"', "", "not JSON"),
    "empty": (b"", "", "nothing"),
    "wrong top-level type": (b'{"id": "d1"}', "", "an array of dialogues"),
    "no records": (b"[]", "", "no dialogues"),
    "record of the wrong type": (b"[3]", "[0]", "a whole number"),
    "no id": (b'[{"quality": {}}]', "[0]", "no field 'id'"),
    "deep nesting": (b"[" * 100_000, "", "not JSON"),
    "lone surrogate": (b'[{"id": "\\ud800"}]', "[0].id", "a lone surrogate"),
    "bad UTF-8": (b'[{"id": "\xff"}]', "[0]", "not JSON"),
}


@pytest.mark.parametrize("case", BAD_RUNS, ids=str)
def test_bytes(case: str, refused, write, gold_records, tmp_path: Path) -> None:
    content, place, words = BAD_RUNS[case]
    gold, run = write("gold.json", gold_records), write("run.json", content)
    out = tmp_path / "scores.csv"
    line = refused("evaluate", run, "--gold", gold, "--by-dialogue", out)
    assert line.startswith(f"error: {run}: {place}".rstrip())
    assert words in line
    assert not out.exists()


def test_truncated_gzip(refused, write, gold_records, run_records) -> None:
    gold = write("gold.json", gold_records)
    whole = gzip.compress(json.dumps(run_records).encode())
    run = write("run.json.gz", whole[: len(whole) // 2])
    assert "truncated gzip" in refused("evaluate", run, "--gold", gold)
    damaged = whole[:20] + b"\0\0\0\0" + whole[24:]
    run = write("damaged.jsonl.gz", damaged)
    assert "gzip" in refused("evaluate", run, "--gold", gold)


def change(records: list[dict[str, Any]], path: list[Any], value: Any) -> None:
    """Put a value at a path; `...` as value deletes what is there."""
    target: Any = records
    for part in path[:-1]:
        target = target[part]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value


# What is put where in a good run; the place and the words that the error must have.
RUN_CASES = [
    ([1, "id"], "d1", "[1].id", '"d1" again'),
    ([1, "id"], "d9", "[1].id", '"d9"'),
    ([1, "id"], None, "[1].id", "null"),
    ([1], ..., "", "no prediction for 1 of 2"),
    ([1, "quality", "A", "3"], 0.1, "[1].quality.A", "'3'"),
    ([1, "quality", "A", "2"], -0.1, '[1].quality.A["2"]', "-0.1"),
    ([1, "quality", "A", "2"], float("nan"), '[1].quality.A["2"]', "NaN"),
    ([1, "quality", "A", "2"], float("inf"), '[1].quality.A["2"]', "infinite"),
    ([1, "quality", "A", "2"], "0.5", '[1].quality.A["2"]', "a string"),
    ([1, "quality", "A", "2"], None, '[1].quality.A["2"]', "null"),
    ([1, "quality", "A", "2"], True, '[1].quality.A["2"]', "true or false"),
    ([1, "quality", "A"], {"2": 0, "1": 0.0}, "[1].quality.A", "only zeros"),
    ([1, "quality", "A"], {}, "[1].quality.A", "only zeros"),
    ([1, "quality", "A"], [1, 0], "[1].quality.A", "an array"),
    ([1, "quality", "A"], {"2": 1e308, "1": 1e308}, "[1].quality.A", "an infinite sum"),
    ([1, "quality", "Q"], {"2": 1}, "[1].quality", "'Q'"),
    ([0, "nugget"], [{"CNUG0": 1}], "[0].nugget", "1 predictions, expected 2"),
    ([0, "nugget", 0], {"HNUG": 1}, "[0].nugget[0].HNUG", "labels of customer"),
    ([1, "nugget", 2], {"CNUG+": 1}, "[1].nugget[2]", "'CNUG+'"),
    ([1, "nugget", 2], None, "[1].nugget[2]", "null"),
    ([1, "nugget", 2, "CNUG*"], -1, '[1].nugget[2]["CNUG*"]', "-1"),
    ([1, "nugget"], {}, "[1].nugget", "an object"),
]


@pytest.mark.parametrize(("path", "value", "place", "words"), RUN_CASES, ids=str)
def test_runs(
    path, value, place, words, refused, write, gold_records, run_records, tmp_path
) -> None:
    change(run_records, path, value)
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    out = tmp_path / "scores.csv"
    line = refused("evaluate", run, "--gold", gold, "--by-dialogue", out)
    assert line.startswith(f"error: {run}: {place}")
    assert words in line
    assert "expected" in line
    assert not out.exists()
    assert refused("validate", run, "--gold", gold) == line


GOLD_CASES = [
    ([1, "id"], "d1", "[1].id", '"d1" again'),
    ([1, "turns"], [], "[1].turns", "no turns"),
    ([1, "turns"], ..., "[1]", "no field 'turns'"),
    ([1, "turns", 0, "sender"], "boss", "[1].turns[0].sender", "customer, helpdesk"),
    ([1, "turns", 0, "utterances"], "hi", "[1].turns[0].utterances", "a string"),
    ([1, "turns", 0, "utterances", 0], 7, "[1].turns[0].utterances[0]", "a whole number"),
    ([1, "annotations"], {}, "[1].annotations", "an object"),
    ([1, "annotations", 2, "nugget"], ["CNaN"], "[1].annotations[2].nugget", "1 votes, expected 3"),
    ([1, "annotations", 2, "nugget", 1], "CNUG", "[1].annotations[2].nugget[1]", "of helpdesk"),
    ([1, "annotations", 2, "nugget", 1], "XX", "[1].annotations[2].nugget[1]", "'XX'"),
    ([1, "annotations", 2, "quality", "A"], 3, "[1].annotations[2].quality.A", "3"),
    ([1, "annotations", 2, "quality", "A"], 1.5, "[1].annotations[2].quality.A", "a number"),
    ([1, "annotations", 2, "quality", "Q"], 1, "[1].annotations[2].quality", "'Q'"),
]


@pytest.mark.parametrize(("path", "value", "place", "words"), GOLD_CASES, ids=str)
def test_collections(path, value, place, words, refused, write, gold_records, run_records) -> None:
    change(gold_records, path, value)
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    line = refused("evaluate", run, "--gold", gold)
    assert line.startswith(f"error: {gold}: {place}:")
    assert words in line
    assert refused("stats", gold) == line
    assert refused("predict", "--model", "uniform", "--data", gold, "--out", "never.json") == line
    assert not Path("never.json").exists()


def test_an_annotator_votes_once(refused, write, gold_records) -> None:
    for annotation in gold_records[1]["annotations"]:
        annotation["annotator"] = "x"
    line = refused("stats", write("gold.json", gold_records))
    assert '[1].annotations[1].annotator: found "x" again' in line


@pytest.mark.parametrize(
    ("annotator", "round", "words"),
    [
        ("x", 0, ".round: found 0, expected 1 to 9"),
        ("x", 10, ".round: found 10, expected 1 to 9"),
        ("x", "2", ".round: found a string"),
        (None, 2, ": found round 2 without an annotator"),
    ],
)
def test_rounds(annotator, round, words, refused, write, gold_records) -> None:
    gold_records[1]["annotations"][2] |= {"annotator": annotator, "round": round}
    assert f"[1].annotations[2]{words}" in refused("stats", write("gold.json", gold_records))


def test_an_annotator_votes_once_a_round(refused, write, gold_records) -> None:
    for annotation in gold_records[1]["annotations"][:2]:
        annotation |= {"annotator": "x", "round": 2}
    line = refused("stats", write("gold.json", gold_records))
    assert '[1].annotations[1].annotator: found "x" again' in line


def test_lines_are_named_in_jsonl(refused, write, gold_records, run_records) -> None:
    gold = write("gold.json", gold_records)
    run_records[1]["quality"]["A"]["2"] = -1
    text = "\n\n".join(json.dumps(record) for record in run_records)
    line = refused("evaluate", write("run.jsonl", text.encode()), "--gold", gold)
    assert 'line 3 .quality.A["2"]: found -1' in line
    line = refused("evaluate", write("cut.jsonl", b'{"id": "d1", \n'), "--gold", gold)
    assert "line 1: found text that is not JSON" in line


def test_gold_without_votes(refused, write, gold_records, run_records) -> None:
    for record in gold_records:
        del record["annotations"]
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    assert f"{gold}: found no votes" in refused("evaluate", run, "--gold", gold)
    line = refused("predict", "--model", "popularity", "--data", gold, "--out", "never.json")
    assert "popularity is an oracle" in line
    assert not Path("never.json").exists()


def test_a_run_given_as_gold_and_the_reverse(refused, write, gold_records, run_records) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    assert "no field 'turns'" in refused("evaluate", gold, "--gold", run)
    assert "no predictions" in refused("evaluate", gold, "--gold", gold)


def test_files_that_are_not_there(refused, write, gold_records, run_records, tmp_path) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    assert "No such file" in refused("evaluate", tmp_path / "no.json", "--gold", gold)
    assert "directory" in refused("evaluate", tmp_path, "--gold", gold)
    line = refused("evaluate", run, "--gold", gold, "--by-dialogue", run / "below" / "out.csv")
    assert "cannot be written" in line
    line = refused("predict", "--model", "uniform", "--data", gold, "--out", tmp_path / "run.txt")
    assert ".json" in line


def test_arguments(cli, refused, write, gold_records, run_records) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    evaluate = ("evaluate", run, "--gold", gold)
    assert "did you mean 'nmd'" in refused(*evaluate, "--measure", "nmdd")
    assert "alpha" in refused(*evaluate, "--alpha", "1.5")
    assert "--json and --csv" in refused(*evaluate, "--json", "--csv")
    assert "the same run twice" in refused("evaluate", run, run, "--gold", gold)
    assert "did you mean 'uniform'" in refused(
        "predict", "--model", "unifrom", "--data", gold, "--out", "never.json"
    )
    assert "unknown rubric" in refused(*evaluate, "--rubric", "helpdesc")
    assert cli("evaluate").status == 2
    assert cli("nonsense").status == 2
    assert cli(*evaluate, "--missing", "maybe").status == 2
