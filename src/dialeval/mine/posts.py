"""Reading posts fast: a block of lines at a time, column by column, bad ones counted.

What is looked at one by one in Python are only the posts with something wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import compress
from operator import eq
from typing import Any, NamedTuple

import msgspec

from dialeval.core.errors import shown
from dialeval.core.records import Origin
from dialeval.engine.inputs import lines_of
from dialeval.mine.counts import Step
from dialeval.mine.fields import FIELDS, Fields, post_decoder
from dialeval.mine.settings import Settings
from dialeval.mine.times import rows_without_time
from dialeval.mine.tries import mapped

_MENTION = re.compile(r"[@＠]([\w·-]{1,50})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NOTHING = (None, "")

BROKEN = "broken line"
BAD_TIME = "bad time"
TOO_LONG = "text too long"
SURROGATES = "lone surrogates replaced"
TO_ITSELF = "reply to itself"


class Batch(NamedTuple):
    """Posts as columns, and the lines that they come from."""

    lines: list[bytes]
    ids: list[str]
    threads: list[str]
    authors: list[str]
    texts: list[str]
    times: list[Any]
    replies: list[str | None]
    mentions: list[Sequence[str]]


class PostReader:
    """Reads lines as posts, by the fields that hold them."""

    def __init__(self, settings: Settings, origin: Origin | None = None) -> None:
        decoder, self._getters = post_decoder(settings.fields)
        self._decode: Callable[[bytes], Any] = decoder.decode
        self._settings = settings
        self._origin = origin or Origin("posts", lines=True)
        self._before = 0
        self.step = Step()

    def read(self, block: bytes) -> Batch:
        """The posts of a block of lines; what is wrong is counted, or raised if strict."""
        lines = lines_of(block)
        numbers: Sequence[int] = range(self._before, self._before + len(lines))
        self._before += len(lines)

        def repaired(place: int, error: Exception) -> Any:
            lines[place], post = self._repaired(lines[place], numbers[place], error)
            return post

        posts = mapped(self._decode, lines, _UNREADABLE, repaired)
        if not all(posts):
            lines, numbers = [*compress(lines, posts)], [*compress(numbers, posts)]
            posts = [*filter(None, posts)]
        batch = self.columns(lines, posts)
        wrong = self._wrong(batch, numbers)
        if wrong:
            stays = [row not in wrong for row in range(len(posts))]
            batch = Batch(*([*compress(column, stays)] for column in batch))
        self.step.given.posts += len(batch.ids)
        self.step.kept.posts += len(batch.ids)
        return batch

    def decoded(self, lines: list[bytes]) -> Batch:
        """The columns of lines that `read` has given before."""
        return self.columns(lines, [*map(self._decode, lines)])

    def columns(self, lines: list[bytes], posts: list[Any]) -> Batch:
        """Posts as columns, with what stands for fields that are left out."""
        column = {name: [*map(getter, posts)] for name, getter in self._getters.items()}
        absent = [None] * len(posts)
        ids = [*map(str, column["id"])]
        replies = [None if r in _NOTHING else str(r) for r in column.get("reply_to", absent)]
        threads, texts = column.get("thread", absent), column["text"]
        mentions = column.get("mentions", absent)
        if None in threads or "" in threads:
            # Under the post that it replies to, or a thread of its own.
            own = zip(threads, replies, ids, strict=True)
            threads = [reply or id if thread in _NOTHING else thread for thread, reply, id in own]
        if None in texts:
            texts = [text or "" for text in texts]
        if None in mentions:
            both = zip(mentions, texts, strict=True)
            mentions = [mentioned(text) if named is None else named for named, text in both]
        authors = [*map(str, column["author"])]
        threads = [*map(str, threads)]
        return Batch(lines, ids, threads, authors, texts, column["time"], replies, mentions)

    def _repaired(self, line: bytes, number: int, error: Exception) -> tuple[bytes, Any]:
        """A line that could not be decoded, and its post after all, or None."""
        if not line.strip():
            return line, None
        if line.startswith(_BOM):
            line = line.removeprefix(_BOM)
            found = self._again(line)
            if found is not None:
                return line, found
        if isinstance(error, msgspec.ValidationError):
            self._drop(number, _reason(str(error), self._settings.fields), shown_error(error))
            return line, None
        whole = _without_surrogates(line)
        found = self._again(whole) if whole is not None else None
        if whole is None or found is None:
            self._drop(number, BROKEN, shown_error(error))
            return line, None
        self._note(number, SURROGATES, "a lone surrogate")
        return whole, found

    def _again(self, line: bytes) -> Any:
        try:
            return self._decode(line)
        except _UNREADABLE:
            return None

    def _wrong(self, batch: Batch, numbers: Sequence[int]) -> frozenset[int]:
        """The rows of posts that cannot be taken, counted."""
        wrong: dict[int, tuple[str, str]] = {}
        if not all(batch.ids):
            wrong |= {row: ("no id", "an empty id") for row, id in enumerate(batch.ids) if not id}
        if not all(batch.authors):
            empty = (row for row, author in enumerate(batch.authors) if not author)
            wrong |= dict.fromkeys(empty, ("no author", "an empty author"))
        longest = self._settings.longest
        if max(map(len, batch.texts), default=0) > longest:
            found = f"more than {longest} characters"
            long = (row for row, text in enumerate(batch.texts) if len(text) > longest)
            wrong |= dict.fromkeys(long, (TOO_LONG, found))
        for row in rows_without_time(batch.times):
            wrong[row] = (BAD_TIME, f"time {shown(batch.times[row])}")
        if wrong or any(map(eq, batch.ids, batch.replies)):
            own = (row for row, id in enumerate(batch.ids) if id == batch.replies[row])
            problems = {**dict.fromkeys(own, ("", "a reply to itself")), **wrong}
            for row, (why, found) in sorted(problems.items()):
                if why:
                    self._drop(numbers[row], why, found)
                else:
                    self._note(numbers[row], TO_ITSELF, found)
        return frozenset(wrong)

    def _drop(self, number: int, why: str, found: str) -> None:
        self._refuse(number, found)
        self.step.given.posts += 1
        self.step.drop(why, posts=1)

    def _note(self, number: int, what: str, found: str) -> None:
        self._refuse(number, found)
        self.step.note(what)

    def _refuse(self, number: int, found: str) -> None:
        if self._settings.strict:
            raise self._origin.error(number, "", found, "a post")


def mentioned(text: str) -> Sequence[str]:
    """The names after an @ in a text.

    >>> mentioned("@AmazonHelp and @云桥客服：你们好")
    ['AmazonHelp', '云桥客服']
    """
    return _MENTION.findall(text) if "@" in text or "＠" in text else ()


def _without_surrogates(line: bytes) -> bytes | None:
    """A line whose lone surrogates are replaced; None if it has none, or is no JSON anyway."""
    try:
        value = json.loads(line.decode("utf-8", "surrogatepass"))
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    whole, count = _SURROGATE.subn("\ufffd", text)
    return whole.encode() + b"\n" if count else None


def _reason(message: str, fields: Fields) -> str:
    """Why a record is no post, from msgspec's words: `no author`, `bad time`.

    >>> _reason("Object missing required field `user`", Fields(author="user"))
    'no author'
    """
    missing = re.search(r"missing required field `(.+?)`", message)
    path = (re.search(r"at `\$\.?(.*)`", message) or ["", ""])[1]
    if missing:
        path = f"{path}.{missing[1]}".lstrip(".")
    plain = re.sub(r"\[.*?\]", "", path)
    for name in FIELDS:
        where = getattr(fields, name).replace("[]", "")
        if plain and (where == plain or where.startswith(f"{plain}.")):
            empty = missing or "got `null`" in message
            return f"no {name}" if empty else f"bad {name}"
    return BROKEN


def shown_error(error: Exception) -> str:
    """What msgspec says of a line, on one line."""
    return f"no post ({' '.join(str(error).split())})"
