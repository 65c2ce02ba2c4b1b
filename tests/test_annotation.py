"""The annotation workbench through its API: who gets what, what is kept, who sees what."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import servers
from annotating import (
    BRIEF,
    PANEL,
    Person,
    clicked,
    dialogues,
    exported,
    in_file,
    invite,
    make_project,
    rubric_from,
    votes_in,
    words,
)
from servers import Api, House
from sqlalchemy import func, select

import dialeval as de
from dialeval.core.decode_collection import parse_collection
from dialeval.core.rubric import built_in_rubrics
from dialeval.server.access import ANNOTATOR, API, ROUTES
from dialeval.server.annotation_tables import Assignment, Item
from dialeval.server.services.annotation import votes as votes_module
from dialeval.server.services.annotation.assignments import APART
from dialeval.server.tables import TaskCollection


@pytest.fixture(params=["sqlite", "postgres"])
def any_house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    """The application on each database."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = f"sqlite:///{tmp_path}/dialeval.sqlite"
    with servers.house(url) as found:
        yield found


def check_counts(house: House, most: int | None) -> None:
    """`taken` is the number of those who have a dialogue or judged it, and never above the plan."""
    with house.context.database.read() as session:
        held = select(func.count()).where(
            Assignment.item_id == Item.id,
            Assignment.round == 1,
            Assignment.status.in_(("open", "done")),
        )
        rows = session.execute(select(Item.taken, held.scalar_subquery()).where(~Item.practice))
        for taken, counted in rows:
            assert taken == counted
            assert most is None or taken <= most


# What is asked


def test_a_turn_is_asked_what_its_speaker_may_have(house: House) -> None:
    make_project(house, dialogues(PANEL, 3), rubric=PANEL)
    (person,) = invite(house.organiser, "project", "A")
    moves = {"host": ["asks", "steers"], "guest": ["tells", "jokes", "dodges"], "caller": []}
    for _ in range(3):
        item = person.next()
        assert item
        expected = [("mood", None, ["-3", "-2", "-1", "0", "1", "2", "3"])]
        for number, turn in enumerate(item["turns"]):
            if labels := moves[turn["sender"]]:
                expected.append(("move", number, labels))
            expected.append(("clear", number, ["yes", "no"]))
        asked = [(q["criterion"], q["turn"], q["labels"]) for q in item["questions"]]
        assert asked == expected
        person.answer(item)
        person.finish(item)
    assert person.next() is None


@pytest.mark.parametrize("name", [*built_in_rubrics(), "panel"])
def test_any_rubric(house: House, name: str) -> None:
    """From invitation to export by the rubric alone; what is derived is never asked."""
    given = PANEL if name == "panel" else name
    rubric = rubric_from(given)
    make_project(house, dialogues(given, 4, turns=2), rubric=given)
    people = invite(house.organiser, "project", count=2)
    for person in people:
        for item in person.judge_all():
            asked = {question["criterion"] for question in item["questions"]}
            assert asked <= {criterion.id for criterion in rubric.criteria}
            assert not asked & {level.id for level in getattr(rubric, "derived", ())}
    records = json.loads(exported(house.organiser, "project"))
    assert votes_in(records) == clicked(people)
    about = people[0].api.ok("GET", "/annotation")
    assert msgspec.convert(about["rubric"], type(rubric)) == rubric
    collection = parse_collection(in_file(records), rubric, "export")
    assert collection.annotators == ("A1", "A2")


# Who gets what


def test_k_of_n_is_balanced_and_exact(any_house: House) -> None:
    make_project(any_house, dialogues(BRIEF, 12, 2), rubric=BRIEF, votes=3)
    people = invite(any_house.organiser, "project", count=5)
    given: Counter[str] = Counter()
    working = [*people]
    while working:
        for person in [*working]:
            item = person.judge()
            if item is None:
                working.remove(person)
            else:
                given[words(item)] += 1
                least = min(given[f"dialogue {place}, turn 0"] for place in range(12))
                assert max(given.values()) - least <= 1
    assert [*given.values()] == [3] * 12
    for person in people:
        assert len(set(person.seen)) == len(person.seen)
    loads = [len(person.seen) for person in people]
    assert sum(loads) == 36
    assert max(loads) - min(loads) <= 2
    progress = any_house.organiser.ok("GET", "/projects/project")
    assert (progress["planned"], progress["done"], progress["complete"]) == (36, 36, 12)
    assert [p["done"] for p in progress["people"]] == loads
    check_counts(any_house, 3)


def test_everyone_judges_all(house: House) -> None:
    make_project(house, dialogues(BRIEF, 5, 2), rubric=BRIEF)
    people = invite(house.organiser, "project", count=3)
    everything = {f"dialogue {place}, turn 0" for place in range(5)}
    for number, person in enumerate(people, 1):
        assert len(person.judge_all()) == 5
        assert set(person.seen) == everything
        progress = house.organiser.ok("GET", "/projects/project")
        assert (progress["done"], progress["planned"]) == (5 * number, 15)
        assert progress["complete"] == (5 if number == 3 else 0)
    # Who comes later judges all too; who goes is not waited for.
    (late,) = invite(house.organiser, "project", "Late")
    assert house.organiser.ok("GET", "/projects/project")["planned"] == 20
    late.judge()
    house.organiser.ok("DELETE", "/projects/project/annotators/Late")
    progress = house.organiser.ok("GET", "/projects/project")
    assert (progress["done"], progress["planned"], progress["complete"]) == (16, 16, 5)


