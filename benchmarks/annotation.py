"""The annotation workbench: how long a click takes with twenty annotators at once.

    python benchmarks/annotation.py

Twenty clients, each on a connection of its own, click through dialogues of the helpdesk rubric by
the API of a real server process, on SQLite and on PostgreSQL. `paced`: each clicks once a
second on average, at moments of its own, which is faster than people read. `flat out`: each clicks
as soon as the last click is kept, so this is the most the server takes, and its times are mostly
waiting in line. A save is the time from sending a vote to the answer that it is on the disk.
Beside them the load of the machine before: other work on it shows in the times. Prints a table and
writes benchmarks/annotation.json.
"""

from __future__ import annotations

import json
import os
import platform
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from annotating import Person, by_hash, dialogues, make_project_at  # noqa: E402
from crowd import crowd, free_port  # noqa: E402
from servers import Cluster, Server  # noqa: E402

from dialeval.server.settings import sqlite_url  # noqa: E402

PEOPLE, VOTES, DIALOGUES, TURNS = 20, 19, 400, 4
PACE = {"paced": 1.0, "flat out": 0.0}
SECONDS = 20.0


def clicking(person: Person, pace: float, end: float) -> None:
    """Work until the time is up, one click every `pace` seconds on average."""
    lots = random.Random(person.name)
    while time.monotonic() < end:
        item = person.next()
        if item is None:
            return
        for question in item["questions"]:
            label = by_hash(person, item, question)
            time.sleep(lots.uniform(0, 2 * pace))
            answer = person.vote(item, question["criterion"], label, question["turn"])
            assert answer.status_code == 200, answer.text
        person.finish(item)
        person.answers.clear()


def measured(database_url: str | None, workers: int, pace: float) -> dict[str, Any]:
    port = free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(
            Path(folder) / "data",
            database_url=database_url,
            workers=workers,
            options=["--port", str(port)],
        ) as server,
        server.client() as http,
    ):
        organiser = server.organiser(http)
        records = dialogues("helpdesk", DIALOGUES, TURNS)
        make_project_at(database_url or sqlite_url(server.folder), records, votes=VOTES)
        people = crowd(organiser, "project", port, PEOPLE)
        for person in people.people:  # every worker has read the dialogues
            person.next()
        for line in people.lines:
            line.saves.clear()
        begin = time.monotonic()
        threads = [
            threading.Thread(target=clicking, args=(person, pace, begin + SECONDS))
            for person in people.people
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.monotonic() - begin
        saves = np.array([save for line in people.lines for save in line.saves])
        for line in people.lines:
            line.close()
    p50, p99 = np.percentile(saves * 1000, [50, 99])
    return {
        "saves": len(saves),
        "saves_per_second": round(len(saves) / elapsed, 1),
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "most_ms": round(float(saves.max() * 1000), 1),
        "load_before": round(LOAD, 2),
    }


LOAD = 0.0


def main() -> None:
    global LOAD
    found: dict[str, Any] = {}
    cluster = Cluster()
    try:
        cluster.start()
        for name, workers in (("sqlite", 1), ("postgresql", 2)):
            for kind, pace in PACE.items():
                url = cluster.new_database() if name == "postgresql" else None
                LOAD = os.getloadavg()[0]
                figures = measured(url, workers, pace)
                found[f"{name}, {kind}"] = figures
                print(
                    f"{name:<11} {kind:<9} {figures['saves_per_second']:>7} saves/s  "
                    f"p50 {figures['p50_ms']:>6} ms  p99 {figures['p99_ms']:>6} ms  "
                    f"load before {figures['load_before']}"
                )
    finally:
        cluster.remove()
    result = {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
        "annotators": PEOPLE,
        "dialogues": DIALOGUES,
        "turns": TURNS,
        "votes": VOTES,
        "seconds": SECONDS,
        "results": found,
    }
    (HERE / "annotation.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
