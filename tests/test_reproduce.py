"""`dialeval reproduce`: a campaign's result section from its systems, built again."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from systems import encoder_folder, tiny_transformer

import dialeval as de
from dialeval.predictors.systems.recipes import RECIPES
from dialeval.report.published import CAMPAIGNS, published_scores

ROOT = Path(__file__).resolve().parent.parent
TINY = {"epochs": 2, "units": 4, "layers": 1, "dimensions": 6, "batch": 8}
SETS = [x for name, value in TINY.items() for x in ("--set", f"{name}={value}")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "en.json"
    de.save(de.sample("en"), path)
    return path


def ask(data: Path, *more: object) -> tuple[object, ...]:
    out = data.parent / "out"
    campaign = ("--campaign", "ntcir14-stc3", "--systems", "bl-lstm,cuis-run0", "--folds", 2)
    return (
        *("reproduce", *campaign, "--data", f"en={data}", "--out", out, "--trials", 50),
        *("--encoder", f"en={encoder_folder()}", *SETS, *more),
    )


def test_every_published_run_has_a_recipe() -> None:
    """And no recipe is of a run that nobody published."""
    for campaign in CAMPAIGNS:
        published = {row.run.lower() for row in published_scores() if row.collection == campaign}
        ours = {name for name, recipe in RECIPES.items() if campaign in recipe.campaigns}
        assert published - {"bl-uniform", "bl-popularity"} == ours


def test_reproduce_and_go_on(cli, data: Path) -> None:
    out = data.parent / "out"
    first = cli(*ask(data, "--json"))
    assert first.status == 0, first.err
    assert first.json["trained"] == 4
    assert first.err.count("fold ") == 4
    rows = {(r["run"], f"{r['criterion']}.{r['measure']}"): r for r in first.json["systems"]}
    assert rows["BL-lstm", "A.rsnod"]["published"] == 0.132
    assert ("CUIS-run0", "nugget.jsd") not in rows
    gold = de.load(data)
    run = de.load_run(out / "runs" / "en" / "BL-lstm.json")
    assert run.ids == gold.ids
    mean = de.evaluate(run, gold).mean
    assert rows["BL-lstm", "A.rsnod"]["mean"] == pytest.approx(mean["A.rsnod"])
    page = (out / "report.html").read_text()
    assert "BL-lstm (NTCIR-14 STC-3)" in page
    assert "CUIS-run0" in page
    with (out / "tables" / "reproduction.csv").open() as stream:
        assert len([*csv.DictReader(stream)]) == len(rows)
    # Again: nothing is trained, all is the same, and people get a table.
    shown = cli(*ask(data))
    assert "fold " not in shown.err
    assert "published" in shown.out
    assert "0.1320" in shown.out
    # After the loss of one fold only that is done.
    jobs = [*(out / "jobs").iterdir()]
    (next(folder for folder in jobs if folder.name.startswith("bl-")) / "1.record").unlink()
    assert cli(*ask(data, "--systems", "bl-lstm", "--json")).json["trained"] == 1
    table = runpy.run_path(str(ROOT / "tools" / "systems_table.py"))["systems_table"]
    text = table([out])
    assert "| BL-lstm | NTCIR-14 STC-3 | 2 folds |" in text
    assert f"{mean['A.rsnod']:.4f}"[:3] in text


def test_a_budget_ends_trainings(cli, data: Path) -> None:
    found = cli(*ask(data, "--systems", "bl-lstm", "--budget", 1e-6, "--json"))
    assert found.status == 0, found.err
    assert found.err.count("ended by the budget") == 2
    assert found.json["systems"][0]["remarks"] == "budget ended 2 of 2 trainings"


def test_a_test_set(cli, data: Path) -> None:
    gold = de.sample("en")
    test = data.parent / "test_en.json"
    de.save(gold.select(range(5)).without_votes(), test)
    bare = cli(*ask(data, "--systems", "bl-lstm", "--test", f"en={test}"))
    assert bare.status == 0, bare.err
    assert "no votes to compare" in bare.out
    run = de.load_run(data.parent / "out" / "runs" / "en" / "BL-lstm.json")
    assert run.ids == gold.ids[:5]
    de.save(gold.select(range(5)), test)
    judged = cli(*ask(data, "--systems", "bl-lstm", "--test", f"en={test}", "--json"))
    assert judged.json["trained"] == 1
    assert judged.json["systems"]


def test_a_mean_of_two_is_not_trained(cli, data: Path) -> None:
    out, names = data.parent / "out", ("TUA1-run0", "TUA1-run1", "TUA1-run2")
    asked = ("--campaign", "ntcir16-dialeval2", "--systems", ",".join(names).lower())
    folders = f"{encoder_folder()},{tiny_transformer(data.parent / 'other', 'xlnet')}"
    more = ("--encoder", f"en={folders}", "--set", "tuned_epochs=1", "--json")
    found = cli(*ask(data, *asked, *more))
    assert found.status == 0, found.err
    assert found.json["trained"] == 4
    one, other, mean = (
        de.load_run(out / "runs" / "en" / f"{name}.json").predictions["A"].values for name in names
    )
    assert np.allclose(mean, (one + other) / 2, atol=1e-6)
    assert not np.allclose(mean, one, atol=1e-6)
    seconds = {row["run"]: row["seconds"] for row in found.json["systems"]}
    assert seconds["TUA1-run2"] == pytest.approx(
        seconds["TUA1-run0"] + seconds["TUA1-run1"], abs=0.2
    )


def test_of_two_folders_each_has_its_own(data: Path) -> None:
    from dialeval.predictors.systems.reproduction import Setting

    given = Setting("en", data, None, "helpdesk", 2, 0, data.parent, encoder="a,b")
    names = ("tua1-run0", "tua1-run1", "rslde-run1", "slstc-run2")
    assert [given.encoder_of(name) for name in names] == ["a", "b", "b", "a"]


def test_what_jobs_depend_on(data: Path) -> None:
    """Another seed, setting or file is another job; the number of folds is none of a test set's."""
    from dialeval.predictors.systems.reproduction import Setting

    def folder(**more: Any) -> Path:
        given = {"test": None, "folds": 2, "seed": 0, "changes": {}, **more}
        return Setting("en", data, rubric="helpdesk", out=data.parent, **given).folder("bl-lstm")

    other = data.with_name("other.json")
    de.save(de.sample("en").select(range(9)), other)
    kinds = [{}, {"seed": 1}, {"folds": 3}, {"changes": {"units": 3}}, {"test": other}]
    assert len({folder(**kind) for kind in kinds}) == len(kinds)
    assert folder(test=other, folds=3) == folder(test=other)
    before = folder()
    de.save(de.sample("en").select(range(20)), data)
    assert folder() != before