def test_the_order_is_ones_own_and_comes_from_the_seed(tmp_path: Path) -> None:
    """Other projects on the server, and what others do meanwhile, make no difference."""
    orders: dict[tuple[int, int], list[str]] = {}
    for trial, seed in ((0, 7), (1, 7), (2, 8)):
        with servers.house(f"sqlite:///{tmp_path}/{trial}.sqlite") as house:
            for number in range(trial):
                make_project(house, dialogues(BRIEF, 3, 2), f"other{number}", rubric=BRIEF)
            make_project(house, dialogues(BRIEF, 20, 2), rubric=BRIEF, seed=seed)
            people = invite(house.organiser, "project", count=3)
            if trial == 1:
                people[2].judge_all()
            for number, person in enumerate(people[:2]):
                person.judge_all()
                orders[trial, number] = person.seen
    plain = [f"dialogue {place}, turn 0" for place in range(20)]
    assert orders[0, 0] == orders[1, 0]
    assert orders[0, 1] == orders[1, 1]
    assert orders[0, 0] != orders[0, 1]
    assert orders[0, 0] != orders[2, 0]
    assert all(sorted(order) == sorted(plain) != order for order in orders.values())


def test_practice_comes_first_and_counts_nowhere(house: House) -> None:
    examples = [
        {
            "id": f"p{place}",
            "turns": [
                {"sender": "A", "utterances": [f"example {place}"]},
                {"sender": "B", "utterances": ["well"]},
            ],
            "annotations": [
                {"quality": {"good": good}, "act": [None, act]}
                for good, act in (("yes", "answers"), ("yes", "evades"), ("no", "answers"))
            ],
        }
        for place in range(2)
    ]
    make_project(house, dialogues(BRIEF, 3, 2), rubric=BRIEF, practice=examples, votes=1)
    (person,) = invite(house.organiser, "project", "A")
    for place in range(2):
        item = person.next()
        assert item
        assert item["practice"]
        assert words(item) == f"example {place}"
        assert person.skip(item).status_code == 409
        person.answer(item, lambda _person, _item, question: question["labels"][-1])
        assert person.finish(item) == [
            {"criterion": "good", "turn": None, "own": "no", "others": {"yes": 0.667, "no": 0.333}},
            {
                "criterion": "act",
                "turn": 1,
                "own": "asks",
                "others": {"answers": 0.667, "evades": 0.333, "asks": 0.0},
            },
        ]
    assert house.organiser.ok("GET", "/projects/project")["done"] == 0
    while (item := person.next()) is not None:
        assert not item["practice"]
        person.answer(item)
        assert person.finish(item) == []
    records = json.loads(exported(house.organiser, "project"))
    assert [record["id"] for record in records] == ["d000", "d001", "d002"]
    found = votes_in(records)
    assert found == {key: v for key, v in clicked([person]).items() if "example" not in key[0]}
    assert len(found) == 3


def test_practice_needs_votes(house: House) -> None:
    with pytest.raises(Exception, match="items without votes on good"):
        make_project(house, dialogues(BRIEF, 1, 2), rubric=BRIEF, practice=dialogues(BRIEF, 1, 2))


def masked(answer: Any) -> str:
    """An answer without what differs anyway: keys, words, counts, and the request's number."""
    body = answer.json()
    headers = {name: "" for name in answer.headers if name != "content-length"}
    text = json.dumps([body, headers])
    text = re.sub(r'"id": "[0-9a-f]{24}"', '"id": ""', text)
    text = re.sub(r'"(done|total|seconds)": ([\d.]+|null)', r'"\1": 0', text)
    return re.sub(r"dialogue \d+", "dialogue", text)


def test_nothing_tells_a_repeat_apart(any_house: House) -> None:
    house = any_house
    records = [d for d in dialogues(BRIEF, 30, 2) if d["turns"][0]["sender"] == "A"]
    make_project(house, records, rubric=BRIEF, votes=1, repeats=30)
    (person,) = invite(house.organiser, "project", "A")
    shapes: dict[int, set[tuple[str, ...]]] = {1: set(), 2: set()}
    totals = set()
    while True:
        person.answers.clear()
        item = person.next()
        totals.add(person.answers[0].json()["total"])
        if item is None:
            break
        round = person.seen.count(words(item)) + 1
        assert house.organiser.ok("GET", "/projects/project")["people"][0]["open"] == 1
        about = person.call("GET", "/annotation")
        assert about.json()["done"] == len(person.seen)
        if round == 2:
            between = len(person.seen) - person.seen.index(words(item)) - 1
            assert between >= APART - 1
        house.clock.move(seconds=10)
        person.answer(item, lambda *_: _[2]["labels"][0])
        person.finish(item)
        shapes[round].add(tuple(masked(answer) for answer in person.answers))
    assert shapes[1] == shapes[2]
    assert len(shapes[1]) == 1
    repeats = len(person.seen) - 15
    assert repeats == 15 * 30 // 100
    assert max(Counter(person.seen).values()) == 2
    assert totals == {15 + repeats}
    first = person.answers[0].json()
    assert (first["done"], first["total"]) == (15 + repeats, 15 + repeats)
    progress = house.organiser.ok("GET", "/projects/project")
    assert progress["done"] == progress["complete"] == 15
    assert progress["people"][0]["repeats"] == repeats
    rounds = Counter(
        round for _, _, round in votes_in(json.loads(exported(house.organiser, "project")))
    )
    assert rounds == {1: 15, 2: repeats}
    check_counts(house, 1)


