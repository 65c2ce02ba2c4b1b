"""The networks of a recipe put together: fitted one after another, predicting side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.rubric import Rubric
from dialeval.core.run import Distributions
from dialeval.measures.evaluate import evaluate
from dialeval.predictors.crossval import fold_of
from dialeval.predictors.features import turn_texts
from dialeval.predictors.network import Head
from dialeval.predictors.predictor import Epoch, run_of
from dialeval.predictors.systems.embeddings import WordVectors
from dialeval.predictors.systems.fitting import Outcome, fit_network, scores_of, seeded_network
from dialeval.predictors.systems.frozen import Remembered
from dialeval.predictors.systems.inputs import (
    Inputs,
    Matrix,
    bag_inputs,
    piece_inputs,
    sentence_inputs,
    vector_inputs,
    word_inputs,
)
from dialeval.predictors.systems.losses import distributions_of, heads_for, targets_of
from dialeval.predictors.systems.network import Network, Sizes
from dialeval.predictors.systems.pretrained import Pretrained
from dialeval.predictors.systems.recipes import Net, Recipe
from dialeval.predictors.training import threads

DEV_SHARE = 10
"""Without a dev collection one dialogue in so many is held out as one, if there are some."""
LEAST_DIALOGUES = 16
CHOOSING = ("rnss", "rsnod")
"""The measures by which the best epoch is chosen; all, where a rubric has neither."""


@dataclass(frozen=True)
class Materials:
    """What networks are given: word vectors, an encoder of texts, a transformer to fine-tune."""

    words: WordVectors | None = None
    encoder: Remembered | None = None
    pretrained: Pretrained | None = None


@dataclass(frozen=True)
class Part:
    """One network of a recipe, not yet built."""

    net: Net
    heads: tuple[Head, ...]

    @property
    def of_turns(self) -> bool:
        """Whether other networks can get its distributions."""
        return all(head.criterion.scope == "turn" for head in self.heads)


def parts_of(recipe: Recipe, rubric: Rubric) -> list[Part]:
    """The networks that a recipe needs for a rubric, those of turns first."""
    if recipe.both is not None:
        scopes = ("turn", "dialogue")
        heads = [head for scope in scopes for head in heads_for(rubric, recipe.both, scope)]
        return [Part(recipe.both, tuple(heads))] if heads else []
    parts = []
    for net, scope in ((recipe.of_turns, "turn"), (recipe.of_dialogues, "dialogue")):
        heads = heads_for(rubric, net, scope) if net else []
        if net is None or not heads:
            continue
        if net.each:
            ids = dict.fromkeys(head.criterion.id for head in heads)
            parts += [Part(net, tuple(h for h in heads if h.criterion.id == id)) for id in ids]
        else:
            parts.append(Part(net, tuple(heads)))
    return parts


class Assembly:
    """The networks of one recipe for one rubric."""

    def __init__(self, recipe: Recipe, rubric: Rubric, materials: Materials) -> None:
        self.recipe, self.rubric, self.materials = recipe, rubric, materials
        self.parts = parts_of(recipe, rubric)
        self.networks: list[Network] = []

    def fit(
        self,
        collection: Collection,
        dev: Collection | None,
        *,
        seed: int,
        budget: float = 0.0,
        progress: Callable[[Epoch], None] | None = None,
    ) -> list[Outcome]:
        """Learn from a collection with votes. `budget` is in seconds; 0 for no end."""
        train = np.arange(len(collection))
        if dev is None and len(collection) >= LEAST_DIALOGUES:
            held = fold_of(collection.ids, min(DEV_SHARE, len(collection)), seed) == 0
            dev, train = collection.select(np.flatnonzero(held)), np.flatnonzero(~held)
        learned = collection.select(train)
        lesson = _Lesson(self, learned, dev, seed, progress)
        clock = _Clock(budget, sum(self._trainings(part) for part in self.parts))
        outcomes = []
        with threads(1):  # the matrices are small: more threads would only wait for each other
            beside: tuple[Matrix, Matrix] | None = None
            for part in self.parts:
                if part.net.distributions and beside is None:
                    beside = self._out_of_fold(lesson, clock)
                given = beside if part.net.distributions else None
                network, outcome = lesson.fit(part, clock, given)
                self.networks.append(network)
                outcomes.append(outcome)
        return outcomes

    def _trainings(self, part: Part) -> int:
        """How many networks are trained for a part."""
        inner = any(other.net.distributions for other in self.parts)
        return 1 + (self.recipe.inner_folds if inner and part.of_turns else 0)

    def _out_of_fold(self, lesson: _Lesson, clock: _Clock) -> tuple[Matrix, Matrix]:
        """Distributions of training turns by networks that did not see them, and of dev turns.

        With gold, or predictions for what a network learned from, the next network would learn to
        trust them more than it should.
        """
        train, done = lesson.train, len(self.networks)
        folds = min(self.recipe.inner_folds, len(train))
        parts = [part for part in self.parts[:done] if part.of_turns]
        tables = _empty(self.rubric, train)
        for k in range(folds) if folds > 1 else ():
            held = fold_of(train.ids, folds, lesson.seed) == k
            inner = lesson.on(np.flatnonzero(~held))
            test = train.select(np.flatnonzero(held))
            rows = train.turns_at(np.flatnonzero(held))
            for part in parts:
                network, _ = inner.fit(part, clock, None)
                for id, values in self._predicted(part, network, test, None).items():
                    tables[id][rows] = values
        of_dev = (
            _joined(self._of_turns(lesson.dev), self.rubric, lesson.dev)
            if lesson.dev is not None
            else np.zeros((0, 0), np.float32)
        )
        return _joined(tables, self.rubric, train), of_dev

    def _of_turns(self, collection: Collection) -> dict[str, Distributions]:
        """What the networks of turns predict."""
        found: dict[str, Distributions] = {}
        for part, network in zip(self.parts, self.networks, strict=False):
            if part.of_turns:
                found |= self._predicted(part, network, collection, None)
        return found

    def predict(self, collection: Collection) -> dict[str, Distributions]:
        """Distributions by criterion."""
        with threads(1):
            found = self._of_turns(collection)
            of_turns = {**found}
            for part, network in zip(self.parts, self.networks, strict=True):
                if not part.of_turns:
                    given = (
                        _joined(of_turns, self.rubric, collection)
                        if part.net.distributions
                        else None
                    )
                    found |= self._predicted(part, network, collection, given)
        return found

    def _predicted(
        self, part: Part, network: Network, collection: Collection, beside: Matrix | None
    ) -> dict[str, Distributions]:
        scores = scores_of(network, self.inputs(part.net, collection, beside))
        return distributions_of(collection, part.heads, scores, part.net)

    def inputs(self, net: Net, collection: Collection, beside: Matrix | None = None) -> Inputs:
        """A collection as a network sees it."""
        words, encoder, pretrained = (
            self.materials.words,
            self.materials.encoder,
            self.materials.pretrained,
        )
        if net.turn == "bag" and words is not None:
            found = bag_inputs(collection, words, net.tokens)
        elif net.turn in ("words", "cnn", "gated-cnn") and words is not None:
            found = word_inputs(collection, words, net.tokens)
        elif net.turn == "transformer" and pretrained is not None:
            rows = pretrained.tokenised(turn_texts(collection), net.tokens)
            found = piece_inputs(collection, rows)
        else:
            assert encoder is not None
            make = sentence_inputs if net.turn == "sentences" else vector_inputs
            found = make(collection, encoder, net)
        return found if beside is None else found.with_beside(beside)

    def build(self, part: Part, inputs: Inputs | None = None) -> Network:
        """A new network for a part; its sizes are those of the inputs."""
        words = self.materials.words
        features = words.matrix.shape[1] if words else 0
        if inputs is not None and inputs.features is not None:
            features = inputs.features.shape[1]
        elif inputs is not None and inputs.table is not None:
            features = inputs.table.shape[1]
        beside = sum(len(c.columns) for c in self.rubric.of_turns) if part.net.distributions else 0
        sizes = Sizes(
            speakers=len(self.rubric.speakers),
            features=features,
            words=len(words.words) if words else 0,
            beside=beside,
        )
        network = Network(part.net, part.heads, sizes, self.materials.pretrained)
        if words is not None:
            network.give_words(torch.from_numpy(words.matrix))
        return network

    def arrays(self) -> dict[str, Any]:
        """The weights of all networks."""
        return {
            f"{place}/{name}": value.numpy()
            for place, network in enumerate(self.networks)
            for name, value in network.state_dict().items()
        }

    def restore(self, arrays: dict[str, Any], sample: Collection) -> None:
        """Build the networks again with the weights that `arrays` gave."""
        for place, part in enumerate(self.parts):
            network = self.build(part, self.inputs(part.net, sample))
            own = {
                name.removeprefix(f"{place}/"): torch.from_numpy(value)
                for name, value in arrays.items()
                if name.startswith(f"{place}/")
            }
            network.load_state_dict(own)
            self.networks.append(network.eval())


@dataclass
class _Clock:
    """Shares a budget among the trainings that are still to come."""

    budget: float
    left: int

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.budget

    def next_deadline(self) -> float | None:
        """When the next training must stop."""
        if not self.budget:
            return None
        now = time.monotonic()
        share = max(0.0, self.end - now) / max(1, self.left)
        self.left -= 1
        return now + share


@dataclass(frozen=True)
class _Lesson:
    """Dialogues to learn from, and those that say which epoch is best."""

    assembly: Assembly
    train: Collection
    dev: Collection | None
    seed: int
    progress: Callable[[Epoch], None] | None

    def on(self, places: NDArray[np.intp]) -> _Lesson:
        """A lesson on some of the dialogues, in silence."""
        return _Lesson(self.assembly, self.train.select(places), self.dev, self.seed, None)

    def fit(
        self, part: Part, clock: _Clock, beside: tuple[Matrix, Matrix] | None
    ) -> tuple[Network, Outcome]:
        """Train one network."""
        of_train, of_dev = beside if beside is not None else (None, None)
        inputs = self.assembly.inputs(part.net, self.train, of_train)
        network = seeded_network(lambda: self.assembly.build(part, inputs), self.seed)
        outcome = fit_network(
            network,
            inputs,
            targets_of(self.train, part.heads, part.net),
            np.arange(len(self.train)),
            seed=self.seed,
            score=self._scorer(part, of_dev),
            deadline=clock.next_deadline(),
            progress=self.progress,
        )
        return network.eval(), outcome

    def _scorer(self, part: Part, beside: Matrix | None) -> Callable[[Network], float] | None:
        dev = self.dev
        if dev is None:
            return None
        inputs = self.assembly.inputs(part.net, dev, beside)

        def score(network: Network) -> float:
            predicted = distributions_of(dev, part.heads, scores_of(network, inputs), part.net)
            means = evaluate(run_of("dev", dev, predicted), dev, missing="skip").mean
            chosen = [v for column, v in means.items() if column.rpartition(".")[2] in CHOOSING]
            return float(np.mean(chosen or [*means.values()]))

        return score


def _empty(rubric: Rubric, collection: Collection) -> dict[str, Distributions]:
    turns = int(collection.offsets[-1])
    return {c.id: np.full((turns, len(c.columns)), np.nan) for c in rubric.of_turns}


def _joined(predicted: dict[str, Distributions], rubric: Rubric, collection: Collection) -> Matrix:
    """The distributions of turns side by side, 0 where a turn is not judged."""
    tables: Sequence[Distributions] = [predicted[c.id] for c in rubric.of_turns]
    if not tables:
        return np.zeros((int(collection.offsets[-1]), 0), np.float32)
    return np.nan_to_num(np.concatenate(tables, axis=1)).astype(np.float32)
