"""What the tests of the annotation workbench share: projects, and people who work on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from servers import Api, House

from dialeval.core.rubric import Rubric, load_rubric
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.services.annotation import projects
from dialeval.server.settings import Settings

PANEL: dict[str, Any] = {
    "name": "panel",
    "speakers": ["host", "guest", "caller"],
    "criteria": [
        {
            "id": "mood",
            "scope": "dialogue",
            "kind": "ordinal",
            "labels": ["-3", "-2", "-1", "0", "1", "2", "3"],
            "measures": ["nmd"],
            "question": {"en": "What is the mood?", "zh": "气氛如何？"},
        },
        {
            "id": "move",
            "scope": "turn",
            "kind": "nominal",
            "labels": {"host": ["asks", "steers"], "guest": ["tells", "jokes", "dodges"]},
            "measures": ["jsd"],
        },
        {"id": "clear", "scope": "turn", "kind": "yes-no", "measures": ["jsd"]},
    ],
}
"""A rubric of a user's own: seven labels, three speakers; callers make no moves."""

BRIEF: dict[str, Any] = {
    "name": "brief",
    "speakers": ["A", "B"],
    "criteria": [
        {"id": "good", "scope": "dialogue", "kind": "yes-no", "measures": ["jsd"]},
        {
            "id": "act",
            "scope": "turn",
            "kind": "nominal",
            "labels": {"B": ["answers", "evades", "asks"]},
            "measures": ["jsd"],
        },
    ],
}
"""Two questions a dialogue of two turns."""


def rubric_from(given: str | dict[str, Any]) -> Rubric:
    """A built-in rubric, or one as it stands in a file."""
    if isinstance(given, str):
        return load_rubric(given)
    return msgspec.convert(given, Rubric)


def dialogues(rubric: str | dict[str, Any], number: int, turns: int = 3) -> list[dict[str, Any]]:
    """Dialogues without votes, each of words of its own; speakers take turns."""
    speakers = rubric_from(rubric).speakers
    return [
        {
            "id": f"d{place:03}",
            "turns": [
                {
                    "sender": speakers[(place + turn) % len(speakers)],
                    "utterances": [f"dialogue {place}, turn {turn}"],
                }
                for turn in range(turns)
            ],
        }
        for place in range(number)
    ]


def in_file(records: list[dict[str, Any]]) -> bytes:
    return json.dumps(records).encode()


def make_project_at(
    url: str, records: list[dict[str, Any]], slug: str = "project", **plan: Any
) -> str:
    """A project in the database of a server that runs elsewhere."""
    database = Database(url)
    try:
        return make_project(Context(database, Settings(url)), records, slug, **plan)
    finally:
        database.engine.dispose()


def make_project(
    house: House | Context,
    records: list[dict[str, Any]],
    slug: str = "project",
    *,
    rubric: str | dict[str, Any] = "helpdesk",
    practice: list[dict[str, Any]] | None = None,
    **plan: Any,
) -> str:
    """A project with a rubric and practice of its own, which the API does not take."""
    projects.create_project(
        house if isinstance(house, Context) else house.context,
        Actor("organiser", 1, "Olga"),
        slug,
        rubric_from(rubric),
        projects.Plan(title=plan.pop("title", "A project"), **{"seed": 7, **plan}),
        in_file(records),
        None if practice is None else in_file(practice),
    )
    return slug


Choice = Callable[["Person", dict[str, Any], dict[str, Any]], str]


def by_hash(person: Person, item: dict[str, Any], question: dict[str, Any]) -> str:
    """A label that depends on who is asked, about what, and how often they saw the dialogue."""
    seen = person.seen.count(words(item))
    asked = (person.name, words(item), question["criterion"], question["turn"], seen)
    number = int.from_bytes(hashlib.sha256(repr(asked).encode()).digest()[:4], "big")
    label: str = question["labels"][number % len(question["labels"])]
    return label


def words(item: dict[str, Any]) -> str:
    """What a dialogue is known by: annotators never see its id."""
    return str(item["turns"][0]["utterances"][0])


