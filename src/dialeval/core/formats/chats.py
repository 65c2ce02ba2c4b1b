"""Lists of chat messages, as OpenAI's API has them: `{"messages": [{"role", "content"}, ...]}`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from dialeval.core.formats.conversation import Conversation, Message, Odd, kept, seconds
from dialeval.core.records import Origin, Record, decode_part

_SILENT = {"system", "developer", "tool", "function"}
"""Roles whose messages nobody in the dialogue says."""


class _Part(msgspec.Struct, frozen=True):
    type: str = "text"
    text: str | None = None
    refusal: str | None = None


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_Part] | None = None
    name: str | None = None
    refusal: str | None = None
    created_at: str | int | float | None = None


class _Chat(msgspec.Struct, frozen=True):
    messages: list[_Message]
    id: str | int | None = None
    conversation_id: str | int | None = None


_CHAT = msgspec.json.Decoder(_Chat)
_LIST = msgspec.json.Decoder(list[_Message])
_MESSAGE = msgspec.json.Decoder(_Message)


def read_chats(
    records: Iterator[Record], origin: Origin, odd: Odd, keep: Collection[str] = ()
) -> Iterator[Conversation]:
    """A conversation a record: an object with `messages`, or a bare list of messages."""
    for record in records:
        number, raw = record
        if bytes(raw).lstrip().startswith(b"["):
            chat, inside = _Chat(decode_part(_LIST, record, origin)), ""
            fields = {}
        else:
            chat, inside = decode_part(_CHAT, record, origin), ".messages"
            fields = kept(record, keep)
        named = chat.conversation_id if chat.id is None else chat.id
        id = str(number + 1 if named is None else named)
        yield Conversation(id, _messages(chat.messages, inside, odd), number, fields)


def read_one_chat(records: Iterator[Record], origin: Origin, odd: Odd) -> Iterator[Conversation]:
    """A message a record: the file is one conversation."""
    messages = [decode_part(_MESSAGE, record, origin) for record in records]
    yield Conversation("1", _messages(messages, "", odd), 0)


def _messages(given: Sequence[_Message], inside: str, odd: Odd) -> list[Message]:
    messages = []
    for place, message in enumerate(given):
        role = message.role.lower()
        if role in _SILENT:
            odd[f"{role} messages left out"] += 1
            continue
        text = _text(message, odd)
        if text is None:
            odd[f"{role} messages that only call tools left out"] += 1
            continue
        time = seconds(message.created_at)
        path = f"{inside}[{place}]"
        messages.append(Message(text, message.name or "", message.role, time, path))
    return messages


def _text(message: _Message, odd: Odd) -> str | None:
    """What a message says; None if it says nothing at all."""
    content = message.content
    if content is None:
        return message.refusal
    if isinstance(content, str):
        return content
    texts = [part.text or part.refusal or "" for part in content]
    media = sum(part.text is None and part.refusal is None for part in content)
    if media:
        odd["pictures, sounds and files read as empty"] += media
    return "\n".join(text for text in texts if text)
