"""How a project goes: who did what, how far people agree, and its votes as a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.encode import collection_records, lines_of
from dialeval.core.rubric import QUALITY, is_whole_number
from dialeval.server.actor import Actor
from dialeval.server.annotation_tables import Annotator, Assignment, Item, Project, Vote
from dialeval.server.context import Context
from dialeval.server.problems import bad_request
from dialeval.server.scoring import task_rubric
from dialeval.server.services.annotation.assignments import DONE, OPEN, SKIPPED
from dialeval.server.services.annotation.projects import project_in
from dialeval.server.services.annotation.votes import WHOLE, dialogues_of
from dialeval.server.services.tasks import Rules, create_with_data
from dialeval.server.tables import Task


@dataclass(frozen=True)
class Person:
    """What an annotator has done."""

    pseudonym: str
    done: int
    repeats: int
    skipped: int
    open: int
    seconds: float | None
    """The median time of a dialogue."""
    revoked: bool


@dataclass(frozen=True)
class Progress:
    """How far a project is."""

    project: Project
    dialogues: int
    planned: int
    """Votes that are wanted in all."""
    done: int
    complete: int
    """Dialogues that have all their votes."""
    people: list[Person]
    seconds: float | None
    comments: list[tuple[str, str, str]]
    """The newest remarks: who, on which dialogue, what."""


def progress(context: Context, slug: str) -> Progress:
    """Counts and times of a project."""
    with context.database.read() as session:
        project = project_in(session, slug)
        people = [*session.scalars(_annotators(project))]
        rows = session.execute(
            select(
                Assignment.annotator_id,
                Assignment.item_id,
                Assignment.status,
                Assignment.round,
                Assignment.seconds,
            )
            .join(Item)
            .where(Assignment.project_id == project.id, ~Item.practice)
        ).all()
        items = select(Item.id, Item.taken).where(Item.project_id == project.id, ~Item.practice)
        taken = {row.id: row.taken for row in session.execute(items)}
        collection = dialogues_of(context, project)
        remarks = session.execute(
            select(Annotator.pseudonym, Item.place, Assignment.comment)
            .join(Assignment, Assignment.annotator_id == Annotator.id)
            .join(Item, Item.id == Assignment.item_id)
            .where(Assignment.project_id == project.id, Assignment.comment != "", ~Item.practice)
            .order_by(Assignment.last_at.desc())
            .limit(20)
        ).all()
    by_person: dict[int, list[Any]] = {person.id: [] for person in people}
    for row in rows:
        by_person[row.annotator_id].append(row)
    waiting = Counter(row.item_id for row in rows if row.status == OPEN and row.round == 1)
    given = {item: number - waiting[item] for item, number in taken.items()}
    wanted = _wanted(project, people, rows, taken)
    return Progress(
        project,
        len(taken),
        sum(wanted.values()),
        sum(given.values()),
        sum(given[item] >= wanted[item] > 0 for item in taken),
        [_person(person, by_person[person.id]) for person in people],
        median_seconds([row.seconds for row in rows if row.status == DONE]),
        [(who, collection.ids[place], text) for who, place, text in remarks],
    )


def _wanted(
    project: Project, people: list[Annotator], rows: Sequence[Any], taken: dict[int, int]
) -> dict[int, int]:
    """How many votes each dialogue shall have. It may have come with more than are asked for.

    If everyone judges all: what it has, and those whose link works and who have yet to take it.
    """
    if project.votes is not None:
        return {item: max(number, project.votes) for item, number in taken.items()}
    working = {person.id for person in people if person.revoked_at is None}
    have = Counter(
        row.item_id
        for row in rows
        if row.round == 1 and row.status in (OPEN, DONE) and row.annotator_id in working
    )
    return {item: number + len(working) - have[item] for item, number in taken.items()}


def _person(person: Annotator, rows: list[Any]) -> Person:
    first = [row for row in rows if row.round == 1]
    done = [row for row in first if row.status == DONE]
    return Person(
        person.pseudonym,
        len(done),
        sum(row.round == 2 and row.status == DONE for row in rows),
        sum(row.status == SKIPPED for row in first),
        sum(row.status == OPEN for row in rows),
        median_seconds([row.seconds for row in done]),
        person.revoked_at is not None,
    )


def median_seconds(values: list[float]) -> float | None:
    """The middle one, to a tenth of a second."""
    return round(median(values), 1) if values else None


def _annotators(project: Project) -> Any:
    return select(Annotator).where(Annotator.project_id == project.id).order_by(Annotator.id)


def annotated(context: Context, slug: str, *, pseudonyms: bool = True) -> Collection:
    """The project's dialogues with all votes that are given and finished."""
    with context.database.read() as session:
        project = project_in(session, slug)
        records = annotated_records(context, session, project, pseudonyms=pseudonyms)
        content = b"".join(lines_of(records))
    rubric = task_rubric(project.rubric)
    return parse_collection(content, rubric, project.title, format="jsonl")


