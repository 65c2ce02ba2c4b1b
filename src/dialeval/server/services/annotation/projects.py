"""Projects and the people invited to them."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

import msgspec
import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import parse_collection
from dialeval.core.errors import DialevalError
from dialeval.core.rubric import Rubric
from dialeval.server.actor import ANYONE, Actor
from dialeval.server.annotation_tables import Annotator, Item, Project
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_file, bad_request, not_found
from dialeval.server.scoring import check_depth, check_votes, format_of, packed, unpacked
from dialeval.server.secrets import digest, new_token
from dialeval.server.services.accounts import clean_name
from dialeval.server.services.annotation.assignments import release_open
from dialeval.server.services.annotation.votes import dialogues_of
from dialeval.server.services.events import record

MOST_AT_ONCE = 200


@dataclass(frozen=True)
class Plan:
    """How a project is judged."""

    title: str
    instructions: str = ""
    language: str = "en"
    votes: int | None = None
    repeats: int = 0
    idle_hours: int = 24
    seed: int | None = None

    def check(self) -> None:
        """Refuse what cannot be done."""
        if not 1 <= len(" ".join(self.title.split())) <= 200 or not self.title.isprintable():
            raise bad_request("a title has 1 to 200 printable characters")
        if self.votes is not None and not 1 <= self.votes <= 10_000:
            raise bad_request("1 to 10,000 people judge a dialogue, or everyone")
        if not 0 <= self.repeats <= 50:
            raise bad_request("0 to 50 of a hundred dialogues come again")
        if not 1 <= self.idle_hours <= 24 * 365:
            raise bad_request("a dialogue goes back to the pool after 1 hour to a year")


def create_project(
    context: Context,
    actor: Actor,
    slug: str,
    rubric: Rubric,
    plan: Plan,
    content: bytes,
    practice: bytes | None = None,
) -> Project:
    """A project on a collection. Votes that the collection has count as given."""
    plan.check()
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", slug):
        raise bad_request("a project's address has small letters, digits and -, at most 60")
    collection = read_dialogues(context, content, rubric)
    examples = None
    if practice is not None:
        examples = read_dialogues(context, practice, rubric, "practice")
        try:
            check_votes(examples, least=1)
        except DialevalError as error:
            raise bad_file(error) from None
    with context.database.write() as session:
        if session.scalar(select(Project.id).where(Project.slug == slug)) is not None:
            raise Problem(409, "conflict", "there is a project of this address")
        project = Project(
            slug=slug,
            title=" ".join(plan.title.split()),
            instructions=plan.instructions,
            rubric=msgspec.json.encode(rubric).decode(),
            language=plan.language,
            content=packed(collection),
            practice=packed(examples) if examples else None,
            votes=plan.votes,
            repeats=plan.repeats,
            idle_hours=plan.idle_hours,
            seed=secrets.randbits(63) if plan.seed is None else plan.seed,
            open=True,
            created_at=context.now(),
        )
        session.add(project)
        session.flush()
        given = imported_votes(collection)
        session.add_all(
            Item(project_id=project.id, place=place, practice=False, taken=given[place])
            for place in range(len(collection))
        )
        session.add_all(
            Item(project_id=project.id, place=place, practice=True, taken=0)
            for place in range(len(examples or ()))
        )
        record(session, context.now(), None, str(actor), "create a project", slug)
    return project


def read_dialogues(
    context: Context, content: bytes, rubric: Rubric, source: str = "collection"
) -> Collection:
    """An uploaded collection, or the problem with it."""
    content = unpacked(content, context.settings.collection_limit)
    try:
        check_depth(content)
        return parse_collection(content, rubric, source, format=format_of(content))
    except DialevalError as error:
        raise error if isinstance(error, Problem) else bad_file(error) from None


def imported_votes(collection: Collection) -> list[int]:
    """How many annotators judged each dialogue before it came here."""
    voted = [0] * len(collection)
    for criterion in collection.rubric.of_dialogues or collection.rubric.of_turns:
        votes = collection.votes.get(criterion.id)
        if votes is None:
            continue
        of_items = (votes >= 0).sum(axis=1)
        if criterion.scope == "turn":  # turns that nobody judges have none
            of_items = np.maximum.reduceat(of_items, collection.offsets[:-1])
        voted = [max(count, int(here)) for count, here in zip(voted, of_items, strict=True)]
    return voted


def change_project(context: Context, actor: Actor, slug: str, *, open: bool) -> Project:
    """Open a project for annotators, or close it."""
    with context.database.write() as session:
        project = project_in(session, slug)
        project.open = open
        done = "open a project" if open else "close a project"
        record(session, context.now(), None, str(actor), done, slug)
    return project


def invite_annotators(
    context: Context, actor: Actor, slug: str, pseudonyms: list[str]
) -> list[tuple[str, str]]:
    """Links for these people, by pseudonym; each is shown once."""
    names = [clean_name(name) for name in pseudonyms]
    if not 1 <= len(names) <= MOST_AT_ONCE or len(set(names)) < len(names):
        raise bad_request(f"1 to {MOST_AT_ONCE} distinct pseudonyms at once")
    made = [(name, new_token("annotator")) for name in names]
    with context.database.write() as session:
        project = project_in(session, slug)
        if twice := _known(context, session, project) & set(names):
            detail = f"{sorted(twice)[0]} is invited already, or has votes in the collection"
            raise Problem(409, "conflict", detail)
        session.add_all(
            Annotator(
                project_id=project.id,
                pseudonym=name,
                token_digest=digest(secret),
                created_at=context.now(),
            )
            for name, secret in made
        )
        detail = f"{slug}: {len(names)} annotators"
        record(session, context.now(), None, str(actor), "invite annotators", detail)
    return made


def next_pseudonyms(context: Context, slug: str, count: int) -> list[str]:
    """Names for more annotators: A1, A2 and so on, those that are free."""
    with context.database.read() as session:
        known = _known(context, session, project_in(session, slug))
    names: list[str] = []
    number = 1
    while len(names) < count:
        if f"A{number}" not in known:
            names.append(f"A{number}")
        number += 1
    return names


def _known(context: Context, session: Session, project: Project) -> set[str]:
    """Those who are invited, and those whose votes came with the collection."""
    query = select(Annotator.pseudonym).where(Annotator.project_id == project.id)
    return {*session.scalars(query), *dialogues_of(context, project).annotators}


def revoke_annotator(context: Context, actor: Actor, slug: str, pseudonym: str) -> None:
    """Let a link stop working. Votes that were given stay; what is open goes back."""
    with context.database.write() as session:
        project = project_in(session, slug)
        query = select(Annotator).where(
            Annotator.project_id == project.id, Annotator.pseudonym == pseudonym
        )
        annotator = session.scalar(query.with_for_update())
        if annotator is None:
            raise not_found("annotator")
        annotator.revoked_at = context.now()
        release_open(session, project, annotator_id=annotator.id)
        detail = f"{slug}: {pseudonym}"
        record(session, context.now(), None, str(actor), "revoke a link", detail)


def project_in(session: Session, slug: str) -> Project:
    """The project of an address."""
    project = session.scalar(select(Project).where(Project.slug == slug))
    if project is None:
        raise not_found("project")
    return project


def find_project(context: Context, slug: str) -> Project:
    """A project, for organisers."""
    with context.database.read() as session:
        return project_in(session, slug)


def all_projects(context: Context) -> list[tuple[Project, int]]:
    """All projects with their numbers of dialogues, newest first."""
    count = select(func.count()).where(Item.project_id == Project.id, ~Item.practice)
    query = select(Project, count.scalar_subquery()).order_by(Project.id.desc())
    with context.database.read() as session:
        return [(project, number) for project, number in session.execute(query)]


def actor_of_link(context: Context, secret: str) -> Actor:
    """The annotator whose link this is; anyone if it does not work any more."""
    with context.database.read() as session:
        columns = select(Annotator.id, Annotator.pseudonym, Annotator.revoked_at)
        query = columns.where(Annotator.token_digest == digest(secret))
        row = session.execute(query).one_or_none()
    if row is None or row.revoked_at is not None:
        return ANYONE
    return Actor("annotator", row.id, row.pseudonym)
