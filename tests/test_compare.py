"""Comparing runs through the command line: what is found, written and refused."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.run import Prediction, Run


def noisy(gold: Collection, name: str, noise: float, seed: int) -> Run:
    """A run that is gold with noise: the more, the worse."""
    random = np.random.default_rng(seed)
    run = de.predict(gold, model="uniform")
    predictions = {}
    for criterion in gold.rubric.criteria:
        base = run.predictions[criterion.id]
        values = (gold.gold(criterion) + noise * random.random(base.values.shape)) * (
            base.values > 0
        )
        predictions[criterion.id] = Prediction(
            values / values.sum(axis=1, keepdims=True), base.lengths
        )
    return Run(name, gold.ids, predictions, gold.rubric)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Golds and a folder of runs in both languages, as teams hand them in."""
    for language, word in (("en", "english"), ("zh", "cn")):
        gold = de.sample(language)
        de.save(gold, tmp_path / f"gold_{language}.json")
        for place, (team, run) in enumerate(
            [("ALPHA", "run0"), ("ALPHA", "run1"), ("BETA", "run0")]
        ):
            made = noisy(gold, run, 0.1 + 0.2 * place, place)
            de.save_run(made, tmp_path / "runs" / team / run / f"{word}.json")
        made = noisy(gold, "x", 2.0, 9)
        made.predictions.pop("nugget")
        de.save_run(made, tmp_path / "runs" / f"GAMMA-run0_{word}.json")
    return tmp_path


def arguments(campaign: Path, *more: object) -> list[object]:
    golds = ["--gold", campaign / "gold_en.json", "--gold", campaign / "gold_zh.json"]
    return ["compare", campaign / "runs", *golds, "--out", campaign / "out", *more]


def table(campaign: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((campaign / "out/tables" / f"{name}.csv").read_text().splitlines()))


def test_a_campaign(cli, campaign: Path) -> None:
    result = cli(*arguments(campaign, "--trials", 500))
    assert result.status == 0, result.err
    assert result.err == ""
    teams = table(campaign, "teams")
    assert [list(row.values())[:5] for row in teams] == [
        ["ALPHA", "2", "2", "2", "2"],
        ["BETA", "1", "1", "1", "1"],
        ["GAMMA", "1", "0", "1", "0"],
        ["total", "4", "3", "4", "3"],
    ]
    for language in ("en", "zh"):
        ranking = table(campaign, f"{language}-A-nmd-ranking")
        assert [row["run"] for row in ranking] == [
            *("ALPHA-run0", "ALPHA-run1", "BETA-run0", "GAMMA-run0")
        ]
        assert [row["rank"] for row in ranking] == ["1", "2", "3", "4"]
        gold = de.load(campaign / f"gold_{language}.json")
        word = "english" if language == "en" else "cn"
        run = de.load_run(campaign / "runs/BETA/run0" / f"{word}.json")
        mean = de.evaluate(run, gold).mean["A.nmd"]
        assert float(ranking[2]["mean nmd"]) == pytest.approx(mean)
        assert float(ranking[2]["low"]) < mean < float(ranking[2]["high"])
        assert len(table(campaign, f"{language}-nugget-jsd-ranking")) == 3
        pairs = table(campaign, f"{language}-A-nmd-pairs")
        assert len(pairs) == 6
        significant = table(campaign, f"{language}-A-nmd-significance")
        below = [row for row in pairs if float(row["p"]) < 0.05]
        assert len(significant) == len(below) > 0
        assert {row["criterion"] for row in table(campaign, f"{language}-tau")} == {
            *("A", "S", "E", "nugget")
        }
        ranks = table(campaign, f"{language}-ranks")
        assert ranks[0]["run"] == "ALPHA-run0"
        assert float(ranks[0]["mean rank"]) == 1
        for kind in ("ranking", "p", "distribution"):
            for ending in ("svg", "pdf"):
                assert (campaign / "out/figures" / f"{language}-S-rsnod-{kind}.{ending}").is_file()
        anova = table(campaign, f"{language}-E-rsnod-anova")
        assert [row["df"] for row in anova] == ["3", str(4 * (len(gold) - 1))]


def test_provenance(cli, campaign: Path) -> None:
    assert cli(*arguments(campaign, "--trials", 50, "--seed", 7)).status == 0
    out = campaign / "out"
    told = json.loads((out / "results.json").read_text())["provenance"]
    assert told["version"] == de.__version__
    assert told["seed"] == 7
    assert told["options"]["trials"] == 50
    gold = campaign / "gold_en.json"
    assert told["inputs"][str(gold)] == hashlib.sha256(gold.read_bytes()).hexdigest()
    assert len(told["inputs"]) == 2 + 8
    for file in [*out.rglob("*.*")]:
        content = file.read_bytes().decode("utf-8", "replace")
        if file.suffix != ".pdf":
            assert told["id"] in content, file
        else:
            assert "/Subject" in content


