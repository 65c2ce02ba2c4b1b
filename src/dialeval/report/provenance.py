"""Where results come from: version, seed, options, and the sha256 of each input."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dialeval import __version__


class Provenance(msgspec.Struct, frozen=True):
    """What is needed to get the same results again."""

    version: str
    seed: int
    options: dict[str, Any]
    inputs: dict[str, str]
    """The sha256 of each input file, by the name it was given."""

    @property
    def id(self) -> str:
        """A short name of this provenance: the same version, options and inputs give the same."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:12]

    def to_json(self) -> dict[str, Any]:
        """As a dictionary, with its id."""
        return {"id": self.id, **msgspec.to_builtins(self)}

    @property
    def line(self) -> str:
        """On one line, for a comment in a file."""
        return "provenance: " + msgspec.json.encode(self.to_json()).decode()

    @classmethod
    def now(cls, seed: int, options: Mapping[str, Any], inputs: Iterable[Path] = ()) -> Provenance:
        """The provenance of results made now from these files."""
        hashes = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs}
        return cls(__version__, seed, dict(options), hashes)
