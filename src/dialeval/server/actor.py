"""Who makes a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["anyone", "team", "organiser", "annotator", "tester"]


@dataclass(frozen=True)
class Actor:
    """A team, an organiser, an annotator or tester by a link, or anyone."""

    role: Role = "anyone"
    id: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"{self.role} {self.name}".strip()

    @property
    def is_organiser(self) -> bool:
        """Whether it may see and do everything."""
        return self.role == "organiser"


ANYONE = Actor()