def test_few_dialogues_are_not_repeated_at_once(house: House) -> None:
    """A repeat comes after several others, so a small project has none; nobody waits for them."""
    make_project(house, dialogues(BRIEF, 4, 2), rubric=BRIEF, repeats=50)
    (person,) = invite(house.organiser, "project", "A")
    assert person.api.ok("GET", "/annotation")["total"] == 4
    assert len(person.judge_all()) == 4


def test_a_skipped_dialogue_goes_to_others_and_comes_back_last(any_house: House) -> None:
    make_project(any_house, dialogues(BRIEF, 3, 2), rubric=BRIEF, votes=1)
    first, second = invite(any_house.organiser, "project", count=2)
    skipped = first.next()
    assert skipped
    first.vote(skipped, "good", "yes")
    assert first.skip(skipped).status_code == 200
    assert first.vote(skipped, "good", "no").status_code == 409
    assert first.skip(skipped).status_code == 409
    check_counts(any_house, 1)
    other = first.judge()
    assert other
    assert words(other) != words(skipped)
    assert words(skipped) in [words(item) for item in second.judge_all()]
    assert first.next() is None  # somebody else has it
    progress = any_house.organiser.ok("GET", "/projects/project")
    assert (progress["done"], progress["complete"]) == (3, 3)
    assert [person["skipped"] for person in progress["people"]] == [1, 0]
    assert votes_in(json.loads(exported(any_house.organiser, "project"))) == clicked(
        [first, second]
    )


def test_skipped_by_the_last_one_it_comes_again(house: House) -> None:
    make_project(house, dialogues(BRIEF, 2, 2), rubric=BRIEF, votes=1)
    (person,) = invite(house.organiser, "project", "A")
    skipped = person.next()
    assert skipped
    person.vote(skipped, "good", "no")
    person.skip(skipped)
    assert words(person.judge() or {}) != words(skipped)
    again = person.next()
    assert again
    assert again["id"] == skipped["id"]
    assert [vote["label"] for vote in again["votes"]] == ["no"]
    person.answer(again)
    person.finish(again)
    assert person.next() is None
    check_counts(house, 1)


def test_an_abandoned_dialogue_goes_back_to_the_pool(any_house: House) -> None:
    house = any_house
    make_project(house, dialogues(BRIEF, 2, 2), rubric=BRIEF, votes=1, idle_hours=2)
    slow, quick = invite(house.organiser, "project", count=2)
    left = slow.next()
    assert left
    slow.vote(left, "good", "yes")
    house.clock.move(hours=1.9)
    assert len(quick.judge_all()) == 1  # the other one is still somebody's
    house.clock.move(hours=0.2)
    taken = quick.next()
    assert taken
    assert words(taken) == words(left)
    assert taken["votes"] == []
    # The late comer is told, and gets nothing that somebody else has.
    assert servers.problem(slow.vote(left, "good", "no"))["code"] == "closed"
    assert slow.next() is None
    quick.answer(taken)
    quick.finish(taken)
    answer = slow.call("POST", f"/annotation/items/{left['id']}/finish")
    assert answer.status_code == 409
    assert votes_in(json.loads(exported(house.organiser, "project"))) == clicked([quick])
    check_counts(house, 1)


def test_who_comes_back_late_goes_on_where_there_is_room(any_house: House) -> None:
    house = any_house
    make_project(house, dialogues(BRIEF, 3, 2), rubric=BRIEF, votes=2, idle_hours=1)
    slow, quick = invite(house.organiser, "project", count=2)
    left = slow.next()
    assert left
    slow.vote(left, "good", "yes")
    house.clock.move(hours=2)
    quick.judge()
    progress = house.organiser.ok("GET", "/projects/project")["people"]
    assert progress[0]["open"] == 0
    check_counts(house, 2)
    slow.answer(left)
    slow.finish(left)
    slow.judge_all()
    quick.judge_all()
    assert votes_in(json.loads(exported(house.organiser, "project"))) == clicked([slow, quick])
    assert house.organiser.ok("GET", "/projects/project")["complete"] == 3
    check_counts(house, 2)


def test_an_abandoned_repeat_upsets_no_count(house: House) -> None:
    make_project(house, dialogues(BRIEF, 12, 2), rubric=BRIEF, votes=1, repeats=10, idle_hours=1)
    slow, quick = invite(house.organiser, "project", count=2)
    for _ in range(10):
        slow.judge()
    repeat = slow.next()
    assert repeat
    assert words(repeat) in slow.seen
    house.clock.move(hours=3)
    quick.judge_all()
    check_counts(house, 1)
    slow.answer(repeat)
    slow.finish(repeat)
    check_counts(house, 1)
    assert house.organiser.ok("GET", "/projects/project")["done"] == 12


