"""Teams and organisers: registration, tokens, sign-in, invitations."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import case, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from dialeval.server.actor import ANYONE, Actor
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_request, not_found
from dialeval.server.secrets import digest, hash_password, is_password, name_key, new_token
from dialeval.server.services.events import record
from dialeval.server.settings import Rate
from dialeval.server.tables import Attempts, Invitation, Organiser, SignIn, Team

SESSION = timedelta(days=14)
INVITATION = timedelta(days=7)
SHORTEST_PASSWORD = 10
WRONG = "the name and password, or the token, are not right"


def register_team(
    context: Context, name: str, information: dict[str, Any], address: str
) -> tuple[Team, str]:
    """A new team and its token, which nobody can read again."""
    count_attempt(context, "register", address, context.settings.registrations)
    name = clean_name(name)
    token = new_token("team")
    with context.database.write() as session:
        if _team_named(session, name):
            raise Problem(409, "conflict", "a team of this name is registered")
        team = Team(
            name=name,
            name_key=name_key(name),
            information=information,
            token_digest=digest(token),
            baseline=False,
            created_at=context.now(),
        )
        session.add(team)
        session.flush()
        record(session, context.now(), None, f"team {name}", "register", "")
    return team, token


def clean_name(name: str) -> str:
    """A name for people to read: one line, no control or invisible characters."""
    cleaned = " ".join(name.split())
    if not 1 <= len(cleaned) <= 60 or not cleaned.isprintable():
        raise bad_request("a name has 1 to 60 printable characters")
    if not any(char.isalnum() for char in cleaned):
        raise bad_request("a name has at least one letter or digit")
    return cleaned


def count_attempt(context: Context, what: str, address: str, rate: Rate) -> None:
    """Count an attempt from an address; refuse it if there were too many."""
    stretch = int(context.now().timestamp()) // rate.seconds
    insert = (sqlite if context.database.sqlite else postgresql).insert
    more = case((Attempts.stretch == stretch, Attempts.count + 1), else_=1)
    statement = (
        insert(Attempts)
        .values(key=_attempts_key(what, address), stretch=stretch, count=1)
        .on_conflict_do_update(index_elements=["key"], set_={"count": more, "stretch": stretch})
        .returning(Attempts.count)
    )
    with context.database.write() as session:
        count = session.execute(statement).scalar_one()
    if count > rate.attempts:
        wait = rate.seconds - int(context.now().timestamp()) % rate.seconds
        detail = f"too many attempts from your address; try again in {wait} seconds"
        raise Problem(429, "too-many", detail, retry_after=wait)


def forget_attempt(context: Context, what: str, address: str) -> None:
    """A success does not count; failures before it do, or a team could guess passwords."""
    one_less = update(Attempts).where(Attempts.key == _attempts_key(what, address))
    with context.database.write() as session:
        session.execute(one_less.values(count=Attempts.count - 1))


def _attempts_key(what: str, address: str) -> str:
    return f"{what} {address}"[:200]


def actor_of_token(context: Context, token: str) -> Actor:
    """Who holds a token; anyone if nobody does."""
    wanted = digest(token)
    with context.database.read() as session:
        team = session.scalar(select(Team).where(Team.token_digest == wanted))
        if team is not None:
            return _of_team(team)
        organiser = session.scalar(select(Organiser).where(Organiser.token_digest == wanted))
        return ANYONE if organiser is None else _of_organiser(organiser)


def actor_of_session(context: Context, token: str) -> Actor:
    """Who has signed in with this session."""
    with context.database.read() as session:
        row = session.get(SignIn, digest(token))
        if row is None or row.expires_at <= context.now():
            return ANYONE
        if row.team_id is not None:
            return _of_team(session.get_one(Team, row.team_id))
        return _of_organiser(session.get_one(Organiser, row.organiser_id))


def _of_team(team: Team) -> Actor:
    return Actor("team", team.id, team.name)


def _of_organiser(organiser: Organiser) -> Actor:
    return Actor("organiser", organiser.id, organiser.name)


def sign_in_team(context: Context, token: str, address: str) -> str:
    """A session for the holder of a team's token."""
    count_attempt(context, "sign in", address, context.settings.sign_ins)
    actor = actor_of_token(context, token.strip())
    if actor.role != "team":
        raise Problem(401, "sign-in", WRONG)
    forget_attempt(context, "sign in", address)
    return start_session(context, actor)


def organiser_by_password(context: Context, name: str, password: str, address: str) -> Actor:
    """The organiser of this name and password."""
    count_attempt(context, "sign in", address, context.settings.sign_ins)
    with context.database.read() as session:
        organiser = _organiser_named(session, name)
    right = is_password(password, organiser.password_hash if organiser else None)
    if organiser is None or not right:
        raise Problem(401, "sign-in", WRONG)
    forget_attempt(context, "sign in", address)
    return _of_organiser(organiser)


