"""Talks: which system a tester gets, what is said, and how a talk ends."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload, selectinload

from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.live_tables import LiveTest, Said, Talk, Tester
from dialeval.server.problems import Problem, bad_request, not_found
from dialeval.server.services.live.systems import Address, Exchange, SystemFailed, replies

OPEN, ENDED, FAILED = "open", "ended", "failed"
MOST_CHARACTERS = 2000
MOST_TRIES = 2
"""A tester meets a system that fails so often from one sentence, after all others."""


@dataclass(frozen=True)
class TalkView:
    """A talk as its tester sees it: nothing tells the system."""

    key: str
    opening: str
    said: list[Exchange]
    left: int
    """Turns that are left."""
    status: str


@dataclass(frozen=True)
class Visit:
    """What a tester's page shows."""

    test: LiveTest
    talk: TalkView | None
    done: int
    planned: int


def visit(context: Context, actor: Actor) -> Visit:
    """The talk that a tester has open, or a new one; None when every talk is had."""
    with context.database.write() as session:
        tester = _tester(session, actor)
        test = tester.test
        talk = session.scalar(
            _talks().where(Talk.tester_id == tester.id, Talk.status == OPEN).limit(1)
        )
        if talk is None and test.open:
            talk = _new_talk(session, context, tester)
        session.flush()
        query = select(func.count()).where(Talk.tester_id == tester.id, Talk.status == ENDED)
        done = session.scalar(query) or 0
        planned = len(test.openings["sentences"]) * test.talks * len(test.systems)
        ended = session.scalar(
            select(func.count()).where(Talk.live_test_id == test.id, Talk.status == ENDED)
        )
        view = None if talk is None else _view(session, talk)
        return Visit(test, view, done, max(0, planned - (ended or 0)))


def _tester(session: Session, actor: Actor) -> Tester:
    query = (
        select(Tester)
        .options(joinedload(Tester.test).selectinload(LiveTest.systems))
        .where(Tester.id == actor.id)
    )
    tester = session.scalar(query.with_for_update(of=Tester))
    if tester is None or tester.revoked_at is not None:
        raise Problem(401, "sign-in", "this link does not work any more")
    return tester


def _new_talk(session: Session, context: Context, tester: Tester) -> Talk | None:
    """The system and sentence with the fewest talks, by lot; none that the tester had before.

    The live test is held while this is decided, so no pair gets more talks than planned.
    """
    test = session.scalar(
        select(LiveTest)
        .options(selectinload(LiveTest.systems))
        .where(LiveTest.id == tester.live_test_id)
        .with_for_update(of=LiveTest)
    )
    assert test is not None
    rows = session.execute(
        select(Talk.opening, Talk.system_id, Talk.tester_id, Talk.status).where(
            Talk.live_test_id == test.id
        )
    ).all()
    count = Counter((row.opening, row.system_id) for row in rows if row.status != FAILED)
    own = [row for row in rows if row.tester_id == tester.id]
    had = {(row.opening, row.system_id) for row in own if row.status != FAILED}
    tried = Counter((row.opening, row.system_id) for row in own if row.status == FAILED)
    pairs = [
        pair
        for pair in product(range(len(test.openings["sentences"])), (s.id for s in test.systems))
        if count[pair] < test.talks and pair not in had and tried[pair] < MOST_TRIES
    ]
    if not pairs:
        return None

    def order(pair: tuple[int, int]) -> tuple[int, int, bytes]:
        lot = f"{test.seed}:{tester.pseudonym}:{pair}".encode()
        return tried[pair], count[pair], hashlib.sha256(lot).digest()

    opening, system_id = min(pairs, key=order)
    talk = Talk(
        key=secrets.token_hex(12),
        live_test_id=test.id,
        system_id=system_id,
        tester_id=tester.id,
        opening=opening,
        status=OPEN,
        reason="",
        started_at=context.now(),
    )
    talk.test = test
    session.add(talk)
    return talk


