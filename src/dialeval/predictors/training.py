"""Training the recurrent network (extra `neural`: torch). Only the weights leave this module."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.core.errors import MissingExtraError
from dialeval.predictors.network import Array, Head, Weights
from dialeval.predictors.predictor import Epoch
from dialeval.predictors.recipe import Recipe

try:
    import torch
    from torch.nn import functional
except ImportError:
    raise MissingExtraError("training models", "neural") from None

WARM_UP = 50
CLIP = 5.0


@dataclass(frozen=True)
class Lesson:
    """Turns to learn from: features and, for each head, votes and their distribution."""

    features: Array
    lengths: NDArray[np.intp]
    speakers: NDArray[np.int8]
    votes: dict[str, NDArray[np.int8]]
    """By head: items by annotators, the place of the label among the head's, or -1."""
    weights: Array
    """Of each dialogue."""


def lesson(collection: Collection, features: Array, heads: Sequence[Head]) -> Lesson:
    """What a collection with votes teaches."""
    votes: dict[str, NDArray[np.int8]] = {}
    for head in heads:
        place = np.full(len(head.criterion.columns) + 1, -1, np.int8)  # the last: no vote
        place[list(head.columns)] = np.arange(len(head.columns))
        items = len(collection) if head.criterion.scope == "dialogue" else len(features)
        given = collection.votes.get(
            head.criterion.id, np.full((items, len(collection.annotators)), -1, np.int8)
        )
        votes[head.name] = place[given]
    weights = np.ones(len(collection), np.float32)
    return Lesson(features, collection.lengths, collection.speakers, votes, weights)


def joined(first: Lesson, second: Lesson) -> Lesson:
    """Both lessons, one after the other; annotators that one lacks have no votes there."""
    names = ("features", "lengths", "speakers", "weights")
    parts = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names}
    votes = {name: _stacked(first.votes[name], second.votes[name]) for name in first.votes}
    return Lesson(votes=votes, **parts)


def _stacked(first: NDArray[np.int8], second: NDArray[np.int8]) -> NDArray[np.int8]:
    table = np.full((len(first) + len(second), first.shape[1]), -1, np.int8)
    table[: len(first)] = first
    width = min(first.shape[1], second.shape[1])
    table[len(first) :, :width] = second[:, :width]
    return table


class _Network(torch.nn.Module):
    """The network of `network.py`, for all seeds side by side, with dropout."""

    def __init__(self, inputs: int, recipe: Recipe, heads: Sequence[Head], seed: int) -> None:
        super().__init__()
        self.recipe, self.heads = recipe, heads
        random = torch.Generator().manual_seed(seed)
        seeds, units, width = recipe.seeds, recipe.units, recipe.projection

        def uniform(*shape: int, bound: float) -> torch.nn.Parameter:
            values = torch.rand(*shape, generator=random) * 2 - 1
            return torch.nn.Parameter(values * bound)

        gate = units**-0.5
        self.weights = torch.nn.ParameterDict(
            {
                "project/w": uniform(seeds, inputs, width, bound=2 * (3 / inputs) ** 0.5),
                "project/b": torch.nn.Parameter(torch.zeros(seeds, 1, width)),
                "gru/w": uniform(2 * seeds, width, 3 * units, bound=gate),
                "gru/b": uniform(2 * seeds, 1, 3 * units, bound=gate),
                "gru/u": uniform(2 * seeds, units, 3 * units, bound=gate),
                "gru/n": uniform(2 * seeds, 1, units, bound=gate),
            }
        )
        for head in heads:
            size = (6 if head.criterion.scope == "dialogue" else 2) * units
            bound = 0.5 * size**-0.5
            name = _key(head.name)
            self.weights[f"{name}/w"] = uniform(seeds, size, head.outputs, bound=bound)
            self.weights[f"{name}/b"] = torch.nn.Parameter(torch.zeros(seeds, 1, head.outputs))

    def forward(self, features: torch.Tensor, lengths: torch.Tensor) -> dict[str, torch.Tensor]:
        """Padded features to scores by head: seeds, items, annotators, labels."""
        recipe, weights = self.recipe, self.weights
        dialogues, turns, _ = features.shape
        seeds, units = recipe.seeds, recipe.units
        dropped = self._drop(features, recipe.input_dropout).reshape(dialogues * turns, -1)
        projected = functional.relu(dropped @ weights["project/w"] + weights["project/b"])
        projected = self._drop(projected, recipe.projection_dropout)
        both = torch.cat([projected, projected])
        inputs = torch.baddbmm(weights["gru/b"], both, weights["gru/w"])
        inputs = inputs.reshape(2 * seeds, dialogues, turns, 3 * units)

        place = torch.arange(turns)
        real = place < lengths[:, None]
        # The backward direction reads each dialogue from its own last turn.
        turned = torch.where(real, lengths[:, None] - 1 - place, place)[None, :, :, None]
        back = inputs[seeds:].gather(2, turned.expand(seeds, dialogues, turns, 3 * units))
        states = self._gru(torch.cat([inputs[:seeds], back]))
        forward = states[:seeds]
        backward = states[seeds:].gather(2, turned.expand(seeds, dialogues, turns, units))
        states = torch.cat([forward, backward], -1)

        mask = real[None, :, :, None]
        mean = (states * mask).sum(2) / lengths[None, :, None]
        highest = states.masked_fill(~mask, -math.inf).amax(2)
        ends = (lengths - 1)[None, :, None, None].expand(seeds, dialogues, 1, units)
        last = forward.gather(2, ends)[:, :, 0]
        pooled = torch.cat([mean, highest, last, backward[:, :, 0]], -1)
        pooled = self._drop(pooled, recipe.state_dropout)
        flat = self._drop(states, recipe.state_dropout).reshape(seeds, dialogues * turns, -1)
        scores = {}
        for head in self.heads:
            name, of_turns = _key(head.name), head.criterion.scope == "turn"
            found = torch.baddbmm(
                weights[f"{name}/b"], flat if of_turns else pooled, weights[f"{name}/w"]
            )
            items = (dialogues, turns) if of_turns else (dialogues,)
            scores[head.name] = found.reshape(seeds, *items, head.annotators, len(head.columns))
        return scores

    def _gru(self, inputs: torch.Tensor) -> torch.Tensor:
        recurrent, bias, units = self.weights["gru/u"], self.weights["gru/n"], self.recipe.units
        state = inputs.new_zeros(*inputs.shape[:2], units)
        states = []
        for new in inputs.unbind(2):
            old = torch.bmm(state, recurrent)
            gates = torch.sigmoid(new[..., : 2 * units] + old[..., : 2 * units])
            reset, update = gates.chunk(2, -1)
            candidate = torch.tanh(new[..., 2 * units :] + reset * (old[..., 2 * units :] + bias))
            state = candidate + update * (state - candidate)
            states.append(state)
        return torch.stack(states, 2)

    def _drop(self, values: torch.Tensor, share: float) -> torch.Tensor:
        return functional.dropout(values, share, self.training)

    def exported(self) -> Weights:
        """The weights under the names that `network.py` uses."""
        return {
            name.replace("/", ".").replace("\\", "."): value.detach().numpy().copy()
            for name, value in self.weights.items()
        }


