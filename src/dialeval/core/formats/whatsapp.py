"""Text exports of WhatsApp chats, of Android and iOS, with 12 and 24 hours.

Android: `31/12/2023, 21:41 - Ann: Hello`. iOS: `[12/31/23, 9:41:05 PM] Ann: Hello`. A message
goes on over the lines that do not begin so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import IO

import msgspec

from dialeval.core.errors import DataError
from dialeval.core.formats.conversation import Conversation, Message, Odd

_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\ufeff"))
"""Direction marks that the program puts in; iOS begins with one what nobody wrote."""

_HALF = r"(?:[AaPp]\.?\s?[Mm]\.?|上午|下午|凌晨|早上|中午|晚上)"
_HEAD = re.compile(
    r"(?P<bracket>\[)?"
    r"(?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{1,4}),?\s"
    rf"(?P<before>{_HALF})?\s?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    rf"(?:\s?(?P<after>{_HALF}))?"
    r"(?(bracket)\]\s|\s[-–]\s)"
    r"(?P<rest>.*)",
    re.DOTALL,
)
_AFTERNOON = ("p", "下午", "晚上", "中午")

_MEDIA = re.compile(
    r"<(?:media omitted|媒体文件已忽略|已忽略媒体文件|省略多媒体文件|未包含媒体文件)>"
    r"|(?:image|video|audio|sticker|gif|document|contact card|video note) omitted"
    r"|(?:[^\n]+ • [^\n]+ )?(?:document|文件) omitted"
    r"|(?:图像|图片|视频|音频|贴图|贴纸|文档|文件|名片)已忽略|忽略(?:图片|视频|音频|贴图|文件)"
    r"|<(?:attached|附件)[:：][^>]*>"
    r"|\S+\.\w{2,4} \((?:file attached|附件|文件已附加)\)",
    re.IGNORECASE,
)
_DELETED = re.compile(
    r"(?:this message was deleted|you deleted this message|你删除了这条消息|此消息已删除|"
    r"消息已删除|您已删除此消息)\.?",
    re.IGNORECASE,
)
_EDITED = re.compile(r"\s*<(?:this message was edited|此消息已编辑|这条消息已经过编辑)>\s*$", re.I)
_LONGEST_NAME = 60


class _Line(msgspec.Struct, frozen=True):
    """A line that begins something, and those after it that go on."""

    number: int
    stamp: tuple[int, int, int, int, int, int]
    """The parts of the date as written, and hour, minute, second."""
    bracket: bool
    text: str


def read_whatsapp(
    stream: IO[bytes], source: str, odd: Odd, *, gap: float | None = None
) -> Iterator[Conversation]:
    """One conversation, or a new one after every silence of more than `gap` hours."""
    lines = [*_entries(stream, source, odd)]
    times = _times([line.stamp for line in lines], odd)
    messages: list[Message] = []
    numbers: list[int] = []
    for line, time in zip(lines, times, strict=True):
        message = _message(line, time, odd)
        if message is not None:
            messages.append(message)
            numbers.append(line.number)
    start, count = 0, 0
    for end in range(1, len(messages) + 1):
        if end < len(messages) and not _silent(messages[end - 1], messages[end], gap):
            continue
        count += 1
        yield Conversation(str(count), messages[start:end], numbers[start], ordered=True)
        start = end


def looks_like_whatsapp(head: str) -> bool:
    """Whether one of the first lines of a text begins a message.

    >>> looks_like_whatsapp("12/31/23, 9:41 PM - Ann: Hello"), looks_like_whatsapp("id,text")
    (True, False)
    """
    return any(_HEAD.match(_cleaned(line)) for line in head.splitlines()[:20])


def _cleaned(line: str) -> str:
    return line.replace("\u202f", " ").replace("\xa0", " ").translate(_MARKS)


def _entries(stream: IO[bytes], source: str, odd: Odd) -> Iterator[_Line]:
    number, head, text = 0, None, ""
    for at, line in enumerate(_lines(stream, source)):
        found = _HEAD.match(_cleaned(line))
        if found is None:
            if head is None and line.strip():
                odd["lines before the first message left out"] += 1
            text += line
            continue
        if head is not None:
            yield _entry(number, head, text)
        number, head, text = at, found, _rest(line, found)
    if head is None:
        expected = "lines such as: 31/12/2023, 21:41 - Ann: Hello"
        raise DataError(source, "", "no messages of a WhatsApp export", expected)
    yield _entry(number, head, text)


def _lines(stream: IO[bytes], source: str) -> Iterator[str]:
    for number, line in enumerate(stream):
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8")
        except UnicodeDecodeError:
            place = f"line {number + 1}"
            raise DataError(source, place, "text that is not UTF-8", "UTF-8") from None
        yield text.rstrip("\r\n") + "\n"


def _rest(line: str, found: re.Match[str]) -> str:
    """What follows the head, with its direction marks: they tell what nobody wrote."""
    head = found.start("rest")
    kept = 0
    for place, char in enumerate(line):
        if kept == head:
            return line[place:]
        kept += ord(char) not in _MARKS
    return ""


def _entry(number: int, head: re.Match[str], text: str) -> _Line:
    day, month, year = (int(part) for part in re.split(r"[./-]", head["date"]))
    hour = int(head["hour"])
    half = (head["before"] or head["after"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half.startswith(_AFTERNOON) else 0)
    stamp = (day, month, year, hour, int(head["minute"]), int(head["second"] or 0))
    return _Line(number, stamp, head["bracket"] is not None, text.rstrip("\n"))


def _message(line: _Line, time: float | None, odd: Odd) -> Message | None:
    name, colon, text = line.text.partition(": ")
    if not colon and line.text.endswith(":"):
        name, colon = line.text[:-1], ":"
    name = name.translate(_MARKS).strip()
    if not colon or "\n" in name or '"' in name or len(name) > _LONGEST_NAME:
        odd["system lines left out"] += 1
        return None
    unwritten = text.startswith("\u200e")
    text = _EDITED.sub("", text.translate(_MARKS)).strip()
    if _DELETED.fullmatch(text):
        odd["deleted messages left out"] += 1
        return None
    media = len(_MEDIA.findall(text))
    if media:
        odd["pictures, sounds and files read as empty posts"] += media
        text = _MEDIA.sub("", text).strip()
    elif unwritten:
        odd["system lines left out"] += 1
        return None
    return Message(text, name, "", time)


def _silent(before: Message, after: Message, gap: float | None) -> bool:
    if gap is None or before.time is None or after.time is None:
        return False
    return after.time - before.time > gap * 3600


def _times(stamps: list[tuple[int, int, int, int, int, int]], odd: Odd) -> list[float | None]:
    """Seconds since 1970, in the order of day, month and year that all dates of the file allow.

    If several do, the one in which time runs backwards least often, and days before months.
    """
    best: list[float | None] | None = None
    fewest = 0
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)):
        try:
            times = [_time(stamp, order) for stamp in stamps]
        except (ValueError, OverflowError):
            continue
        back = sum(a > b for a, b in pairwise(times))
        if best is None or back < fewest:
            best, fewest = [*times], back
    if best is None:
        odd["dates that no calendar has"] += 1
        return [None] * len(stamps)
    return best


def _time(stamp: tuple[int, int, int, int, int, int], order: Iterable[int]) -> float:
    """The parts of the date stand in this order: day, month, year."""
    day, month, year = (stamp[place] for place in order)
    year += 2000 if year < 100 else 0
    if not 2009 <= year < 2200:  # the program came out in 2009
        raise ValueError
    return datetime(year, month, day, *stamp[3:], tzinfo=UTC).timestamp()
