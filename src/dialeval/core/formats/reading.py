"""Reading a file of any known format as dialogues: which one it is, and by whom it is spoken."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

import msgspec

from dialeval.core.dialogue import Dialogue
from dialeval.core.errors import DataError, DataWarning, unknown_name
from dialeval.core.files import format_of, opened, writing
from dialeval.core.formats.chats import read_chats, read_one_chat
from dialeval.core.formats.conversation import Cast, Conversation, Odd, as_dialogue
from dialeval.core.formats.messages_table import read_table
from dialeval.core.formats.tickets import User, read_tickets
from dialeval.core.formats.whatsapp import looks_like_whatsapp, read_whatsapp
from dialeval.core.records import (
    STANDARD_INPUT,
    Origin,
    Record,
    check_new,
    decode_part,
    malformed,
    read_records,
)
from dialeval.core.rows import parse_rows
from dialeval.core.rubric import Rubric

NATIVE = "dialogues"
FORMATS = {
    NATIVE: "dialogues with turns, as in the STC-3 data set",
    "tickets": "tickets with comments or conversation parts, as of Zendesk and Intercom",
    "whatsapp": "the text export of a WhatsApp chat",
    "chats": "lists of messages with role and content, as of OpenAI",
    "csv": "a table with one row a message",
}
_HEAD = 4096


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is read: everything that its content does not say itself."""

    format: str | None = None
    """One of `FORMATS`; None looks at the file."""
    speakers: dict[str, str] = {}
    """From an author or a role in the file to a speaker of the rubric; `*` is anybody else."""
    columns: dict[str, str] = {}
    """Of a table: from conversation, author, role, text, time to the name of the column."""
    keep: tuple[str, ...] = ()
    """Other fields of a ticket, a chat or a table that the dialogues keep."""
    gap: float | None = None
    """Of a chat export: after so many hours of silence another dialogue begins."""

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise unknown_name("format", self.format, FORMATS)


AS_IT_IS = Reading()


