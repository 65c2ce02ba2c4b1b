"""The research collection itself, where it is at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import reference

import dialeval as de

pytestmark = pytest.mark.stc3


def test_every_file_loads(stc3: Path) -> None:
    sizes = {"train_data_en": 1672, "train_data_cn": 3700, "test_data_en": 390, "test_data_cn": 390}
    for name, size in sizes.items():
        collection = de.load(stc3 / f"{name}.json")
        assert len(collection) == size
        assert len(collection.annotators) == (19 if "train" in name else 0)


@pytest.mark.parametrize(
    ("name", "posts", "post_length", "turn_length"),
    [
        ("train_data_en", 4.522, 31.986, 34.964),
        # The papers print 30.890; the file gives 30.8906.
        ("test_data_en", 4.877, 30.891, 33.478),
        ("test_data_cn", 4.877, 47.988, 52.008),
    ],
)
def test_the_papers_statistics(stc3: Path, cli, name, posts, post_length, turn_length) -> None:
    stats = cli("stats", stc3 / f"{name}.json", "--json").json
    assert round(stats["posts_per_dialogue"], 3) == posts
    assert round(stats["post_length"], 3) == post_length
    assert round(stats["turn_length"], 3) == turn_length


@pytest.mark.parametrize("model", ["uniform", "popularity"])
def test_baselines_agree_with_the_reference(stc3: Path, cli, tmp_path: Path, model: str) -> None:
    gold, run = stc3 / "train_data_en.json", tmp_path / "run.json"
    assert cli("predict", "--model", model, "--data", gold, "--out", run).status == 0
    found = cli("evaluate", run, "--gold", gold, "--json").json
    expected = reference.mean_scores(json.loads(gold.read_text()), json.loads(run.read_text()))
    for column, value in expected.items():
        criterion, measure = column.split(".")
        by_measure = found.get(criterion) or {
            m: found["quality"][m][criterion] for m in found["quality"]
        }
        assert by_measure[measure] == pytest.approx(value, abs=1e-12)
