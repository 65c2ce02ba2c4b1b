"""Evaluating runs, through the command line and the library, against the plain reference."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from math import log2
from pathlib import Path

import numpy as np
import pytest
import reference

import dialeval as de
from dialeval.core.errors import DataWarning


def random_run(gold: list[dict], seed: int = 0) -> list[dict]:
    """A run with random distributions, some labels left out, none summing to 1."""
    random = np.random.default_rng(seed)

    def distribution(labels: tuple[str, ...]) -> dict[str, float]:
        values = random.random(len(labels)) * (random.random(len(labels)) > 0.3) + 1e-3
        return {label: float(v) for label, v in zip(labels, values, strict=True) if v > 2e-3} or {
            labels[0]: 1.0
        }

    run = [
        {
            "id": record["id"],
            "quality": {c: distribution(reference.ORDINAL) for c in "ASE"},
            "nugget": [distribution(reference.LABELS[t["sender"]]) for t in record["turns"]],
        }
        for record in gold
    ]
    random.shuffle(run)
    return run


@pytest.fixture
def sample_records(tmp_path: Path) -> list[dict]:
    de.save(de.sample("en"), tmp_path / "sample.json")
    return json.loads((tmp_path / "sample.json").read_text())


def test_agrees_with_the_reference(cli, write, sample_records) -> None:
    # A dialogue of one speaker only takes that side.
    lonely = dict(sample_records[0], id="lonely", turns=sample_records[0]["turns"][:1])
    lonely["annotations"] = [dict(a, nugget=a["nugget"][:1]) for a in lonely["annotations"]]
    records = [*sample_records, lonely]
    run = random_run(records)
    gold_file, run_file = write("gold.json", records), write("run.json", run)
    for alpha in (0.5, 0.2):
        expected = reference.mean_scores(records, run, alpha)
        result = cli("evaluate", run_file, "--gold", gold_file, "--alpha", alpha, "--json")
        assert result.status == 0
        found = result.json
        for column, value in expected.items():
            criterion, measure = column.split(".")
            got = (
                found["nugget"][measure]
                if criterion == "nugget"
                else found["quality"][measure][criterion]
            )
            assert got == pytest.approx(value, abs=1e-12), column
    assert set(found) == {"nugget", "quality"}
    assert set(found["quality"]["nmd"]) == {"A", "S", "E"}


def test_by_dialogue(cli, write, sample_records, tmp_path: Path) -> None:
    run = random_run(sample_records)
    out = tmp_path / "scores.csv"
    gold_file, run_file = write("gold.json", sample_records), write("run.json", run)
    assert cli("evaluate", run_file, "--gold", gold_file, "--by-dialogue", out).status == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert list(rows[0]) == [
        *("id", "A.rsnod", "A.nmd", "S.rsnod", "S.nmd", "E.rsnod", "E.nmd"),
        *("nugget.jsd", "nugget.rnss"),
    ]
    by_id = {record["id"]: record for record in run}
    assert [row["id"] for row in rows] == [record["id"] for record in sample_records]
    for row, record in zip(rows, sample_records, strict=True):
        expected = reference.dialogue_scores(record, by_id[record["id"]])
        for column, value in expected.items():
            assert float(row[column]) == pytest.approx(value, abs=1e-12)


def test_log2(cli, write, gold_records, run_records) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    plain = cli("evaluate", run, "--gold", gold, "--json").json
    logged = cli("evaluate", run, "--gold", gold, "--json", "--log2").json
    assert logged["nugget"]["jsd"] == pytest.approx(-log2(plain["nugget"]["jsd"]), abs=1e-12)
    assert logged["quality"]["nmd"]["S"] == pytest.approx(-log2(plain["quality"]["nmd"]["S"]))
    table = cli("evaluate", run, "--gold", gold, "--log2").out
    assert f"{logged['nugget']['jsd']:.4f}" in table


def test_a_run_may_cover_one_side_only(cli, write, gold_records, run_records) -> None:
    gold = write("gold.json", gold_records)
    quality = [{k: v for k, v in record.items() if k != "nugget"} for record in run_records]
    nugget = [{k: v for k, v in record.items() if k != "quality"} for record in run_records]
    both = cli("evaluate", write("both.json", run_records), "--gold", gold, "--json").json
    only = cli("evaluate", write("quality.json", quality), "--gold", gold, "--json").json
    assert only == {"quality": both["quality"]}
    only = cli("evaluate", write("nugget.json", nugget), "--gold", gold, "--json").json
    assert only == {"nugget": both["nugget"]}


def test_several_runs_and_csv(cli, write, gold_records, run_records) -> None:
    gold, mine = write("gold.json", gold_records), write("mine.json", run_records)
    other = write("other.json", random_run(gold_records))
    both = cli("evaluate", mine, other, "--gold", gold, "--json").json
    assert set(both) == {"mine", "other"}
    table = cli("evaluate", mine, other, "--gold", gold, "--csv").out
    rows = list(csv.DictReader(table.splitlines()))
    assert len(rows) == 16
    row = next(r for r in rows if (r["run"], r["criterion"], r["measure"]) == ("mine", "A", "nmd"))
    assert float(row["mean"]) == pytest.approx(both["mine"]["quality"]["nmd"]["A"])
    assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])
    assert row["dialogues"] == "2"


def test_intervals_are_bootstrap_intervals(cli, write, sample_records) -> None:
    gold_file, run_file = (
        write("g.json", sample_records),
        write("r.json", random_run(sample_records)),
    )
    args = ("evaluate", run_file, "--gold", gold_file, "--json", "--intervals")
    first, again, other = cli(*args), cli(*args), cli(*args, "--seed", 1)
    assert first.out == again.out
    assert first.out != other.out
    with pytest.warns(DataWarning):
        gold, run = de.load(gold_file), de.load_run(run_file)
    values = de.evaluate(run, gold).by_dialogue["A.nmd"]
    low, high = first.json["intervals"]["quality"]["nmd"]["A"]
    # The percentile interval of a mean is near the normal one.
    half = 1.96 * values.std() / np.sqrt(values.size)
    assert low == pytest.approx(values.mean() - half, abs=0.25 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.25 * half)


def test_missing_dialogues(cli, refused, write, gold_records, run_records) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records[1:])
    line = refused("evaluate", run, "--gold", gold)
    assert "no prediction for 1 of 2 dialogues" in line
    assert '"d1"' in line
    skipped = cli("evaluate", run, "--gold", gold, "--missing", "skip", "--json").json
    expected = reference.mean_scores(gold_records[1:], run_records)
    assert skipped["nugget"]["jsd"] == pytest.approx(expected["nugget.jsd"], abs=1e-12)
    assert skipped["quality"]["rsnod"]["E"] == pytest.approx(expected["E.rsnod"], abs=1e-12)


def test_missing_criterion_of_a_dialogue(cli, refused, write, gold_records, run_records) -> None:
    del run_records[1]["quality"]["S"]
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    assert "[1].quality.S" in refused("evaluate", run, "--gold", gold)
    skipped = cli("evaluate", run, "--gold", gold, "--missing", "skip", "--json").json
    expected = reference.dialogue_scores(gold_records[0], run_records[0])
    assert skipped["quality"]["nmd"]["S"] == pytest.approx(expected["S.nmd"], abs=1e-12)


def test_votes_by_some_only(cli, refused, write, gold_records, run_records) -> None:
    """An annotator may leave a criterion out; where nobody voted there is no gold."""
    del gold_records[0]["annotations"][0]["quality"]["A"]
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    found = cli("evaluate", run, "--gold", gold, "--json").json
    assert found["quality"]["nmd"]["A"] > 0
    for annotation in gold_records[0]["annotations"]:
        annotation["quality"].pop("A", None)
    gold = write("gold.json", gold_records)
    assert "no votes on A" in refused("evaluate", run, "--gold", gold)
    skipped = cli("evaluate", run, "--gold", gold, "--missing", "skip", "--json").json
    expected = reference.nmd(
        reference.predicted(reference.ORDINAL, run_records[1]["quality"]["A"]),
        reference.votes(reference.ORDINAL, [0, -2, -1]),
    )
    assert skipped["quality"]["nmd"]["A"] == pytest.approx(expected, abs=1e-12)


def test_sums_are_normalised_with_one_warning(
    cli, refused, write, gold_records, run_records
) -> None:
    gold = write("gold.json", gold_records)
    exact = cli("evaluate", write("exact.json", run_records), "--gold", gold, "--json")
    assert exact.err == ""
    for record in run_records:
        record["quality"]["A"] = {k: v * 0.75 for k, v in record["quality"]["A"].items()}
    run = write("run.json", run_records)
    scaled = cli("evaluate", run, "--gold", gold, "--json")
    assert scaled.json["quality"]["nmd"]["A"] == pytest.approx(exact.json["quality"]["nmd"]["A"])
    (warning,) = scaled.err.splitlines()
    assert warning.startswith("warning: ")
    assert "2 of 11 distributions" in warning
    assert "0.75" in warning
    line = refused("evaluate", run, "--gold", gold, "--strict")
    assert "[0].quality.A" in line
    assert "0.75" in line


def test_library_face(write, gold_records, run_records) -> None:
    gold = de.load(write("gold.json", gold_records))
    score = de.evaluate(de.load_run(write("run.json", run_records)), gold)
    assert score.ids == ("d1", "d2")
    assert score.mean["A.nmd"] == pytest.approx(score.by_dialogue["A.nmd"].mean())
    frame = score.to_frame()
    assert list(frame.index) == ["d1", "d2"]
    assert frame["nugget.jsd"].mean() == pytest.approx(score.mean["nugget.jsd"])
    assert score.to_json()["quality"]["rsnod"]["A"] == score.mean["A.rsnod"]
    chosen = de.evaluate(de.predict(gold, model="uniform"), gold, measures=["kld", "md"])
    assert set(chosen.mean) == {
        *(f"{c}.{m}" for c in "ASE" for m in ("kld", "md")),
        "nugget.kld",
    }


def test_a_perfect_run_scores_zero(write, gold_records) -> None:
    gold = de.load(write("gold.json", gold_records))
    run = de.predict(gold, model="uniform")
    for criterion in gold.rubric.criteria:
        run.predictions[criterion.id] = type(run.predictions[criterion.id])(
            gold.gold(criterion), run.predictions[criterion.id].lengths
        )
    assert all(value == 0 for value in de.evaluate(run, gold).mean.values())


def test_evaluate_imports_nothing_heavy(write, gold_records, run_records) -> None:
    gold, run = write("gold.json", gold_records), write("run.json", run_records)
    code = (
        "import sys; from dialeval.cli import main\n"
        f"sys.argv = ['dialeval', 'evaluate', {str(run)!r}, '--gold', {str(gold)!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'scipy.stats', 'torch', 'pandas', 'matplotlib', 'duckdb'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
