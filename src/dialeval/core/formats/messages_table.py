"""Tables with one row a message: CSV or TSV, whose columns may have any names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from dialeval.core.errors import DataError, unknown_name
from dialeval.core.formats.conversation import Conversation, Message, Odd, seconds
from dialeval.core.records import Origin

_USUAL: dict[str, tuple[str, ...]] = {
    "conversation": (
        *("conversation_id", "conversation", "dialogue_id", "dialogue", "dialog_id", "dialog"),
        *("thread_id", "thread", "ticket_id", "ticket", "chat_id", "chat", "session_id", "session"),
        *("case_id", "case", "对话", "会话", "会话id", "工单号"),
    ),
    "author": ("author", "author_id", "sender", "sender_name", "from", "name", "user", "发送者"),
    "role": ("role", "speaker", "sender_type", "author_type", "author_role", "角色"),
    "text": ("text", "message", "body", "content", "utterance", "msg", "消息", "内容"),
    "time": ("time", "timestamp", "created_at", "sent_at", "date", "datetime", "时间"),
}
"""What a column holds, and the names it is known by without being told."""


def read_table(
    rows: Iterator[tuple[int, Mapping[str, Any]]],
    origin: Origin,
    odd: Odd,
    columns: Mapping[str, str],
    keep: Collection[str] = (),
) -> Iterator[Conversation]:
    """The messages of a conversation may stand anywhere in the table, which is read whole."""
    found: dict[str, str] | None = None
    messages: dict[str, list[Message]] = {}
    first: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, row in rows:
        if found is None:
            found = _columns([*row], columns, origin)
        id = str(row[found["conversation"]]) if "conversation" in found else "1"
        author = str(row[found["author"]]) if "author" in found else ""
        role = str(row[found["role"]]) if "role" in found else ""
        time = seconds(row[found["time"]]) if "time" in found else None
        if "time" in found and time is None:
            odd["times that are neither ISO 8601 nor seconds, not used"] += 1
        if id not in first:
            first[id] = number, {name: row[name] for name in keep if name in row}
        text = str(row[found["text"]])
        messages.setdefault(id, []).append(Message(text, author, role, time))
    for id, (number, fields) in first.items():
        yield Conversation(id, messages[id], number, fields)


def _columns(heads: Sequence[str], given: Mapping[str, str], origin: Origin) -> dict[str, str]:
    """What each column that matters is called in this table."""
    for kind in given.keys() - _USUAL.keys():
        raise unknown_name("column", kind, _USUAL)
    found: dict[str, str] = {}
    by_name = {head.strip().casefold().replace(" ", "_"): head for head in reversed(heads)}
    for kind, usual in _USUAL.items():
        if kind in given:
            if given[kind] not in heads:
                expected = f"one of the columns {', '.join(heads)}"
                raise DataError(origin.source, "line 1", f"no column {given[kind]!r}", expected)
            found[kind] = given[kind]
            continue
        name = next((by_name[name] for name in usual if name in by_name), None)
        if name is not None and name not in given.values():
            found[kind] = name
    for kind, wanted in (("text", ("text",)), ("author", ("author", "role"))):
        if not any(one in found for one in wanted):
            expected = f"one for the {kind}: say which, as in --column {kind}=NAME"
            raise DataError(origin.source, "line 1", f"columns {', '.join(heads)}", expected)
    return found