def test_finishing_while_others_clear_up(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody finishes what was about to go back to the pool: it is theirs, and counted once."""
    with servers.house(postgres_url) as house:
        make_project(house, dialogues(BRIEF, 2, 2), rubric=BRIEF, votes=1, idle_hours=1)
        slow, quick = invite(house.organiser, "project", count=2)
        item = slow.next()
        assert item
        slow.answer(item)
        house.clock.move(hours=2)
        inside, go_on = threading.Event(), threading.Event()
        real = votes_module.votes_of

        def waiting(*given: Any) -> Any:
            inside.set()
            assert go_on.wait(30)
            return real(*given)

        monkeypatch.setattr(votes_module, "votes_of", waiting)
        finishing = threading.Thread(target=slow.finish, args=(item,))
        finishing.start()
        assert inside.wait(30)
        other = quick.next()
        go_on.set()
        finishing.join(30)
        monkeypatch.undo()
        assert other
        assert words(other) != words(item)
        quick.answer(other)
        quick.finish(other)
        check_counts(house, 1)
        assert house.organiser.ok("GET", "/projects/project")["complete"] == 2


@pytest.mark.parametrize("seed", range(3))
def test_whatever_people_do_the_counts_hold(any_house: House, seed: int) -> None:
    """Opening, voting, finishing, skipping, going away for days, being revoked, in any order."""
    house, lots = any_house, random.Random(seed)
    votes = lots.choice([None, 1, 2, 3])
    make_project(
        house,
        dialogues(BRIEF, 8, 2),
        rubric=BRIEF,
        votes=votes,
        repeats=lots.choice([0, 40]),
        idle_hours=5,
        seed=seed,
    )
    people = invite(house.organiser, "project", count=5)
    kept: dict[str, list[dict[str, Any]]] = {person.name: [] for person in people}
    for step in range(150):
        person = lots.choice(people)
        house.clock.move(hours=lots.choice([0, 0, 0, 0.5, 6]))
        if lots.random() < 0.02 and len(people) > 3:
            house.organiser.ok("DELETE", f"/projects/project/annotators/{person.name}")
            people.remove(person)
            assert person.call("POST", "/annotation/item").status_code == 401
        elif lots.random() < 0.4 and kept[person.name]:  # an old page, still open somewhere
            item = lots.choice(kept[person.name])
            action = lots.choice(["skip", "finish", "vote"])
            if action == "vote":
                answer = person.vote(item, "good", lots.choice(["yes", "no"]), sequence=step)
            else:
                answer = person.call("POST", f"/annotation/items/{item['id']}/{action}")
            assert answer.status_code in (200, 409)
        else:
            item = person.next()
            if item is not None:
                kept[person.name].append(item)
                if lots.random() < 0.7:
                    person.answer(item)
                    person.finish(item)
        check_counts(house, votes)
    for person in people:
        person.judge_all()
    check_counts(house, votes)
    found = votes_in(json.loads(exported(house.organiser, "project")))
    by_dialogue = Counter(dialogue for dialogue, _, round in found if round == 1)
    assert all(len(labels) == 2 for labels in found.values())
    assert votes is None or max(by_dialogue.values()) <= votes
    everyone = all(
        by_dialogue[f"dialogue {n}, turn 0"] >= min(votes or 5, len(people)) for n in range(8)
    )
    assert everyone


# Votes


def test_an_older_click_undoes_nothing_and_the_same_counts_once(any_house: House) -> None:
    make_project(any_house, dialogues(BRIEF, 1, 2), rubric=BRIEF)
    (person,) = invite(any_house.organiser, "project", "A")
    item = person.next()
    assert item

    def kept() -> dict[tuple[str, int | None], str]:
        shown = person.next()
        assert shown
        assert shown["id"] == item["id"]
        return {(vote["criterion"], vote["turn"]): vote["label"] for vote in shown["votes"]}

    steps: list[tuple[str | None, int, str | None]] = [
        ("yes", 10, "yes"),
        ("no", 9, "yes"),
        (None, 9, "yes"),
        ("no", 11, "no"),
        ("no", 11, "no"),
        (None, 12, None),
        ("no", 11, None),
        ("yes", 13, "yes"),
    ]
    for label, sequence, expected in steps:
        assert person.vote(item, "good", label, sequence=sequence).status_code == 200
        assert kept().get(("good", None)) == expected
    shown = person.next()
    assert shown
    assert shown["sequence"] == 13
    assert len(shown["votes"]) == 1
    act = next(q for q in item["questions"] if q["criterion"] == "act")
    person.vote(item, "act", "asks", act["turn"])
    person.finish(item)
    (labels,) = votes_in(json.loads(exported(any_house.organiser, "project"))).values()
    assert labels == {("good", None): "yes", ("act", act["turn"]): "asks"}


def test_wrong_votes_are_refused(house: House) -> None:
    make_project(house, dialogues(PANEL, 1), rubric=PANEL)  # host, guest, caller
    (person,) = invite(house.organiser, "project", "A")
    item = person.next()
    assert item
    right = {"criterion": "mood", "turn": None, "label": "3", "sequence": 1}
    wrong: list[dict[str, Any]] = [
        {"label": "4"},
        {"label": "yes"},
        {"label": ""},
        {"label": 3},
        {"criterion": "nothing"},
        {"turn": 0},
        {"criterion": "move", "label": "asks"},
        {"criterion": "move", "turn": 1, "label": "asks"},  # a host's, of a guest
        {"criterion": "move", "turn": 2, "label": "asks"},  # callers make no moves
        {"criterion": "clear", "turn": 3, "label": "yes"},
        {"criterion": "clear", "turn": -1, "label": "yes"},
        {"sequence": -1},
        {"sequence": 2**53},
        {"sequence": "now"},
        {"annotator": "B"},
        {"criterion": "a\u0000b"},
        {"criterion": "x" * 200},
    ]
    for change in wrong:
        answer = person.call(
            "PUT", f"/annotation/items/{item['id']}/votes", json={**right, **change}
        )
        assert answer.status_code == 422, change
        servers.problem(answer)
    shown = person.next()
    assert shown
    assert shown["votes"] == []
    assert person.vote(item, "mood", "3").status_code == 200
    for key in ("0" * 24, "x", item["id"][:-1]):
        assert person.vote({"id": key}, "mood", "3").status_code == 404


def test_finishing_needs_all_answers_and_works_twice(house: House) -> None:
    make_project(house, dialogues(PANEL, 2), rubric=PANEL)
    (person,) = invite(house.organiser, "project", "A")
    item = person.next()
    assert item
    path = f"/annotation/items/{item['id']}/finish"
    asked = [(q["criterion"], q["turn"]) for q in item["questions"]]
    refused = person.api.refused(409, "POST", path)
    assert refused["code"] == "unfinished"
    assert [(m["criterion"], m["turn"]) for m in refused["missing"]] == asked
    person.answer(item)
    person.vote(item, "clear", None, 2)
    refused = person.api.refused(409, "POST", path)
    assert refused["missing"] == [{"criterion": "clear", "turn": 2}]
    assert "1 of" in refused["detail"]
    person.vote(item, "clear", "no", 2)
    person.given[words(item), 1]["clear", 2] = "no"
    assert exported(house.organiser, "project", format="csv").count(b"\n") == 1
    assert person.finish(item) == []
    assert person.api.ok("POST", path) == {"feedback": []}
    assert house.organiser.ok("GET", "/projects/project")["done"] == 1
    # What is finished does not change any more.
    assert servers.problem(person.vote(item, "mood", "3"))["code"] == "closed"
    assert person.skip(item).status_code == 409
    assert votes_in(json.loads(exported(house.organiser, "project"))) == clicked([person])


def test_pace_and_remarks(house: House) -> None:
    """Time spent is measured, long pauses are not; remarks reach the organiser."""
    make_project(house, dialogues(BRIEF, 3, 2), rubric=BRIEF)
    (person,) = invite(house.organiser, "project", "A")
    for pause in (30, 40, 100_000):
        item = person.next()
        assert item
        path = f"/annotation/items/{item['id']}/comment"
        person.api.ok("PUT", path, json={"comment": "first"})
        person.api.ok("PUT", path, json={"comment": f"<b>remark</b> {pause}"})
        house.clock.move(seconds=pause)
        shown = person.next()
        assert shown
        assert shown["comment"] == f"<b>remark</b> {pause}"
        person.answer(item)
        person.finish(item)
    assert person.api.refused(409, "PUT", path, json={"comment": "too late"})
    person.api.refused(422, "PUT", path, json={"comment": "x" * 4001})
    assert person.api.ok("GET", "/annotation")["seconds"] == 40
    progress = house.organiser.ok("GET", "/projects/project")
    assert progress["seconds"] == progress["people"][0]["seconds"] == 40
    with house.context.database.read() as session:
        longest = session.scalar(select(func.max(Assignment.seconds)))
    assert longest == votes_module.LONGEST_PAUSE


# Closing and revoking


def test_a_closed_project_takes_no_new_work(house: House) -> None:
    make_project(house, dialogues(BRIEF, 2, 2), rubric=BRIEF)
    busy, idle = invite(house.organiser, "project", count=2)
    item = busy.next()
    assert item
    house.organiser.ok("PATCH", "/projects/project", json={"open": False})
    assert idle.api.refused(409, "POST", "/annotation/item")["code"] == "closed"
    busy.answer(item)  # what is open may be ended
    busy.finish(item)
    assert busy.api.refused(409, "POST", "/annotation/item")["code"] == "closed"
    assert votes_in(json.loads(exported(house.organiser, "project"))) == clicked([busy])
    house.organiser.ok("PATCH", "/projects/project", json={"open": True})
    assert len(busy.judge_all()) == 1
    assert len(idle.judge_all()) == 2


def test_a_revoked_link_opens_nothing_and_its_votes_stay(any_house: House) -> None:
    house = any_house
    make_project(house, dialogues(BRIEF, 2, 2), rubric=BRIEF, votes=1)
    first, second = invite(house.organiser, "project", "One", "Two")
    first.judge()
    item = first.next()
    assert item
    assert house.http.get(f"/annotate/{first.api.token}").status_code == 200
    house.organiser.ok("DELETE", "/projects/project/annotators/One")
    for call in (
        first.vote(item, "good", "yes"),
        first.skip(item),
        first.call("POST", f"/annotation/items/{item['id']}/finish"),
        first.call("POST", "/annotation/item"),
        first.call("GET", "/annotation"),
    ):
        assert call.status_code == 401
    assert house.http.get(f"/annotate/{first.api.token}").status_code == 404
    assert len(second.judge_all()) == 1
    people = house.organiser.ok("GET", "/projects/project")["people"]
    assert [(p["done"], p["open"], p["revoked"]) for p in people] == [(1, 0, True), (1, 0, False)]
    assert votes_in(json.loads(exported(house.organiser, "project"))) == clicked([first, second])
    house.organiser.refused(404, "DELETE", "/projects/project/annotators/Three")
    house.organiser.refused(
        409, "POST", "/projects/project/annotators", json={"pseudonyms": ["One"]}
    )
    check_counts(house, 1)


# Who may do what

OWN = {name for name, allowed in ROUTES.items() if allowed == ANNOTATOR}


@pytest.fixture(scope="module")
def busy_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, Person, Any]]:
    """Two projects and a task, all with something in them; an annotator, and another's dialogue."""
    folder = tmp_path_factory.mktemp("busy")
    with servers.house(f"sqlite:///{folder}/dialeval.sqlite") as house:
        servers.make_task(house.organiser, "task")
        team = house.team("Lantern")
        sent = team.submit("task", servers.run_bytes())
        make_project(house, dialogues(BRIEF, 3, 2), "project", rubric=BRIEF)
        make_project(house, dialogues(BRIEF, 3, 2), "other", rubric=BRIEF)
        person, neighbour = invite(house.organiser, "project", count=2)
        (stranger,) = invite(house.organiser, "other", count=1)
        others = [neighbour.next(), stranger.next()]
        yield house, person, {"submission": sent["id"], "items": others}


def test_annotators_have_six_routes() -> None:
    assert len(OWN) == 6
    assert all(name.split()[1].startswith(f"{API}/annotation") for name in OWN)
    assert all("annotator" not in allowed for name, allowed in ROUTES.items() if name not in OWN)


@pytest.mark.parametrize("route", ROUTES)
def test_a_link_reaches_nothing_else(busy_house: Any, route: str) -> None:
    """Every route of the server with an annotator's token, in the header and as a session."""
    house, person, known = busy_house
    method, path = route.split()
    values = {
        "task": "task",
        "project": "project",
        "submission": known["submission"],
        "language": "en",
        "kind": "development",
        "path:path": "index.html",
        "name": "Lantern",
        "pseudonym": "A2",
        "format": "json",
        "link": person.api.token,
        "invitation": "nothing",
    }
    before = house.organiser.ok("GET", "/projects")
    for item in known["items"] if "{item}" in path else [{"id": ""}]:
        at = path
        for name, value in {**values, "item": item["id"]}.items():
            at = at.replace(f"{{{name}}}", value)
        vote = {"criterion": "good", "label": "yes", "sequence": 1}
        body = {"votes": vote, "comment": {"comment": "x"}}.get(at.rsplit("/", 1)[1])
        answer = person.api.call(method, "/" + at, json=body, follow_redirects=False)
        if route in OWN:
            assert answer.status_code == (404 if "{item}" in path else 200)
        elif at.startswith("/api/v1"):
            assert servers.problem(answer)["code"] == "forbidden"
        elif "anyone" not in ROUTES[route]:  # pages take no tokens: nobody is signed in
            assert answer.status_code in (303, 401)
            assert answer.status_code == 401 or answer.headers["location"].startswith("/sign-in")
        cookie = {"cookie": f"__Host-dialeval-session={person.api.token}"}
        answer = house.http.request(method, at, headers=cookie, follow_redirects=False)
        if "anyone" not in ROUTES[route]:
            assert answer.status_code in (303, 401, 403)
    assert (
        house.organiser.ok("GET", "/projects") == before or route == f"POST {API}/annotation/item"
    )


@pytest.mark.parametrize("route", sorted(OWN))
def test_nobody_else_annotates(busy_house: Any, route: str) -> None:
    house, _, known = busy_house
    method, path = route.split()
    at = path.replace("{item}", known["items"][0]["id"])
    for api, code in ((house.anyone, "sign-in"), (house.organiser, "forbidden")):
        assert servers.problem(api.call(method, "/" + at))["code"] == code
    wrong = Api(house.http, "dialeval_annotator_" + "x" * 43)
    wrong.refused(401, method, "/" + at)


def test_an_annotator_sees_nothing_of_others(tmp_path: Path) -> None:
    """All answers to one person are the same whether or not others voted, remarked, skipped."""
    transcripts = []
    for trial in range(2):
        with servers.house(f"sqlite:///{tmp_path}/{trial}.sqlite") as house:
            make_project(house, dialogues(BRIEF, 6, 2), rubric=BRIEF, repeats=20)
            person, *others = invite(house.organiser, "project", count=4)
            for other in others if trial else ():
                item = other.next()
                assert item
                path = f"/annotation/items/{item['id']}/comment"
                other.api.ok("PUT", path, json={"comment": "between us"})
                other.judge_all()
            person.call("GET", "/annotation")
            person.judge_all()
            texts = [re.sub(r'"id":"[0-9a-f]{24}"', "", answer.text) for answer in person.answers]
            assert not any("between us" in text or "A2" in text for text in texts)
            transcripts.append(texts)
    assert transcripts[0] == transcripts[1]


# What organisers get


def test_exports_hold_what_was_clicked(house: House, tmp_path: Path) -> None:
    make_project(house, dialogues(PANEL, 14), rubric=PANEL, votes=2, repeats=20)
    rubric = rubric_from(PANEL)
    people = invite(house.organiser, "project", "Ann", "李雷", '=x "q", y')
    for _ in range(7):
        for person in people:
            person.judge()
    for person in people:
        person.judge_all()
    expected = clicked(people)
    assert sum(round == 2 for _, _, round in expected) > 0

    content = {
        format: exported(house.organiser, "project", format=format)
        for format in ("json", "jsonl", "csv")
    }
    records = json.loads(content["json"])
    assert [json.loads(line) for line in content["jsonl"].splitlines()] == records
    assert votes_in(records) == expected
    file = tmp_path / "rubric.json"
    file.write_text(json.dumps(PANEL))
    for format in ("json", "jsonl"):
        (tmp_path / f"votes.{format}").write_bytes(content[format])
        collection = de.load(tmp_path / f"votes.{format}", rubric=file)
        assert set(collection.annotators) == {person.name for person in people}
        for d, dialogue in enumerate(collection.dialogues):
            for a, name in enumerate(collection.annotators):
                labels = expected.get((dialogue.turns[0].utterances[0], name, 1), {})
                for criterion in rubric.criteria:
                    for turn in range(3) if criterion.scope == "turn" else [None]:
                        place = d if turn is None else int(collection.offsets[d]) + turn
                        code = int(collection.votes[criterion.id][place, a])
                        found = criterion.columns[code] if code >= 0 else None
                        assert found == labels.get((criterion.id, turn))
        assert len(collection.again) == 1

    ids = {words(record): record for record in records}
    lines = [*csv.DictReader(io.StringIO(content["csv"].decode()))]
    found_lines = Counter(tuple(line.values()) for line in lines)
    wanted_lines = Counter(
        (
            ids[dialogue]["id"],
            "" if turn is None else str(turn),
            "" if turn is None else ids[dialogue]["turns"][turn]["sender"],
            criterion,
            name,
            str(round),
            label,
        )
        for (dialogue, name, round), labels in expected.items()
        for (criterion, turn), label in labels.items()
    )
    assert found_lines == wanted_lines

    for format in ("json", "jsonl", "csv"):
        bare = exported(house.organiser, "project", format=format, pseudonyms=False).decode()
        for name in ("Ann", "李雷", "\\u674e", '=x "q"', "=x"):
            assert name not in bare.replace("annot", "")
    bare_records = json.loads(exported(house.organiser, "project", pseudonyms=False))
    plain, bare_votes = (parse_collection(in_file(r), rubric, "x") for r in (records, bare_records))
    for criterion in rubric.criteria:
        np.testing.assert_array_equal(plain.gold(criterion), bare_votes.gold(criterion))
    assert bare_votes.again == ()


def test_votes_that_came_with_the_collection_count(house: House) -> None:
    records = dialogues(BRIEF, 4, 2)
    acts: list[list[str | None]] = [
        ["answers" if turn["sender"] == "B" else None for turn in record["turns"]]
        for record in records
    ]
    for record, turns, number in zip(records, acts, (0, 1, 2, 3), strict=True):
        if number:
            record["annotations"] = [
                {"quality": {"good": "yes"}, "act": turns} for _ in range(number)
            ]
    make_project(house, records, rubric=BRIEF, votes=2)
    progress = house.organiser.ok("GET", "/projects/project")
    assert (progress["done"], progress["planned"], progress["complete"]) == (6, 9, 2)
    people = invite(house.organiser, "project", count=2)
    for person in people:
        person.judge_all()
    assert sorted(words(d) for p in people for d in [*map(_item, p.seen)]) == [
        "dialogue 0, turn 0",
        "dialogue 0, turn 0",
        "dialogue 1, turn 0",
    ]
    progress = house.organiser.ok("GET", "/projects/project")
    assert (progress["done"], progress["planned"], progress["complete"]) == (9, 9, 4)
    out = json.loads(exported(house.organiser, "project"))
    assert [len(record["annotations"]) for record in out] == [2, 2, 2, 3]
    collection = parse_collection(in_file(out), rubric_from(BRIEF), "export")
    assert set(collection.annotators) == {"1", "2", "3", "A1", "A2"}


def _item(text: str) -> dict[str, Any]:
    return {"turns": [{"utterances": [text]}]}


def test_imported_votes_on_turns_alone_count(house: House) -> None:
    """The first turn may be one that nobody judges."""
    only_turns = {**BRIEF, "criteria": BRIEF["criteria"][1:]}
    records = [d for d in dialogues(BRIEF, 4, 2) if d["turns"][0]["sender"] == "A"]
    records[0]["annotations"] = [{"act": [None, "asks"]}]
    make_project(house, records, rubric=only_turns, votes=1)
    (person,) = invite(house.organiser, "project", "A")
    assert [words(item) for item in person.judge_all()] == [words(records[1])]


def test_an_export_makes_a_project_again(house: House) -> None:
    """Names of the first round are not given to others in the second."""
    make_project(house, dialogues(BRIEF, 4, 2), rubric=BRIEF)
    for person in (first := invite(house.organiser, "project", count=2)):
        person.judge_all()
    make_project(house, json.loads(exported(house.organiser, "project")), "again", rubric=BRIEF)
    second = invite(house.organiser, "again", count=2)
    assert [person.name for person in second] == ["A3", "A4"]
    house.organiser.refused(409, "POST", "/projects/again/annotators", json={"pseudonyms": ["A1"]})
    for person in second:
        person.judge_all()
    records = json.loads(exported(house.organiser, "again"))
    assert votes_in(records) == clicked(first + second)
    assert parse_collection(in_file(records), rubric_from(BRIEF), "x").annotators[:2] == (
        "A1",
        "A2",
    )
    progress = house.organiser.ok("GET", "/projects/again")
    assert (progress["done"], progress["planned"], progress["complete"]) == (16, 16, 4)


def test_agreement_is_that_of_the_library(house: House) -> None:
    sample = de.sample("en").select(range(8)).without_votes()
    records = json.loads(servers.collection_bytes(sample))
    answer = house.organiser.call(
        "POST",
        "/projects/project",
        params={"title": "T", "rubric": "helpdesk", "votes": 3, "repeats": 40, "seed": 3},
        content=in_file(records),
    )
    assert answer.status_code == 201
    people = invite(house.organiser, "project", count=4)
    assert house.organiser.refused(422, "GET", "/projects/project/agreement")
    for person in people[:3]:
        person.judge()
    house.organiser.ok("GET", "/projects/project/agreement")  # at any time
    for person in people:
        person.judge_all()
    found = house.organiser.ok("GET", "/projects/project/agreement")
    content = exported(house.organiser, "project")
    library = de.agreement_of(parse_collection(content, de.load_rubric("helpdesk"), "export"))
    titles = [(part.part.criterion.id, part.part.speaker) for part in library.parts]
    assert [(part["criterion"], part["speaker"]) for part in found["parts"]] == titles
    for part, own in zip(found["parts"], library.parts, strict=True):
        for name, one in part["coefficients"].items():
            expected = own.coefficients[name].value
            assert one["value"] == (None if np.isnan(expected) else pytest.approx(expected))


def test_freezing_makes_a_task_whose_gold_is_the_votes(any_house: House) -> None:
    house = any_house
    make_project(house, dialogues(PANEL, 9), rubric=PANEL, votes=2, repeats=30, language="zh")
    people = invite(house.organiser, "project", count=3)
    house.organiser.refused(422, "POST", "/projects/project/freeze", json={"task": "frozen"})
    people[0].judge_all()
    people[1].judge()
    people[1].judge()
    people[1].next()
    made = house.organiser.ok("POST", "/projects/project/freeze", json={"task": "frozen"})
    assert made["left_out"] == 0
    assert made["task"]["languages"] == [{"language": "zh", "dialogues": 9}]
    assert not made["task"]["visible"]
    rubric = rubric_from(PANEL)
    expected = parse_collection(exported(house.organiser, "project"), rubric, "export")
    with house.context.database.read() as session:
        row = session.scalars(select(TaskCollection)).one()
        gold = house.context.golds.get(row, rubric).collection
    assert gold.ids == expected.ids
    for criterion in rubric.criteria:
        np.testing.assert_array_equal(gold.gold(criterion), expected.gold(criterion))
    mood = rubric.criterion("mood")
    shares = gold.gold(mood)[gold.index["d000"]]
    given = [
        labels["mood", None]
        for (dialogue, _, round), labels in clicked(people).items()
        if dialogue == "dialogue 0, turn 0" and round == 1
    ]
    wanted = [given.count(label) / len(given) for label in mood.columns]
    np.testing.assert_allclose(shares, wanted)
    # A run is scored on it; later votes change nothing; the address is taken.
    before = gold.gold(mood).copy()
    people[2].judge_all()
    with house.context.database.read() as session:
        row = session.scalars(select(TaskCollection)).one()
        np.testing.assert_array_equal(
            house.context.golds.get(row, rubric).collection.gold(mood), before
        )
    house.organiser.refused(409, "POST", "/projects/project/freeze", json={"task": "frozen"})


def test_freezing_leaves_out_what_has_no_votes(house: House) -> None:
    records = dialogues(BRIEF, 7, 2)
    turns = ["answers" if t["sender"] == "B" else None for t in records[0]["turns"]]
    records[0]["annotations"] = [{"quality": {"good": "no"}, "act": turns}]
    make_project(house, records, rubric=BRIEF, votes=1)
    (person,) = invite(house.organiser, "project", "A")
    for _ in range(4):
        person.judge()
    made = house.organiser.ok("POST", "/projects/project/freeze", json={"task": "frozen"})
    assert made["left_out"] == 2
    assert made["task"]["languages"] == [{"language": "en", "dialogues": 5}]


def test_projects_are_made_by_the_api(house: House) -> None:
    content = in_file(dialogues("questionnaire", 2, 2))
    params: dict[str, Any] = {"title": "Answers", "rubric": "questionnaire", "language": "Chinese"}
    made = house.organiser.ok("POST", "/projects/answers", params=params, content=content)
    assert (made["dialogues"], made["language"], made["open"]) == (2, "zh", True)
    refused = [
        ({"title": ""}, content, 422),
        ({"rubric": "nothing"}, content, 422),
        ({"rubric": "../rubric.toml"}, content, 422),
        ({"votes": 0}, content, 422),
        ({"repeats": 51}, content, 422),
        ({"seed": 2**63}, content, 422),
        ({}, b"", 422),
        ({}, b"[]", 422),
        ({}, in_file(dialogues("helpdesk", 2)), 422),
        ({}, b"[" * 5000, 422),
        ({}, content, 409),
    ]
    for change, body, status in refused:
        address = "answers" if status == 409 else "new"
        house.organiser.refused(
            status, "POST", f"/projects/{address}", params={**params, **change}, content=body
        )
    house.organiser.refused(422, "POST", "/projects/No_Good", params=params, content=content)
    house.organiser.refused(404, "GET", "/projects/new")
    assert [project["slug"] for project in house.organiser.ok("GET", "/projects")] == ["answers"]
    for body in ({"pseudonyms": ["A", "A"]}, {"pseudonyms": [""]}, {"count": 0}, {"count": 201}):
        house.organiser.refused(422, "POST", "/projects/answers/annotators", json=body)