def test_the_same_seed_gives_the_same_results(cli, campaign: Path) -> None:
    first = cli(*arguments(campaign, "--trials", 200, "--json", "--jobs", 1)).json
    again = cli(*arguments(campaign, "--trials", 200, "--json", "--jobs", 2)).json
    assert first["tables"] == again["tables"]
    other = cli(*arguments(campaign, "--trials", 200, "--json", "--seed", 1)).json
    assert first["tables"] != other["tables"]


@pytest.mark.parametrize("test", ["randomisation", "t"])
def test_other_tests(cli, campaign: Path, test: str) -> None:
    result = cli(*arguments(campaign, "--test", test, "--trials", 300, "--json"))
    pairs = result.json["tables"]["en-A-nmd-pairs"]
    assert all(0 <= pair["p"] <= 1 for pair in pairs)
    assert result.json["tables"]["en-power"][0]["pairs"] == 6


def test_reference_rows(cli, campaign: Path) -> None:
    assert cli(*arguments(campaign, "--trials", 50, "--reference")).status == 0
    ranking = table(campaign, "zh-A-rsnod-ranking")
    published = [row for row in ranking if row["source"] == "published"]
    best = min(published, key=lambda row: float(row["mean rsnod"]))
    assert (best["run"], best["mean rsnod"]) == ("SLSTC-run1 (NTCIR-14 STC-3)", "0.1235")
    assert len(published) == 20
    assert all(row["rank"] == row["low"] == "" for row in published)
    pairs = table(campaign, "zh-A-rsnod-pairs")
    assert not any("NTCIR" in "".join(row.values()) for row in pairs)


def test_a_manifest(cli, refused, campaign: Path) -> None:
    manifest = campaign / "m.toml"
    manifest.write_text(
        """
        [[runs]]
        file = "runs/ALPHA/run0/english.json"
        run = "first_50%"
        team = "One & Co"
        language = "English"
        [[runs]]
        file = "runs/BETA/run0/english.json"
        run = "../../second"
        language = "en"
        """
    )
    more = ("--manifest", manifest, "--trials", 20)
    assert cli(*arguments(campaign, *more)).status == 0
    assert {row["run"] for row in table(campaign, "en-ranks")} == {"first_50%", "../../second"}
    latex = (campaign / "out/tables/en-ranks.tex").read_text()
    assert r"first\_50\%" in latex
    teams = (campaign / "out/tables/teams.tex").read_text()
    assert r"One \& Co" in teams
    assert sorted(p.name for p in campaign.iterdir()) == sorted(
        ["gold_en.json", "gold_zh.json", "m.toml", "out", "runs"]
    )
    manifest.write_text('[[runs]]\nfile = "x.json"\nrun = "a"\nlanguage = "fr"\n')
    assert "runs[0].language" in refused(*arguments(campaign, *more))
    manifest.write_text('[[runs]]\nfile = "x.json"\n')
    assert "missing required field `run`" in refused(*arguments(campaign, *more))


def test_a_run_in_two_files(cli, refused, campaign: Path) -> None:
    folder = campaign / "runs/ALPHA/run0"
    whole = json.loads((folder / "english.json").read_text())
    for part in ("quality", "nugget"):
        records = [{"id": record["id"], part: record[part]} for record in whole]
        (folder / f"{part}_en.json").write_text(json.dumps(records))
    line = refused(*arguments(campaign, "--trials", 20))
    assert "criteria it has already" in line
    (folder / "english.json").unlink()
    assert cli(*arguments(campaign, "--trials", 20)).status == 0
    assert len(table(campaign, "en-nugget-jsd-ranking")) == 3


def test_one_bad_run(cli, refused, campaign: Path) -> None:
    bad = campaign / "runs/BETA/run0/english.json"
    bad.write_text(bad.read_text().replace('"id":"en-03"', '"id":"en-99"', 1))
    line = refused(*arguments(campaign, "--trials", 20))
    assert line.startswith(f"error: {bad}: [2].id: found")
    assert not (campaign / "out").exists()
    result = cli(*arguments(campaign, "--trials", 20, "--skip-bad"))
    assert result.status == 0
    assert result.err.startswith(f"warning: left out: {bad}")
    assert [row["run"] for row in table(campaign, "en-A-nmd-ranking")] == [
        *("ALPHA-run0", "ALPHA-run1", "GAMMA-run0")
    ]
    assert len(table(campaign, "zh-A-nmd-ranking")) == 4
    told = json.loads((campaign / "out/provenance.json").read_text())
    assert str(bad) in told["options"]["left_out"][0]