def say(context: Context, actor: Actor, key: str, number: int, text: str) -> Iterator[str]:
    """Say something and get the reply, piece by piece.

    What the tester says is kept before the system is asked, and the reply when it is whole. The
    same turn said again gives the reply that is there, or asks the system once more.
    """
    text = " ".join(text.split()) if number == 0 else text.strip()
    if not 1 <= len(text) <= MOST_CHARACTERS or "\x00" in text:
        raise bad_request(f"say 1 to {MOST_CHARACTERS:,} characters")
    with context.database.write() as session:
        talk = _own(session, actor, key)
        turns = _said(session, talk)
        if number < len(turns) and turns[number].reply is not None:
            return iter([turns[number].reply or ""])
        if talk.status != OPEN:
            raise Problem(409, "closed", "this talk has ended")
        if number not in (len(turns), len(turns) - 1) or (
            turns and number == len(turns) and turns[-1].reply is None
        ):
            raise Problem(409, "conflict", "the turn before has no reply yet")
        if number >= talk.test.most_turns:
            raise Problem(409, "closed", "the talk has had all its turns")
        if number == len(turns):
            turns.append(Said(talk_id=talk.id, number=number, text=text, failures={"reasons": []}))
            session.add(turns[-1])
        said: list[Exchange] = [(turn.text, turn.reply) for turn in turns]
        system = talk.system
        address = Address(system.kind, system.url, system.model, system.key, system.seconds)
    return _reply(context, talk, number, address, said)


def _reply(
    context: Context, talk: Talk, number: int, address: Address, said: list[Exchange]
) -> Iterator[str]:
    start = time.monotonic()
    whole = ""
    stops = False
    try:
        for piece in replies(address, talk.key, said):
            whole += piece.text
            stops = stops or piece.end
            yield piece.text
    except SystemFailed as failure:
        with context.database.write() as session:
            turn = session.get_one(Said, (talk.id, number), with_for_update=True)
            turn.failures = {"reasons": [*turn.failures["reasons"], str(failure)]}
        raise
    with context.database.write() as session:
        turn = session.get_one(Said, (talk.id, number), with_for_update=True)
        if turn.reply is None:
            turn.reply = whole.strip()
            turn.milliseconds = round((time.monotonic() - start) * 1000)
        row = session.get_one(Talk, talk.id)
        if row.status == OPEN and (stops or not turn.reply or number + 1 >= talk.test.most_turns):
            ended = "system" if stops or not turn.reply else "turns"
            row.status, row.reason, row.ended_at = ENDED, ended, context.now()


def end(context: Context, actor: Actor, key: str, *, failed: bool = False) -> None:
    """The tester ends a talk, or gives up on a system that does not answer.

    A talk without a single reply is a failed one in any case; the system gets another.
    """
    with context.database.write() as session:
        talk = _own(session, actor, key)
        if talk.status != OPEN:
            return
        turns = _said(session, talk)
        reasons = [reason for turn in turns for reason in turn.failures["reasons"]]
        answered = any(turn.reply for turn in turns)
        talk.status = FAILED if failed or not answered else ENDED
        talk.reason = "tester"
        if talk.status == FAILED:
            talk.reason = reasons[-1] if reasons else "no reply"
        talk.ended_at = context.now()


def view_of(context: Context, actor: Actor, key: str) -> TalkView:
    """A talk of a tester's own."""
    with context.database.read() as session:
        return _view(session, _own(session, actor, key))


def _talks() -> Any:
    return select(Talk).options(joinedload(Talk.test), joinedload(Talk.system))


def _own(session: Session, actor: Actor, key: str) -> Talk:
    talk: Talk | None = session.scalar(_talks().where(Talk.key == key, Talk.tester_id == actor.id))
    if talk is None:
        raise not_found("talk")
    return talk


def _said(session: Session, talk: Talk) -> list[Said]:
    return [*session.scalars(select(Said).where(Said.talk_id == talk.id).order_by(Said.number))]


def _view(session: Session, talk: Talk) -> TalkView:
    turns = _said(session, talk)
    return TalkView(
        talk.key,
        talk.test.openings["sentences"][talk.opening],
        [(turn.text, turn.reply) for turn in turns],
        talk.test.most_turns - sum(turn.reply is not None for turn in turns),
        talk.status,
    )
