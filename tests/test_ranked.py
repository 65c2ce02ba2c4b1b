"""Ranked lists: the measures by hand, judges combined, levels by rule, a retrieval chatbot."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dialeval as de
from dialeval.chatbots.retrieval import RetrievalChatbot
from dialeval.core.words import search_words
from dialeval.measures.ranked import nerr, ng, p_plus

GAIN = {"L0": 0, "L1": 1, "L2": 3}


def post(id: str, *labels: Any, start: int = 0) -> dict[str, Any]:
    """A post whose comments have these labels; a list is the labels of several judges."""
    comments = []
    for place, label in enumerate(labels, start):
        key = "labels" if isinstance(label, list) else "label"
        comments.append({"text": f"{id} answer {place}", key: label})
    return {"id": id, "post": f"post {id}", "comments": comments}


# Worked out by hand. Gains 0, 1, 3; stop probabilities 0, 1/4, 3/4.
BY_HAND = [
    # The list is its own ideal.
    (["L2", "L1", "L0"], [], 1, 1, 1),
    # nG 1/3. ERR 1/4 + 1/2 3/4 3/4 = .53125, ideal 3/4 + 1/2 1/4 1/4 = .78125.
    # P+: preferred rank 2; BR(1) = (1 + 1)/(1 + 3), BR(2) = (2 + 4)/(2 + 4).
    (["L1", "L2", "L0"], [], 1 / 3, 0.53125 / 0.78125, (1 / 2 + 1) / 2),
    # All L0, though others found something; and though nobody did.
    (["L0", "L0", "L0"], ["L2"], 0, 0, 0),
    (["L0", "L0", "L0"], [], 0, 0, 0),
    # A short list, and an empty one. Ideal ERR: 3/4 + 1/2 1/4 3/4 + 1/3 1/16 1/4.
    (["L1"], ["L2", "L2"], 1 / 3, 0.25 / (0.75 + 0.09375 + 1 / 192), 2 / 4),
    ([], ["L2", "L2"], 0, 0, 0),
    # Longer than ten: rank 11 does not count, but what was judged there belongs to the ideal.
    (["L0"] * 10 + ["L2"], [], 0, 0, 0),
    # Rank 10 counts. ERR 1/10 3/4 over 3/4; BR(10) = (1 + 3)/(10 + 3).
    (["L0"] * 9 + ["L2"], [], 0, 1 / 10, 4 / 13),
    # The highest level of the list is L1, at rank 2. BR(2) = (1 + 1)/(2 + 3 + 1).
    (["L0", "L1", "L1"], ["L2"], 0, (1 / 8 + 1 / 3 * 3 / 4 / 4) / (0.75 + 1 / 32 + 1 / 64), 2 / 6),
]


@pytest.mark.parametrize(("labels", "others", "g", "err", "plus"), BY_HAND)
def test_by_hand(cli, write, tmp_path: Path, labels, others, g, err, plus) -> None:
    gains = [GAIN[label] for label in labels]
    ideal = [GAIN[label] for label in [*labels, *others]]
    assert ng(gains, ideal) == pytest.approx(g, abs=1e-12)
    assert nerr(gains, ideal, highest=3) == pytest.approx(err, abs=1e-12)
    assert p_plus(gains, ideal) == pytest.approx(plus, abs=1e-12)
    # Through the command: the comments of another run are in the pool. (A test needs two posts.)
    run = write("run.json", [post("p", *labels), post("q", "L1")])
    pool = write("pool.json", [post("p", *others, start=50), post("q", "L1", start=50)])
    assert cli("ranked", run, pool, "--by-post", tmp_path / "posts.csv").status == 0
    row = next(csv.DictReader((tmp_path / "posts.csv").read_text().splitlines()))
    assert (row["run"], row["id"]) == ("run", "p")
    found = [float(row[f"level.{measure}"]) for measure in ("nG@1", "nERR@10", "P+")]
    assert found == pytest.approx([g, err, plus], abs=1e-12)


def plain_err(gains: list[float]) -> float:
    total, going = 0.0, 1.0
    for rank, gain in enumerate(gains[:10], start=1):
        total += going * gain / 4 / rank
        going *= 1 - gain / 4
    return total


def plain_p_plus(gains: list[float], ideal: list[float]) -> float:
    gains = gains[:10]
    if not any(gains):
        return 0.0
    preferred = gains.index(max(gains)) + 1
    total, relevant = 0.0, 0
    for rank in range(1, preferred + 1):
        if gains[rank - 1] > 0:
            relevant += 1
            blended = relevant + sum(gains[:rank])
            total += blended / (rank + sum(ideal[:rank]))
    return total / relevant


def made_up(runs: int, posts: int, seed: int = 0) -> list[list[dict[str, Any]]]:
    """Runs whose lists are longer, shorter and empty; the first is the best."""
    random = np.random.default_rng(seed)
    result = []
    for r in range(runs):
        chance = np.array([1.0 + r, 1.0, 2.0 / (1 + r)])
        records = []
        for p in range(posts):
            labels = random.choice(
                ["L0", "L1", "L2"], random.integers(0, 14), p=chance / chance.sum()
            )
            records.append(post(f"p{p}", *labels.tolist(), start=100 * r))
        result.append(records)
    return result


def test_runs_against_plain_formulas(cli, write, tmp_path: Path) -> None:
    runs = made_up(3, 40)
    files = [write(f"r{r}.json", records) for r, records in enumerate(runs)]
    found = cli("ranked", *files, "--json", "--by-post", tmp_path / "posts.csv", "--trials", 500)
    assert found.status == 0
    rows = list(csv.DictReader((tmp_path / "posts.csv").read_text().splitlines()))
    assert len(rows) == 3 * 40
    tables: dict[str, list[list[float]]] = {"nG@1": [], "nERR@10": [], "P+": []}
    for r, records in enumerate(runs):
        for values in tables.values():
            values.append([])
        for p, record in enumerate(records):
            gains = [GAIN[c["label"]] for c in record["comments"]]
            pool = [GAIN[c["label"]] for other in runs for c in other[p]["comments"]]
            ideal = sorted(pool, reverse=True) + [0] * 10
            best = plain_err(ideal)
            expected = {
                "nG@1": (gains[0] / ideal[0]) if gains and ideal[0] else 0.0,
                "nERR@10": plain_err(gains) / best if best else 0.0,
                "P+": plain_p_plus(gains, ideal),
            }
            row = rows[r * 40 + p]
            assert (row["run"], row["id"]) == (f"r{r}", f"p{p}")
            for measure, value in expected.items():
                assert float(row[f"level.{measure}"]) == pytest.approx(value, abs=1e-12)
                tables[measure][r].append(value)
    for measure, values in tables.items():
        means = found.json["means"][f"level.{measure}"]
        for r in range(3):
            assert means[f"r{r}"]["mean"] == pytest.approx(np.mean(values[r]), abs=1e-12)
        assert [means[f"r{r}"]["rank"] for r in range(3)] == [1, 2, 3]
    better = {(b["run"], b["than"]) for b in found.json["better"] if b["column"] == "level.nERR@10"}
    assert ("r0", "r2") in better
    assert ("r2", "r0") not in better


def test_significance_is_that_of_compare(cli, write) -> None:
    """The paired t-test of two runs, by scipy."""
    runs = made_up(2, 30, seed=4)
    files = [write(f"r{r}.json", records) for r, records in enumerate(runs)]
    out = files[0].parent / "out"
    assert (
        cli("ranked", *files, "--test", "t", "--out", out, "--by-post", out / "p.csv").status == 0
    )
    rows = list(csv.DictReader((out / "p.csv").read_text().splitlines()))
    values = [[float(r["level.P+"]) for r in rows if r["run"] == name] for name in ("r0", "r1")]
    pairs = list(csv.DictReader((out / "tables/stc2-level-P+-pairs.csv").read_text().splitlines()))
    assert float(pairs[0]["p"]) == pytest.approx(stats.ttest_rel(*values).pvalue, rel=1e-9)
    assert float(pairs[0]["difference"]) > 0
    results = json.loads((out / "results.json").read_text())
    assert results["provenance"]["options"]["combine"] == "median"
    page = (out / "report.html").read_text()
    assert "higher is better" in page
    assert "lower is better" not in page
    ranking = results["tables"]["stc2-level-nERR@10-ranking"]
    assert [row["rank"] for row in ranking] == [1, 2]
    assert ranking[0]["mean nERR@10"] > ranking[1]["mean nERR@10"]


@pytest.mark.parametrize(
    ("combine", "labels", "gain"),
    [
        ("median", ["L2", "L0", "L2"], 3),
        ("median", ["L2", "L0"], 0),  # the lower of the middle two
        ("median", ["L2", "L1", "L0", "L2"], 1),
        ("majority", ["L1", "L0", "L1"], 1),
        ("majority", ["L2", "L0", "L1"], 0),  # a tie: the lowest
        ("majority", ["L2", "L2", "L0", "L0", "L1"], 0),
        ("mean", ["L2", "L0", "L1"], 4 / 3),
        ("mean", ["L2"], 3),
    ],
)
def test_judges_combined(cli, write, combine, labels, gain) -> None:
    # The other comment is worth 3 to every judge, so nG@1 is the gain over 3.
    run = write("run.json", [post("p", labels, ["L2"] * len(labels))])
    found = cli("ranked", run, "--combine", combine, "--json").json
    assert found["means"]["level.nG@1"]["run"]["mean"] == pytest.approx(gain / 3)


def answers(*yes: str) -> dict[str, Any]:
    questions = ("fluent", "coherent", "self-sufficient", "substantial")
    return {"quality": {q: "yes" if q in yes else "no" for q in questions}}


ALL = ("fluent", "coherent", "self-sufficient", "substantial")


@pytest.mark.parametrize(
    ("annotation", "gain"),
    [
        (answers(*ALL), 3),
        (answers("fluent", "coherent"), 1),
        (answers("fluent", "coherent", "self-sufficient"), 1),
        (answers("fluent", "coherent", "substantial"), 1),
        (answers("fluent", "self-sufficient", "substantial"), 0),
        (answers("coherent", "self-sufficient", "substantial"), 0),
        (answers(), 0),
        # Votes that are not there: the first is decided all the same, the second is not judged.
        ({"quality": {"fluent": "no"}}, 0),
        ({"quality": {"fluent": "yes", "coherent": "yes"}}, None),
    ],
)
def test_votes_on_questions_give_the_level(cli, write, annotation, gain) -> None:
    runs = [{"id": 1, "post": "Hi", "comments": [{"text": "a"}, {"text": "b", "label": "L2"}]}]
    run = write("run.json", runs)
    pairs = run.parent / "pairs.json"
    assert cli("ranked", "pairs", run, "--out", pairs).status == 0
    records = json.loads(pairs.read_text())
    assert [r["comment"] for r in records] == ["a", "b"]
    assert [t["utterances"] for t in records[0]["turns"]] == [["Hi"], ["a"]]
    assert cli("validate", pairs, "--rubric", "stc2").status == 0
    records[0]["annotations"] = [annotation]
    judged = write("judged.json", records)
    found = cli("ranked", run, "--judged", judged, "--json")
    if gain is None:
        assert found.status == 2
        assert "post '1', comment 1: found no labels" in found.err
        found = cli("ranked", run, "--judged", judged, "--unjudged", "zero", "--json")
        gain = 0
    assert found.json["means"]["level.nG@1"]["run"]["mean"] == pytest.approx(gain / 3)


def test_judged_comments_of_others_belong_to_the_ideal(cli, write) -> None:
    pairs = {"id": "p", "post": "x", "comments": [{"text": "mine"}, {"text": "theirs"}]}
    both = write("both.json", [pairs])
    cli("ranked", "pairs", both, "--out", both.parent / "pairs.jsonl")
    lines = (both.parent / "pairs.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    records[0]["annotations"] = [answers("fluent", "coherent")]
    records[1]["annotations"] = [answers(*ALL)]
    judged = write("judged.json", records)
    run = write("run.json", [{**pairs, "comments": pairs["comments"][:1]}])
    found = cli("ranked", run, "--judged", judged, "--json").json
    assert found["means"]["level.nG@1"]["run"]["mean"] == pytest.approx(1 / 3)


def test_a_comment_of_two_runs_is_one_of_the_ideal(cli, write) -> None:
    """At its highest gain, and once: else nERR would be lower."""
    labels = [("L2", "L1"), ("L1", "L2")]
    files = []
    for r, (first, second) in enumerate(labels):
        comments = [{"id": 7, "text": "a", "label": first}, {"id": 8, "text": "b", "label": second}]
        records = [{"id": p, "comments": comments} for p in ("p", "q")]
        files.append(write(f"r{r}.json", records))
    found = cli("ranked", *files, "--json").json["means"]
    # The ideal is L2, L2: 3/4 + 1/2 1/4 3/4. The first list reaches 3/4 + 1/2 1/4 1/4.
    assert found["level.nERR@10"]["r0"]["mean"] == pytest.approx(0.78125 / 0.84375)
    assert found["level.nG@1"]["r1"]["mean"] == pytest.approx(1 / 3)


def test_posts_that_a_run_lacks(cli, refused, write) -> None:
    one = write("one.json", [post(f"p{i}", "L2", "L1") for i in range(4)])
    two = write("two.json", [post(f"p{i}", "L1", "L2", start=9) for i in range(3)])
    line = refused("ranked", one, two)
    assert str(two) in line
    assert '"p3"' in line
    found = cli("ranked", one, two, "--missing", "skip", "--json").json
    assert found["posts"] == 3


BAD = [
    ({"label": "L3"}, '[0].comments[0].label: found "L3", expected one of L0, L1, L2'),
    ({"labels": ["L1", "yes"]}, '[0].comments[0].labels[1]: found "yes"'),
    ({"label": "L1", "labels": ["L1"]}, "[0].comments[0]: found label and labels"),
    ({"label": 2}, "[0].comments[0].label: found a whole number, expected a string"),
    ({}, "comment 1: found no labels"),
]


@pytest.mark.parametrize(("labels", "words"), BAD)
def test_bad_labels(refused, write, tmp_path: Path, labels, words) -> None:
    run = write("run.json", [{"id": "p", "comments": [{"text": "a", **labels}]}])
    line = refused("ranked", run, "--out", tmp_path / "out")
    assert words in line
    assert str(run) in line
    assert not (tmp_path / "out").exists()


def test_bad_runs(refused, write) -> None:
    twice = [post("p", "L1"), post("p", "L1")]
    assert '[1].id: found "p" again' in refused("ranked", write("a.json", twice))
    same = {"id": "p", "comments": [{"text": "a", "label": "L1"}] * 2}
    assert '[0].comments[1]: found "a" again' in refused("ranked", write("b.json", [same]))
    assert "found no posts" in refused("ranked", write("c.json", []))
    assert "no field 'comments'" in refused("ranked", write("d.json", [{"id": 1}]))
    assert "no levels" in refused(
        "ranked", write("e.json", [post("p", "L1")]), "--rubric", "helpdesk"
    )


RUBRIC = """
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
kind = "yes-no"
measures = ["jsd"]

