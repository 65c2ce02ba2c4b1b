"""Questionnaires: kappa by question, keep or drop, averages side by side, the next round's form."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from browsing import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa

import dialeval as de
from dialeval.agreement import cohen_kappa, vote_counts
from dialeval.core.encode_rubric import rubric_toml
from dialeval.core.errors import UsageError
from dialeval.core.rubric import Criterion, Rubric, built_in_rubrics, load_rubric, parse_rubric

QUESTIONS = [
    *("emotion-casual", "emotion-earnest", "emotion-off-topic", "emotion-sympathy"),
    *("emotion-consolation", "emotion-mocking", "stc2-fluent", "stc2-coherent"),
    *("stc2-self-sufficient", "stc2-substantial"),
]


def answers(votes: dict[str, np.ndarray], text: str = "Hm") -> list[dict[str, Any]]:
    """A collection from votes by question, items by raters: 0 is yes, 1 is no."""
    items, raters = next(iter(votes.values())).shape
    return [
        {
            "id": f"p{i}",
            "turns": [{"sender": "A", "utterances": [text]}, {"sender": "B", "utterances": ["B"]}],
            "annotations": [
                {
                    "annotator": f"evaluator {r + 1}",
                    "quality": {q: ("yes", "no")[v[i, r]] for q, v in votes.items()},
                }
                for r in range(raters)
            ],
        }
        for i in range(items)
    ]


def simulated(seed: int = 0, items: int = 60, raters: int = 3) -> dict[str, np.ndarray]:
    """Questions from hopeless to clear; on `stc2-fluent` almost everybody says yes."""
    random = np.random.default_rng(seed)
    votes = {}
    for place, question in enumerate(QUESTIONS):
        truth = random.integers(2, size=(items, 1))
        noise = random.integers(2, size=(items, raters))
        kept = random.random((items, raters)) < place / 10
        votes[question] = np.where(kept, truth, noise)
    votes["stc2-fluent"] = (random.random((items, raters)) < 0.02).astype(int)
    return votes


def test_the_rubric_has_the_studys_questions() -> None:
    rubric = load_rubric("questionnaire")
    assert [c.id for c in rubric.criteria] == QUESTIONS
    for criterion in rubric.criteria:
        assert (criterion.kind, criterion.columns) == ("yes-no", ("yes", "no"))
        assert set(criterion.question) == set(criterion.name) == {"en", "zh"}


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_a_round(cli, write, tmp_path: Path, raters: int) -> None:
    votes = simulated(raters=raters)
    file, form = write("votes.json", answers(votes)), tmp_path / "next.toml"
    args = ("questionnaire", file, "--threshold", 0.3, "--resamples", 100)
    found = cli(*args, "--json", "--next", form).json
    kappas = {q: fleiss_kappa(vote_counts(v, 2)) for q, v in votes.items()}
    kept = []
    for one in found["questions"]:
        kappa = one["agreement"]["coefficients"]["fleiss"]
        assert kappa["value"] == pytest.approx(kappas[one["question"]])
        assert kappa["low"] <= kappa["value"] <= kappa["high"]
        expected = "keep" if kappas[one["question"]] >= 0.3 else "drop"
        assert one["decision"] == expected
        assert f"{kappas[one['question']]:.3f} is" in one["reason"]
        kept += [one["question"]] if expected == "keep" else []
    assert 0 < len(kept) < 10
    # The averages of the two questionnaires, and Cohen's kappa with all questions together.
    means = {}
    for group in found["groups"]:
        own = [q for q in QUESTIONS if q.startswith(group["group"])]
        means[group["group"]] = np.mean([kappas[q] for q in own])
        assert group["mean"]["value"] == pytest.approx(means[group["group"]])
        together = np.concatenate([votes[q] for q in own])
        first = group["pairs"][0]
        assert first["raters"] == ["evaluator 1", "evaluator 2"]
        expected = cohen_kappa_score(together[:, 0], together[:, 1])
        assert first["cohen"] == pytest.approx(expected)
        assert cohen_kappa(matrix=first["table"]) == pytest.approx(expected)
        assert len(group["pairs"]) == raters * (raters - 1) // 2
    difference = found["differences"][0]["mean"]
    assert difference["value"] == pytest.approx(means["emotion"] - means["stc2"])
    assert difference["low"] < difference["value"] < difference["high"]
    # The next round's form is a rubric of the kept questions, texts and all.
    rubric = load_rubric(form)
    before = load_rubric("questionnaire")
    assert rubric.criteria == tuple(c for c in before.criteria if c.id in kept)
    assert rubric.speaker_names == before.speaker_names
    assert cli("validate", form).status == 0
    text = cli(*args).out
    for question in QUESTIONS:
        assert f"{'keep' if question in kept else 'drop'} {question}: " in text


def test_the_loop_goes_on(cli, write, tmp_path: Path) -> None:
    """The form of one round is the rubric of the next, until all questions stay."""
    votes = simulated(3)
    rubric: Any = "questionnaire"
    rounds = 0
    while True:
        asked = [c.id for c in load_rubric(rubric).criteria]
        file = write(f"round{rounds}.json", answers({q: votes[q] for q in asked}))
        form = tmp_path / f"round{rounds + 1}.toml"
        result = cli("questionnaire", file, "--rubric", rubric, "--next", form, "--resamples", 0)
        assert result.status == 0, result.err
        rounds += 1
        if [c.id for c in load_rubric(form).criteria] == asked:
            break
        rubric = form
    assert rounds == 2
    assert len(asked) < 10


def test_the_studys_pooled_kappas(write) -> None:
    """Tables 13 and 14: six and four questions on 1,000 pairs by two evaluators."""
    tables = {"emotion": [[983, 706], [695, 3616]], "stc2": [[619, 678], [491, 2212]]}
    votes = {}
    for group, table in tables.items():
        cells = [(a, b) for a in (0, 1) for b in (0, 1) for _ in range(table[a][b])]
        own = [q for q in QUESTIONS if q.startswith(group)]
        both = np.random.default_rng(0).permutation(np.array(cells)).reshape(len(own), 1000, 2)
        votes |= dict(zip(own, both, strict=True))
    gold = de.load(write("votes.json", answers(votes)), "questionnaire")
    found = de.select_questions(gold, resamples=0)
    for group, kappa in zip(found.groups, (0.421, 0.307), strict=True):
        table, value = group.pooled["evaluator 1", "evaluator 2"]
        assert table.tolist() == tables[group.name]
        assert math.trunc(value * 1000) / 1000 == kappa


def test_one_sided_votes(cli, write) -> None:
    file = write("votes.json", answers(simulated()))
    args = ("questionnaire", file, "--resamples", 0, "--json")

    def fluent(found: Any) -> Any:
        return next(one for one in found["questions"] if one["question"] == "stc2-fluent")

    dropped = fluent(cli(*args).json)
    assert dropped["decision"] == "drop"
    assert "but votes are one-sided (98% yes)" in dropped["reason"]
    assert dropped["agreement"]["fleiss_paradox"]
    spared = fluent(cli(*args, "--spare-one-sided").json)
    assert spared["decision"] == "keep"
    assert spared["reason"] == dropped["reason"]
    assert "--spare-one-sided" in cli(*args[:-1]).out
    by_ac1 = fluent(cli(*args, "--coefficient", "ac1", "--threshold", 0.9).json)
    assert by_ac1["decision"] == "keep"


def test_all_answers_alike_and_no_answers(cli, write) -> None:
    votes = simulated()
    votes["stc2-fluent"][:] = 0
    del votes["emotion-casual"]
    file = write("votes.json", answers(votes))
    found = cli("questionnaire", file, "--resamples", 20, "--json").json["questions"]
    decisions = {one["question"]: (one["decision"], one["reason"]) for one in found}
    assert decisions["emotion-casual"] == ("keep", "no votes yet")
    decision, reason = decisions["stc2-fluent"]
    assert decision == "drop"
    assert reason.startswith("not defined: every vote is yes; but votes are one-sided (100% yes)")
    assert cli("questionnaire", file, "--resamples", 20).status == 0


@pytest.mark.parametrize("coefficient", ["cohen", "alpha", "ac1"])
def test_other_coefficients_decide(cli, write, coefficient: str) -> None:
    file = write("votes.json", answers(simulated(1)))
    args = ("questionnaire", file, "--coefficient", coefficient, "--resamples", 0, "--csv")
    rows = [*csv.DictReader(io.StringIO(cli(*args, "--threshold", 0.25).out))]
    gold = de.load(file, "questionnaire")
    for row in rows:
        value = de.agreement_of(gold)[row["question"]].coefficients[coefficient].value
        assert float(row["kappa"]) == pytest.approx(value)
        assert row["decision"] == ("keep" if value >= 0.25 else "drop")


def test_own_groups(cli, write) -> None:
    file = write("votes.json", answers(simulated()))
    args = ("questionnaire", file, "--json", "--resamples", 0)
    groups = ("--group", "a=stc2-fluent,emotion-mocking", "--group", "b=emotion-casual")
    found = cli(*args, *groups).json
    assert [group["group"] for group in found["groups"]] == ["a", "b", "others"]
    assert found["groups"][0]["questions"] == ["stc2-fluent", "emotion-mocking"]
    assert len(found["groups"][2]["questions"]) == 7
    pairs = [one["groups"] for one in found["differences"]]
    assert pairs == [["a", "b"], ["a", "others"], ["b", "others"]]


def test_a_sample_to_try(cli, tmp_path: Path) -> None:
    gold = de.sample("questionnaire")
    assert gold.annotators == ("r1", "r2", "r3", "r4", "r5")
    assert all(dialogue.fields["votes"] == "simulated" for dialogue in gold.dialogues)
    de.save(gold, tmp_path / "q.json")
    found = cli("questionnaire", tmp_path / "q.json", "--json", "--resamples", 0).json
    decisions = {one["decision"] for one in found["questions"]}
    assert decisions == {"keep", "drop"}
    assert any(one["agreement"]["fleiss_paradox"] for one in found["questions"])
    assert "intra_cohen" in found["questions"][0]["agreement"]["coefficients"]


def test_bad_input(refused, write, gold_records, tmp_path: Path) -> None:
    records = answers(simulated(items=5))
    file = write("votes.json", records)
    form = tmp_path / "next.toml"
    run = ("questionnaire", file, "--resamples", 0, "--next", form)
    assert "expected -1 to 1" in refused(*run, "--threshold", 2)
    assert "ends in .toml" in refused("questionnaire", file, "--next", tmp_path / "next.txt")
    assert "did you mean 'stc2-fluent'" in refused(*run, "--group", "a=stc2-fluend")
    assert "NAME=ID" in refused(*run, "--group", "stc2-fluent")
    assert "two groups" in refused(*run, "--group", "a=stc2-fluent", "--group", "b=stc2-fluent")
    assert "--json and --csv" in refused(*run, "--json", "--csv")
    line = refused(*run, "--threshold", 1)
    assert "no form is left" in line
    helpdesk = write("gold.json", gold_records)
    line = refused("questionnaire", helpdesk, "--rubric", "helpdesk")
    assert "has no yes-no question" in line
    records[2]["annotations"][1]["quality"]["stc2-fluent"] = "maybe"
    line = refused("questionnaire", write("bad.json", records))
    assert '[2].annotations[1].quality["stc2-fluent"]: found' in line
    assert "one of yes, no" in line
    for record in records:
        record["annotations"] = []
    assert "no votes" in refused("questionnaire", write("none.json", records))
    assert not form.exists()
    with pytest.raises(UsageError, match="unknown coefficient"):
        de.select_questions(de.sample("questionnaire"), coefficient="kappa")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page(
    browser: Any,
    cli,
    write,
    tmp_path: Path,
    width: int,
) -> None:
    records = answers(simulated(), text=HOSTILE)
    for record in records:
        for a, annotation in enumerate(record["annotations"]):
            annotation["annotator"] = f"{HOSTILE}{a}"
    out = tmp_path / "out"
    result = cli("questionnaire", write("votes.json", records), "--out", out, "--resamples", 50)
    assert result.status == 0, result.err
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((out / "questionnaire.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script, img").count() == 0
    found = json.loads((out / "questionnaire.json").read_text())
    decisions = [one["decision"] for one in found["questions"]]
    assert page.locator(".keep, .drop").all_inner_texts() == decisions
    kept = [one["question"] for one in found["questions"] if one["decision"] == "keep"]
    assert [c.id for c in load_rubric(out / "next.toml").criteria] == kept
    assert (out / "tables" / "side-by-side.tex").is_file()
    page.close()


@pytest.mark.parametrize("name", built_in_rubrics())
def test_rubrics_are_written_as_they_are_read(name: str) -> None:
    rubric = load_rubric(name)
    assert parse_rubric(rubric_toml(rubric).encode(), "again.toml") == rubric


texts = st.dictionaries(
    st.sampled_from(["en", "zh", "x y", "ß"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
)


@settings(max_examples=100, deadline=None)
@given(texts, texts, texts)
def test_any_text_survives(title, question, meaning) -> None:
    criterion = Criterion(
        id="q",
        scope="turn",
        kind="nominal",
        measures=("jsd",),
        labels={"a": ("A*", 'B"'), "b": ("\\", "é")},
        question=question,
        meanings={"A*": meaning} if meaning else {},
        weights={"a": 0.5, "b": 1.0},
    )
    rubric = Rubric(name="any", speakers=("a", "b"), criteria=(criterion,), title=title)
    again = parse_rubric(rubric_toml(rubric).encode(), "again.toml")
    assert msgspec.json.encode(again) == msgspec.json.encode(rubric)
