"""Dialogues: turns by speakers."""

from __future__ import annotations

from typing import Any

import msgspec


class Turn(msgspec.Struct, frozen=True, gc=False):
    """Merged consecutive posts of one speaker. An empty utterance was an emoji or a photo."""

    sender: str
    utterances: tuple[str, ...]

    @property
    def text(self) -> str:
        """The utterances joined with a space.

        >>> Turn("customer", ("Hello", "", "it broke")).text
        'Hello it broke'
        """
        return " ".join(utterance for utterance in self.utterances if utterance)


class Dialogue(msgspec.Struct, frozen=True, gc=False):
    """A conversation; `fields` keeps whatever else its record in the file holds."""

    id: str
    turns: tuple[Turn, ...]
    fields: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """All turns, one a line."""
        return "\n".join(turn.text for turn in self.turns)