def _key(name: str) -> str:
    """Parameter names may not have dots."""
    return name.replace(".", "\\")


def train(
    material: Lesson,
    recipe: Recipe,
    heads: Sequence[Head],
    *,
    seed: int = 0,
    score: Callable[[Weights], float] | None = None,
    progress: Callable[[Epoch], None] | None = None,
    checkpoint: Path | None = None,
) -> Weights:
    """Train on all of the material; with `score` (lower is better) keep the best epoch.

    A `checkpoint` file is written after every epoch, and training goes on from it.
    """
    with threads(1):  # the matrices are small: more threads would only wait for each other
        return _train(material, recipe, heads, seed, score, progress, checkpoint)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """How many threads torch uses in the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(
    material: Lesson,
    recipe: Recipe,
    heads: Sequence[Head],
    seed: int,
    score: Callable[[Weights], float] | None,
    progress: Callable[[Epoch], None] | None,
    checkpoint: Path | None,
) -> Weights:
    network = _Network(material.features.shape[1], recipe, heads, seed)
    targets = _targets(material, heads)
    batches = math.ceil(len(material.lengths) / recipe.batch)
    steps = recipe.epochs * batches
    warm_up = min(WARM_UP, max(1, steps // 10))
    optimiser = torch.optim.AdamW(network.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1, (step + 1) / warm_up) * max(0.02, 1 - step / steps)
    )
    best: tuple[float, Weights | None] = (math.inf, None)
    first, waited = 0, 0
    if checkpoint is not None and checkpoint.is_file():
        kept = torch.load(checkpoint, weights_only=False)
        network.load_state_dict(kept["network"])
        optimiser.load_state_dict(kept["optimiser"])
        schedule.load_state_dict(kept["schedule"])
        first, waited, best = kept["epoch"], kept["waited"], kept["best"]
    for epoch in range(first, recipe.epochs):
        torch.manual_seed(seed * 100_003 + epoch)
        order = np.random.default_rng([seed, epoch]).permutation(len(material.lengths))
        network.train()
        total = 0.0
        for start in range(0, order.size, recipe.batch):
            loss = _loss(network, material, targets, order[start : start + recipe.batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP * recipe.seeds)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        network.eval()
        dev = score(network.exported()) if score else None
        if dev is not None:
            waited = 0 if dev < best[0] else waited + 1
            best = (dev, network.exported()) if dev < best[0] else best
        if progress:
            progress(Epoch(epoch + 1, recipe.epochs, total / batches, dev))
        if checkpoint is not None:
            _keep(checkpoint, network, optimiser, schedule, epoch + 1, waited, best)
        if waited >= recipe.patience:
            break
    return best[1] if best[1] is not None else network.exported()


def _keep(
    path: Path,
    network: _Network,
    optimiser: Any,
    schedule: Any,
    epoch: int,
    waited: int,
    best: tuple[float, Weights | None],
) -> None:
    state = {
        "network": network.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.state_dict(),
        "epoch": epoch,
        "waited": waited,
        "best": best,
    }
    beside = path.with_suffix(".new")
    torch.save(state, beside)
    beside.replace(path)


@dataclass(frozen=True)
class _Targets:
    """One-hot votes and their distribution by head, with a row of nothing for padding."""

    votes: torch.Tensor
    gold: torch.Tensor
    weight: torch.Tensor
    """Of each item: 0 without votes; turns share the weight of their speaker's side."""


