"""Live tests, their systems and their testers."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import func, select
from sqlalchemy.orm import Session, selectinload

from dialeval.core.rubric import Rubric
from dialeval.server.actor import ANYONE, Actor
from dialeval.server.context import Context
from dialeval.server.live_tables import LiveTest, System, Talk, Tester
from dialeval.server.problems import Problem, bad_request, not_found
from dialeval.server.secrets import digest, new_token
from dialeval.server.services.accounts import clean_name
from dialeval.server.services.events import record
from dialeval.server.services.live.systems import Address, check_address

MOST_OPENINGS, MOST_SYSTEMS, MOST_AT_ONCE = 1000, 50, 200


@dataclass(frozen=True)
class Plan:
    """How systems are tested."""

    title: str
    openings: Sequence[str]
    instructions: str = ""
    language: str = "en"
    most_turns: int = 5
    talks: int = 1
    seed: int | None = None

    def check(self) -> list[str]:
        """The sentences to begin with, cleaned; or what cannot be done."""
        sentences = [" ".join(sentence.split()) for sentence in self.openings]
        sentences = [*dict.fromkeys(sentence for sentence in sentences if sentence)]
        if not 1 <= len(sentences) <= MOST_OPENINGS:
            raise bad_request(f"1 to {MOST_OPENINGS} sentences to begin with")
        if any(len(sentence) > 1000 for sentence in sentences):
            raise bad_request("a sentence to begin with has at most 1,000 characters")
        if not 1 <= self.most_turns <= 50 or not 1 <= self.talks <= 100:
            raise bad_request("a talk has 1 to 50 turns, and a sentence 1 to 100 talks")
        if not 1 <= len(" ".join(self.title.split())) <= 200 or not self.title.isprintable():
            raise bad_request("a title has 1 to 200 printable characters")
        return sentences


def create_test(context: Context, actor: Actor, slug: str, rubric: Rubric, plan: Plan) -> LiveTest:
    """A live test without systems yet. The rubric's first speaker is the person."""
    sentences = plan.check()
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", slug):
        raise bad_request("a live test's address has small letters, digits and -, at most 60")
    if len(rubric.speakers) != 2:
        raise bad_request("the rubric of a live test has two speakers: the person, the system")
    with context.database.write() as session:
        if session.scalar(select(LiveTest.id).where(LiveTest.slug == slug)) is not None:
            raise Problem(409, "conflict", "there is a live test of this address")
        test = LiveTest(
            slug=slug,
            title=" ".join(plan.title.split()),
            instructions=plan.instructions,
            rubric=msgspec.json.encode(rubric).decode(),
            language=plan.language,
            openings={"sentences": sentences},
            most_turns=plan.most_turns,
            talks=plan.talks,
            seed=secrets.randbits(63) if plan.seed is None else plan.seed,
            open=True,
            created_at=context.now(),
            systems=[],
        )
        session.add(test)
        session.flush()
        record(session, context.now(), None, str(actor), "create a live test", slug)
    return test


def add_system(context: Context, actor: Actor, slug: str, name: str, address: Address) -> System:
    """A system under test. From now on its address may be called, and no other."""
    name = clean_name(name)
    check_address(address.url)
    if address.kind not in ("openai", "json"):
        raise bad_request("a system is of the kind openai or json")
    if not 1 <= address.seconds <= 120:
        raise bad_request("a reply may take 1 to 120 seconds")
    with context.database.write() as session:
        test = test_in(session, slug)
        if len(test.systems) >= MOST_SYSTEMS:
            raise bad_request(f"a live test has at most {MOST_SYSTEMS} systems")
        if any(system.name == name for system in test.systems):
            raise Problem(409, "conflict", "there is a system of this name")
        system = System(live_test_id=test.id, name=name, **vars(address))
        session.add(system)
        session.flush()
        detail = f"{slug}: {name} at {address.url}"
        record(session, context.now(), None, str(actor), "add a system", detail)
    return system


