"""`dialeval stats`: the rows of the papers' tables, files side by side, translations checked."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path

import pytest
from conftest import turn


def rows(text: str) -> dict[str, list[str]]:
    return {name.strip(): values for name, *values in csv.reader(text.splitlines())}


def test_files_side_by_side(cli, write, gold_records) -> None:
    for record, time in zip(gold_records, ("2013-01-31T23:00:00Z", "2018-04-01"), strict=True):
        record |= {"time": time, "source": "www.example.com"}
    train = write("train.json", gold_records)
    test = write("test.json", [{"id": "t", "turns": [turn("customer", "a b c", "d")]}])
    found = cli("stats", train, test, "--style", "csv")
    table = rows(found.out)
    assert table[""] == [str(train), str(test)]
    assert table["source"] == ["www.example.com", ""]
    assert table["language"] == ["English", "English"]
    assert table["data timestamps"] == ["Jan 2013 - Apr 2018", ""]
    assert table["annotators a dialogue"] == ["3", "0"]
    assert table["dialogues"] == ["2", "1"]
    # Posts: "It broke", "Restart", "it"; "Hello", "", "", "Bye".
    assert table["posts a dialogue"] == ["3.500", "2.000"]
    assert table["post length (tokens)"] == [f"{6 / 7:.3f}", "2.000"]
    assert table["turn length (tokens)"] == [f"{6 / 5:.3f}", "4.000"]
    assert table["dialogue criteria"] == ["A, S, E", ""]
    assert table["turn labels"][0] == "nugget: CNUG0, CNUG, CNUG*, CNaN, HNUG, HNUG*, HNaN"
    assert "| dialogues | 2 | 1 |" in cli("stats", train, test, "--style", "markdown").out
    assert r"\toprule" in cli("stats", train, "--style", "latex").out
    assert "Weibo" in cli("stats", train, "--source", "Weibo").out
    both = cli("stats", train, test, "--json").json
    assert both[str(test)]["posts"] == 2
    assert both[str(train)]["times"] == ["2013-01-31", "2018-04-01"]
    assert cli("stats", train, "--json").json == both[str(train)]


def test_a_translation_that_fits(cli, write, gold_records) -> None:
    translated = copy.deepcopy(gold_records[:1])
    translated[0]["turns"] = [turn("customer", "坏了"), turn("helpdesk", "重启", "一下")]
    translated[0]["annotations"].reverse()  # annotators have no names
    first, second = write("en.json", gold_records), write("zh.json", translated)
    found = cli("stats", first, "--parallel", second)
    assert found.status == 0
    assert "fits" in found.out
    joined = cli("stats", first, "--parallel", second, "--json").json
    assert (joined["both"], joined["only_first"], joined["only_second"]) == (1, 1, [])


def test_translations_that_do_not_fit(cli, write, gold_records) -> None:
    first = write("first.json", gold_records)

    def joined(status: int) -> dict[str, list[str]]:
        second = write("second.json", translated)
        found = cli("stats", first, "--parallel", second, "--json")
        assert found.status == status
        result: dict[str, list[str]] = found.json
        return result

    translated = copy.deepcopy(gold_records)
    assert joined(0)["same_text"] == ["d1", "d2"]
    translated[0]["turns"][1]["utterances"] = ["one post"]
    assert joined(0)["posts"] == ["d1"]
    translated[0]["annotations"][0]["quality"]["A"] = -2
    assert joined(1)["votes"] == ["d1"]
    translated[0]["annotations"][0]["quality"]["A"] = 2
    translated[1]["annotations"][2]["nugget"][1] = "HNUG*"
    assert joined(1)["votes"] == ["d2"]
    del translated[0]["annotations"], translated[1]["annotations"]
    assert joined(0)["votes"] == []
    translated[1]["turns"] = translated[1]["turns"][:2]
    assert joined(1)["turns"] == ["d2"]
    translated[1]["id"] = "d3"
    assert joined(1)["only_second"] == ["d3"]


def test_bad_input(refused, write, gold_records) -> None:
    gold = write("gold.json", gold_records)
    assert "expected one file beside it" in refused("stats", gold, gold, "--parallel", gold)
    assert "no readable file" in refused("stats", gold, "--parallel", gold.parent / "none.json")


@pytest.mark.stc3
@pytest.mark.parametrize(
    ("language", "unit", "dialogues", "posts", "post_length", "turn_length"),
    [
        # The papers print 44.568 and 48.313 for the Chinese training set, which the published file
        # does not give; and 30.890 for the English test set, where it gives 30.8906.
        ("cn", "characters", ("3,700", "390"), ("4.512", "4.877"), "47.988", "52.008"),
        ("en", "tokens", ("1,672", "390"), ("4.522", "4.877"), "30.891", "33.478"),
    ],
)
def test_tables_3_and_4(
    stc3: Path, cli, language, unit, dialogues, posts, post_length, turn_length
) -> None:
    files = [stc3 / f"{part}_data_{language}.json" for part in ("train", "test")]
    table = rows(cli("stats", *files, "--style", "csv").out)
    assert table["dialogues"] == [*dialogues]
    assert table["annotators a dialogue"][0] == "19"
    assert table["posts a dialogue"] == [*posts]
    assert table[f"post length ({unit})"][1] == post_length
    assert table[f"turn length ({unit})"][1] == turn_length
    if language == "en":
        assert table["post length (tokens)"][0] == "31.986"
        assert table["turn length (tokens)"][0] == "34.964"


@pytest.mark.stc3
@pytest.mark.parametrize(("part", "both", "only"), [("train", 1672, 2028), ("test", 390, 0)])
def test_the_research_collection_is_parallel(stc3: Path, cli, part, both, only) -> None:
    files = (stc3 / f"{part}_data_cn.json", "--parallel", stc3 / f"{part}_data_en.json")
    found = cli("stats", *files, "--json")
    assert found.status == 0
    assert json.loads(found.out) == {
        "both": both,
        "only_first": only,
        **{key: [] for key in ("only_second", "turns", "posts", "votes", "same_text")},
    }