[[levels]]
id = "low"
labels = ["bad", "good"]
otherwise = "bad"
[[levels.rules]]
label = "good"
when = { ok = "yes" }

[[levels]]
id = "high"
labels = ["no", "yes"]
gains = { no = 0, yes = 2 }
otherwise = "no"
[[levels.rules]]
label = "yes"
when = { low = "good" }
"""

ASKS = 'when = { ok = "yes" }'
RULES = [
    (ASKS, 'when = { high = "yes" }', "levels[0].rules: found a circle, low -> high -> low"),
    (ASKS, 'when = { low = "good" }', "levels[0].rules: found a circle, low -> low"),
    (
        ASKS,
        'when = { okay = "yes" }',
        'levels[0].rules[0].when: found "okay", expected one of ok, turn, low, high',
    ),
    (
        ASKS,
        'when = { ok = "maybe" }',
        'levels[0].rules[0].when.ok: found "maybe", expected one of yes, no',
    ),
    (ASKS, "when = { }", "levels[0].rules[0].when: found nothing"),
    (
        ASKS,
        'when = { ok = "yes", turn = "yes" }',
        "levels[0].rules: found criteria of dialogues and of turns",
    ),
    ('label = "good"', 'label = "fine"', 'levels[0].rules[0].label: found "fine"'),
    ('otherwise = "bad"', 'otherwise = "worse"', 'levels[0].otherwise: found "worse"'),
    ('labels = ["bad", "good"]', 'labels = ["bad", "bad"]', "levels[0].labels: found"),
    ('id = "low"', 'id = "ok"', 'levels[0].id: found "ok" twice'),
    ('id = "low"', 'id = "l o"', 'levels[0].id: found "l o"'),
    ("gains = { no = 0, yes = 2 }", "gains = { no = 0 }", "levels[1].gains: found no"),
    ("gains = { no = 0, yes = 2 }", "gains = { no = 3, yes = 2 }", "levels[1].gains: found 3, 2"),
]


@pytest.mark.parametrize(("old", "new", "words"), RULES, ids=str)
def test_rules_that_are_wrong(refused, tmp_path: Path, old, new, words) -> None:
    assert old in RUBRIC
    path = tmp_path / "own.toml"
    path.write_text(RUBRIC.replace(old, new, 1))
    line = refused("validate", path)
    assert line.startswith(f"error: {path}: {words}")


def test_a_level_may_rest_on_a_level(cli, write, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(RUBRIC)
    run = write("run.json", [{"id": "p", "post": "x", "comments": [{"text": "a"}, {"text": "b"}]}])
    cli("ranked", "pairs", run, "--out", tmp_path / "pairs.json", "--rubric", path)
    records = json.loads((tmp_path / "pairs.json").read_text())
    records[0]["annotations"] = [{"quality": {"ok": "no"}}]
    records[1]["annotations"] = [{"quality": {"ok": "yes"}}]
    judged = write("judged.json", records)
    found = cli("ranked", run, "--judged", judged, "--rubric", path, "--json").json
    # The second of two is the good one: ERR is half the ideal's whatever the gain.
    assert found["means"]["high.nERR@10"]["run"]["mean"] == pytest.approx(1 / 2)


def plain_bm25(pairs: list[tuple[str, str]], query: str) -> list[float]:
    """Lucene's BM25, one document at a time."""
    documents = [Counter(search_words(post) + search_words(comment)) for post, comment in pairs]
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / len(lengths)
    scores = [0.0] * len(pairs)
    for word in set(search_words(query)):
        holds = sum(word in document for document in documents)
        idf = math.log(1 + (len(pairs) - holds + 0.5) / (holds + 0.5))
        for place, document in enumerate(documents):
            times = document[word]
            scores[place] += idf * times / (times + 1.5 * (0.25 + 0.75 * lengths[place] / mean))
    return scores


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_chatbot_ranks_by_bm25(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setattr("dialeval.chatbots.retrieval.BLOCK", 2)  # as if there were many pairs
    turns = [
        turn.text
        for dialogue in de.sample(language).dialogues
        for turn in dialogue.turns
        if turn.text
    ]
    pairs = [*pairwise(turns)][:60] * 4  # many pairs of the same score
    pairs += [(f"{a} {b}", f"{b} {i}") for i, (a, b) in enumerate(pairs)]
    bot = RetrievalChatbot().fit(pairs)
    for query in turns[:8]:
        scores = plain_bm25(pairs, query)
        replies = bot.reply(query)
        assert len(replies) == 10
        assert len({reply.text for reply in replies}) == 10
        for reply in replies:
            assert reply.score == pytest.approx(scores[reply.pair], rel=1e-4)
            assert pairs[reply.pair][1] == reply.text
        # None that is left out would have come before the last.
        best: dict[str, float] = {}
        for (_, comment), score in zip(pairs, scores, strict=True):
            key = " ".join(search_words(comment))
            if key != " ".join(search_words(query)):
                best[key] = max(score, best.get(key, 0.0))
        expected = sorted(best.values(), reverse=True)[:10]
        assert [reply.score for reply in replies] == pytest.approx(expected, rel=1e-4)


def test_many_pairs_with_one_comment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best 75 pairs have the same comment: the answers lie behind them."""
    monkeypatch.setattr("dialeval.chatbots.retrieval.BLOCK", 1)
    pairs = [("rain" + " x" * i, "Umbrella") for i in range(75)]
    pairs += [("rain" + " x" * (100 + i), f"Answer {i}") for i in range(40)]
    pairs += [("sun", f"Nothing {i}") for i in range(200)]
    replies = RetrievalChatbot().fit(pairs).reply("rain")
    assert [reply.text for reply in replies] == ["Umbrella", *(f"Answer {i}" for i in range(9))]


def test_retrieve(cli, write, tmp_path: Path) -> None:
    pairs = [
        {"post": "今天下雨了", "comment": "记得带伞"},
        {"post": "今天又下雨", "comment": "记得带伞"},
        {"post": "我的猫很可爱", "comment": "猫咪最可爱了"},
        {"post": "My cat is ill", "comment": "Take your cat to a vet"},
        {"post": "My cat is ill", "comment": "my cat is ill!"},
    ]
    repository = write("pairs.json", pairs)
    posts = write(
        "posts.json",
        [
            {"id": 1, "post": "下雨天"},
            {"id": "b", "post": "My cat is ill"},
            {"id": "c", "post": "42"},
        ],
    )
    out = tmp_path / "run.jsonl"
    found = cli(
        "ranked", "retrieve", "--repository", repository, "--posts", posts, "--out", out,
        "--save-index", tmp_path / "index",
    )  # fmt: skip
    assert found.status == 0, found.err
    assert "3 posts answered from 5 pairs" in found.out
    run = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["id"] for record in run] == ["1", "b", "c"]
    # The same comment comes once; an echo of the post and what shares no word do not come.
    assert [[c["text"] for c in record["comments"]] for record in run] == [
        ["记得带伞"],
        ["Take your cat to a vet"],
        [],
    ]
    again = cli("ranked", "retrieve", "--repository", tmp_path / "index", "--posts", posts)
    assert [json.loads(line) for line in again.out.splitlines()] == run
    assert cli("ranked", "pairs", out, "--out", tmp_path / "judge.json").status == 0


def test_retrieve_bad_input(refused, write, tmp_path: Path) -> None:
    posts = write("posts.json", [{"id": 1, "post": "x"}])

    def line(name: str, value: Any, asked: Path = posts) -> str:
        return refused(
            "ranked", "retrieve", "--repository", write(name, value), "--posts", asked,
            "--out", tmp_path / "run.jsonl",
        )  # fmt: skip

    assert "[1]: found no field 'comment'" in line(
        "a.json", [{"post": "x", "comment": "y"}, {"post": "z"}]
    )
    assert "[0].post: found 3, expected text" in line("b.json", [{"post": 3, "comment": "y"}])
    assert "found no pairs" in line("c.json", [])
    assert "without a word" in line("d.json", [{"post": "!", "comment": "?"}])
    assert "line 3: found 1 cells, expected 2" in line("e.csv", b"post,comment\na,b\nc\n")
    good = [{"post": "x", "comment": "y"}]
    assert '[1].id: found "1" again' in line(
        "f.json", good, write("p.json", [{"id": 1, "post": "x"}] * 2)
    )
    (tmp_path / "empty").mkdir()
    assert "no readable index" in refused(
        "ranked", "retrieve", "--repository", tmp_path / "empty", "--posts", posts
    )
    assert not (tmp_path / "run.jsonl").exists()