def test_systems_stay_in_their_language(data: Path) -> None:
    from dialeval.predictors.systems.reproduction import Setting, jobs_of

    made = [Setting(lang, data, None, "helpdesk", 2, 0, data.parent) for lang in ("en", "zh")]
    jobs = jobs_of(made, ["widm-run0", "bl-lstm"])
    assert [job.setting.language for job in jobs if job.system == "widm-run0"] == ["en", "en"]
    assert [job.setting.language for job in jobs if job.system == "bl-lstm"].count("zh") == 2


def test_refusals(refused, data: Path) -> None:
    def no(*more: object) -> str:
        return refused(*ask(data, *more))

    assert "unknown campaign" in no("--campaign", "ntcir15")
    assert "unknown system of ntcir14-stc3 'tua1-run0'" in no("--systems", "tua1-run0")
    assert "expected 2 to 30" in no("--folds", 31)
    assert "--data: found language 'fr'" in no("--data", f"fr={data}")
    assert "--test: found language 'zh'" in no("--test", f"zh={data}")
    assert "expected NAME=VALUE" in no("--embeddings", "vectors.txt")
    assert "expected a file or folder" in no("--embeddings", "en=vectors.txt")
    assert "setting 'unit'" in no("--set", "unit=1")
    assert "no.json" in no("--data", "en=no.json")
    bare = data.parent / "bare.json"
    de.save(de.sample("en").without_votes(), bare)
    assert "no votes" in no("--data", f"en={bare}")
    assert not (data.parent / "out").exists()
