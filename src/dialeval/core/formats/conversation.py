"""What every export comes down to: conversations of messages, which become dialogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise
from typing import Any

import msgspec

from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import UsageError, shown
from dialeval.core.records import Origin, Record
from dialeval.core.rubric import Rubric

Odd = Counter[str]
"""Things in an export that are not messages, or not quite: how many of each were met."""

ANYBODY = "*"


class Message(msgspec.Struct, frozen=True, gc=False):
    """A post as the export has it."""

    text: str
    author: str = ""
    """Who wrote it, as the export names them."""
    role: str = ""
    """What the export says the author is: user, agent ..."""
    time: float | None = None
    """Seconds since 1970."""
    path: str = ""
    """Its place in the record."""


class Conversation(msgspec.Struct, frozen=True, gc=False):
    """Messages; `number` is that of its record."""

    id: str
    messages: list[Message]
    number: int
    fields: dict[str, Any] = {}
    ordered: bool = False
    """The export has them in the right order, whatever their times say."""


class Cast:
    """Who is which speaker of the rubric.

    In this order: what the user says of an author or a role; what the rubric calls its speakers;
    what the user says of anybody (`*`); in an export without roles, the order in which authors
    first write.
    """

    def __init__(self, rubric: Rubric, given: Mapping[str, str]) -> None:
        for name, speaker in given.items():
            if speaker not in rubric.speakers:
                expected = f"one of {', '.join(rubric.speakers)}"
                raise UsageError(f"speaker of {name!r}: found {speaker!r}, expected {expected}")
        self.rubric = rubric
        self.given = {name.casefold(): speaker for name, speaker in given.items()}
        self.known = {speaker.casefold(): speaker for speaker in rubric.speakers}
        for speaker, roles in rubric.roles.items():
            self.known |= {role.casefold(): speaker for role in roles}

    def speaker_of(self, message: Message) -> str | None:
        """The speaker, as far as the message itself tells."""
        author, role = message.author.casefold(), message.role.casefold()
        by_role = self.known.get(role) or (None if role else self.known.get(author))
        return self.given.get(author) or self.given.get(role) or by_role or self.given.get(ANYBODY)

    def speakers(self, conversation: Conversation, origin: Origin, odd: Odd) -> list[str]:
        """The speaker of each message."""
        told = [self.speaker_of(message) for message in conversation.messages]
        strangers = dict.fromkeys(
            message.author
            for message, speaker in zip(conversation.messages, told, strict=True)
            if speaker is None
        )
        if not strangers:
            return [speaker for speaker in told if speaker is not None]
        free = [speaker for speaker in self.rubric.speakers if speaker not in told]
        first = next(
            m for m, speaker in zip(conversation.messages, told, strict=True) if not speaker
        )
        if first.role or not first.author or len(strangers) > len(free):
            raise self._unknown(first, conversation, [*strangers], origin)
        by_order = dict(zip(strangers, free, strict=False))
        odd["dialogues whose speakers are told by who writes first (or say --speaker)"] += 1
        return [
            speaker or by_order[message.author]
            for message, speaker in zip(conversation.messages, told, strict=True)
        ]

    def settle(self, conversations: Sequence[Conversation], origin: Origin, odd: Odd) -> None:
        """The same authors all through these conversations: tell them once, over all."""
        messages = [message for one in conversations for message in one.messages]
        whole = Conversation("", messages, conversations[0].number if conversations else 0)
        for message, speaker in zip(messages, self.speakers(whole, origin, odd), strict=True):
            self.given[message.author.casefold()] = speaker

    def _unknown(
        self, message: Message, conversation: Conversation, strangers: list[str], origin: Origin
    ) -> Exception:
        speakers = ", ".join(self.rubric.speakers)
        name = message.role or message.author
        if not name:
            return origin.error(conversation.number, message.path, "no author", "one")
        found = f"role {shown(name)}"
        if not message.role:
            found = f"{len(strangers)} authors: {', '.join(map(shown, strangers[:5]))}"
        example = f"--speaker {shown(f'{name}={self.rubric.speakers[0]}')}"
        expected = f"speakers of the rubric ({speakers}); say who is who, as in {example}"
        return origin.error(conversation.number, message.path, found, expected)


def as_dialogue(
    conversation: Conversation, cast: Cast, origin: Origin, odd: Odd
) -> Dialogue | None:
    """The messages as turns; None if there are none."""
    conversation = _in_order(conversation, odd)
    if not conversation.messages:
        odd["conversations without messages left out"] += 1
        return None
    speakers = cast.speakers(conversation, origin, odd)
    pairs = zip(speakers, conversation.messages, strict=True)
    turns = tuple(
        Turn(speaker, tuple(message.text for _, message in posts))
        for speaker, posts in groupby(pairs, key=lambda pair: pair[0])
    )
    fields = dict(conversation.fields)
    time = conversation.messages[0].time
    if time is not None:
        fields.setdefault("time", _iso(time))
    return Dialogue(conversation.id, turns, fields)


def _in_order(conversation: Conversation, odd: Odd) -> Conversation:
    """By time, if every message has one."""
    if conversation.ordered:
        return conversation
    times = [message.time for message in conversation.messages]
    known = [time for time in times if time is not None]
    if len(known) < len(times) or all(a <= b for a, b in pairwise(known)):
        return conversation
    odd["conversations put in the order of their times"] += 1
    ordered = sorted(conversation.messages, key=lambda message: message.time or 0)
    return msgspec.structs.replace(conversation, messages=ordered)


def kept(record: Record, names: Collection[str]) -> dict[str, Any]:
    """The fields of a record that the user wants to keep."""
    if not names:
        return {}
    fields = msgspec.json.decode(record[1], type=dict[str, Any])
    return {name: fields[name] for name in names if name in fields}


def seconds(time: object) -> float | None:
    """A time as exports write it, in seconds since 1970; None if it is something else.

    >>> seconds("1970-01-02T00:00:00Z"), seconds(86400), seconds("1e12"), seconds("soon")
    (86400.0, 86400.0, 1000000000.0, None)
    """
    if isinstance(time, str):
        try:
            time = float(time)
        except ValueError:
            return _iso_seconds(str(time))
    if not isinstance(time, int | float) or not 0 <= time < 1e14:
        return None
    return float(time / 1000 if time > 1e11 else time)


def _iso_seconds(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _iso(time: float) -> str:
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