def annotated_records(
    context: Context, session: Session, project: Project, *, pseudonyms: bool
) -> Iterator[dict[str, Any]]:
    """Dialogues as they stand in a file. Without pseudonyms, repeats are left out."""
    collection = dialogues_of(context, project)
    given = _annotations(session, project, collection)
    for place, record in enumerate(collection_records(collection)):
        annotations = [*record.get("annotations", ()), *given.get(place, ())]
        if not pseudonyms:
            annotations = [
                {key: value for key, value in one.items() if key != "annotator"}
                for one in annotations
                if one.get("round", 1) == 1
            ]
        if annotations:
            record["annotations"] = annotations
        yield record


def _annotations(
    session: Session, project: Project, collection: Collection
) -> dict[int, list[dict[str, Any]]]:
    """By place: what each annotator said, in the order of annotators and rounds."""
    rows = session.execute(
        select(
            Item.place,
            Annotator.pseudonym,
            Assignment.round,
            Vote.criterion,
            Vote.turn,
            Vote.label,
        )
        .join(Assignment, Assignment.id == Vote.assignment_id)
        .join(Item, Item.id == Assignment.item_id)
        .join(Annotator, Annotator.id == Assignment.annotator_id)
        .where(
            Assignment.project_id == project.id,
            Assignment.status == DONE,
            ~Item.practice,
            Vote.label != "",
        )
        .order_by(Item.place, Annotator.id, Assignment.round, Vote.criterion, Vote.turn)
    )
    by_place: dict[int, dict[tuple[str, int], dict[str, Any]]] = {}
    for place, pseudonym, round, criterion, turn, label in rows:
        one = by_place.setdefault(place, {}).setdefault((pseudonym, round), {})
        one.setdefault("annotator", pseudonym)
        if round > 1:
            one["round"] = round
        if turn == WHOLE:
            value = int(label) if is_whole_number(label) else label
            one.setdefault(QUALITY, {})[criterion] = value
        else:
            turns = [None] * len(collection.dialogues[place].turns)
            one.setdefault(criterion, turns)[turn] = label
    return {place: [*ones.values()] for place, ones in by_place.items()}


def freeze(context: Context, actor: Actor, slug: str, task: str) -> tuple[Task, int]:
    """A task of the score server on the votes so far; and how many dialogues have none yet."""
    with context.database.read() as session:
        project = project_in(session, slug)
        records = [
            record
            for record in annotated_records(context, session, project, pseudonyms=True)
            if any(record.get("annotations", ()))
        ]
        whole = len(dialogues_of(context, project))
    if not records:
        raise bad_request("no dialogue has votes yet")
    content = b"".join(lines_of(records))
    rubric = task_rubric(project.rubric)
    rules = Rules(title=project.title, description=f"Made from the project {project.title}.")
    made = create_with_data(context, actor, task, rubric, rules, project.language, content)
    return made, whole - len(records)
