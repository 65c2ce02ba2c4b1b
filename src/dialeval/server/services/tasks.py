"""Tasks: their rules, collections and phases."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session, joinedload, selectinload

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.encode import collection_records, lines_of
from dialeval.core.errors import DialevalError, unknown_name
from dialeval.core.rubric import Rubric
from dialeval.report.campaign import LANGUAGES
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_file, bad_request, not_found
from dialeval.server.scoring import (
    Gold,
    check_votes,
    columns_of,
    format_of,
    packed,
    read_collection,
    stratified_half,
    task_rubric,
    unpacked,
)
from dialeval.server.services.counting import recount_task
from dialeval.server.services.events import record
from dialeval.server.tables import Phase, Submission, Task, TaskCollection

Rule = Literal["best", "last", "chosen"]
Kind = Literal["development", "final"]
Visibility = Literal["public", "team", "hidden"]
KINDS: tuple[Kind, ...] = ("development", "final")
MOST_LANGUAGES = 20
NEEDS = "a task that everybody sees needs data and a phase first"


@dataclass(frozen=True)
class Rules:
    """What an organiser says about a task. None leaves what was said before."""

    title: str | None = None
    description: str | None = None
    time_zone: str | None = None
    visible: bool | None = None
    rule: Rule | None = None
    best_by: str | None = None
    entries: int | None = None
    reference: bool | None = None


@dataclass(frozen=True)
class PhaseRules:
    """What an organiser says about a phase. No closing date: it stays open."""

    opens_at: datetime
    closes_at: datetime | None = None
    daily: int = 5
    total: int = 50
    visibility: Visibility = "public"


def create_task(context: Context, actor: Actor, slug: str, rubric: Rubric, rules: Rules) -> Task:
    """A task without data or phases, hidden until told otherwise."""
    with context.database.write() as session:
        return _created(session, context, actor, slug, rubric, rules)


def create_with_data(
    context: Context,
    actor: Actor,
    slug: str,
    rubric: Rubric,
    rules: Rules,
    language: str,
    content: bytes,
) -> Task:
    """A task and its data in a language: both, or nothing."""
    collection = _checked_collection(context, content, rubric, language)
    with context.database.write() as session:
        task = _created(session, context, actor, slug, rubric, rules)
        _set_collection(session, context, actor, task, language, collection, None)
    return task


def _created(
    session: Session, context: Context, actor: Actor, slug: str, rubric: Rubric, rules: Rules
) -> Task:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", slug):
        raise bad_request("a task's address has small letters, digits and -, at most 60")
    if session.scalar(select(Task.id).where(Task.slug == slug)) is not None:
        raise Problem(409, "conflict", "there is a task of this address")
    task = Task(
        slug=slug,
        title=slug,
        description="",
        rubric=msgspec.json.encode(rubric).decode(),
        time_zone="UTC",
        visible=False,
        rule="best",
        best_by=columns_of(rubric)[0],
        entries=1,
        reference=False,
        created_at=context.now(),
        collections=[],
        phases=[],
    )
    _apply(task, rules)
    if task.visible:
        raise bad_request(NEEDS)
    session.add(task)
    session.flush()
    record(session, context.now(), task.id, str(actor), "create the task", slug)
    return task


def change_task(context: Context, actor: Actor, slug: str, rules: Rules) -> Task:
    """Change a task's rules; what counts is worked out anew."""
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        _apply(task, rules)
        if task.visible and not (task.collections and task.phases):
            raise bad_request(NEEDS)
        recount_task(session, task)
        task.version += 1
        changed = ", ".join(name for name, value in vars(rules).items() if value is not None)
        record(session, context.now(), task.id, str(actor), "change the task", changed)
    return task