def change_test(context: Context, actor: Actor, slug: str, *, open: bool) -> LiveTest:
    """Open a live test for testers, or close it."""
    with context.database.write() as session:
        test = test_in(session, slug)
        test.open = open
        done = "open a live test" if open else "close a live test"
        record(session, context.now(), None, str(actor), done, slug)
    return test


def invite_testers(context: Context, actor: Actor, slug: str, count: int) -> list[tuple[str, str]]:
    """Links for so many more testers; each is shown once."""
    if not 1 <= count <= MOST_AT_ONCE:
        raise bad_request(f"1 to {MOST_AT_ONCE} testers at once")
    with context.database.write() as session:
        test = test_in(session, slug)
        query = select(func.count()).where(Tester.live_test_id == test.id)
        known = session.scalar(query) or 0
        made = [(f"T{known + 1 + more}", new_token("tester")) for more in range(count)]
        session.add_all(
            Tester(
                live_test_id=test.id,
                pseudonym=name,
                token_digest=digest(secret),
                created_at=context.now(),
            )
            for name, secret in made
        )
        record(session, context.now(), None, str(actor), "invite testers", f"{slug}: {count}")
    return made


def revoke_tester(context: Context, actor: Actor, slug: str, pseudonym: str) -> None:
    """Let a link stop working."""
    with context.database.write() as session:
        test = test_in(session, slug)
        query = select(Tester).where(Tester.live_test_id == test.id, Tester.pseudonym == pseudonym)
        tester = session.scalar(query)
        if tester is None:
            raise not_found("tester")
        tester.revoked_at = context.now()
        record(session, context.now(), None, str(actor), "revoke a link", f"{slug}: {pseudonym}")


def test_in(session: Session, slug: str) -> LiveTest:
    """The live test of an address, with its systems."""
    query = select(LiveTest).options(selectinload(LiveTest.systems)).where(LiveTest.slug == slug)
    test = session.scalar(query)
    if test is None:
        raise not_found("live test")
    return test


def all_tests(context: Context) -> list[LiveTest]:
    """All live tests, newest first."""
    query = select(LiveTest).options(selectinload(LiveTest.systems)).order_by(LiveTest.id.desc())
    with context.database.read() as session:
        return [*session.scalars(query)]


def actor_of_link(context: Context, secret: str) -> Actor:
    """The tester whose link this is; anyone if it does not work any more."""
    with context.database.read() as session:
        row = session.scalar(select(Tester).where(Tester.token_digest == digest(secret)))
        if row is None or row.revoked_at is not None:
            return ANYONE
        return Actor("tester", row.id, row.pseudonym)


@dataclass(frozen=True)
class Standing:
    """How a system's talks go."""

    system: System
    ended: int
    open: int
    failed: int
    planned: int


@dataclass(frozen=True)
class Overview:
    """How far a live test is."""

    test: LiveTest
    systems: list[Standing]
    testers: list[tuple[str, int, bool]]
    """Pseudonym, talks that are ended, whether the link is revoked."""


def overview(context: Context, slug: str) -> Overview:
    """The talks of every system and tester, counted."""
    with context.database.read() as session:
        test = test_in(session, slug)
        rows = session.execute(
            select(Talk.system_id, Talk.tester_id, Talk.status).where(Talk.live_test_id == test.id)
        ).all()
        query = select(Tester).where(Tester.live_test_id == test.id).order_by(Tester.id)
        testers = [*session.scalars(query)]
    planned = len(test.openings["sentences"]) * test.talks
    standings = []
    for system in test.systems:
        count = Counter(row.status for row in rows if row.system_id == system.id)
        standings.append(Standing(system, count["ended"], count["open"], count["failed"], planned))
    people = [
        (
            tester.pseudonym,
            sum(row.tester_id == tester.id and row.status == "ended" for row in rows),
            tester.revoked_at is not None,
        )
        for tester in testers
    ]
    return Overview(test, standings, people)