def start_session(context: Context, actor: Actor) -> str:
    """A session's secret, for the browser's cookie. Sessions that are over are swept away."""
    secret = new_token("session")
    with context.database.write() as session:
        session.execute(delete(SignIn).where(SignIn.expires_at <= context.now()))
        session.add(
            SignIn(
                digest=digest(secret),
                team_id=actor.id if actor.role == "team" else None,
                organiser_id=actor.id if actor.role == "organiser" else None,
                expires_at=context.now() + SESSION,
            )
        )
    return secret


def end_session(context: Context, secret: str) -> None:
    """Sign out."""
    with context.database.write() as session:
        session.execute(delete(SignIn).where(SignIn.digest == digest(secret)))


def invite(context: Context, by: Actor | None = None) -> str:
    """The secret of a link that makes one organiser."""
    secret = new_token("invitation")
    with context.database.write() as session:
        moment = context.now()
        session.add(
            Invitation(digest=digest(secret), created_at=moment, expires_at=moment + INVITATION)
        )
        record(session, moment, None, str(by or "server"), "invite an organiser", "")
    return secret


def invite_first(context: Context) -> str | None:
    """An invitation if there is no organiser yet; older ones stop working."""
    with context.database.write() as session:
        if session.scalar(select(Organiser.id).limit(1)) is not None:
            return None
        session.execute(delete(Invitation).where(Invitation.used_at.is_(None)))
    return invite(context)


def join(context: Context, secret: str, name: str, password: str, address: str) -> Actor:
    """Use an invitation: a new organiser."""
    count_attempt(context, "sign in", address, context.settings.sign_ins)
    name = clean_name(name)
    if len(password) < SHORTEST_PASSWORD:
        raise bad_request(f"a password has at least {SHORTEST_PASSWORD} characters")
    kept = hash_password(password)
    with context.database.write() as session:
        moment = context.now()
        invitation = session.get(Invitation, digest(secret), with_for_update=True)
        if invitation is None or invitation.used_at or invitation.expires_at <= moment:
            raise Problem(404, "not-found", "this invitation was used, is too old or never was")
        if _organiser_named(session, name):
            raise Problem(409, "conflict", "an organiser of this name is there already")
        invitation.used_at = moment
        organiser = Organiser(
            name=name, name_key=name_key(name), password_hash=kept, created_at=moment
        )
        session.add(organiser)
        session.flush()
        record(session, moment, None, f"organiser {name}", "join", "")
    forget_attempt(context, "sign in", address)
    return _of_organiser(organiser)


def invitation_is_good(context: Context, secret: str) -> bool:
    """Whether a link still works, to show its page."""
    with context.database.read() as session:
        row = session.get(Invitation, digest(secret))
        return row is not None and row.used_at is None and row.expires_at > context.now()


def new_organiser_token(context: Context, actor: Actor) -> str:
    """A token for the command line; the one before stops working."""
    token = new_token("organiser")
    with context.database.write() as session:
        organiser = session.get_one(Organiser, actor.id)
        organiser.token_digest = digest(token)
        record(session, context.now(), None, str(actor), "make a token", "")
    return token


def new_team_token(context: Context, actor: Actor, name: str) -> str:
    """A new token for a team that lost its own; its sessions end."""
    token = new_token("team")
    with context.database.write() as session:
        team = _team_named(session, name)
        if team is None or team.baseline:
            raise not_found("team")
        team.token_digest = digest(token)
        session.execute(delete(SignIn).where(SignIn.team_id == team.id))
        record(session, context.now(), None, str(actor), "make a team's token", team.name)
    return token


def team_of(context: Context, actor: Actor) -> Team:
    """The team that makes the request."""
    with context.database.read() as session:
        return session.get_one(Team, actor.id)


def all_teams(context: Context, offset: int, limit: int) -> list[Team]:
    """Every team, by name."""
    with context.database.read() as session:
        query = select(Team).order_by(Team.name_key).offset(offset).limit(limit)
        return [*session.scalars(query)]


def baseline_team(session: Session, context: Context, name: str) -> Team:
    """The team that stands for a baseline of this name."""
    name = clean_name(name)
    team = _team_named(session, name)
    if team is not None and not team.baseline:
        raise Problem(409, "conflict", "a team of this name is registered")
    if team is None:
        team = Team(
            name=name,
            name_key=name_key(name),
            information={},
            baseline=True,
            created_at=context.now(),
        )
        session.add(team)
        session.flush()
    return team


def _team_named(session: Session, name: str) -> Team | None:
    return session.scalar(select(Team).where(Team.name_key == name_key(name)))


def _organiser_named(session: Session, name: str) -> Organiser | None:
    return session.scalar(select(Organiser).where(Organiser.name_key == name_key(name)))