def _apply(task: Task, rules: Rules) -> None:
    if rules.title is not None:
        task.title = " ".join(rules.title.split())
        if not 1 <= len(task.title) <= 200 or not task.title.isprintable():
            raise bad_request("a title has 1 to 200 printable characters")
    if rules.description is not None:
        task.description = rules.description
    if rules.time_zone is not None:
        if rules.time_zone not in available_timezones():
            raise bad_request(f"unknown time zone {rules.time_zone[:60]!r}, such as Asia/Tokyo")
        task.time_zone = rules.time_zone
    if rules.best_by is not None:
        columns = columns_of(task_rubric(task.rubric))
        if rules.best_by not in columns:
            raise bad_request(str(unknown_name("measure", rules.best_by[:60], columns)))
        task.best_by = rules.best_by
    if rules.entries is not None:
        if not 1 <= rules.entries <= 100:
            raise bad_request("1 to 100 runs of a team count")
        task.entries = rules.entries
    task.rule = rules.rule or task.rule
    task.visible = task.visible if rules.visible is None else rules.visible
    task.reference = task.reference if rules.reference is None else rules.reference


def put_collection(
    context: Context, actor: Actor, slug: str, language: str, content: bytes, seed: int | None
) -> TaskCollection:
    """Give a task its dialogues and votes in a language, or replace them.

    A replacement must be of the same dialogues, so that what was submitted still fits; the half
    stays as it is. Submissions keep their scores until they are rescored.
    """
    with context.database.read() as session:
        rubric = task_rubric(task_in(session, slug).rubric)
    collection = _checked_collection(context, content, rubric, language)
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        return _set_collection(session, context, actor, task, language, collection, seed)


def _checked_collection(
    context: Context, content: bytes, rubric: Rubric, language: str
) -> Collection:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?", language):
        raise bad_request("a language is a code such as en or zh")
    content = unpacked(content, context.settings.collection_limit)
    try:
        collection = parse_collection(content, rubric, "collection", format=format_of(content))
        check_votes(collection)
    except DialevalError as error:
        raise bad_file(error) from None
    return collection


def _set_collection(
    session: Session,
    context: Context,
    actor: Actor,
    task: Task,
    language: str,
    collection: Collection,
    seed: int | None,
) -> TaskCollection:
    row = next((c for c in task.collections if c.language == language), None)
    if row is None:
        if len(task.collections) >= MOST_LANGUAGES:
            raise bad_request(f"a task has at most {MOST_LANGUAGES} languages")
        seed = secrets.randbits(63) if seed is None else seed
        half = stratified_half(collection.lengths, seed)
        row = TaskCollection(language=language, half=half, revision=0)
        task.collections.append(row)
    elif not _same_dialogues(collection, row):
        raise Problem(409, "conflict", "the task has other dialogues in this language")
    row.content, row.dialogues = packed(collection), len(collection)
    row.revision += 1
    task.version += 1
    session.flush()
    detail = f"{language}, {len(collection)} dialogues"
    record(session, context.now(), task.id, str(actor), "set the data", detail)
    return row


def _same_dialogues(collection: Collection, row: TaskCollection) -> bool:
    before = read_collection(row.content, collection.rubric, "collection")
    same_turns = [d.turns for d in before.dialogues] == [d.turns for d in collection.dialogues]
    return before.ids == collection.ids and same_turns


def set_phase(context: Context, actor: Actor, slug: str, kind: Kind, rules: PhaseRules) -> Phase:
    """Add a phase or change it. Phases do not overlap."""
    if rules.closes_at is not None and rules.closes_at <= rules.opens_at:
        raise bad_request("a phase closes after it opens")
    if not (1 <= rules.daily <= 1_000_000 and 1 <= rules.total <= 1_000_000):
        raise bad_request("quotas are 1 to 1,000,000")
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        for other in task.phases:
            if other.kind != kind and _overlap(rules, other):
                raise bad_request(f"the phase overlaps with the {other.kind} phase")
        phase = next((p for p in task.phases if p.kind == kind), None)
        if phase is None:
            phase = Phase(kind=kind)
            task.phases.append(phase)
        for name, value in vars(rules).items():
            setattr(phase, name, value)
        task.version += 1
        session.flush()
        record(session, context.now(), task.id, str(actor), "set a phase", kind)
    return phase


def _overlap(rules: PhaseRules, other: Phase) -> bool:
    starts_first = other.closes_at is None or rules.opens_at < other.closes_at
    return starts_first and (rules.closes_at is None or other.opens_at < rules.closes_at)


