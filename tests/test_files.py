"""Collections and runs go out and come back the same, in every format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import dialeval as de
from dialeval.core.errors import DataWarning

ENDINGS = ["json", "jsonl", "json.gz", "jsonl.gz", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_collections_come_back(ending: str, tmp_path: Path) -> None:
    gold = de.sample("zh")
    de.save(gold, tmp_path / f"gold.{ending}")
    back = de.load(tmp_path / f"gold.{ending}")
    assert back.dialogues == gold.dialogues
    assert back.annotators == gold.annotators
    for id, votes in gold.votes.items():
        assert np.array_equal(back.votes[id], votes)


@pytest.mark.parametrize("ending", ENDINGS)
def test_runs_come_back(ending: str, tmp_path: Path) -> None:
    gold = de.sample("en")
    run = de.predict(gold, model="popularity")
    de.save_run(run, tmp_path / f"run.{ending}")
    back = de.load_run(tmp_path / f"run.{ending}")
    assert (back.name, back.ids, back.criteria) == ("run", run.ids, run.criteria)
    for id, prediction in run.predictions.items():
        assert np.array_equal(back.predictions[id].values, prediction.values)
    assert de.evaluate(back, gold).mean == de.evaluate(run, gold).mean


@pytest.mark.parametrize("ending", ENDINGS)
def test_partial_runs_and_votes(ending: str, write, gold_records, run_records, tmp_path) -> None:
    del run_records[0]["quality"]["S"]
    del run_records[1]["nugget"]
    run = de.load_run(write("run.json", run_records))
    de.save_run(run, tmp_path / f"again.{ending}")
    back = de.load_run(tmp_path / f"again.{ending}")
    assert back.criteria == run.criteria
    for id, prediction in run.predictions.items():
        assert np.array_equal(back.predictions[id].lengths, prediction.lengths)
    gold_records[0]["annotations"][0] = {"quality": {"E": 0}}
    del gold_records[1]["annotations"][1:]
    gold = de.load(write("gold.json", gold_records))
    de.save(gold, tmp_path / f"votes.{ending}")
    back = de.load(tmp_path / f"votes.{ending}")
    for id, votes in gold.votes.items():
        assert np.array_equal(back.votes[id], votes), id


def test_the_written_form_is_the_campaigns(tmp_path: Path) -> None:
    gold = de.sample("en")
    de.save(gold, tmp_path / "gold.json")
    record = json.loads((tmp_path / "gold.json").read_text())[0]
    assert set(record["turns"][0]) == {"sender", "utterances"}
    annotation = record["annotations"][0]
    assert set(annotation) == {"quality", "nugget"}
    assert all(isinstance(vote, int) for vote in annotation["quality"].values())
    de.save_run(de.predict(gold, model="uniform"), tmp_path / "run.json")
    record = json.loads((tmp_path / "run.json").read_text())[0]
    assert record["quality"]["A"] == dict.fromkeys(("2", "1", "0", "-1", "-2"), 0.2)
    assert record["nugget"][0] == dict.fromkeys(("CNUG0", "CNUG", "CNUG*", "CNaN"), 0.25)
    assert set(record["nugget"][1]) == {"HNUG", "HNUG*", "HNaN"}


def test_the_papers_spelling_of_labels(write, gold_records, run_records) -> None:
    plain = de.evaluate(
        de.load_run(write("r.json", run_records)), de.load(write("g.json", gold_records))
    )
    text = json.dumps([gold_records, run_records]).replace("CNaN", "CNAN").replace("HNaN", "HNAN")
    gold_records, run_records = json.loads(text)
    other = de.evaluate(
        de.load_run(write("r.json", run_records)), de.load(write("g.json", gold_records))
    )
    assert other.mean == plain.mean


def test_gzip_is_seen_by_content(write, gold_records) -> None:
    path = write("plain-name.json", gzip.compress(json.dumps(gold_records).encode()))
    assert len(de.load(path)) == 2


def test_a_byte_order_mark_is_no_harm(write, gold_records) -> None:
    assert len(de.load(write("bom.json", b"\xef\xbb\xbf" + json.dumps(gold_records).encode()))) == 2


def test_annotators_by_name_keep_their_column(write, gold_records) -> None:
    for record in gold_records:
        for a, annotation in enumerate(record["annotations"]):
            annotation["annotator"] = f"w{a}"
    gold_records[1]["annotations"].reverse()
    gold = de.load(write("gold.json", gold_records))
    assert gold.annotators == ("w0", "w1", "w2")
    columns = gold.rubric.criterion("A").columns
    assert [columns[code] for code in gold.votes["A"][1]] == ["0", "-2", "-1"]


@pytest.mark.parametrize("ending", ["json", "jsonl.gz", "parquet"])
def test_votes_of_a_second_round_stay_apart(write, gold_records, tmp_path, ending: str) -> None:
    once = de.load(write("once.json", gold_records))
    for record in gold_records:
        for a, annotation in enumerate(record["annotations"]):
            annotation["annotator"] = f"w{a}"
    second = {"annotator": "w2", "round": 2, "quality": {"A": 2}, "nugget": ["CNaN", "HNUG", None]}
    gold_records[1]["annotations"].insert(0, second)
    twice = de.load(write("twice.json", gold_records))
    assert twice.annotators == ("w0", "w1", "w2")
    for criterion in once.rubric.criteria:
        assert (once.counts(criterion) == twice.counts(criterion)).all()
    de.save(twice, tmp_path / f"again.{ending}")
    for gold in (twice, de.load(tmp_path / f"again.{ending}")):
        assert len(gold.again) == 1
        assert gold.again[0]["A"].tolist() == [[-1, -1, -1], [-1, -1, 0]]
        assert gold.again[0]["nugget"][:, 2].tolist() == [-1, -1, 3, 4, -1]
        assert gold.select([1]).again[0]["A"].tolist() == [[-1, -1, 0]]


def test_the_warning_is_the_projects_own(write, run_records) -> None:
    run_records[0]["quality"]["A"]["2"] = 0.2
    with pytest.warns(DataWarning, match="normalised 1 of 11"):
        de.load_run(write("run.json", run_records))


def test_nothing_is_half_written(write, gold_records, tmp_path: Path, monkeypatch) -> None:
    gold = de.load(write("gold.json", gold_records))
    target = tmp_path / "out" / "gold.json"
    de.save(gold, target)
    before = target.read_bytes()
    monkeypatch.setattr("dialeval.core.encode._annotations", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        de.save(gold, target)
    assert target.read_bytes() == before
    assert list(target.parent.iterdir()) == [target]