def _targets(material: Lesson, heads: Sequence[Head]) -> dict[str, _Targets]:
    shares = _turn_shares(material)
    targets = {}
    for head in heads:
        votes = material.votes[head.name]
        votes = np.concatenate([votes, np.full((1, votes.shape[1]), -1, np.int8)])
        one_hot = (votes[:, :, None] == np.arange(len(head.columns))).astype(np.float32)
        total = one_hot.sum(axis=(1, 2))
        gold = one_hot.sum(axis=1) / np.maximum(total, 1)[:, None]
        weight = (total > 0).astype(np.float32)
        if head.criterion.scope == "turn":
            weight *= np.append(shares, 0)
        if head.annotators == 1:
            one_hot = gold[:, None]
        else:  # each annotator's own vote; those who did not vote count nothing
            one_hot *= head.annotators / np.maximum(total, 1)[:, None, None]
        targets[head.name] = _Targets(*map(torch.from_numpy, (one_hot, gold, weight)))
    return targets


def _turn_shares(material: Lesson) -> Array:
    """As in the score of a dialogue: each speaker's turns share the same weight."""
    dialogue = np.repeat(np.arange(len(material.lengths)), material.lengths)
    side = dialogue * (int(material.speakers.max()) + 1) + material.speakers
    turns = np.bincount(side)[side]
    sides = np.bincount(np.unique(side) // (int(material.speakers.max()) + 1))[dialogue]
    shares: Array = (1 / (turns * sides)).astype(np.float32)
    return shares


def _loss(
    network: _Network,
    material: Lesson,
    targets: dict[str, _Targets],
    batch: NDArray[np.intp],
) -> torch.Tensor:
    """Cross-entropy of the annotators' own votes and of their mean, and the mean's distances."""
    recipe = network.recipe
    starts = np.cumsum(material.lengths) - material.lengths
    lengths = material.lengths[batch]
    place = np.arange(lengths.max())
    padding = len(material.features)
    real = place < lengths[:, None]
    rows = torch.from_numpy(np.where(real, starts[batch][:, None] + place, padding))
    features = torch.from_numpy(
        np.where(real[:, :, None], material.features[np.minimum(rows.numpy(), padding - 1)], 0)
    )
    scores = network(features, torch.from_numpy(lengths))
    importance = torch.from_numpy(material.weights[batch])
    importance = importance / importance.mean()
    items = torch.from_numpy(batch)
    loss = torch.zeros(())
    for head in network.heads:
        target, of_turns = targets[head.name], head.criterion.scope == "turn"
        at = rows if of_turns else items
        chances = functional.log_softmax(scores[head.name], -1)
        own = -(chances * target.votes[at]).sum(-1).mean(-1)
        mean, gold = chances.exp().mean(-2), target.gold[at]
        soft = -(gold * (mean + 1e-6).log()).sum(-1)
        if head.criterion.kind == "ordinal":
            distance = recipe.ordinal_distance * _ordinal_distance(mean, gold, recipe.cutoff)
        else:
            distance = ((mean - gold).square().sum(-1) + 1e-4).sqrt()
            distance = distance + recipe.divergence * _divergence(mean, gold)
        mixed = 0.5 * own + 0.5 * soft + distance
        weight = target.weight[at] * (importance[:, None] if of_turns else importance)
        scale = recipe.turn_weight if of_turns else 1.0
        loss = loss + scale * (mixed * weight).sum() / len(batch)
    return loss


def _divergence(mean: torch.Tensor, gold: torch.Tensor) -> torch.Tensor:
    """The Jensen-Shannon divergence, in nats."""
    middle = ((mean + gold) / 2 + 1e-6).log()
    of_mean, of_gold = (side * ((side + 1e-6).log() - middle) for side in (mean, gold))
    return (of_mean + of_gold).sum(-1) / 2


def _ordinal_distance(mean: torch.Tensor, gold: torch.Tensor, cutoff: float) -> torch.Tensor:
    """NMD and RSNOD, the latter with bins that count as filled above the cutoff."""
    last = mean.shape[-1] - 1
    nmd = (mean - gold).cumsum(-1).abs().sum(-1) / last
    labels = torch.arange(last + 1)
    steps = (labels[:, None] - labels).abs().float()
    weighted = (mean - gold).square() @ steps
    sides = [(gold > 0).float(), (mean.detach() > cutoff).float()]
    of_gold, of_mean = ((weighted * side).sum(-1) / side.sum(-1).clamp(min=1) for side in sides)
    divergence = of_gold + of_mean
    return nmd + (divergence / 2 / last + 1e-5).sqrt()