def close_phase(context: Context, actor: Actor, slug: str, kind: str) -> Phase:
    """End a phase now."""
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        phase = phase_of(task, kind)
        if not is_open(phase, context.now()):
            raise Problem(409, "phase-closed", f"the {kind} phase is not open")
        phase.closes_at = context.now()
        task.version += 1
        record(session, context.now(), task.id, str(actor), "close a phase", kind)
    return phase


def find_task(context: Context, actor: Actor, slug: str) -> Task:
    """A task that this actor may see, with its phases and languages."""
    with context.database.read() as session:
        return task_in(session, slug, actor=actor)


def visible_tasks(context: Context, actor: Actor, offset: int = 0, limit: int = 100) -> list[Task]:
    """The tasks that this actor may see, newest first."""
    query = select(Task).options(selectinload(Task.phases), selectinload(Task.collections))
    query = query.order_by(Task.id.desc()).offset(offset).limit(limit)
    if not actor.is_organiser:
        query = query.where(Task.visible)
    with context.database.read() as session:
        return [*session.scalars(query)]


def participants_data(context: Context, actor: Actor, slug: str, language: str) -> bytes:
    """The dialogues of a task without votes: ids and turns only, as JSON lines."""
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        gold = gold_of(context, task, language)
    bare = Collection(
        [msgspec.structs.replace(d, fields={}) for d in gold.collection.dialogues],
        gold.collection.rubric,
    )
    return b"".join(lines_of(collection_records(bare)))


# Every request runs these, and to build a statement takes longer than to run it.
_TASK = (
    select(Task)
    .where(Task.slug == bindparam("slug"))
    .options(joinedload(Task.phases), joinedload(Task.collections))
)
# Rows that refer to the task can still be added: they lock only its key. A statement of its own:
# on PostgreSQL the one after it sees what was committed while it waited, phases included.
_LOCK = select(Task.id).where(Task.slug == bindparam("slug")).with_for_update(key_share=True)


def task_in(
    session: Session,
    slug: str,
    *,
    actor: Actor | None = None,
    lock: bool = False,
    fresh: bool = False,
) -> Task:
    """The task of an address, with its phases and languages; hidden ones for organisers only.

    `lock` holds it until the transaction ends, `fresh` reads anew what the session read before.
    """
    given = {"slug": slug}
    if lock:
        session.execute(_LOCK, given)
    found = session.execute(_TASK, given, execution_options={"populate_existing": fresh})
    task = found.unique().scalar_one_or_none()
    if task is None or not (task.visible or actor is None or actor.is_organiser):
        raise not_found("task")
    return task


def language_code(language: str) -> str:
    """The code of a language; names and codes of the campaigns are understood.

    >>> language_code("English"), language_code("cn"), language_code("fr")
    ('en', 'zh', 'fr')
    """
    return LANGUAGES.get(language.lower(), language)


def collection_in(task: Task, language: str) -> TaskCollection:
    """The data of a task in a language."""
    for row in task.collections:
        if row.language == language_code(language):
            return row
    known = ", ".join(row.language for row in task.collections) or "none"
    raise bad_request(f"the task has no data in {language[:20]!r}; it has: {known}")


def gold_of(context: Context, task: Task, language: str) -> Gold:
    """The gold of a task in a language: from memory, or from the task's open transaction."""
    row = collection_in(task, language)
    return context.golds.get(row, task_rubric(task.rubric))


def phase_of(task: Task, kind: str) -> Phase:
    """The phase of this kind."""
    for phase in task.phases:
        if phase.kind == kind:
            return phase
    raise not_found("phase")


def is_open(phase: Phase, moment: datetime) -> bool:
    """Whether teams can submit to it."""
    closed = phase.closes_at is not None and phase.closes_at <= moment
    return phase.opens_at <= moment and not closed


def open_phase(phases: Sequence[Phase], moment: datetime) -> Phase | None:
    """The phase that is open at this moment."""
    return next((phase for phase in phases if is_open(phase, moment)), None)


def zone_of(task: Task) -> ZoneInfo:
    """The time zone in which the task's days change."""
    return ZoneInfo(task.time_zone)


def number_of_submissions(session: Session, task: Task) -> int:
    """How many runs teams have sent, whatever became of them."""
    query = select(func.count()).select_from(Submission).where(Submission.task_id == task.id)
    return session.scalar(query) or 0
