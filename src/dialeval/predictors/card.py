"""Model cards: what a model was learned from, how, under which terms, and how good it is."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from dialeval.core.collection import Collection

DEPENDENCIES = ("numpy", "scipy", "scikit-learn", "torch", "onnxruntime", "tokenizers")


class Data(msgspec.Struct, frozen=True):
    """A collection that a model has learned from."""

    file: str
    sha256: str
    dialogues: int
    annotators: int


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A model's card; `CARD.md` shows it to people."""

    model: str
    about: str
    language: str
    rubric: str
    data: list[Data]
    seed: int
    seconds: float = 0.0
    scores: dict[str, dict[str, float]] = {}
    """Mean scores by column, under a heading such as "5-fold cross-validation"."""
    notes: list[str] = []
    pictures: dict[str, str] = {}
    """Files in the model's folder, by what they show."""
    dependencies: dict[str, str] = {}
    terms: str = "Learned from the data above; its terms apply."


def data_of(path: Path, collection: Collection) -> Data:
    """A file's entry in a card."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Data(path.name, digest, len(collection), len(collection.annotators))


def installed() -> dict[str, str]:
    """The versions of what training used."""
    found = {}
    for name in DEPENDENCIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def card_text(card: Card) -> str:
    """The card as Markdown."""
    lines = [f"# {card.model} ({card.language})", "", card.about, ""]
    lines += ["## Learned from", ""]
    lines += [
        f"- `{d.file}`: {d.dialogues:,} dialogues, {d.annotators} annotators, sha256 `{d.sha256}`"
        for d in card.data
    ]
    lines += ["", f"Rubric `{card.rubric}`, seed {card.seed}, {card.seconds:.0f} s of training."]
    for heading, scores in card.scores.items():
        lines += ["", f"## {heading}", "", "| measure | mean |", "| --- | ---: |"]
        lines += [f"| {column} | {value:.4f} |" for column, value in scores.items()]
    for heading, file in card.pictures.items():
        lines += ["", f"## {heading}", "", f"![{heading}]({file})"]
    if card.notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in card.notes)]
    used = ", ".join(f"{name} {number}" for name, number in card.dependencies.items())
    return "\n".join([*lines, "", "## Terms", "", card.terms, "", f"Trained with {used}.", ""])


def scores_of(means: dict[str, Any]) -> dict[str, float]:
    """Means rounded as cards show them."""
    return {column: round(float(value), 4) for column, value in means.items()}
