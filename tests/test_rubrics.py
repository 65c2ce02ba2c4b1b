"""Rubrics: the built-in one, a user's own through every command, and those that are wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import reference

import dialeval as de

OWN = """
name = "meeting"
speakers = ["chair", "member", "guest"]

[[criteria]]
id = "pace"
scope = "dialogue"
kind = "ordinal"
labels = ["3", "2", "1", "0", "-1", "-2", "-3"]
measures = ["nmd", "rnod"]

[[criteria]]
id = "on-topic"
scope = "turn"
kind = "yes-no"
measures = ["rnss"]

[criteria.labels]
chair = ["yes", "no"]
member = ["yes", "no"]

[criteria.weights]
chair = 1
member = 3
"""

COLLECTION = [
    {
        "id": 17,
        "room": "blue",
        "turns": [
            {"sender": "chair", "utterances": ["Welcome"]},
            {"sender": "member", "utterances": ["Budget first"]},
            {"sender": "guest", "utterances": ["Hi"]},
            {"sender": "member", "utterances": ["Lunch?"]},
        ],
        "annotations": [
            {"annotator": "p", "quality": {"pace": 3}, "on-topic": ["yes", "yes", None, "no"]},
            {"annotator": "q", "quality": {"pace": "-3"}, "on-topic": ["no", "yes", None, "no"]},
        ],
    },
    {
        "id": "18",
        "turns": [{"sender": "chair", "utterances": ["Closed"]}],
        "annotations": [{"annotator": "q", "quality": {"pace": 0}, "on-topic": ["yes"]}],
    },
]

RUN = [
    {
        "id": "17",
        "quality": {"pace": {"3": 0.5, "0": 0.5}},
        "on-topic": [{"yes": 1}, {"yes": 0.5, "no": 0.5}, None, {"no": 1}],
    },
    {"id": "18", "quality": {"pace": {"0": 1}}, "on-topic": [{"no": 1}]},
]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "meeting.toml"
    path.write_text(OWN)
    return path


def test_own_rubric_in_every_command(cli, write, own: Path, tmp_path: Path) -> None:
    gold, run = write("gold.json", COLLECTION), write("run.json", RUN)
    rubric = ("--rubric", own)
    assert "'meeting': pace, on-topic" in cli("validate", own).out
    assert "2 dialogues, 5 turns, votes of 2" in cli("validate", gold, *rubric).out
    assert cli("validate", run, "--gold", gold, *rubric).status == 0

    found = cli("evaluate", run, "--gold", gold, *rubric, "--json").json
    labels = ("3", "2", "1", "0", "-1", "-2", "-3")
    p = reference.predicted(labels, {"3": 0.5, "0": 0.5})
    q = reference.votes(labels, [3, -3])
    assert found["quality"]["nmd"]["pace"] == pytest.approx(reference.nmd(p, q) / 2, abs=1e-12)
    assert found["quality"]["rnod"]["pace"] == pytest.approx(reference.rnod(p, q) / 2, abs=1e-12)
    # Dialogue 17: chair .5; member turns .5 and 0, weighted 1:3; guests are not judged.
    # Dialogue 18: the chair alone, 1.
    assert found["on-topic"]["rnss"] == pytest.approx(((0.5 + 3 * 0.25) / 4 + 1) / 2, abs=1e-12)

    stats = cli("stats", gold, *rubric, "--json").json
    assert stats["labels"]["on-topic"] == {"yes": 4, "no": 3}
    assert stats["turns_by_speaker"] == {"chair": 2, "member": 2, "guest": 1}
    assert stats["votes_per_dialogue"] == 1.5
    assert "on-topic" in cli("stats", gold, *rubric).out

    for model in ("uniform", "popularity"):
        out = tmp_path / f"{model}.json"
        assert cli("predict", "--model", model, "--data", gold, "--out", out, *rubric).status == 0
        assert cli("validate", out, "--gold", gold, *rubric).status == 0
        assert cli("evaluate", out, "--gold", gold, *rubric).status == 0
    predicted = json.loads((tmp_path / "uniform.json").read_text())
    assert predicted[0]["on-topic"] == [
        *[{"yes": 0.5, "no": 0.5}] * 2,
        None,
        {"yes": 0.5, "no": 0.5},
    ]
    predicted = json.loads((tmp_path / "popularity.json").read_text())
    assert predicted[0]["quality"]["pace"]["3"] == 0.5


def test_alpha_needs_two_speakers(refused, write, own: Path) -> None:
    gold, run = write("gold.json", COLLECTION), write("run.json", RUN)
    line = refused("evaluate", run, "--gold", gold, "--rubric", own, "--alpha", "0.3")
    assert "has 3" in line


@pytest.mark.parametrize("ending", ["json", "jsonl.gz", "parquet"])
def test_own_rubric_in_every_format(cli, write, own: Path, tmp_path: Path, ending: str) -> None:
    rubric = de.load_rubric(own)
    de.save(de.load(write("gold.json", COLLECTION), rubric), tmp_path / f"g.{ending}")
    de.save_run(de.load_run(write("run.json", RUN), rubric), tmp_path / f"r.{ending}")
    args = ("--rubric", own, "--json")
    first = cli("evaluate", tmp_path / "run.json", "--gold", tmp_path / "gold.json", *args)
    again = cli("evaluate", tmp_path / f"r.{ending}", "--gold", tmp_path / f"g.{ending}", *args)
    assert again.json == first.json
    back = de.load(tmp_path / f"g.{ending}", rubric)
    assert back.annotators == ("p", "q")
    assert back.dialogues[0].fields["room"] == "blue"


def test_a_rubric_may_be_json(tmp_path: Path) -> None:
    content = {
        "name": "tiny",
        "speakers": ["a"],
        "criteria": [{"id": "ok", "scope": "dialogue", "kind": "yes-no", "measures": ["jsd"]}],
    }
    (tmp_path / "tiny.json").write_text(json.dumps(content))
    rubric = de.load_rubric(tmp_path / "tiny.json")
    assert rubric.criterion("ok").columns == ("yes", "no")


def test_helpdesk_is_the_campaigns_rubric() -> None:
    rubric = de.load_rubric("helpdesk")
    for id in ("A", "S", "E"):
        criterion = rubric.criterion(id)
        assert criterion.columns == ("2", "1", "0", "-1", "-2")
        assert (criterion.scope, criterion.kind) == ("dialogue", "ordinal")
    nugget = rubric.criterion("nugget")
    assert (nugget.scope, nugget.kind) == ("turn", "nominal")
    assert nugget.labels_of("customer") == ("CNUG0", "CNUG", "CNUG*", "CNaN")
    assert nugget.labels_of("helpdesk") == ("HNUG", "HNUG*", "HNaN")
    for criterion in rubric.criteria:
        assert set(criterion.question) == set(criterion.help) == {"en", "zh"}


CONTRADICTIONS = [
    ('name = "meeting"', 'name = ""', "name", "an empty name"),
    ('speakers = ["chair", "member", "guest"]', "speakers = []", "speakers", "no speakers"),
    ('["chair", "member", "guest"]', '["chair", "chair", "guest"]', "speakers", '"chair" twice'),
    ('id = "on-topic"', 'id = "pace"', "criteria", '"pace" twice'),
    ('id = "pace"', 'id = "quality"', "criteria[0].id", '"quality"'),
    ('id = "pace"', 'id = "a.b"', "criteria[0].id", '"a.b"'),
    ('"-2", "-3"]', '"-2", "-2"]', "criteria[0].labels", '"-2" twice'),
    ('kind = "ordinal"', 'kind = "ordinary"', "criteria[0].kind", "ordinary"),
    ('scope = "turn"', 'scope = "dialogue"', "criteria[1].labels", "labels by speaker"),
    ('member = ["yes", "no"]', 'boss = ["yes", "no"]', "criteria[1].labels", '"boss"'),
    (
        'member = ["yes", "no"]',
        'member = ["yes", "no", "so"]',
        "criteria[1].labels.member",
        "3 labels",
    ),
    ('member = ["yes", "no"]', 'member = ["yes"]', "criteria[1].labels.member", "1 labels"),
    ("member = 3", "guest = 3", "criteria[1].weights", "a weight for each of chair, member"),
    ("member = 3", "member = -3", "criteria[1].weights.member", "-3"),
    ("chair = 1\nmember = 3", "chair = 0\nmember = 0", "criteria[1].weights", "only zeros"),
    ('measures = ["rnss"]', "measures = []", "criteria[1].measures", "no measures"),
    ('measures = ["rnss"]', 'measures = ["rnss"]\nmessures = 1', "criteria[1]", "messures"),
    (
        'measures = ["rnss"]',
        'measures = ["rnss"]\naliases = {ja = "oui"}',
        "criteria[1].aliases.ja",
        "oui",
    ),
    ("[[criteria]]", "[[criteria", "", "not TOML"),
]


@pytest.mark.parametrize(("old", "new", "place", "words"), CONTRADICTIONS, ids=str)
def test_a_rubric_that_contradicts_itself(
    old, new, place, words, refused, write, own: Path
) -> None:
    assert old in OWN
    own.write_text(OWN.replace(old, new, 1))
    gold, run = write("gold.json", COLLECTION), write("run.json", RUN)
    line = refused("evaluate", run, "--gold", gold, "--rubric", own)
    assert line.startswith(f"error: {own}: {place}")
    assert words in line


def test_a_measure_must_fit_its_criterion(refused, write, own: Path) -> None:
    own.write_text(OWN.replace('kind = "ordinal"', 'kind = "nominal"'))
    gold, run = write("gold.json", COLLECTION), write("run.json", RUN)
    assert "'nmd' needs labels in an order" in refused(
        "evaluate", run, "--gold", gold, "--rubric", own
    )
    assert "'nmd' needs labels in an order" in refused("validate", own)


def test_threads_may_read_their_first_rubric_together() -> None:
    """msgspec 0.22 crashes when two threads decode into a type that it does not know yet."""
    code = (
        "import sys, threading, msgspec\n"
        "from dialeval.core.rubric import load_rubric, parse_rubric\n"
        "content = sys.stdin.buffer.read()\n"
        "sys.setswitchinterval(1e-6)\n"
        "together = threading.Barrier(16)\n"
        "read = lambda: (together.wait(), parse_rubric(content, 'rubric.json'))\n"
        "threads = [threading.Thread(target=read) for _ in range(16)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
    )
    content = msgspec.json.encode(de.load_rubric("helpdesk"))
    for _ in range(5):
        subprocess.run([sys.executable, "-c", code], input=content, check=True)
