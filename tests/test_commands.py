"""The other commands: stats, validate, predict, quickstart, and dialeval itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dialeval as de


def test_stats(cli, write, gold_records) -> None:
    gold = write("gold.json", gold_records)
    stats = cli("stats", gold, "--json").json
    assert (stats["dialogues"], stats["turns"], stats["posts"]) == (2, 5, 7)
    assert stats["annotators"] == 3
    assert stats["language"] == "en"
    # Tokens: It broke 2, Restart 1, it 1, Hello 1, nothing 0, nothing 0, Bye 1.
    assert stats["post_length"] == pytest.approx(6 / 7)
    assert stats["turn_length"] == pytest.approx(6 / 5)
    assert stats["turns_histogram"] == {"2": 1, "3": 1}
    assert stats["labels"]["A"] == {"2": 1, "1": 2, "0": 1, "-1": 1, "-2": 1}
    assert stats["labels"]["nugget"]["CNUG0"] == 3
    text = cli("stats", gold).out
    assert "posts a dialogue" in text
    characters = cli("stats", gold, "--language", "zh", "--json").json
    assert characters["turn_length"] == pytest.approx((8 + 9 + 5 + 0 + 3) / 5)


def test_stats_counts_chinese_in_characters(cli, tmp_path: Path) -> None:
    gold = de.sample("zh")
    de.save(gold.without_votes(), tmp_path / "zh.json")
    stats = cli("stats", tmp_path / "zh.json", "--json").json
    assert (stats["language"], stats["unit"]) == ("zh", "characters")
    posts = [u for d in gold.dialogues for t in d.turns for u in t.utterances]
    assert stats["post_length"] == pytest.approx(sum(map(len, posts)) / len(posts))
    assert stats["labels"] == {}


def test_validate(cli, write, gold_records, run_records) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    assert (
        "a collection of 2 dialogues, 5 turns, votes of 3 annotators" in cli("validate", gold).out
    )
    assert "ids and numbers of turns are not checked" in cli("validate", run).out
    assert (
        "a run over 2 dialogues: A, S, E, nugget, fits" in cli("validate", run, "--gold", gold).out
    )


def test_baselines(cli, write, gold_records, tmp_path: Path) -> None:
    gold = write("gold.json", gold_records)
    for model in ("uniform", "popularity"):
        out = tmp_path / f"{model}.json"
        assert cli("predict", "--model", model, "--data", gold, "--out", out).status == 0
    uniform = json.loads((tmp_path / "uniform.json").read_text())
    assert uniform[1]["nugget"][1] == pytest.approx({"HNUG": 1 / 3, "HNUG*": 1 / 3, "HNaN": 1 / 3})
    popular = json.loads((tmp_path / "popularity.json").read_text())
    assert popular[0]["quality"]["A"] == {"2": 0, "1": 1, "0": 0, "-1": 0, "-2": 0}
    # One vote each for HNUG, HNUG* and HNaN: ties share.
    assert popular[0]["nugget"][1] == pytest.approx({"HNUG": 1 / 3, "HNUG*": 1 / 3, "HNaN": 1 / 3})
    assert popular[1]["nugget"][1] == {"HNUG": 0, "HNUG*": 0, "HNaN": 1}


def test_quickstart(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = cli("quickstart")
    assert result.status == 0
    assert "simulated" in result.out
    for language in ("en", "zh"):
        gold = de.load(tmp_path / "quickstart" / f"helpdesk-{language}.json")
        run = de.load_run(tmp_path / "quickstart/runs" / language / "uniform.json")
        assert f"{de.evaluate(run, gold).mean['nugget.jsd']:.4f}" in result.out
    assert (tmp_path / "quickstart/scores/scores.html").is_file()
    report = (tmp_path / "quickstart/results/report.html").read_text()
    assert report.count("<svg") >= 2 * 8 * 3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_sample_is_varied(language: str) -> None:
    gold = de.sample(language)
    assert len(gold) >= 24
    assert set(gold.lengths.tolist()) == set(range(2, 8))
    assert len(gold.annotators) == 19
    assert all(dialogue.fields["votes"] == "simulated" for dialogue in gold.dialogues)
    for criterion in gold.rubric.criteria:
        counts = gold.counts(criterion).sum(axis=0)
        assert (counts > 0).all()
    expected = gold.gold(gold.rubric.criterion("A")) @ [2, 1, 0, -1, -2]
    assert expected.min() < -1
    assert expected.max() > 1


def test_as_a_program(tmp_path: Path) -> None:
    """The installed module, in a process of its own: help, version, and no traceback."""

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dialeval", *args]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)

    assert run("--version").stdout == f"dialeval {de.__version__}\n"
    for command in (
        *("quickstart", "score", "evaluate", "compare", "topic-size", "predict", "train"),
        *("crossval", "models", "validate", "stats", "serve", "register", "submit"),
        *("agreement", "questionnaire"),
    ):
        assert command in run("--help").stdout
        assert "Example: dialeval" in run(command, "--help").stdout
    bad = run("validate", "nothing.json")
    assert bad.returncode == 2
    found = "found no readable file (No such file or directory), expected a file"
    assert bad.stderr == f"error: nothing.json: {found}\n"
    assert bad.stdout == ""


def test_predictors_from_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    from dialeval import predictors
    from dialeval.core.errors import UsageError

    points = [
        EntryPoint("theirs", "dialeval.predictors.baselines:Uniform", "dialeval.predictors"),
        EntryPoint("broken", "dialeval.core.errors:shown", "dialeval.predictors"),
    ]
    monkeypatch.setattr("dialeval.predictors.registry.entry_points", lambda **_: points)
    assert "theirs" in predictors.names()
    assert de.predict(de.sample("en"), model="theirs").criteria == ("A", "S", "E", "nugget")
    with pytest.raises(UsageError, match="expected a Predictor class"):
        predictors.get("broken")
