"""Texts with placeholders in the place of what tells who somebody is.

A placeholder is the kind and a code: `[PHONE-qmxkdzra]`. The code is an HMAC of the value under a
secret, so the same value has the same code wherever it stands, in any order and any process, and
nobody without the secret can find the value, not even by trying all telephone numbers.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import MissingExtraError, unknown_name
from dialeval.mine.masking import checks
from dialeval.mine.masking.rules import (
    AT,
    DIGITS,
    KINDS,
    NEAR,
    NEXT,
    RULES,
    SPOKEN,
    URL,
    WECHAT,
    Kind,
    digits_of,
    letters_and_digits,
    normalised,
)

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CODE = 8
PLACEHOLDER = re.compile(rf"\[(?:{'|'.join(KINDS)})-[a-z]{{{_CODE}}}\]")

SIDES = ("author", "account")
"""Fields with the names of those who talk, as mining writes them."""
THREAD = "thread"
"""The field with the id of the thread that a dialogue was taken from."""

Span = tuple[int, int, Kind, str]
"""Start, end, kind and rule."""


class Mask(msgspec.Struct, frozen=True):
    """A place in a text that was masked, or that looks like one and was not."""

    start: int
    end: int
    kind: str
    """Empty for what was left."""
    rule: str
    """What it was recognised by, or why it was left."""
    placeholder: str = ""


class Masker(msgspec.Struct, frozen=True):
    """What is masked, with which secret."""

    secret: bytes
    kinds: tuple[str, ...] = KINDS
    regions: tuple[str, ...] = ()
    """Countries whose telephone numbers are recognised without any words before them."""
    names: tuple[str, ...] = ()
    """Fields of dialogues whose values are names of people."""
    new_ids: bool = False
    """Whether the dialogues get other ids."""

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise unknown_name("kind", kind, KINDS)
        if self.regions:
            known = _library().SUPPORTED_REGIONS
            for region in self.regions:
                if region not in known:
                    raise unknown_name("region", region, known)

    def code(self, value: str) -> str:
        """The code of a value: eight letters.

        >>> Masker(b"secret").code("13800138000")
        'gdaasraw'
        """
        mac = hmac.new(self.secret, value.encode("utf-8", "surrogatepass"), hashlib.sha256)
        number = int.from_bytes(mac.digest()[:8])
        letters = []
        for _ in range(_CODE):
            number, letter = divmod(number, len(_LETTERS))
            letters.append(_LETTERS[letter])
        return "".join(letters)

    def find(self, text: str, names: Sequence[str] = ()) -> list[Mask]:
        """What is masked in a text and what is nearly, in the order of their places.

        After an @ the `names` are whole, whatever is in them.
        """
        plain = normalised(text)
        there = [needed for needed in (DIGITS, AT, SPOKEN, WECHAT) if needed.search(plain)]
        if not there:
            return []
        addresses = [match.span() for match in URL.finditer(plain)]
        found: list[Mask] = []
        # What is taken is blank for the rules that follow.
        left = PLACEHOLDER.sub(lambda match: _BLANK * len(match[0]), plain)
        for name in names if AT in there else ():
            for match in re.finditer(rf"@{re.escape(normalised(name))}(?!\w)", left, re.I):
                left = self._take(left, (*match.span(), "NAME", "@name of the dialogue"), found)
        for rule in RULES:
            if rule.name == _BEFORE:
                for span in self._by_region(left):
                    left = self._take(left, span, found)
            if rule.needs not in there:
                continue
            for start, end in [*rule.matches(left)]:
                in_address = any(s <= start < e for s, e in addresses)
                if not (in_address and rule.kind in ("ORDER", "NAME")):  # parts of it are numbers
                    at = start - (rule.kind == "NAME")
                    left = self._take(left, (at, end, rule.kind, rule.name), found)
        for match in NEAR.finditer(left):
            found.append(Mask(*match.span(), "", _reason(plain, *match.span())))
        return sorted(found, key=lambda mask: mask.start)

    def _take(self, left: str, span: Span | None, found: list[Mask]) -> str:
        """Mask a value, and those that follow it in a list; gives the text without them."""
        while span is not None:
            start, end, kind, rule = span
            written = left[start:end]
            if _BLANK in written:
                break
            if kind in self.kinds:
                placeholder = f"[{kind}-{self.code(_value(kind, written))}]"
                found.append(Mask(start, end, kind, rule, placeholder))
            left = left[:start] + _BLANK * len(written) + left[end:]
            span = _next(left, span)
        return left

    def _by_region(self, plain: str) -> Iterator[Span]:
        if not self.regions:
            return
        library = _library()
        for region in self.regions:
            for match in library.PhoneNumberMatcher(plain, region):
                value = plain[match.start : match.end]
                if not (checks.is_moment(value) or checks.is_range(value)):
                    yield match.start, match.end, "PHONE", f"number in {region}"

    def text(self, text: str) -> str:
        """The text with placeholders.

        >>> Masker(b"secret").text("打１３８-００１３-８０００，2023年买的 iPhone 15 Pro，￥5999")
        '打[PHONE-gdaasraw]，2023年买的 iPhone 15 Pro，￥5999'
        """
        return replaced(text, self.find(text))

    def dialogue(self, dialogue: Dialogue) -> tuple[Dialogue, list[tuple[str, str, list[Mask]]]]:
        """A dialogue with placeholders; and each text of it in which something was found.

        A text comes with its place.
        """
        found: list[tuple[str, str, list[Mask]]] = []
        sides = {*self.names, *SIDES}
        names = [value for name, value in dialogue.fields.items() if name in sides]
        known = sorted((name for name in names if isinstance(name, str) and name), key=len)[::-1]

        def masked(place: str, text: str) -> str:
            masks = self.find(text, known)
            if masks:
                found.append((place, text, masks))
            return replaced(text, masks)

        turns = tuple(
            Turn(
                turn.sender,
                tuple(
                    masked(f".turns[{t}].utterances[{u}]", text)
                    for u, text in enumerate(turn.utterances)
                ),
            )
            for t, turn in enumerate(dialogue.turns)
        )
        fields = {}
        for name, value in dialogue.fields.items():
            if name in self.names:
                fields[name] = self._named(value)
            elif name == THREAD and isinstance(value, str):
                fields[name] = self._id(value)
            else:
                fields[name] = _mapped(value, f".{name}", masked)
        return Dialogue(self._id(dialogue.id), turns, fields), found

    def _id(self, id: str) -> str:
        return self.code(f"id {id}") if self.new_ids else id

    def _named(self, value: Any) -> Any:
        """Names as placeholders, wherever in a value they stand."""
        if isinstance(value, dict):
            return {key: self._named(inside) for key, inside in value.items()}
        if isinstance(value, list):
            return [self._named(inside) for inside in value]
        if value is None or (isinstance(value, str) and PLACEHOLDER.fullmatch(value)):
            return value
        return f"[NAME-{self.code(_value('NAME', str(value)))}]"


_BLANK = "\0"


def _next(plain: str, span: Span) -> Span | None:
    """The number after this one in a list of several."""
    _, end, kind, _ = span
    match = NEXT.match(plain, end) if kind in ("PHONE", "ORDER", "ACCOUNT") else None
    if match is None or checks.is_moment(match["v"]):
        return None
    return *match.span("v"), kind, "one more in a list"


_BEFORE = "postal item"
"""The rule before which telephone numbers by region are looked for."""


def _library() -> Any:
    try:
        import phonenumbers
    except ImportError:
        raise MissingExtraError("telephone numbers by region", "mask") from None
    return phonenumbers


def replaced(text: str, masks: Sequence[Mask]) -> str:
    """The text with the placeholders of masks in their places."""
    pieces, at = [], 0
    for mask in masks:
        if mask.kind:
            pieces += [text[at : mask.start], mask.placeholder]
            at = mask.end
    return "".join([*pieces, text[at:]])


def _value(kind: str, written: str) -> str:
    """A value in the one form that all its spellings have.

    >>> _value("PHONE", "+86 138-0013-8000") == _value("PHONE", "13800138000")
    True
    """
    if kind == "EMAIL":
        return re.sub(r"\s?[(\[]at[)\]]\s?", "@", written, flags=re.IGNORECASE).casefold()
    if kind == "NAME":
        return written.removeprefix("@").casefold()
    if kind == "PHONE" and (digits := digits_of(written)):
        digits = digits.removeprefix("00")
        if match := re.fullmatch("86(1[3-9][0-9]{9})", digits):
            return match[1]
        if match := re.fullmatch("1([2-9][0-9]{2}[2-9][0-9]{6})", digits):
            return digits if re.fullmatch("1[3-9][0-9]{9}", written) else match[1]
        return digits
    return letters_and_digits(written).casefold()


def _reason(plain: str, start: int, end: int) -> str:
    """Why a number was left: for the person who looks through the review."""
    value = plain[start:end]
    digits = digits_of(value)
    if checks.is_moment(value):
        return "a date"
    if checks.is_range(value):
        return "a range"
    if re.match(r"[1-9][0-9]{5}(?:18|19|20)[0-9]{6}[0-9]{3}[0-9Xx]$", digits):
        return "no resident identity number: check digit"
    if 13 <= len(digits) <= 19 and not checks.luhn(digits):
        return "no card number: check digit"
    return (
        f"a number of {len(digits)} digits" if len(digits) < 12 else "a number of 12 digits or more"
    )


def _mapped(value: Any, place: str, masked: Any) -> Any:
    """A value with every text in it masked."""
    if isinstance(value, str):
        return masked(place, value)
    if isinstance(value, list):
        return [_mapped(inside, f"{place}[{i}]", masked) for i, inside in enumerate(value)]
    if isinstance(value, dict):
        return {key: _mapped(inside, f"{place}.{key}", masked) for key, inside in value.items()}
    return value
