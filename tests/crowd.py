"""Many annotators at once, each with a connection of its own, who lose nothing when it breaks."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from annotating import Person, by_hash, clicked, exported, votes_in
from servers import Api

SINGLE: dict[str, Any] = {
    "name": "single",
    "speakers": ["A"],
    "criteria": [
        {
            "id": "good",
            "scope": "dialogue",
            "kind": "nominal",
            "labels": ["yes", "no", "maybe"],
            "measures": ["jsd"],
        }
    ],
}
"""One question a dialogue."""


def free_port() -> int:
    """A port for a server that is started again at the same address."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@dataclass
class Answer:
    """What `Person` needs of an answer."""

    status_code: int
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


class Line:
    """A connection that is opened again, and the request sent again, until there is an answer.

    As the page's outbox does it. `saves` are the times of votes that were answered at once.
    """

    def __init__(self, port: int, patience: float = 120) -> None:
        self.port, self.patience = port, patience
        self.connection: http.client.HTTPConnection | None = None
        self.saves: list[float] = []
        self.broken = 0

    def request(
        self, method: str, path: str, *, headers: dict[str, str], json: Any = None
    ) -> Answer:
        body = None if json is None else _encoded(json)
        if body is not None:
            headers = {**headers, "content-type": "application/json"}
        end = time.monotonic() + self.patience
        while True:
            start = time.perf_counter()
            try:
                answer = self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException):
                self.broken += 1
                self.close()
            else:
                if answer.status_code < 500:
                    if path.endswith("/votes"):
                        self.saves.append(time.perf_counter() - start)
                    return answer
            assert time.monotonic() < end, f"no answer to {method} {path}"
            time.sleep(0.05)

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            self.connection.connect()
            assert self.connection.sock
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return Answer(response.status, response.read())

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


@dataclass
class Crowd:
    """People who all work at once until nothing is left, or until they are told to stop."""

    people: list[Person]
    lines: list[Line]
    pause: float = 0.0
    """Seconds that a person thinks before each dialogue."""
    failures: list[BaseException] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.threads = [threading.Thread(target=self._work, args=(p,)) for p in self.people]
        for thread in self.threads:
            thread.start()

    def _work(self, person: Person) -> None:
        try:
            while not self.stop.is_set() and person.judge(by_hash) is not None:
                person.answers.clear()
                if self.pause:
                    time.sleep(self.pause)
        except BaseException as error:
            self.failures.append(error)

    @property
    def done(self) -> int:
        return sum(len(person.seen) for person in self.people)

    def wait_for(self, dialogues: int, patience: float = 300) -> None:
        """Until so many dialogues are judged."""
        end = time.monotonic() + patience
        while self.done < dialogues and not self.failures:
            assert time.monotonic() < end, f"{self.done} of {dialogues}"
            time.sleep(0.01)
        self.check()

    def join(self, patience: float = 600) -> None:
        for thread in self.threads:
            thread.join(patience)
            assert not thread.is_alive()
        for line in self.lines:
            line.close()
        self.check()

    def check(self) -> None:
        if self.failures:
            raise self.failures[0]


def crowd(organiser: Api, slug: str, port: int, number: int) -> Crowd:
    """People with links of their own."""
    made = organiser.ok("POST", f"/projects/{slug}/annotators", json={"count": number})
    people, lines = [], []
    for link in made:
        line = Line(port)
        api = Api(line, link["path"].removeprefix("/annotate/"), link["pseudonym"])
        people.append(Person(api, link["pseudonym"]))
        lines.append(line)
    return Crowd(people, lines)


def check_all_is_kept(organiser: Api, slug: str, crowd: Crowd, dialogues: int, k: int) -> None:
    """Every vote that was acknowledged is there, once; every dialogue has exactly k."""
    found = votes_in(json.loads(exported(organiser, slug)))
    assert found == clicked(crowd.people)
    by_dialogue = Counter(dialogue for dialogue, _, _ in found)
    assert len(by_dialogue) == dialogues
    assert set(by_dialogue.values()) == {k}
    for person in crowd.people:
        assert len(set(person.seen)) == len(person.seen)
    progress = organiser.ok("GET", f"/projects/{slug}")
    wanted = dialogues * k
    assert (progress["done"], progress["planned"]) == (wanted, wanted)
    assert progress["complete"] == dialogues
    assert [p["done"] for p in progress["people"]] == [len(p.seen) for p in crowd.people]