class Source:
    """An opened file: either records of our own format, or dialogues of another one."""

    def __init__(self, path: Path, reading: Reading, name: str | None = None) -> None:
        self.path, self.reading = path, reading
        self.name = name or ("standard input" if str(path) == STANDARD_INPUT else str(path))
        self.records: Iterator[Record] = iter(())
        self.origin = Origin(self.name)
        self.users: list[User] = []
        self.one_chat = False
        self.format = reading.format or self._format_by_name()
        if self.format not in ("whatsapp", "csv"):
            self._open_json()

    @property
    def native(self) -> bool:
        """Whether the records are dialogues already."""
        return self.format == NATIVE

    def _format_by_name(self) -> str:
        """What the name says, or the first lines; empty for JSON of any kind."""
        if str(self.path) == STANDARD_INPUT:
            return ""
        ending = Path(self.path.name.lower().removesuffix(".gz")).suffix
        if ending in (".csv", ".tsv"):
            return "csv"
        if ending == ".txt":
            with opened(self.path) as stream:
                head = stream.read(_HEAD).decode("utf-8", "replace")
            if looks_like_whatsapp(head) or not head.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
                return "whatsapp"
        return ""

    def _open_json(self) -> None:
        if self._is_object():
            self._unwrap()
        else:
            origin, self.records = read_records(self.path)
            self.origin = msgspec.structs.replace(origin, source=self.name)
        first = next(self.records, None)
        if first is None:
            self.format = self.format or NATIVE
            return
        self.records = chain([first], self.records)
        shape = _shape(first)
        self.one_chat = shape == "message"
        self.format = self.format or ("chats" if self.one_chat else shape)

    def _is_object(self) -> bool:
        """Whether a .json file is an object, not an array."""
        if str(self.path) == STANDARD_INPUT or format_of(self.path) != "json":
            return False
        with opened(self.path) as stream:
            return stream.read(_HEAD).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")

    def _unwrap(self) -> None:
        """A file that is one object: a list under a name, or a single ticket or chat."""
        with opened(self.path) as stream:
            content = stream.read().removeprefix(b"\xef\xbb\xbf")
        try:
            whole = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise malformed(content, str(error), self.name) from None
        if "users" in whole:
            users = msgspec.json.Decoder(list[User])
            single = Origin(self.name, single=True)
            self.users = decode_part(users, (0, whole["users"]), single, ".users")
        for key in ("tickets", "conversations", "results", "data"):
            if key in whole:
                self.origin = Origin(self.name, inside=f".{key}")
                elements = msgspec.json.Decoder(list[msgspec.Raw])
                single = Origin(self.name, single=True)
                found = decode_part(elements, (0, whole[key]), single, f".{key}")
                self.records = enumerate(found)
                return
        if _shape((0, content)) == NATIVE and self.format in ("", NATIVE):
            raise DataError(self.name, "", "an object", "an array of dialogues at the top")
        self.origin = Origin(self.name, single=True)
        self.records = iter([(0, msgspec.Raw(content))])

    def dialogues(self, rubric: Rubric) -> Iterator[Dialogue]:
        """The dialogues of a format that is not our own.

        What was odd in the file is told at the end, in one warning.
        """
        odd = Odd()
        cast = Cast(rubric, self.reading.speakers)
        seen: dict[str, int] = {}
        conversations = self._conversations(odd)
        if self.format == "whatsapp":
            chat = [*conversations]
            cast.settle(chat, self.origin, odd)
            conversations = iter(chat)
        for conversation in conversations:
            dialogue = as_dialogue(conversation, cast, self.origin, odd)
            if dialogue is not None:
                check_new(dialogue.id, conversation.number, seen, self.origin)
                yield dialogue
        if odd:
            told = "; ".join(f"{what}: {count}" for what, count in sorted(odd.items()))
            warnings.warn(f"{self.name} ({self.format}): {told}", DataWarning, stacklevel=2)

    def _conversations(self, odd: Odd) -> Iterator[Conversation]:
        keep = self.reading.keep
        if self.format == "whatsapp":
            self.origin = Origin(self.name, lines=True)
            with _stream(self.path) as stream:
                yield from read_whatsapp(stream, self.name, odd, gap=self.reading.gap)
        elif self.format == "csv":
            self.origin = Origin(self.name, lines=True)
            separator = "\t" if ".tsv" in self.path.suffixes else ","
            with _stream(self.path) as stream:
                rows = parse_rows(stream, self.origin, separator)
                yield from read_table(rows, self.origin, odd, self.reading.columns, keep)
        elif self.format == "tickets":
            yield from read_tickets(self.records, self.origin, odd, keep, self.users)
        elif self.one_chat:
            yield from read_one_chat(self.records, self.origin, odd)
        else:
            yield from read_chats(self.records, self.origin, odd, keep)


def _shape(record: Record) -> str:
    """The format that a record looks like; `message` if a file of them is one chat."""
    try:
        value: Any = msgspec.json.decode(record[1], type=dict[str, msgspec.Raw] | list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NATIVE
    if isinstance(value, list):
        return "chats" if value and _shape((0, value[0])) == "message" else NATIVE
    if "turns" in value:
        return NATIVE
    if "messages" in value:
        return "chats"
    if value.keys() & {"comments", "conversation_parts"} or {"id", "description"} <= value.keys():
        return "tickets"
    return "message" if "role" in value and "content" in value else NATIVE


@contextmanager
def _stream(path: Path) -> Iterator[IO[bytes]]:
    if str(path) == STANDARD_INPUT:
        yield sys.stdin.buffer
    else:
        with opened(path) as stream:
            yield stream


def as_native(
    path: Path, rubric: Rubric, reading: Reading, copy: Path, name: str | None = None
) -> Path:
    """A file of our own format with the same dialogues: the file itself, or a copy (JSONL).

    `name` is that of the file in errors.
    """
    if path.is_dir():
        return path
    source = Source(path, reading, name)
    if source.native:
        return path
    encode = msgspec.json.Encoder().encode
    dialogues = source.dialogues(rubric)
    with writing(copy) as stream:
        for dialogue in dialogues:
            record = {"id": dialogue.id, "turns": dialogue.turns, **dialogue.fields}
            stream.write(encode(record) + b"\n")
    if not copy.stat().st_size:
        raise DataError(source.name, "", "no dialogues", "at least one")
    return copy
