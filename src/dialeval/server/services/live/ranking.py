"""How the systems of a live test rank by people's judgements of their talks."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dialeval.core.decode_collection import parse_collection
from dialeval.core.encode import lines_of
from dialeval.core.errors import DialevalError
from dialeval.measures.points import evaluate_points, most_points
from dialeval.report.standings import Standings, standings_of
from dialeval.server.context import Context
from dialeval.server.problems import bad_request
from dialeval.server.scoring import task_rubric
from dialeval.server.services.annotation.overview import annotated_records
from dialeval.server.services.annotation.projects import project_in
from dialeval.server.services.annotation.votes import dialogues_of
from dialeval.server.services.live.transcripts import SYSTEM
from dialeval.stats.contest import Settings


def has_systems(context: Context, slug: str) -> bool:
    """Whether a project's dialogues are talks with systems."""
    with context.database.read() as session:
        collection = dialogues_of(context, project_in(session, slug))
    return any(SYSTEM in dialogue.fields for dialogue in collection.dialogues)


def ranking(context: Context, slug: str) -> Standings:
    """Points by aspect and overall, with intervals and significance, of talks that have votes.

    Talks of all systems from the same sentence are compared with one another.
    """
    with context.database.read() as session:
        project = project_in(session, slug)
        records = [*annotated_records(context, session, project, pseudonyms=True)]
    rubric = task_rubric(project.rubric)
    if not rubric.aspects:
        raise bad_request(f"the rubric {rubric.name!r} has no aspects that give points")
    systems: dict[str, list[dict[str, Any]]] = {}
    talks: Counter[tuple[str, int]] = Counter()
    for record in records:
        if SYSTEM not in record or "annotations" not in record:
            continue
        pair = (record[SYSTEM], record["opening"])
        talks[pair] += 1
        id = f"{record['opening']}-{talks[pair]}"
        systems.setdefault(record[SYSTEM], []).append({**record, "id": id})
    if len(systems) < 2:
        raise bad_request("a ranking needs judged talks of at least two systems")
    try:
        scores = [
            evaluate_points(
                parse_collection(b"".join(lines_of(own)), rubric, name, format="jsonl"), name
            )
            for name, own in systems.items()
        ]
        most = ", ".join(f"{aspect} {points:g}" for aspect, points in most_points(rubric).items())
        about = f"Points by people's judgements: higher is better. The most: {most}."
        settings = Settings(trials=context.settings.trials)
        return standings_of(rubric.name, about, scores, settings, unit="conversation")
    except DialevalError as error:
        raise bad_request(str(error)) from None
