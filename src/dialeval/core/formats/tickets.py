"""Tickets of helpdesk programs, in the shapes of Zendesk and Intercom.

Zendesk: a ticket with `comments` (`author_id`, `body`, `public`), its `requester_id`, and perhaps
the `users` beside. Intercom: a conversation with `source` and `conversation_parts`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from dialeval.core.formats.conversation import Conversation, Message, Odd, kept, seconds
from dialeval.core.formats.markup import plain_text
from dialeval.core.records import Origin, Record, decode_part

Id = str | int


class User(msgspec.Struct, frozen=True):
    """Who may write in a ticket; Zendesk says `role`, Intercom `type`."""

    id: Id | None = None
    name: str | None = None
    role: str | None = None
    type: str | None = None


class _Part(msgspec.Struct, frozen=True):
    body: str | None = None
    plain_body: str | None = None
    html_body: str | None = None
    author_id: Id | None = None
    author: User | str | None = None
    role: str | None = None
    public: bool | None = True
    private: bool | None = False
    part_type: str | None = None
    created_at: str | int | float | None = None
    attachments: list[msgspec.Raw] | None = None


class _Parts(msgspec.Struct, frozen=True):
    conversation_parts: list[_Part] = []


class _Ticket(msgspec.Struct, frozen=True):
    id: Id | None = None
    description: str | None = None
    requester_id: Id | None = None
    requester: User | str | None = None
    created_at: str | int | float | None = None
    comments: list[_Part] | None = None
    source: _Part | None = None
    conversation_parts: list[_Part] | _Parts | None = None


_TICKET = msgspec.json.Decoder(_Ticket)
REQUESTER, ANSWERER = "requester", "agent"


def read_tickets(
    records: Iterator[Record],
    origin: Origin,
    odd: Odd,
    keep: Collection[str] = (),
    users: Iterable[User] = (),
) -> Iterator[Conversation]:
    """A conversation a ticket; `users` tell the roles of authors."""
    known = {str(user.id): user for user in users if user.id is not None}
    for record in records:
        ticket = decode_part(_TICKET, record, origin)
        number = record[0]
        id = str(number + 1 if ticket.id is None else ticket.id)
        yield Conversation(id, _messages(ticket, known, odd), number, kept(record, keep))


def _messages(ticket: _Ticket, users: Mapping[str, User], odd: Odd) -> list[Message]:
    requester = _requester(ticket)
    messages = []
    for path, part, html in _parts(ticket):
        if part.public is False or part.private or part.part_type == "note":
            odd["private notes left out"] += 1
            continue
        text = _text(part, html)
        if not text and part.attachments:
            odd["attachments read as empty posts"] += 1
        elif not text:
            odd["events without text left out"] += 1
            continue
        author, role = _author(part, requester, users)
        messages.append(Message(text, author, role, seconds(part.created_at), path))
    return messages


def _parts(ticket: _Ticket) -> Iterator[tuple[str, _Part, bool]]:
    """All that was written, with its place, and whether it is HTML."""
    if ticket.source is not None:
        opening = ticket.source
        if opening.created_at is None:
            opening = msgspec.structs.replace(opening, created_at=ticket.created_at)
        yield ".source", opening, True
    later = ticket.conversation_parts
    if isinstance(later, _Parts):
        for i, part in enumerate(later.conversation_parts):
            yield f".conversation_parts.conversation_parts[{i}]", part, True
    else:
        for i, part in enumerate(later or ()):
            yield f".conversation_parts[{i}]", part, True
    for i, part in enumerate(ticket.comments or ()):
        yield f".comments[{i}]", part, False
    if ticket.description and not (ticket.comments or ticket.source):
        # A list of tickets without their comments has the first of them here.
        opening = _Part(body=ticket.description, role=REQUESTER, created_at=ticket.created_at)
        yield ".description", opening, False


def _text(part: _Part, html: bool) -> str:
    if part.plain_body is not None:
        return part.plain_body.strip()
    if part.body is not None:
        return plain_text(part.body) if html else part.body.strip()
    return plain_text(part.html_body or "")


def _requester(ticket: _Ticket) -> str | None:
    if ticket.requester_id is not None:
        return str(ticket.requester_id)
    if isinstance(ticket.requester, User):
        return None if ticket.requester.id is None else str(ticket.requester.id)
    return ticket.requester


def _author(part: _Part, requester: str | None, users: Mapping[str, User]) -> tuple[str, str]:
    """The author's name (or id) and role. Whoever asked is the requester, even an agent."""
    told = part.author if isinstance(part.author, User) else None
    own = part.author_id if part.author_id is not None else told.id if told else None
    if own is None and isinstance(part.author, str):
        own = part.author
    id = "" if own is None else str(own)
    user = told or users.get(id)
    name = (user.name if user else None) or id
    if id and id == requester:
        return name, REQUESTER
    role = part.role or (user and (user.role or user.type)) or ""
    if not role and id and requester:
        role = ANSWERER
    return name, role
