"""What mining needs to know: where fields stand, whose accounts to look for, how strict to be."""

from __future__ import annotations

import re
from functools import cached_property
from importlib import resources
from pathlib import Path

import msgspec

from dialeval.core.errors import DataError, unknown_name
from dialeval.mine.fields import Fields


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What fits one kind of posts."""

    keywords: tuple[str, ...]
    """Words in the names of the accounts to find."""
    fields: Fields = Fields()
    tickets: bool = False
    """Nobody is mentioned: an account has the threads that it answers in."""


def preset_names() -> tuple[str, ...]:
    """The presets that come with the package."""
    folder = resources.files("dialeval") / "mine" / "presets"
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml")))


def load_preset(preset: str) -> Preset:
    """A preset by its name, or from a `.toml` file.

    >>> load_preset("zendesk").fields.text
    'body'
    """
    if preset.endswith(".toml"):
        try:
            content = Path(preset).read_bytes()
        except OSError as error:
            found = f"no readable file ({error.strerror})"
            raise DataError(preset, "", found, "a preset") from None
    elif preset in preset_names():
        file = resources.files("dialeval") / "mine" / "presets" / f"{preset}.toml"
        content = file.read_bytes()
    else:
        raise unknown_name("preset", preset, [*preset_names(), "a .toml file"])
    try:
        return msgspec.toml.decode(content, type=Preset)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(preset, "", f"what does not fit ({error})", "a preset") from None


def plain_name(name: str) -> str:
    """A name without the @ of a mention."""
    return name.strip("@＠ \t")


def account_key(name: str) -> str:
    """A name as names are compared: plain, in small letters.

    >>> account_key("@AmazonHelp")
    'amazonhelp'
    """
    return plain_name(name).casefold()


def is_sub_account(name: str, of: str) -> bool:
    """Whether an account answers for another: its name goes on where the other's ends.

    >>> is_sub_account("abcd help beijing", "abcd help"), is_sub_account("云桥客服北京", "云桥客服")
    (True, True)
    >>> is_sub_account("helper", "help")
    False
    """
    if not of or not name.startswith(of) or len(name) == len(of):
        return False
    before, after = name[len(of) - 1], name[len(of)]
    return not (before.isascii() and before.isalnum() and after.isascii() and after.isalnum())


class Sought(msgspec.Struct, frozen=True, dict=True):
    """Which accounts are looked for: those with a keyword in their names, or those named."""

    keywords: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What the key of a sought account has in it."""
        return tuple(filter(None, map(account_key, self.names + self.keywords)))

    @cached_property
    def _keyword(self) -> re.Pattern[str] | None:
        words = [re.escape(word.casefold()) for word in self.keywords if word]
        return re.compile("|".join(words)) if words else None

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(map(account_key, self.names))

    def finds(self, key: str) -> bool:
        """Whether an account is one of them, or answers for one.

        >>> Sought(names=("ABCD Help",)).finds("abcd help rome"), Sought(("客服",)).finds("x客服")
        (True, True)
        """
        if self._keyword is not None and self._keyword.search(key):
            return True
        return bool(self._names) and root_of(key, self._names) is not None


def root_of(key: str, accounts: frozenset[str]) -> str | None:
    """The account among these that a name is of, or answers for; of several the shortest.

    >>> root_of("abcd help rome", frozenset({"abcd help", "abcd help rome"}))
    'abcd help'
    """
    for end in range(1, len(key) + 1):
        if key[:end] in accounts and (end == len(key) or is_sub_account(key, key[:end])):
            return key[:end]
    return None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All options of mining that its workers need."""

    sought: Sought
    speakers: tuple[str, str]
    """What the initial poster and the account are called in dialogues."""
    fields: Fields = Fields()
    tickets: bool = False
    sampled: int = 40
    """Threads of an account that decide whether it is active: at most so many."""
    least: float = 0.5
    """The share of them that an active account has answered."""
    longest: int = 100_000
    """Characters that a post may have."""
    seed: int = 0
    strict: bool = False