@dataclass
class Person:
    """An annotator at work, who remembers everything that was answered."""

    api: Api
    name: str
    seen: list[str] = field(default_factory=list)
    """Dialogues that were finished, by their words."""
    given: dict[tuple[str, int], dict[tuple[str, int | None], str]] = field(default_factory=dict)
    """What was clicked: by dialogue and round, by criterion and turn."""
    answers: list[Any] = field(default_factory=list)
    """Every answer of the server."""
    clicks: int = 0

    def call(self, method: str, path: str, **options: Any) -> Any:
        answer = self.api.call(method, path, **options)
        self.answers.append(answer)
        return answer

    def next(self) -> dict[str, Any] | None:
        """The dialogue that is open or comes next."""
        answer = self.call("POST", "/annotation/item")
        assert answer.status_code == 200, answer.text
        item: dict[str, Any] | None = answer.json()["item"]
        return item

    def vote(
        self,
        item: dict[str, Any],
        criterion: str,
        label: str | None,
        turn: int | None = None,
        sequence: int | None = None,
    ) -> Any:
        self.clicks += 1
        given = {"criterion": criterion, "turn": turn, "label": label}
        body = {**given, "sequence": self.clicks if sequence is None else sequence}
        return self.call("PUT", f"/annotation/items/{item['id']}/votes", json=body)

    def answer(self, item: dict[str, Any], choose: Choice = by_hash) -> None:
        """Answer everything."""
        chosen = {}
        for question in item["questions"]:
            label = choose(self, item, question)
            answer = self.vote(item, question["criterion"], label, question["turn"])
            assert answer.status_code == 200, answer.text
            chosen[question["criterion"], question["turn"]] = label
        self.given[words(item), self.seen.count(words(item)) + 1] = chosen

    def finish(self, item: dict[str, Any]) -> Any:
        answer = self.call("POST", f"/annotation/items/{item['id']}/finish")
        assert answer.status_code == 200, answer.text
        self.seen.append(words(item))
        return answer.json()["feedback"]

    def skip(self, item: dict[str, Any]) -> Any:
        return self.call("POST", f"/annotation/items/{item['id']}/skip")

    def judge(self, choose: Choice = by_hash) -> dict[str, Any] | None:
        """One dialogue, from opening it to finishing it."""
        item = self.next()
        if item is not None:
            self.answer(item, choose)
            self.finish(item)
        return item

    def judge_all(self, choose: Choice = by_hash) -> list[dict[str, Any]]:
        """Everything that there is."""
        return [*self._all(choose)]

    def _all(self, choose: Choice) -> Iterator[dict[str, Any]]:
        while (item := self.judge(choose)) is not None:
            yield item


def invite(
    organiser: Api, slug: str, *names: str, http: Any = None, count: int = 0
) -> list[Person]:
    """People with links of their own."""
    body = {"pseudonyms": [*names]} if names else {"count": count}
    made = organiser.ok("POST", f"/projects/{slug}/annotators", json=body)
    return [
        Person(
            Api(http or organiser.http, link["path"].removeprefix("/annotate/"), link["pseudonym"]),
            link["pseudonym"],
        )
        for link in made
    ]


def exported(organiser: Api, slug: str, **params: Any) -> bytes:
    """A download of the votes."""
    answer = organiser.call("GET", f"/projects/{slug}/votes", params=params)
    assert answer.status_code == 200, answer.text
    content: bytes = answer.content
    return content


def votes_in(records: list[dict[str, Any]]) -> dict[tuple[str, str, int], dict[Any, str]]:
    """By words of a dialogue, annotator and round: the labels by criterion and turn."""
    found: dict[tuple[str, str, int], dict[Any, str]] = {}
    for record in records:
        for annotation in record.get("annotations", ()):
            rest = dict(annotation)
            key = (words(record), rest.pop("annotator", ""), rest.pop("round", 1))
            assert key not in found or not key[1], f"{key} twice"
            labels = {(name, None): str(v) for name, v in rest.pop("quality", {}).items()}
            for name, of_turns in rest.items():
                for turn, label in enumerate(of_turns):
                    if label is not None:
                        labels[name, turn] = str(label)
            found[key] = labels
    return found


def clicked(people: list[Person]) -> dict[tuple[str, str, int], dict[Any, str]]:
    """The same of what people clicked."""
    return {
        (dialogue, person.name, round): labels
        for person in people
        for (dialogue, round), labels in person.given.items()
    }
