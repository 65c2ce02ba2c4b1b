"""The settings of a trained model: what it sees, how large it is, how it is trained."""

from __future__ import annotations

import msgspec

from dialeval.core.rubric import Criterion

LANGUAGES = ("en", "zh")


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the recurrent predictor; stored with the model."""

    name: str
    language: str = "en"

    characters: tuple[int, ...] = (3, 4)
    words: tuple[int, ...] = (1, 2)
    bits: int = 20
    least_texts: int = 5
    most_words: int = 30_000
    dimensions: int = 160
    layers: tuple[int, ...] = ()
    """Of the bundled encoder: 0 to 6, and 7 for the maximum over tokens of the last."""
    text_scale: float = 0.3
    structure_scale: float = 1.0

    projection: int = 128
    units: int = 96
    seeds: int = 4
    """Networks trained side by side and averaged."""

    epochs: int = 16
    patience: int = 5
    batch: int = 32
    rate: float = 3e-3
    decay: float = 1e-2
    input_dropout: float = 0.25
    projection_dropout: float = 0.2
    state_dropout: float = 0.5
    turn_weight: float = 6.0
    """How much the loss of turn criteria counts beside that of dialogue criteria."""
    ordinal_distance: float = 3.0
    """How much NMD and RSNOD themselves count in the loss of ordinal criteria."""
    divergence: float = 2.0
    """How much JSD counts, beside the distance, in the loss of criteria without an order."""
    length_balance: float = 0.5
    """Dialogues weigh (how many have as many turns) to the minus this."""
    map_penalty: float = 1000.0
    """Of the ridge regression that maps turns of a parallel collection."""
    cutoff: float = 0.03
    """Smaller probabilities of ordinal criteria become 0: most labels get no vote at all."""
    nominal_cutoff: float = 0.015
    """The same for criteria without an order."""

    def cutoff_of(self, criterion: Criterion) -> float:
        """The cutoff for a criterion."""
        return self.cutoff if criterion.kind == "ordinal" else self.nominal_cutoff


def recipe(name: str, language: str) -> Recipe:
    """The recipe of a bundled model for a language.

    >>> recipe("accurate", "zh").layers
    (0, 2, 4, 6, 7)
    """
    chinese = language == "zh"
    characters, words = ((1, 2, 3), ()) if chinese else ((3, 4), (1, 2))
    own = Recipe(name=name, language=language, characters=characters, words=words)
    if name == "fast":
        return msgspec.structs.replace(
            own, dimensions=256, seeds=2, epochs=18, turn_weight=16.0, divergence=6.0
        )
    return msgspec.structs.replace(
        own,
        layers=(0, 2, 4, 6, 7) if chinese else (2, 4, 6),
        most_words=20_000,
        dimensions=128,
        seeds=6,
        epochs=12,
        rate=2e-3,
        input_dropout=0.3,
    )
