"""Organisers and participants through the API: everything a task goes through."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import msgspec
import numpy as np
import pytest
import servers
from servers import Api, House, gold, run_between, run_bytes

import dialeval as de
from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.decode_run import parse_run
from dialeval.server.services.leaderboard import Entry, ranked_by

COLUMNS = ["A.rsnod", "A.nmd", "S.rsnod", "S.nmd", "E.rsnod", "E.nmd", "nugget.jsd", "nugget.rnss"]
DEVELOPMENT = {"closes_at": "2026-03-10T00:00:00Z"}
FINAL = {"opens_at": "2026-03-10T00:00:00Z", "closes_at": "2026-03-20T00:00:00Z"}
TWO_PHASES = {"development": DEVELOPMENT, "final": FINAL}


def export(organiser: Api, task: str) -> zipfile.ZipFile:
    answer = organiser.call("GET", f"/tasks/{task}/export")
    assert answer.status_code == 200
    return zipfile.ZipFile(io.BytesIO(answer.content))


def half_of(organiser: Api, task: str, language: str = "en") -> list[str]:
    return json.loads(export(organiser, task).read(f"data/{language}-half.json"))


def reference(run: bytes, collection: Collection, ids: list[str] | None = None) -> dict[str, float]:
    """The scores of a run on some dialogues, by the library and no part of the server."""
    chosen = [id for id in collection.ids if ids is None or id in ids]
    records = [r for r in json.loads(run) if r["id"] in chosen]
    part = collection.select([collection.index[id] for id in chosen])
    parsed = parse_run(json.dumps(records).encode(), part.rubric, "run", format="json")
    return {column: round(score, 4) for column, score in de.evaluate(parsed, part).mean.items()}


def history(team: Api, task: str) -> list[Any]:
    return team.ok("GET", f"/tasks/{task}/submissions")["submissions"]


def names_on(board: Any) -> list[str]:
    return [entry["run"] for entry in board["entries"]]


# Scores


@pytest.mark.parametrize("model", ["uniform", "popularity"])
def test_development_scores_half_and_final_all(house: House, model: str) -> None:
    task = servers.make_task(house.organiser, phases=TWO_PHASES)
    team = house.team("A")
    half = half_of(house.organiser, task)
    sent = team.submit(task, run_bytes(model))
    assert sent["phase"] == "development"
    assert sent["scores"] == reference(run_bytes(model), gold(), half)
    assert sent["scores"] != reference(run_bytes(model), gold())
    house.clock.at("2026-03-10T00:00:00+00:00")
    sent = team.submit(task, run_bytes(model))
    assert sent["phase"] == "final"
    assert sent["scores"] == reference(run_bytes(model), gold())
    assert [*sent["scores"]] == COLUMNS


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_the_half_is_half_of_every_number_of_turns(house: House, seed: int | None) -> None:
    collection = gold().select([*range(29)])  # five of each, but four of the longest
    task = servers.make_task(house.organiser, collections={"en": collection}, seed=seed)
    half = half_of(house.organiser, task)
    assert len(set(half)) == len(half)
    assert abs(len(half) - len(collection) / 2) <= 1
    for turns in np.unique(collection.lengths):
        same = {d.id for d in collection.dialogues if len(d.turns) == turns}
        assert abs(len(same & set(half)) - len(same) / 2) <= 0.5, turns


def test_a_seed_decides_the_half_and_chance_does_without(house: House) -> None:
    halves = [
        half_of(house.organiser, servers.make_task(house.organiser, f"t{i}", seed=seed))
        for i, seed in enumerate([7, 7, 8, None, None])
    ]
    assert halves[0] == halves[1]
    assert len({tuple(half) for half in halves}) == 4


def test_scores_are_shown_to_four_decimals_everywhere(house: House) -> None:
    task = servers.make_task(house.organiser)
    team = house.team("A")
    sent = team.submit(task, run_between(1 / 3))
    seen = [sent["scores"], history(team, task)[0]["scores"]]
    seen += [team.ok("GET", f"/submissions/{sent['id']}")["scores"]]
    seen += [entry["scores"] for entry in house.anyone.board(task)["entries"]]
    seen += [house.organiser.ok("GET", f"/submissions/{sent['id']}")["scores"]]
    assert all(scores == sent["scores"] for scores in seen)
    assert all(value == round(value, 4) for value in sent["scores"].values())


# Creating a task


def test_a_task_step_by_step(house: House) -> None:
    organiser, anyone = house.organiser, house.anyone
    made = organiser.ok("POST", "/tasks", json={"slug": "dq", "title": "Dialogue  quality"})
    assert (made["title"], made["visible"], made["languages"]) == ("Dialogue quality", False, [])
    assert made["best_by"] == COLUMNS[0]
    organiser.refused(409, "POST", "/tasks", json={"slug": "dq"})
    detail = organiser.refused(422, "PATCH", "/tasks/dq", json={"visible": True})["detail"]
    assert "needs data and a phase" in detail
    anyone.refused(404, "GET", "/tasks/dq")
    assert anyone.ok("GET", "/tasks") == []
    assert [task["slug"] for task in organiser.ok("GET", "/tasks")] == ["dq"]
    put = organiser.ok(
        "PUT", "/tasks/dq/collections/english", content=servers.collection_bytes(gold())
    )
    assert put == {"language": "en", "dialogues": 30}
    phase = {"opens_at": "2026-03-01T00:00:00+09:00", "daily": 3, "total": 7}
    phase = organiser.ok("PUT", "/tasks/dq/phases/development", json=phase)
    assert phase["opens_at"] == "2026-02-28T15:00:00Z"
    assert (phase["daily"], phase["total"], phase["open"]) == (3, 7, True)
    rules = {"visible": True, "rule": "chosen", "entries": 2, "best_by": "nugget.jsd"}
    organiser.ok("PATCH", "/tasks/dq", json={**rules, "time_zone": "Asia/Tokyo"})
    seen = anyone.ok("GET", "/tasks/dq")
    assert {name: seen[name] for name in rules} == rules
    assert seen["time_zone"] == "Asia/Tokyo"
    assert [task["slug"] for task in anyone.ok("GET", "/tasks")] == ["dq"]
    assert anyone.ok("GET", "/tasks/dq/rubric")["name"] == "helpdesk"
    actions = [event["action"] for event in organiser.ok("GET", "/tasks/dq/events")]
    assert actions == ["change the task", "set a phase", "set the data", "create the task"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"time_zone": "Mars/Olympus"}, "time zone"),
        ({"best_by": "A.nothing"}, "measure"),
        ({"entries": 0}, "entries"),
        ({"title": "\u200b"}, "title"),
        ({"surprise": 1}, "surprise"),
        ({"rule": "first"}, "rule"),
    ],
)
def test_rules_that_make_no_sense_are_refused(
    house: House, change: dict[str, Any], says: str
) -> None:
    task = servers.make_task(house.organiser)
    assert says in house.organiser.refused(422, "PATCH", f"/tasks/{task}", json=change)["detail"]
    assert (
        says
        in house.organiser.refused(422, "POST", "/tasks", json={"slug": "other", **change})[
            "detail"
        ]
    )
    house.organiser.refused(404, "GET", "/tasks/other")


@pytest.mark.parametrize(
    "phase",
    [
        {"opens_at": "2026-03-05T00:00:00Z"},
        {"opens_at": "2026-04-01T00:00:00Z", "closes_at": "2026-04-01T00:00:00Z"},
        {"opens_at": "2026-04-01T00:00:00"},
        {"opens_at": "2026-04-01T00:00:00Z", "daily": 0},
        {"opens_at": "2026-04-01T00:00:00Z", "visibility": "some"},
        {"opens_at": "9999-04-01T00:00:00Z"},
        {},
    ],
)
def test_phases_that_make_no_sense_are_refused(house: House, phase: dict[str, Any]) -> None:
    task = servers.make_task(house.organiser, phases={"development": DEVELOPMENT})
    house.organiser.refused(422, "PUT", f"/tasks/{task}/phases/final", json=phase)
    assert len(house.anyone.ok("GET", f"/tasks/{task}")["phases"]) == 1


@pytest.mark.parametrize("form", ["json", "jsonl", "json.gz", "jsonl.gz", "members"])
def test_files_in_every_form(house: House, form: str) -> None:
    """Collections and runs, as JSON or JSON lines, gzipped or not; gzip may have members."""

    def as_form(content: bytes) -> bytes:
        records = [json.dumps(record).encode() + b"\n" for record in json.loads(content)]
        if form == "members":
            return b"".join(servers.zipped(record) for record in records)
        plain = b"".join(records) if "jsonl" in form else content
        return servers.zipped(plain) if form.endswith(".gz") else plain

    house.organiser.ok("POST", "/tasks", json={"slug": "t"})
    content = as_form(servers.collection_bytes(gold()))
    put = house.organiser.ok("PUT", "/tasks/t/collections/en", content=content)
    assert put["dialogues"] == 30
    opens = {"opens_at": servers.EARLY}
    house.organiser.ok("PUT", "/tasks/t/phases/final", json=opens)
    house.organiser.ok("PATCH", "/tasks/t", json={"visible": True})
    sent = house.team("A").submit("t", as_form(run_bytes()))
    assert sent["scores"] == reference(run_bytes(), gold())
    with export(house.organiser, "t") as archive:
        kept = archive.read("data/en.jsonl")
    parsed = parse_collection(kept, gold().rubric, "kept", format="jsonl")
    for criterion in gold().rubric.criteria:
        assert np.array_equal(parsed.votes[criterion.id], gold().votes[criterion.id])


def test_a_collection_needs_votes_and_four_dialogues(house: House) -> None:
    house.organiser.ok("POST", "/tasks", json={"slug": "t"})
    path = "/tasks/t/collections/en"
    bare = json.loads(servers.collection_bytes(gold()))
    del bare[3]["annotations"]
    refused = house.organiser.refused(422, "PUT", path, content=json.dumps(bare).encode())
    assert refused["code"] == "bad-file"
    three = servers.collection_bytes(gold().select([0, 1, 2]))
    assert "at least 4" in house.organiser.refused(422, "PUT", path, content=three)["detail"]
    house.organiser.refused(422, "PUT", "/tasks/t/collections/e n", content=three)
    assert house.organiser.ok("GET", "/tasks/t")["languages"] == []


def test_participants_get_the_dialogues_without_votes(house: House) -> None:
    records = json.loads(servers.collection_bytes(gold()))
    for record in records:
        record["secret"] = "the annotators quarrelled"
    task = servers.make_task(house.organiser)
    house.organiser.ok("POST", "/tasks", json={"slug": "with-more"})
    house.organiser.ok(
        "PUT", "/tasks/with-more/collections/en", content=json.dumps(records).encode()
    )
    house.anyone.refused(401, "GET", f"/tasks/{task}/data/en")
    answer = house.team("A").call("GET", f"/tasks/{task}/data/en")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["id"] for line in lines] == [*gold().ids]
    assert all(line.keys() == {"id", "turns"} for line in lines)
    answer = house.organiser.call("GET", "/tasks/with-more/data/en")
    assert "quarrelled" not in answer.text
    collection = parse_collection(answer.content, gold().rubric, "data", format="jsonl")
    assert [d.turns for d in collection.dialogues] == [d.turns for d in gold().dialogues]


# Phases and quotas


def test_phases_open_and_close(house: House) -> None:
    task = servers.make_task(
        house.organiser,
        phases={
            "development": {"opens_at": "2026-03-03T00:00:00Z", **DEVELOPMENT},
            "final": {**FINAL, "opens_at": "2026-03-12T00:00:00Z"},
        },
    )
    team = house.team("A")
    path = f"/tasks/{task}/submissions?language=en"
    refused = team.refused(409, "POST", path, content=run_bytes())
    assert (refused["code"], "2026-03-03 00:00" in refused["detail"]) == ("phase-closed", True)
    team.refused(409, "GET", f"/tasks/{task}/quota")
    house.clock.at("2026-03-03T00:00:00+00:00")
    assert team.submit(task, run_bytes())["phase"] == "development"
    house.clock.at("2026-03-11T00:00:00+00:00")
    assert "final" in team.refused(409, "POST", path, content=run_bytes())["detail"]
    house.organiser.refused(409, "POST", f"/tasks/{task}/phases/development/close")
    house.clock.at("2026-03-12T00:00:00+00:00")
    assert team.submit(task, run_bytes())["phase"] == "final"
    closed = house.organiser.ok("POST", f"/tasks/{task}/phases/final/close")
    assert closed["open"] is False
    assert "no phase" in team.refused(409, "POST", path, content=run_bytes())["detail"]
    house.organiser.refused(422, "POST", f"/tasks/{task}/phases/nothing/close")


def test_quotas_by_day_and_in_all(house: House) -> None:
    phases = {"development": {**DEVELOPMENT, "daily": 2, "total": 3}, "final": FINAL}
    task = servers.make_task(house.organiser, phases=phases)
    team, other = house.team("A"), house.team("B")
    path = f"/tasks/{task}/submissions?language=en"

    def left() -> tuple[int, int, int]:
        quota = team.ok("GET", f"/tasks/{task}/quota")
        return quota["used_today"], quota["used"], quota["left"]

    assert left() == (0, 0, 2)
    team.submit(task, run_bytes())
    assert left() == (1, 1, 1)
    team.submit(task, run_bytes())
    answer = team.call("POST", path, content=run_bytes())
    assert answer.status_code == 429
    refused = servers.problem(answer)
    assert (refused["code"], refused["daily"], refused["used"]) == ("quota", 2, 2)
    assert answer.headers["retry-after"] == str(12 * 3600)  # it is noon
    other.submit(task, run_bytes())
    house.clock.move(hours=12)
    assert left() == (0, 2, 1)
    team.submit(task, run_bytes())
    house.clock.move(days=1)
    assert left() == (0, 3, 0)
    answer = team.call("POST", path, content=run_bytes())
    assert (answer.status_code, "all 3" in answer.text) == (429, True)
    assert "retry-after" not in answer.headers  # waiting does not help
    house.clock.at("2026-03-10T00:00:00+00:00")
    assert left() == (0, 0, 1000)  # the final phase has its own
    team.submit(task, run_bytes())


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("Asia/Tokyo", "2026-03-02T14:59:59+00:00", "2026-03-02T15:00:00+00:00"),
        ("America/Los_Angeles", "2026-03-02T07:59:59+00:00", "2026-03-02T08:00:00+00:00"),
        # clocks go forward on 8 March at 2 am: that day has 23 hours
        ("America/Los_Angeles", "2026-03-09T06:59:59+00:00", "2026-03-09T07:00:00+00:00"),
        ("UTC", "2026-03-02T23:59:59.999999+00:00", "2026-03-03T00:00:00+00:00"),
    ],
)
def test_days_change_in_the_time_zone_of_the_task(
    house: House, zone: str, before: str, after: str
) -> None:
    phases = {"development": {"daily": 1}}
    task = servers.make_task(house.organiser, phases=phases, time_zone=zone)
    team = house.team("A")
    house.clock.at(before)
    team.submit(task, run_bytes())
    answer = team.send(task, run_bytes())
    assert answer.status_code == 429
    assert zone in answer.json()["detail"]
    assert answer.headers["retry-after"] == "1"
    house.clock.at(after)
    team.submit(task, run_bytes())
    assert team.send(task, run_bytes()).status_code == 429


BAD_FILES = {
    "no JSON": (b"hello", "", "not JSON"),
    "no array": (b'"x"', "line 1", "a string"),
    "empty": (b"", "", "nothing"),
}


@pytest.mark.parametrize("kind", [*BAD_FILES, "negative", "label", "missing", "twice", "unknown"])
def test_a_refused_file_costs_nothing_and_is_told_where(house: House, kind: str) -> None:
    task = servers.make_task(house.organiser, phases={"development": {"daily": 1, "total": 1}})
    team = house.team("A")
    records = json.loads(run_bytes())
    if kind in BAD_FILES:
        content, place, found = BAD_FILES[kind]
    elif kind == "negative":
        records[12]["quality"]["A"]["2"] = -1
        place, found = "[12].quality.A", "-1"
    elif kind == "label":
        records[3]["quality"]["S"]["good"] = 0.5
        place, found = "[3].quality.S", "good"
    elif kind == "missing":
        del records[5]
        place, found = "", ""
    elif kind == "twice":
        records.append(records[0])
        place, found = "[30]", ""
    else:
        records.append({**records[0], "id": "en-99"})
        place, found = "", "en-99"
    if kind not in BAD_FILES:
        content = json.dumps(records).encode()
    answer = team.send(task, content)
    assert answer.status_code == 422, answer.text
    document = servers.problem(answer)
    assert document["code"] == "bad-file"
    assert document["place"].startswith(place), document
    assert found in document["found"], document
    assert document["expected"]
    assert document["detail"].endswith(f"expected {document['expected']}")
    assert team.ok("GET", f"/tasks/{task}/quota")["left"] == 1
    assert history(team, task) == []
    team.submit(task, run_bytes())


def test_other_refusals_cost_nothing(house: House) -> None:
    task = servers.make_task(house.organiser, phases={"development": {"daily": 1, "total": 1}})
    team = house.team("A")
    assert team.send(task, run_bytes(), language="fr").status_code == 422
    assert team.send(task, run_bytes(), name="\u202e").status_code == 422
    assert team.send(task, run_bytes(), name="x" * 61).status_code == 422
    assert team.send("nothing", run_bytes()).status_code == 404
    assert team.send(task, servers.zipped(run_bytes())[:-9]).status_code == 422
    assert team.ok("GET", f"/tasks/{task}/quota")["used"] == 0


# Idempotency


def test_a_repeated_request_counts_once(house: House) -> None:
    task = servers.make_task(house.organiser, phases={"development": {"daily": 2, "total": 2}})
    other_task = servers.make_task(house.organiser, "other")
    team, other = house.team("A"), house.team("B")
    first = team.send(task, run_bytes(), key="one")
    again = team.send(task, run_bytes(), key="one")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert team.ok("GET", f"/tasks/{task}/quota")["used"] == 1
    for answer in (
        team.send(task, run_bytes("popularity"), key="one"),
        team.send(other_task, run_bytes(), key="one"),
    ):
        assert answer.status_code == 409
        assert servers.problem(answer)["code"] == "conflict"
    assert other.send(task, run_bytes(), key="one").status_code == 201  # keys are a team's own
    assert team.send(task, run_bytes()).status_code == 201
    assert team.send(task, run_bytes()).status_code == 429
    assert team.send(task, run_bytes(), key="one").status_code == 200  # also with no quota left
    house.clock.move(days=400)
    assert team.send(task, servers.zipped(run_bytes()), key="one").status_code == 200
    headers = {"idempotency-key": ""}
    path = f"/tasks/{task}/submissions?language=en"
    assert team.call("POST", path, content=run_bytes(), headers=headers).status_code == 422


def test_a_refused_file_leaves_its_key_free(house: House) -> None:
    task = servers.make_task(house.organiser)
    team = house.team("A")
    assert team.send(task, b"[]", key="one").status_code == 422
    assert team.send(task, run_bytes(), key="one").status_code == 201


# What counts


def counting(team: Api, task: str) -> set[str]:
    return {s["name"] for s in history(team, task) if s["counting"]}


def submit_named(team: Api, task: str, **weights: float) -> dict[str, str]:
    """Runs by name; a smaller weight is a better run."""
    return {
        name: team.submit(task, run_between(weight), name=name)["id"]
        for name, weight in weights.items()
    }


def test_best_counts_by_the_measure(house: House) -> None:
    task = servers.make_task(house.organiser, rule="best", best_by="A.nmd")
    team = house.team("A")
    ids = submit_named(team, task, bad=0.9, best=0.1, good=0.2, same=0.1)
    assert counting(team, task) == {"best"}  # the earlier of two equal ones
    board = house.anyone.board(task)
    assert names_on(board) == ["A"]
    assert board["entries"][0]["scores"] == history(team, task)[2]["scores"]
    house.organiser.ok("PATCH", f"/tasks/{task}", json={"entries": 3})
    assert counting(team, task) == {"best", "same", "good"}
    assert names_on(house.anyone.board(task)) == ["A best", "A same", "A good"]
    team.ok("POST", f"/submissions/{ids['best']}/withdraw")
    assert counting(team, task) == {"same", "good", "bad"}


def test_last_counts(house: House) -> None:
    task = servers.make_task(house.organiser, rule="last", entries=2)
    team = house.team("A")
    ids = submit_named(team, task, one=0.1, two=0.2, three=0.3)
    assert counting(team, task) == {"two", "three"}
    team.ok("PATCH", f"/submissions/{ids['three']}", json={"listed": False})
    assert counting(team, task) == {"one", "two"}
    team.ok("PATCH", f"/submissions/{ids['three']}", json={"listed": True})
    assert counting(team, task) == {"two", "three"}


def test_the_team_chooses(house: House) -> None:
    task = servers.make_task(house.organiser, rule="chosen", entries=1)
    team = house.team("A")
    ids = submit_named(team, task, one=0.1, two=0.2, three=0.3)
    assert counting(team, task) == {"three"}  # the newest, until something is chosen
    team.ok("PATCH", f"/submissions/{ids['one']}", json={"chosen": True})
    assert counting(team, task) == {"one"}
    team.ok("PATCH", f"/submissions/{ids['two']}", json={"chosen": True})
    assert counting(team, task) == {"two"}
    assert [s["name"] for s in history(team, task) if s["chosen"]] == ["two"]
    team.ok("PATCH", f"/submissions/{ids['two']}", json={"chosen": False})
    assert counting(team, task) == {"three"}
    team.ok("PATCH", f"/submissions/{ids['one']}", json={"chosen": True})
    team.ok("POST", f"/submissions/{ids['one']}/withdraw")
    assert counting(team, task) == {"three"}
    house.organiser.ok("PATCH", f"/tasks/{task}", json={"entries": 2})
    for name in ("two", "three"):
        team.ok("PATCH", f"/submissions/{ids[name]}", json={"chosen": True})
    assert counting(team, task) == {"two", "three"}
    assert sorted(names_on(house.anyone.board(task))) == ["A three", "A two"]


def test_what_counts_is_kept_apart_by_team_phase_and_language(house: House) -> None:
    collections = {"en": gold(), "zh": gold("zh")}
    task = servers.make_task(house.organiser, collections=collections, phases=TWO_PHASES)
    for name in "AB":
        team = house.team(name)
        team.submit(task, run_bytes())
        team.submit(task, run_bytes("popularity", "zh"), language="chinese")
    house.clock.at("2026-03-11T00:00:00+00:00")
    team.submit(task, run_bytes("popularity"))
    assert len(counting_rows(house.organiser, task)) == 5
    assert names_on(house.anyone.board(task)) == ["B"]
    assert names_on(house.anyone.board(task, phase="development")) == ["A", "B"]
    assert names_on(house.anyone.board(task, phase="development", language="zh")) == ["A", "B"]
    assert names_on(house.anyone.board(task, phase="final", language="zh")) == []


def counting_rows(organiser: Api, task: str) -> list[Any]:
    return [s for s in history(organiser, task) if s["counting"]]


def test_a_run_kept_off_the_leaderboard(house: House) -> None:
    task = servers.make_task(house.organiser)
    team = house.team("A")
    sent = team.submit(task, run_bytes(), leaderboard="false")
    assert (sent["listed"], sent["counting"]) == (False, False)
    assert sent["scores"]
    assert names_on(house.anyone.board(task)) == []
    assert names_on(house.organiser.board(task)) == []
    refused = team.refused(409, "PATCH", f"/submissions/{sent['id']}", json={"chosen": True})
    assert "not listed" in refused["detail"]
    team.ok("PATCH", f"/submissions/{sent['id']}", json={"listed": True})
    assert names_on(house.anyone.board(task)) == ["A"]
    assert team.ok("GET", f"/tasks/{task}/quota")["used"] == 1


def test_withdrawing(house: House) -> None:
    task = servers.make_task(house.organiser)
    team = house.team("A")
    ids = submit_named(team, task, one=0.1, two=0.2)
    gone = team.ok("POST", f"/submissions/{ids['one']}/withdraw")
    assert (gone["status"], gone["counting"]) == ("withdrawn", False)
    assert counting(team, task) == {"two"}
    team.refused(409, "POST", f"/submissions/{ids['one']}/withdraw")
    team.refused(409, "PATCH", f"/submissions/{ids['one']}", json={"listed": True})
    house.organiser.refused(409, "POST", f"/submissions/{ids['one']}/reinstate")
    assert team.ok("GET", f"/tasks/{task}/quota")["used"] == 2


def test_disqualifying_and_reinstating(house: House) -> None:
    task = servers.make_task(house.organiser)
    team = house.team("A")
    ids = submit_named(team, task, one=0.1, two=0.2)
    path = f"/submissions/{ids['one']}"
    house.organiser.refused(422, "POST", f"{path}/disqualify", json={"reason": " "})
    house.organiser.refused(422, "POST", f"{path}/disqualify", json={})
    house.organiser.ok("POST", f"{path}/disqualify", json={"reason": "trained on the test set"})
    seen = team.ok("GET", path)
    assert (seen["status"], seen["reason"]) == ("disqualified", "trained on the test set")
    assert counting(team, task) == {"two"}
    team.refused(409, "POST", f"{path}/withdraw")
    house.organiser.ok("POST", f"{path}/reinstate")
    seen = team.ok("GET", path)
    assert (seen["status"], seen["reason"]) == ("scored", "")
    assert counting(team, task) == {"one"}
    house.organiser.refused(409, "POST", f"{path}/reinstate")
    details = [event["detail"] for event in house.organiser.ok("GET", f"/tasks/{task}/events")]
    assert "A one: disqualified (trained on the test set)" in details


# Rescoring


def mended(collection: Collection) -> bytes:
    """The same dialogues, with every vote on A one step up."""
    records = json.loads(servers.collection_bytes(collection))
    for record in records:
        for annotation in record["annotations"]:
            annotation["quality"]["A"] = min(2, annotation["quality"]["A"] + 1)
    return json.dumps(records).encode()


def test_rescoring_after_votes_were_mended(house: House) -> None:
    task = servers.make_task(house.organiser, phases=TWO_PHASES)
    team = house.team("A")
    half = half_of(house.organiser, task)
    sent = team.submit(task, run_bytes("popularity"))
    assert house.organiser.ok("POST", f"/tasks/{task}/rescore") == {"submissions": 1, "changed": 0}
    house.clock.at("2026-03-11T00:00:00+00:00")
    final = team.submit(task, run_bytes("popularity"))
    content = mended(gold())
    house.organiser.ok("PUT", f"/tasks/{task}/collections/en", content=content)
    assert half_of(house.organiser, task) == half  # the half stays as it is
    assert team.ok("GET", f"/submissions/{sent['id']}")["scores"] == sent["scores"]
    assert house.organiser.ok("POST", f"/tasks/{task}/rescore") == {"submissions": 2, "changed": 2}
    new = parse_collection(content, gold().rubric, "new", format="json")
    scores = team.ok("GET", f"/submissions/{sent['id']}")["scores"]
    assert scores == reference(run_bytes("popularity"), new, half)
    assert scores["A.nmd"] != sent["scores"]["A.nmd"]
    assert scores["S.nmd"] == sent["scores"]["S.nmd"]
    scores = team.ok("GET", f"/submissions/{final['id']}")["scores"]
    assert scores == reference(run_bytes("popularity"), new)
    assert house.anyone.board(task)["entries"][0]["scores"] == scores


def test_rescoring_changes_what_counts(house: House) -> None:
    """Runs that are right about the first dialogue only, before and after its votes are turned."""
    task = servers.make_task(house.organiser, phases={"final": {}}, best_by="A.nmd")
    team = house.team("A")
    high, low = (json.loads(run_bytes()) for _ in range(2))
    for run, label in ((high, "2"), (low, "-2")):
        for record in run:
            record["quality"]["A"] = dict.fromkeys(record["quality"]["A"], 0) | {label: 1}
    for name, run in (("high", high), ("low", low)):
        team.submit(task, json.dumps(run).encode(), name=name)
    records = json.loads(servers.collection_bytes(gold()))
    for vote, name in ((2, "high"), (-2, "low"), (2, "high")):
        for record in records:
            for annotation in record["annotations"]:
                annotation["quality"]["A"] = vote
        content = json.dumps(records).encode()
        house.organiser.ok("PUT", f"/tasks/{task}/collections/en", content=content)
        house.organiser.ok("POST", f"/tasks/{task}/rescore")
        assert counting(team, task) == {name}


def test_other_dialogues_cannot_replace_those_of_a_task(house: House) -> None:
    task = servers.make_task(house.organiser)
    path = f"/tasks/{task}/collections/en"
    for other in (gold().select([*range(29)]), gold("zh")):
        content = servers.collection_bytes(other)
        assert house.organiser.refused(409, "PUT", path, content=content)["code"] == "conflict"
    records = json.loads(servers.collection_bytes(gold()))
    records[0]["turns"][0]["utterances"] = ["something else"]
    house.organiser.refused(409, "PUT", path, content=json.dumps(records).encode())


def test_a_run_scored_while_the_votes_change_is_scored_by_the_new_ones(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dialeval.server.services import submissions

    task = servers.make_task(house.organiser, phases={"final": {}})
    team = house.team("A")
    content = mended(gold())
    scored = submissions._scored

    def and_then_replace(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(submissions, "_scored", scored)
        result = scored(*args, **options)
        house.organiser.ok("PUT", f"/tasks/{task}/collections/en", content=content)
        return result

    monkeypatch.setattr(submissions, "_scored", and_then_replace)
    sent = team.submit(task, run_bytes())
    new = parse_collection(content, gold().rubric, "new", format="json")
    assert sent["scores"] == reference(run_bytes(), new)
    assert house.organiser.ok("POST", f"/tasks/{task}/rescore")["changed"] == 0


# Leaderboards


def test_a_leaderboard_by_any_measure_and_criterion(house: House) -> None:
    task = servers.make_task(house.organiser, best_by="S.nmd")
    for name, weight in (("Best", 0), ("Worst", 1), ("Middle", 0.5)):
        house.team(name).submit(task, run_between(weight))
    board = house.anyone.board(task)
    assert (board["sort"], board["columns"], board["total"]) == ("S.nmd", COLUMNS, 3)
    for column in COLUMNS:
        board = house.anyone.board(task, sort=column)
        scores = [entry["scores"][column] for entry in board["entries"]]
        assert scores == sorted(scores)
        assert [entry["rank"] for entry in board["entries"]] == [1, 2, 3]
    board = house.anyone.board(task, criterion="nugget")
    assert board["columns"] == ["nugget.jsd", "nugget.rnss"]
    assert board["sort"] == "nugget.jsd"
    path = f"/tasks/{task}/leaderboard"
    for params in ({"sort": "x"}, {"criterion": "x"}, {"criterion": "A", "sort": "S.nmd"}):
        house.anyone.refused(422, "GET", path, params=params)
    house.anyone.refused(404, "GET", path, params={"phase": "final"})
    house.anyone.refused(422, "GET", path, params={"language": "fr"})


def test_ties_share_a_rank_and_the_next_one_is_left_out(house: House) -> None:
    task = servers.make_task(house.organiser)
    for name, weight in (("b", 0.5), ("a", 0.5), ("worst", 1), ("best", 0)):
        house.team(name).submit(task, run_between(weight))
    entries = house.anyone.board(task)["entries"]
    ranked = [(entry["rank"], entry["run"], entry["mean_rank"]) for entry in entries]
    assert ranked == [(1, "best", 1), (2, "a", 2), (2, "b", 2), (4, "worst", 4)]


def test_missing_criteria_come_last_and_without_rank() -> None:
    entries = [
        Entry("none", "none", "team", {}),
        Entry("part", "part", "team", {"S.nmd": 0.1}),
        Entry("paper", "paper", "published", {"A.nmd": 0.2}),
        Entry("whole", "whole", "team", {"A.nmd": 0.2, "S.nmd": 0.2}),
        Entry("base", "base", "baseline", {"A.nmd": 0.1, "S.nmd": 0.3}),
    ]
    ranked = ranked_by(entries, "A.nmd", ["A.nmd", "S.nmd"])
    assert [(e.run, e.rank, e.mean_rank) for e in ranked] == [
        ("base", 1, 2.0),
        ("whole", 2, 2.0),
        ("paper", None, None),
        ("none", None, None),
        ("part", None, None),
    ]
    ranked = ranked_by(entries, "S.nmd", ["A.nmd", "S.nmd"])
    assert [(e.run, e.rank) for e in ranked][:3] == [("part", 1), ("whole", 2), ("base", 3)]


def test_pages_of_leaderboards_and_submissions(house: House) -> None:
    task = servers.make_task(house.organiser)
    for i in range(7):
        house.team(f"t{i}").submit(task, run_between(i / 7))
    pages = [house.anyone.board(task, offset=offset, limit=3) for offset in (0, 3, 6, 9)]
    assert [len(page["entries"]) for page in pages] == [3, 3, 1, 0]
    assert all(page["total"] == 7 for page in pages)
    runs = [name for page in pages for name in names_on(page)]
    assert runs == [f"t{i}" for i in range(7)]
    assert [e["rank"] for page in pages for e in page["entries"]] == [*range(1, 8)]
    found = [
        house.organiser.ok(
            "GET", f"/tasks/{task}/submissions", params={"offset": offset, "limit": 4}
        )
        for offset in (0, 4)
    ]
    assert [s["team"] for page in found for s in page["submissions"]] == [
        f"t{i}" for i in reversed(range(7))
    ]
    assert all(page["total"] == 7 for page in found)
    teams = house.organiser.ok("GET", "/teams", params={"offset": 5, "limit": 10})
    assert [team["name"] for team in teams] == ["t5", "t6"]
    for params in ({"limit": 0}, {"limit": 1001}, {"offset": -1}, {"offset": 10**30}):
        house.anyone.refused(422, "GET", f"/tasks/{task}/leaderboard", params=params)


def test_who_has_a_board_already_is_told_so(house: House) -> None:
    task = servers.make_task(
        house.organiser,
        phases={
            "development": DEVELOPMENT,
            "final": {"opens_at": "2026-03-12T00:00:00Z", "closes_at": "2026-03-13T00:00:00Z"},
        },
    )
    team = house.team("A")
    path = f"/tasks/{task}/leaderboard"
    tags = [house.anyone.call("GET", path).headers["etag"]]

    def changed() -> bool:
        answer = house.anyone.call("GET", path, headers={"if-none-match": tags[-1]})
        if answer.status_code == 304:
            assert answer.content == b""
            assert answer.headers["etag"] == tags[-1]
            return False
        assert answer.status_code == 200
        tags.append(answer.headers["etag"])
        return True

    assert not changed()
    team.submit(task, run_bytes(), leaderboard="false")
    changed()
    sent = team.submit(task, run_bytes())
    assert changed()
    house.organiser.ok("POST", f"/submissions/{sent['id']}/disqualify", json={"reason": "x"})
    assert changed()
    house.organiser.ok("POST", f"/submissions/{sent['id']}/reinstate")
    assert changed()
    team.ok("PATCH", f"/submissions/{sent['id']}", json={"listed": False})
    assert changed()
    house.organiser.ok("PATCH", f"/tasks/{task}", json={"reference": True})
    assert changed()
    house.organiser.ok("POST", f"/tasks/{task}/rescore")
    assert changed()
    assert not changed()
    house.clock.at("2026-03-11T00:00:00+00:00")  # between the phases
    assert changed()
    house.clock.at("2026-03-14T00:00:00+00:00")  # after both
    assert changed()
    assert not changed()
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize("visibility", ["public", "team", "hidden"])
def test_who_sees_scores(house: House, visibility: str) -> None:
    phases = {"final": {"visibility": visibility}}
    task = servers.make_task(house.organiser, phases=phases, reference=True)
    team, other = house.team("A"), house.team("B")
    worse = team.submit(task, run_bytes())
    sent = team.submit(task, run_bytes("popularity"))
    other.submit(task, run_bytes())
    own = [sent, *history(team, task), team.ok("GET", f"/submissions/{sent['id']}")]
    own += [team.send(task, run_bytes(), key="k").json(), team.send(task, run_bytes()).json()]
    own += [team.ok("PATCH", f"/submissions/{worse['id']}", json={"listed": True})]
    if visibility == "hidden":
        assert all(s["scores"] is None for s in own)
        assert all(s["counting"] is None for s in own)  # it would say which run is the best
    else:
        assert all(s["scores"] for s in own)
    seen = house.organiser.ok("GET", f"/submissions/{sent['id']}")
    assert (seen["scores"], seen["counting"]) == (reference(run_bytes("popularity"), gold()), True)
    assert names_on(house.organiser.board(task))[:2] != []
    for api in (house.anyone, team, other):
        board = api.board(task)
        assert board["closed"] == (visibility != "public")
        teams = [e["run"] for e in board["entries"] if e["kind"] == "team"]
        assert teams == (["A", "B"] if visibility == "public" else [])
        assert (board["total"] > 0) == (visibility == "public")
    if visibility != "hidden":
        return
    house.organiser.ok("POST", f"/tasks/{task}/publish")
    for api in (house.anyone, team):
        board = api.board(task)
        assert board["official"]
        assert [e["run"] for e in board["entries"] if e["kind"] == "team"] == ["A", "B"]


def test_what_counts_is_told_where_it_says_nothing_of_hidden_scores(house: House) -> None:
    phases = {"final": {"visibility": "hidden"}}
    task = servers.make_task(house.organiser, phases=phases, rule="last")
    team = house.team("A")
    sent = [team.submit(task, run_bytes()) for _ in range(2)]
    assert [s["scores"] for s in sent] == [None, None]
    assert [s["counting"] for s in history(team, task)] == [True, False]


def test_baselines_and_published_rows(house: House) -> None:
    task = servers.make_task(house.organiser, phases=TWO_PHASES, reference=True)
    team = house.team("A")
    path = f"/tasks/{task}/baselines"
    params = {"name": "Uniform", "language": "en"}
    house.organiser.ok("POST", path, content=run_bytes(), params=params)
    team.submit(task, run_bytes("popularity"))
    for phase in ("development", "final"):
        board = house.anyone.board(task, phase=phase)
        kinds = {e["run"]: e["kind"] for e in board["entries"]}
        assert kinds.pop("Uniform") == "baseline"
        published = [e for e in board["entries"] if e["kind"] == "published"]
        assert published
        assert all(e["rank"] is None and e["submitted_at"] is None for e in published)
        scores = [e["scores"].get(board["sort"], 9) for e in board["entries"]]
        assert scores == sorted(scores)
    half = half_of(house.organiser, task)
    scores = {
        phase: next(
            e["scores"]
            for e in house.anyone.board(task, phase=phase)["entries"]
            if e["run"] == "Uniform"
        )
        for phase in ("development", "final")
    }
    assert scores["development"] == reference(run_bytes(), gold(), half)
    assert scores["final"] == reference(run_bytes(), gold())
    refused = house.organiser.refused(
        409, "POST", path, content=run_bytes(), params={"name": "a", "language": "en"}
    )
    assert refused["code"] == "conflict"
    house.anyone.refused(409, "POST", "/teams", json={"name": "uniform"})
    house.organiser.refused(404, "POST", "/teams/Uniform/token")  # nobody signs in as a baseline
    house.organiser.ok("PATCH", f"/tasks/{task}", json={"reference": False})
    kinds = {e["kind"] for e in house.anyone.board(task)["entries"]}
    assert kinds == {"team", "baseline"}


# Results


def test_publishing_results(house: House) -> None:
    collections = {"en": gold(), "zh": gold("zh")}
    task = servers.make_task(house.organiser, collections=collections, phases=TWO_PHASES)
    a, b, c = (house.team(name) for name in "ABC")
    house.anyone.refused(404, "GET", f"/tasks/{task}/results")
    house.organiser.refused(422, "POST", f"/tasks/{task}/publish")
    c.submit(task, run_between(0.5))  # in the development phase only
    a.submit(task, run_bytes())
    params = {"name": "Uniform", "language": "en"}
    house.organiser.ok("POST", f"/tasks/{task}/baselines", content=run_bytes(), params=params)
    house.clock.at("2026-03-11T00:00:00+00:00")
    a.submit(task, run_bytes("popularity"))
    out = b.submit(task, run_bytes("popularity"))
    b.submit(task, run_between(0.1), leaderboard="false")
    made = house.organiser.ok("POST", f"/tasks/{task}/publish", params={"seed": 3})
    assert made["boards"].keys() == {"en"}  # no runs in Chinese
    rows = {row["run"]: row for row in made["boards"]["en"]}
    assert rows.keys() == {"A", "B", "C", "Uniform"}
    for name, content in {
        "A": run_bytes("popularity"),
        "B": run_bytes("popularity"),
        "C": run_between(0.5),
        "Uniform": run_bytes(),
    }.items():
        assert rows[name]["scores"] == reference(content, gold()), name
    for column in COLUMNS:
        assert rows["A"]["groups"][column] == rows["B"]["groups"][column]
        assert rows["A"]["groups"][column].isalpha()
    compared = de.compare(
        {name: parse(content) for name, content in {
            "A": run_bytes("popularity"), "Uniform": run_bytes(), "C": run_between(0.5),
            "B": run_bytes("popularity"),
        }.items()},
        gold(), trials=200, seed=3,
    )  # fmt: skip
    (contest,) = [c for c in compared.comparisons[0].contests if c.column == "A.nmd"]
    places = {name: contest.runs.index(name) for name in rows}
    differ = contest.p[places["A"], places["Uniform"]] < contest.alpha
    letters = [set(rows[name]["groups"]["A.nmd"]) for name in ("A", "Uniform")]
    assert differ
    assert not letters[0] & letters[1]
    board = house.anyone.board(task)
    assert board["official"]
    assert {e["run"]: e["groups"] for e in board["entries"]} == {
        name: row["groups"] for name, row in rows.items()
    }
    assert house.anyone.ok("GET", f"/tasks/{task}/results") == made
    assert "report.html" in made["files"]
    for path in made["files"]:
        answer = house.anyone.call("GET", f"/tasks/{task}/results/{path}")
        assert (answer.status_code, bool(answer.content)) == (200, True), path
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "script-src" not in answer.headers["content-security-policy"]
    house.anyone.refused(404, "GET", f"/tasks/{task}/results/nothing.html")
    house.organiser.ok("POST", f"/submissions/{out['id']}/disqualify", json={"reason": "copied"})
    assert "B" in names_on(house.anyone.board(task))  # until results are published again
    house.organiser.ok("POST", f"/tasks/{task}/publish")
    assert "B" not in names_on(house.anyone.board(task))


def parse(content: bytes) -> de.Run:
    return parse_run(content, gold().rubric, "run", format="json")


def test_publishing_goes_on_after_its_process_was_ended(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    from dialeval.server.services import results

    task = servers.make_task(house.organiser)
    house.team("A").submit(task, run_bytes())
    house.team("B").submit(task, run_bytes("popularity"))
    with monkeypatch.context() as patched:
        patched.setattr(results, "compare_fields", os._exit)
        pool = results._comparing()
        submit = pool.submit
        patched.setattr(pool, "submit", lambda *_: submit(os._exit, 1))
        refused = house.organiser.refused(503, "POST", f"/tasks/{task}/publish")
        assert refused["code"] == "unavailable"
    house.anyone.refused(404, "GET", f"/tasks/{task}/results")
    house.organiser.ok("POST", f"/tasks/{task}/publish")


def test_everything_in_one_file(house: House) -> None:
    task = servers.make_task(house.organiser, phases=TWO_PHASES, title="All of it")
    a = house.organiser.team("A")
    http = house.http
    team = {"name": "=1+1", "organisation": "+x", "contact": "c@example.org"}
    token = house.anyone.ok("POST", "/teams", json=team)["token"]
    b = Api(http, token, "=1+1")
    sent = [a.submit(task, run_bytes()), b.submit(task, servers.zipped(run_bytes("popularity")))]
    house.organiser.ok("POST", f"/submissions/{sent[1]['id']}/disqualify", json={"reason": "r"})
    house.organiser.ok("POST", f"/submissions/{sent[1]['id']}/reinstate")
    house.organiser.ok("POST", f"/tasks/{task}/publish")
    with export(house.organiser, task) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
        described = json.loads(archive.read("task.json"))
        rubric = json.loads(archive.read("rubric.json"))
        rows = [*csv.DictReader(io.StringIO(archive.read("submissions.csv").decode()))]
        teams = [*csv.DictReader(io.StringIO(archive.read("teams.csv").decode()))]
        events = [*csv.DictReader(io.StringIO(archive.read("events.csv").decode()))]
        files = {s["id"]: archive.read(f"submissions/{s['id']}.json") for s in sent}
    assert {"data/en.jsonl", "data/en-half.json", "results/report.html"} <= names
    assert described["title"] == "All of it"
    assert [phase["kind"] for phase in described["phases"]] == ["development", "final"]
    assert rubric == house.anyone.ok("GET", f"/tasks/{task}/rubric")
    assert [row["id"] for row in rows] == [s["id"] for s in sent]
    for row, s in zip(rows, sent, strict=True):
        assert {c: round(float(row[c]), 4) for c in COLUMNS} == s["scores"]
        assert row["sha256"] == s["sha256"]
    assert [t["name"] for t in teams] == ["A", "'=1+1"]  # no formula for a spreadsheet
    assert teams[1]["organisation"] == "'+x"
    assert [e["action"] for e in events][-1] == "publish results"
    assert files[sent[0]["id"]] == run_bytes()
    assert files[sent[1]["id"]] == run_bytes("popularity")
    assert b.call("GET", f"/submissions/{sent[1]['id']}/file").content == run_bytes("popularity")


# Teams and organisers


def test_teams(house: House) -> None:
    body = {"name": " Team   Ä ", "organisation": "O", "members": "M, N"}
    made = house.anyone.ok("POST", "/teams", json=body)
    assert made["name"] == "Team Ä"
    team = Api(house.http, made["token"])
    seen = team.ok("GET", "/team")
    assert (seen["name"], seen["information"]["members"]) == ("Team Ä", "M, N")
    for name in ("team ä", "TEAM  Ä", "Ｔｅａｍ Ä"):
        refused = house.anyone.refused(409, "POST", "/teams", json={"name": name})
        assert refused["code"] == "conflict"
    for name in ("", " ", "\u202e\u202e", "a\u200bb", "x" * 61, "!!", "a\x00b", "a\nb\x1b"):
        house.anyone.refused(422, "POST", "/teams", json={"name": name})
    new = house.organiser.ok("POST", "/teams/team ä/token")["token"]
    team.refused(401, "GET", "/team")
    assert Api(house.http, new).ok("GET", "/team")["name"] == "Team Ä"
    house.organiser.refused(404, "POST", "/teams/nobody/token")


def test_organisers(house: House) -> None:
    path = house.organiser.ok("POST", "/organisers/invitations")["path"]
    secret = path.removeprefix("/join/")
    body = {"invitation": secret, "name": "Otto", "password": "too short"}
    house.anyone.refused(422, "POST", "/organisers", json=body)
    body["password"] = servers.PASSWORD
    house.anyone.refused(409, "POST", "/organisers", json={**body, "name": "olga"})
    otto = servers.join(house.http, secret, "Otto")
    otto.ok("GET", "/teams")
    house.anyone.refused(404, "POST", "/organisers", json={**body, "name": "Third"})
    old = house.organiser.ok("POST", "/organisers/invitations")["path"]
    house.clock.move(days=7, seconds=1)
    late = {**body, "name": "Late", "invitation": old.removeprefix("/join/")}
    house.anyone.refused(404, "POST", "/organisers", json=late)
    given = {"name": "otto", "password": servers.PASSWORD}
    new = house.anyone.ok("POST", "/organisers/token", json=given)["token"]
    otto.refused(401, "GET", "/teams")
    Api(house.http, new).ok("GET", "/teams")


def test_a_rubric_of_ones_own(house: House) -> None:
    rubric = msgspec.json.decode(msgspec.json.encode(gold().rubric))
    rubric["name"] = "mine"
    rubric["criteria"] = [c for c in rubric["criteria"] if c["id"] != "E"]
    made = house.organiser.ok("POST", "/tasks", json={"slug": "own", "rubric": rubric})
    assert made["best_by"] == "A.rsnod"
    assert house.organiser.ok("GET", "/tasks/own/rubric")["name"] == "mine"
    for wrong in ("nothing", "/etc/passwd.json", {}, {"name": 1}, {"a": {"b": []}}):
        house.organiser.refused(422, "POST", "/tasks", json={"slug": "x", "rubric": wrong})
