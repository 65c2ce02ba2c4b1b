"""Metrics against people: correlations by scipy and by hand, ready metrics, joins, bad input."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dialeval as de
from dialeval.core.words import words
from dialeval.measures.overlap import bleu, chrf, metric, rouge_l


def rows(n: int = 40, seed: int = 0) -> list[dict[str, Any]]:
    """Two raters on a scale of five, one metric that follows them and one that does not."""
    random = np.random.default_rng(seed)
    result = []
    for i in range(n):
        truth = random.normal()
        raters = [int(np.clip(round(truth + random.normal() / 2), -2, 2)) for _ in range(3)]
        result.append(
            {
                "id": f"d{i}",
                "set": "even" if i % 2 == 0 else "odd",
                "good": truth + random.normal() / 2,
                "noise": random.normal(),
                "r1": raters[0],
                "r2": raters[1],
                "r3": raters[2],
            }
        )
    return result


HUMAN = ("--human", "r1", "--human", "r2", "--human", "r3")


def by_metric(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in found}


def test_coefficients_and_intervals(cli, write) -> None:
    data = rows()
    found = by_metric(cli("correlate", write("a.json", data), *HUMAN, "--json").json)
    assert [*found] == ["good", "noise", "human"]
    people = [np.mean([row["r1"], row["r2"], row["r3"]]) for row in data]
    z = stats.norm.ppf(0.975)
    for name in ("good", "noise"):
        values = [row[name] for row in data]
        row = found[name]
        assert row["n"] == 40
        tests = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
        for coefficient, test in zip(("pearson", "spearman", "kendall"), tests, strict=True):
            r, p = test(values, people)
            assert row[coefficient] == pytest.approx(r, abs=1e-12)
            assert row[f"{coefficient} p"] == pytest.approx(p, rel=1e-9)
            variance = {
                "pearson": 1 / 37,
                "spearman": (1 + r * r / 2) / 37,
                "kendall": 0.437 / 36,
            }[coefficient]
            for side, sign in (("low", -1), ("high", 1)):
                bound = math.tanh(math.atanh(r) + sign * z * math.sqrt(variance))
                assert row[f"{coefficient} {side}"] == pytest.approx(bound, abs=1e-12)
        # scipy has Pearson's interval too.
        bounds = stats.pearsonr(values, people).confidence_interval(0.95)
        assert (row["pearson low"], row["pearson high"]) == pytest.approx(tuple(bounds))


def test_people_against_people(cli, write) -> None:
    """One rater against the mean of the other two, whichever the seed takes."""
    data = rows()
    found = by_metric(cli("correlate", write("a.json", data), *HUMAN, "--json").json)
    raters = [np.array([row[name] for row in data], float) for name in ("r1", "r2", "r3")]
    possible = [
        stats.pearsonr(raters[i], np.mean([r for j, r in enumerate(raters) if j != i], axis=0))[0]
        for i in range(3)
    ]
    assert min(abs(found["human"]["pearson"] - r) for r in possible) < 1e-12
    alone = by_metric(cli("correlate", write("b.json", data), "--human", "r1", "--json").json)
    assert "human" not in alone
    lists = [{"good": row["good"], "people": [row["r1"], row["r2"], row["r3"]]} for row in data]
    again = by_metric(cli("correlate", write("c.json", lists), "--human", "people", "--json").json)
    assert again["good"] == found["good"]
    assert again["human"] == found["human"]


def test_by_group_and_bootstrap(cli, write, tmp_path: Path) -> None:
    data = rows(60)
    args = (*HUMAN, "--metric", "good", "--by", "set", "--resamples", 200, "--seed", 3)
    path = write("a.json", data)
    found = cli("correlate", path, *args, "--json", "--out", tmp_path / "t.tex").json
    assert [(row["set"], row["metric"], row["n"]) for row in found] == [
        ("even", "good", 30), ("even", "human", 30), ("odd", "good", 30), ("odd", "human", 30),
    ]  # fmt: skip
    even = [row for row in data if row["set"] == "even"]
    people = [np.mean([row["r1"], row["r2"], row["r3"]]) for row in even]
    assert found[0]["kendall"] == pytest.approx(
        stats.kendalltau([row["good"] for row in even], people)[0]
    )
    assert found[0]["pearson low"] < found[0]["pearson"] < found[0]["pearson high"]
    assert cli("correlate", path, *args, "--json").json == found
    other = cli("correlate", path, *args[:-1], 4, "--json").json
    assert other[0]["pearson low"] != found[0]["pearson low"]
    assert r"\toprule" in (tmp_path / "t.tex").read_text()


def test_joined_files_and_votes(cli, refused, write) -> None:
    gold = de.sample("en")
    random = np.random.default_rng(0)
    scores = [{"id": id, "metric": random.random()} for id in gold.ids]
    de.save(gold, write("x.json", []).parent / "gold.json")
    folder = write("x.json", []).parent
    path = write("scores.json", scores)
    args = ("--votes", folder / "gold.json", "--criterion", "A")
    found = by_metric(cli("correlate", path, *args, "--json").json)
    votes = [[2 - label for label in row] for row in gold.votes["A"].tolist()]
    people = [sum(row) / len(row) for row in votes]
    r = stats.pearsonr([row["metric"] for row in scores], people)[0]
    assert found["metric"]["pearson"] == pytest.approx(r, abs=1e-12)
    # The same from a file of judgements in another order.
    other = [{"id": id, "mean": mean} for id, mean in zip(gold.ids, people, strict=True)][::-1]
    args = ("--judgements", write("people.json", other), "--human", "mean")
    again = by_metric(cli("correlate", path, *args, "--json").json)
    assert again["metric"]["pearson"] == pytest.approx(r, abs=1e-12)
    args = ("--judgements", write("few.json", other[1:]), "--human", "mean")
    assert f'found nothing for "{other[0]["id"]}"' in refused("correlate", path, *args)
    found = cli("correlate", path, *args, "--missing", "skip", "--json").json
    assert found[0]["n"] == len(other) - 1


def test_a_constant_metric_has_no_correlation(cli, write) -> None:
    data = [{"id": i, "m": 1.0, "h": i} for i in range(5)]
    found = cli("correlate", write("a.json", data), "--human", "h", "--json")
    assert found.status == 0
    assert found.json[0]["pearson"] is None
    assert found.json[0]["kendall p"] is None
    assert "–" in cli("correlate", write("a.json", data), "--human", "h").out
    perfect = [{"id": i, "m": i, "h": i} for i in range(5)]
    row = cli("correlate", write("b.json", perfect), "--human", "h", "--json").json[0]
    assert (row["pearson"], row["pearson low"]) == (pytest.approx(1), pytest.approx(1))


def lcs(a: list[str], b: list[str]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


@pytest.mark.parametrize(
    ("reply", "reference"),
    [
        ("the cat sat on the mat", "there is a cat on the mat"),
        ("I will call you tomorrow", "I call you tomorrow morning"),
        ("今天天气很好，我们去公园吧", "今天天气不错，我们去爬山吧"),
        ("请重启手机", "您可以尝试重启手机"),
    ],
)
def test_ready_metrics_by_formula(reply: str, reference: str) -> None:
    a, b = words(reply), words(reference)
    common = lcs(a, b)
    assert 0 < common < len(a)
    assert rouge_l(reply, [reference]) == pytest.approx(2 * common / (len(a) + len(b)))
    # BLEU-1: clipped share of tokens, with the penalty for short replies. Chinese by characters.
    chinese = "天" in reply or "手" in reply
    x, y = (
        ([*reply], [*reference]) if chinese else (reply.lower().split(), reference.lower().split())
    )
    share = sum(min(x.count(token), y.count(token)) for token in set(x)) / len(x)
    penalty = 1 if len(x) >= len(y) else math.exp(1 - len(y) / len(x))
    assert bleu(reply, [reference], 1) == pytest.approx(share * penalty)
    for name in ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "chrf"):
        score = metric(name)
        assert score(reply, [reply]) == pytest.approx(1)
        assert 0 < score(reply, [reference]) < 1
        assert score(reply, [reference, reply]) == pytest.approx(1)
        assert score("zzz", [reference]) < 0.2
        assert score("", [reference]) == 0
    assert chrf(reply, [reference]) != rouge_l(reply, [reference])


def test_replies_and_references(cli, write, tmp_path: Path) -> None:
    texts = [
        ("今天天气很好", "今天天气不错", 4),
        ("我不知道", "你可以重启手机", 1),
        ("请重启手机试试", "你可以重启手机", 5),
        ("好的", "好的，谢谢", 3),
        ("谢谢你的帮助", ["谢谢", "非常感谢你的帮助"], 5),
    ]
    data = [{"reply": a, "reference": b, "score": c} for a, b, c in texts]
    path = write("a.json", data)
    found = cli("correlate", path, "--human", "score", "--json", "--scores", tmp_path / "s.csv")
    assert found.status == 0, found.err
    names = ["bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "chrf"]
    assert [row["metric"] for row in found.json] == names
    written = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    values = [float(row["rouge-l"]) for row in written]
    expected = [rouge_l(a, b if isinstance(b, list) else [b]) for a, b, _ in texts]
    assert values == pytest.approx(expected)
    row = by_metric(found.json)["rouge-l"]
    assert row["spearman"] == pytest.approx(stats.spearmanr(values, [t[2] for t in texts])[0])
    one = cli("correlate", path, "--human", "score", "--metric", "chrf", "--json").json
    assert [row["metric"] for row in one] == ["chrf"]


def test_csv_with_blanks(cli, refused, write) -> None:
    path = write("a.csv", b"id,m,h\na,1,2\nb,2,\nc,3,1\nd,5,3\n")
    assert "line 3 .h: found nothing, expected a number" in refused(
        "correlate", path, "--human", "h"
    )
    found = cli("correlate", path, "--human", "h", "--missing", "skip", "--json").json
    assert (found[0]["metric"], found[0]["n"]) == ("m", 3)


def test_bad_input(refused, write, tmp_path: Path) -> None:
    path = write("a.json", rows(5))
    assert "give people's judgements" in refused("correlate", path)
    assert "--votes and --criterion" in refused(
        "correlate", path, "--human", "r1", "--criterion", "A"
    )
    assert "[0]: found no field 'people'" in refused("correlate", path, "--human", "people")
    line = refused("correlate", path, "--human", "r1", "--metric", "blue-1")
    assert "unknown metric 'blue-1' (did you mean 'bleu-1'?)" in line
    line = refused("correlate", path, "--human", "r1", "--metric", "bleu-1")
    assert "[0]: found no field 'reply'" in line
    assert '[0].set: found "even", expected a finite number' in refused(
        "correlate", path, "--human", "set"
    )
    few = write("few.json", rows(2))
    assert "found 2 judged items, expected 3 or more" in refused("correlate", few, "--human", "r1")
    odd = write("nan.jsonl", b'{"m": 1, "h": NaN}\n')
    assert "line 1.h: found NaN" in refused("correlate", odd, "--human", "h")
    line = refused("correlate", path, "--human", "r1", "--out", tmp_path / "t.doc")
    assert "expected a name that ends in .csv, .md or .tex" in line
    twice = write("twice.json", [{"id": 1, "m": 1, "h": 1}] * 2)
    assert '[1].id: found "1" again' in refused("correlate", twice, "--human", "h")
    reply = write("r.json", [{"reply": "a", "reference": 3, "h": i} for i in range(3)])
    assert "[0].reference: found 3" in refused(
        "correlate", reply, "--human", "h", "--metric", "chrf"
    )
    assert json.loads(path.read_text())[0]["id"] == "d0"
