"""A recipe as a predictor."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import DataError, UsageError
from dialeval.core.language import collection_language
from dialeval.core.rubric import Rubric
from dialeval.core.run import Distributions
from dialeval.predictors.features import turn_texts
from dialeval.predictors.predictor import Epoch, Predictor
from dialeval.predictors.recipe import LANGUAGES
from dialeval.predictors.systems.embeddings import (
    WordVectors,
    learned_vectors,
    read_vectors,
    side_by_side,
)
from dialeval.predictors.systems.frozen import BundledVectors, Remembered
from dialeval.predictors.systems.inputs import sentences_of, turn_tokens
from dialeval.predictors.systems.recipes import Recipe, changed, recipe_of

if TYPE_CHECKING:
    from dialeval.predictors.systems.assembly import Assembly, Materials

WORD_TURNS = ("bag", "words", "cnn", "gated-cnn")
ENCODED_TURNS = ("vectors", "sentences", "transformer")


class System(Predictor):
    """A run of a campaign, rebuilt from its recipe."""

    trainable = True
    needs = "neural"
    takes = frozenset({"embeddings", "encoder", "cache", "budget"})
    system: ClassVar[str]

    def __init__(
        self,
        language: str | None = None,
        seed: int = 0,
        *,
        embeddings: str | Path | None = None,
        encoder: str | Path | None = None,
        cache: str | Path | None = None,
        budget: float = 0.0,
        **settings: Any,
    ) -> None:
        """`budget` is in minutes; the `cache` folder keeps frozen vectors of texts."""
        if language not in (None, *LANGUAGES):
            raise UsageError(
                f"language: found {language!r}, expected one of {', '.join(LANGUAGES)}"
            )
        self.language, self.seed, self.settings = language, seed, settings
        self.embeddings, self.encoder = _path(embeddings), str(encoder) if encoder else None
        self.cache, self.budget = _path(cache), float(budget)
        self.recipe = changed(recipe_of(self.system), settings)
        self.members = self._new_members()
        self.sources: list[str] = []

    @classmethod
    def new(cls, *, language: str | None = None, seed: int = 0, **settings: Any) -> System:
        return cls(language, seed, **settings)

    def _new_members(self) -> list[System]:
        names = self.recipe.members
        encoders: list[str | None] = [None] * len(names)
        if self.encoder and names:  # one folder for all, or one for each
            given = self.encoder.split(",")
            if len(given) not in (1, len(names)):
                raise UsageError(f"encoder: found {len(given)} folders, expected {len(names)}")
            encoders = [*given] if len(given) > 1 else [given[0]] * len(names)
        return [
            system(name)(
                self.language,
                self.seed,
                encoder=encoder,
                cache=self.cache,
                budget=self.budget / len(names),
                **self.settings,
            )
            for name, encoder in zip(names, encoders, strict=True)
        ]

    def language_of(self, collection: Collection) -> str:
        return self.language or collection_language(collection)

    def prepare(self, collection: Collection) -> None:
        """Work out the frozen vectors of all texts, once for all that share the cache."""
        for member in self.members:
            member.prepare(collection)
        texts: list[str] = []
        for net in self.recipe.nets:
            if net.turn == "sentences":
                turns = (turn for d in collection.dialogues for turn in d.turns)
                texts += [text for turn in turns for text in sentences_of(turn.utterances)]
            elif net.turn == "vectors" or (net.turn == "transformer" and not self.encoder):
                texts += turn_texts(collection)
        if texts:
            encoder = self._encoder(self.language_of(collection))
            assert encoder is not None
            encoder.prepare(texts)

    def fit(
        self,
        collection: Collection,
        dev: Collection | None = None,
        *,
        parallel: Collection | None = None,
        progress: Callable[[Epoch], None] | None = None,
        checkpoint: Path | None = None,
    ) -> System:
        """Learn from votes; without `dev`, one dialogue in ten is held out to choose the epoch.

        The order of the dialogues does not matter.
        """
        del checkpoint
        if parallel is not None:
            raise UsageError(f"model {self.name!r} learns from one language: no parallel one")
        if not collection.votes:
            raise DataError(collection.source, "", "no votes", "a collection to learn from")
        self.language = self.language_of(collection)
        self.rubric = collection.rubric
        collection = collection.select(np.argsort(np.array(collection.ids), kind="stable"))
        for member in self.members:
            member.language = self.language
            member.fit(collection, dev, progress=progress)
        if self.members:
            self.sources = [*dict.fromkeys(s for member in self.members for s in member.sources)]
            return self
        from dialeval.predictors.systems.assembly import Assembly

        if self.cache is not None:
            self.prepare(collection)
        materials = self._materials(collection)
        self.assembly = Assembly(self.recipe, collection.rubric, materials)
        outcomes = self.assembly.fit(
            collection, dev, seed=self.seed, budget=60 * self.budget, progress=progress
        )
        if materials.encoder is not None:
            materials.encoder.forget()
        if any(outcome.stopped for outcome in outcomes):
            self.sources.append(f"training stopped by the budget of {self.budget:g} minutes")
        return self

    @property
    def stopped(self) -> bool:
        """Whether the budget ended a training."""
        return any("stopped by the budget" in source for source in self.sources)

    def notes(self) -> list[str]:
        """Which word vectors or encoder it used."""
        return self.sources

    def _materials(self, collection: Collection) -> Materials:
        """What the networks are given, by the options or else by what is at hand."""
        from dialeval.predictors.systems.assembly import Materials

        kinds = {net.turn for net in self.recipe.nets}
        words = encoder = pretrained = None
        if kinds & {*WORD_TURNS}:
            texts = [turn_tokens(text) for text in turn_texts(collection)]
            words = self._words(texts)
            self.sources.append(words.source)
        if kinds & {*ENCODED_TURNS}:
            if self.encoder:
                from dialeval.predictors.systems.pretrained import read_pretrained

                pretrained = read_pretrained(Path(self.encoder))
                tuned = ", fine-tuned" if "transformer" in kinds else ", frozen"
                self.sources.append(pretrained.source + tuned)
            if not self.encoder or kinds & {"vectors", "sentences"}:
                encoder = self._encoder(str(self.language))
                if isinstance(encoder.encoder, BundledVectors):
                    self.sources.append(encoder.encoder.source)
        return Materials(words, encoder, pretrained)

    def _words(self, texts: list[tuple[str, ...]]) -> WordVectors:
        net = self.recipe.nets[0]
        if self.embeddings is None or net.vectors == "learned":
            return learned_vectors(texts, net.dimensions, self.seed)
        given = read_vectors(self.embeddings, {token for text in texts for token in text})
        if net.vectors == "file":
            return given
        return side_by_side(given, learned_vectors(texts, net.dimensions, self.seed))

    def _encoder(self, language: str) -> Remembered:
        """What turns texts into frozen vectors."""
        if self.encoder:
            from dialeval.predictors.systems.pretrained import FrozenTransformer, read_pretrained

            return Remembered(FrozenTransformer(read_pretrained(Path(self.encoder))), self.cache)
        return Remembered(BundledVectors(language), self.cache)

    def predict_distributions(self, collection: Collection) -> dict[str, Distributions]:
        if not collection.rubric.same_form(self.rubric):
            raise UsageError(
                f"the model was trained for rubric {self.rubric.name!r}, the collection has "
                f"{collection.rubric.name!r}"
            )
        if not self.members:
            return self.assembly.predict(collection)
        found = [member.predict_distributions(collection) for member in self.members]
        mean: dict[str, Distributions] = {
            id: np.mean([one[id] for one in found], axis=0) for id in found[0]
        }
        return mean

    def state(self) -> dict[str, Any]:
        """What is stored beside the weights."""
        state: dict[str, Any] = {
            "system": self.system,
            "language": self.language,
            "recipe": msgspec.to_builtins(self.recipe),
            "rubric": msgspec.to_builtins(self.rubric),
            "sources": self.sources,
            "members": [member.state() for member in self.members],
        }
        pretrained = self._stored_transformer()
        if pretrained is not None:
            state["transformer"] = pretrained.config
        return state

    def arrays(self) -> dict[str, Any]:
        """The weights, the word vectors, and a transformer if it learned nothing."""
        if self.members:
            return _prefixed("member", [member.arrays() for member in self.members])
        stored = {f"network/{name}": value for name, value in self.assembly.arrays().items()}
        words = self.assembly.materials.words
        if words is not None:
            stored["words"] = np.frombuffer("\n".join(words.words).encode(), np.uint8)
            stored["vectors"] = words.matrix
        pretrained = self._stored_transformer()
        if pretrained is not None:
            stored["tokenizer"] = np.frombuffer(pretrained.tokenizer.encode(), np.uint8)
            if self.assembly.materials.encoder is not None:
                for name, value in (pretrained.weights or {}).items():
                    stored[f"transformer/{name}"] = value.numpy()
        return stored

    def _stored_transformer(self) -> Any:
        return None if self.members else self.assembly.materials.pretrained

    @classmethod
    def restored(cls, state: dict[str, Any], arrays: dict[str, Any]) -> System:
        """A predictor from what `state` and `arrays` gave."""
        from dialeval.predictors.systems.assembly import Assembly, Materials

        made = system(state["system"])(state["language"])
        made.recipe = msgspec.convert(state["recipe"], Recipe)
        made.rubric = msgspec.convert(state["rubric"], Rubric)
        made.sources = state["sources"]
        made.members = [
            cls.restored(own, _below(f"member{place}/", arrays))
            for place, own in enumerate(state["members"])
        ]
        if made.members:
            return made
        words = encoder = pretrained = None
        if "words" in arrays:
            text = arrays["words"].tobytes().decode()
            words = WordVectors(tuple(text.split("\n") if text else ()), arrays["vectors"], "")
        kinds = {net.turn for net in made.recipe.nets}
        if "tokenizer" in arrays:
            pretrained, encoder = _transformer(state, arrays)
        elif kinds & {*ENCODED_TURNS}:
            encoder = Remembered(BundledVectors(state["language"]))
        materials = Materials(words, encoder, pretrained)
        made.assembly = Assembly(made.recipe, made.rubric, materials)
        speaker = made.rubric.speakers[0]
        sample = Collection([Dialogue("", (Turn(speaker, ("",)),))], made.rubric)
        made.assembly.restore(_below("network/", arrays), sample)
        if encoder is not None:
            encoder.forget()
        return made

    rubric: Rubric
    assembly: Assembly


@lru_cache
def system(name: str) -> type[System]:
    """The predictor class of a recipe; saved models name `System` and say the recipe themselves.

    >>> system("bl-lstm").name
    'bl-lstm'
    """
    recipe = recipe_of(name)
    members = {
        "name": name,
        "system": name,
        "__doc__": f"{recipe.run}: {recipe.about}.",
        "__module__": System.__module__,
        "__qualname__": System.__qualname__,
    }
    return type(System.__name__, (System,), members)


def _transformer(state: dict[str, Any], arrays: dict[str, Any]) -> Any:
    """The transformer of a saved model, and the encoder of texts if it is frozen."""
    import torch

    from dialeval.predictors.systems.pretrained import FrozenTransformer, Pretrained

    weights = {
        name: torch.from_numpy(value) for name, value in _below("transformer/", arrays).items()
    }
    text = arrays["tokenizer"].tobytes().decode()
    pretrained = Pretrained(state["transformer"], text, "", weights or None)
    frozen = Remembered(FrozenTransformer(pretrained)) if weights else None
    return pretrained, frozen


def _path(given: str | Path | None) -> Path | None:
    return Path(given) if given else None


def _prefixed(name: str, arrays: list[dict[str, Any]]) -> dict[str, Any]:
    return {f"{name}{k}/{key}": value for k, own in enumerate(arrays) for key, value in own.items()}


def _below(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