def test_languages_are_kept_apart(cli, refused, campaign: Path) -> None:
    runs, gold = campaign / "runs", campaign / "gold_en.json"
    result = cli("compare", runs, "--gold", gold, "--out", campaign / "out", "--trials", 20)
    assert result.status == 0
    assert result.err.count("no gold in its language, zh") == 4
    (runs / "ALPHA/run0/english.json").rename(runs / "ALPHA/run0/submission.json")
    assert "tells no language" in refused(*arguments(campaign))
    line = refused("compare", runs, "--gold", gold, "--gold", gold, "--out", campaign / "out")
    assert "two collections in one language" in line


def test_bad_input(refused, campaign: Path, tmp_path: Path) -> None:
    run, gold = campaign / "runs/ALPHA/run0/english.json", campaign / "gold_en.json"
    out = ("--out", campaign / "out")
    assert "found 1 run, expected at least two" in refused("compare", run, "--gold", gold, *out)
    (tmp_path / "empty").mkdir()
    assert "no runs" in refused("compare", tmp_path / "empty", "--gold", gold, *out)
    de.save(de.sample("en").without_votes(), tmp_path / "bare_en.json")
    line = refused("compare", campaign / "runs", "--gold", tmp_path / "bare_en.json", *out)
    assert "bare_en.json: found no votes" in line
    assert "trials" in refused(*arguments(campaign, "--trials", 0))
    assert "alpha" in refused(*arguments(campaign, "--alpha", 2))
    assert "did you mean 'nmd'" in refused(*arguments(campaign, "--measure", "ndm"))
    assert not (campaign / "out").exists()


def test_missing_dialogues_can_be_skipped(cli, refused, campaign: Path) -> None:
    short = campaign / "runs/BETA/run0/english.json"
    short.write_text(json.dumps(json.loads(short.read_text())[3:]))
    assert "no prediction for 3 of 30" in refused(*arguments(campaign, "--trials", 20))
    assert cli(*arguments(campaign, "--trials", 20, "--missing", "skip")).status == 0
    assert [row["df"] for row in table(campaign, "en-E-rsnod-anova")] == ["3", str(4 * 26)]


def test_library_face(tmp_path: Path) -> None:
    gold = de.sample("en")
    runs = {name: noisy(gold, name, 0.3 * k, k) for k, name in enumerate(("a", "b", "c"), 1)}
    results = de.compare(runs, gold, trials=200, seed=1)
    frame = results.to_frame()
    assert len(frame) == 3 * 8
    assert list(frame.columns[:5]) == ["language", "criterion", "measure", "rank", "run"]
    assert "| a |" in results.to_markdown()
    assert results.to_latex().count(r"\toprule") == results.to_latex().count(r"\bottomrule") > 20
    page = results.report(tmp_path / "results")
    assert page.read_text().startswith("<!doctype html>")


def test_latex_compiles_in_form() -> None:
    """Every table has as many cells in each row as columns, whatever the names."""
    gold = de.sample("en")
    runs = {name: noisy(gold, "x", 0.5, k) for k, name in enumerate(("a&b", "50%_{x}\\", "c$#~^"))}
    for table in de.compare(runs, gold, trials=20).tables():
        lines = table.to_latex().splitlines()
        rows = lines[lines.index(r"    \midrule") + 1 : lines.index(r"    \bottomrule")]
        for row in filter(None, rows):
            bare = row.replace(r"\&", "")
            assert bare.count("&") == len(table.columns) - 1, row
            assert row.endswith(r" \\")


def test_topic_size(cli, refused, campaign: Path) -> None:
    ask = ("topic-size", "--alpha", 0.05, "--systems", 10)
    answer = cli(*ask, "--power", 0.8, "--min-diff", 0.05, "--variance", 0.00485)
    assert answer.out == "62\n"
    assert (
        cli(*ask, "--topics", 62, "--min-diff", 0.05, "--variance", 0.00485).out == "power 0.8034\n"
    )
    assert cli(*ask, "--topics", 62, "--variance", 0.00485).out == "min-diff 0.0498\n"
    plot = campaign / "n.svg"
    runs = ("--runs", campaign / "runs", "--gold", campaign / "gold_en.json", "--column", "A.nmd")
    found = cli(*ask, "--min-diff", 0.1, *runs, "--plot", plot, "--json").json
    cli(*arguments(campaign, "--trials", 10))
    anova = table(campaign, "en-A-nmd-anova")
    assert found["variance"] == pytest.approx(float(anova[1]["mean square"]))
    assert "minD" in plot.read_text()
    assert "--min-diff" in refused(*ask, "--variance", 1)
    assert "--gold and --column" in refused(*ask, "--min-diff", 1, "--runs", campaign / "runs")
    assert "either --variance" in refused(*ask, "--min-diff", 1)
    assert "did you mean 'A.nmd'" in refused(*ask, "--min-diff", 1, *runs[:-1], "A.nmdd")
    assert ".svg" in refused(*ask, "--min-diff", 1, "--variance", 1, "--plot", "x.gif")
