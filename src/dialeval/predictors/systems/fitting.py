"""Training a network: batches, epochs, the best one, and a time at which to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dialeval.core.collection import ranges
from dialeval.predictors.predictor import Epoch
from dialeval.predictors.systems.blocks import Batch
from dialeval.predictors.systems.inputs import Inputs
from dialeval.predictors.systems.losses import Scores, Target, loss_of
from dialeval.predictors.systems.network import Network
from dialeval.predictors.systems.pretrained import TransformerTurns
from dialeval.predictors.systems.recipes import Net

CLIP = 5.0
PREDICTED = 256
"""Dialogues that are predicted at a time; fewer where a transformer reads them."""
PREDICTED_TUNED = 8


@dataclass(frozen=True)
class Outcome:
    """How a training went."""

    epochs: int
    stopped: bool
    """The time was up before the training was done."""


class Feed:
    """Batches of some dialogues of the inputs."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.offsets = inputs, inputs.offsets
        self._speakers = torch.from_numpy(inputs.speakers.astype(np.int64))
        self._features = _tensor(inputs.features)
        self._table = _tensor(inputs.table)
        self._beside = _tensor(inputs.beside)

    def rows(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """The turns of the dialogues at these places, among all turns."""
        return ranges(self.offsets[places], self.inputs.lengths[places])

    def batch(self, places: NDArray[np.intp]) -> Batch:
        """The dialogues at these places."""
        lengths, rows = self.inputs.lengths[places], self.rows(places)
        real = np.arange(max(1, int(lengths.max()))) < lengths[:, None]
        pieces = self.inputs.pieces
        at = torch.from_numpy(rows)
        return Batch(
            real=torch.from_numpy(real),
            speakers=self._speakers[at],
            features=None if self._features is None else self._features[at],
            pieces=None if pieces is None else torch.from_numpy(pieces.padded(rows)),
            table=self._table,
            beside=None if self._beside is None else self._beside[at],
        )


def fit_network(
    network: Network,
    inputs: Inputs,
    targets: Sequence[Target],
    places: NDArray[np.intp],
    *,
    seed: int,
    score: Callable[[Network], float] | None = None,
    deadline: float | None = None,
    progress: Callable[[Epoch], None] | None = None,
) -> Outcome:
    """Train on the dialogues at `places`; with `score` (lower is better) keep the best epoch.

    When the `deadline` has passed, training stops after its current epoch.
    """
    training = _training(network)
    feed = Feed(inputs)
    parameters = [p for p in network.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(parameters, lr=training.rate)
    steps = training.epochs * -(-len(places) // training.batch)
    schedule = (
        torch.optim.lr_scheduler.OneCycleLR(optimiser, training.rate, total_steps=steps + 1)
        if network.net.schedule == "one-cycle"
        else None
    )
    best: tuple[float, dict[str, Any]] | None = None
    first, waited, epoch, stopped = 0.0, 0, 0, False
    while epoch < training.epochs and waited < network.net.patience and not stopped:
        torch.manual_seed(seed * 100_003 + epoch)
        order = np.random.default_rng([seed, epoch]).permutation(places)
        network.train()
        losses = []
        for start in range(0, len(order), training.batch):
            loss = batch_loss(network, feed, targets, order[start : start + training.batch])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(parameters, CLIP)
            optimiser.step()
            if schedule is not None:
                schedule.step()
            losses.append(float(loss.detach()))
        network.eval()
        epoch += 1
        dev = None
        if score is not None:
            found = score(network)
            first = first or found
            dev = found / max(first, 1e-9)
            waited += 1
            if best is None or found < best[0]:
                kept = {name: value.clone() for name, value in network.state_dict().items()}
                best, waited = (found, kept), 0
        if progress:
            progress(Epoch(epoch, training.epochs, float(np.mean(losses)), dev))
        stopped = deadline is not None and time.monotonic() >= deadline
    if best is not None:
        network.load_state_dict(best[1])
    done = epoch >= training.epochs or waited >= network.net.patience
    return Outcome(epoch, stopped and not done)


def batch_loss(
    network: Network, feed: Feed, targets: Sequence[Target], places: NDArray[np.intp]
) -> Tensor:
    """The loss of these dialogues, the sum over heads."""
    scores = network(feed.batch(places))
    turns, dialogues = torch.from_numpy(feed.rows(places)), torch.from_numpy(places)
    loss = torch.zeros(())
    for head, found, target in zip(network.heads, scores, targets, strict=True):
        at = turns if head.criterion.scope == "turn" else dialogues
        loss = loss + loss_of(head, found, target.gold[at], target.counts[at], network.net)
    return loss


def scores_of(network: Network, inputs: Inputs) -> list[Scores]:
    """By head: the scores of all turns or dialogues."""
    feed, dialogues = Feed(inputs), len(inputs.lengths)
    size = PREDICTED_TUNED if isinstance(network.turns, TransformerTurns) else PREDICTED
    found: list[list[Scores]] = [[] for _ in network.heads]
    network.eval()
    with torch.no_grad():
        for places in _parts(dialogues, size):
            for own, scores in zip(found, network(feed.batch(places)), strict=True):
                own.append(scores.numpy())
    return [
        np.concatenate(own) if own else np.zeros((0, len(head.columns)), np.float32)
        for own, head in zip(found, network.heads, strict=True)
    ]


def seeded_network(make: Callable[[], Network], seed: int) -> Network:
    """A new network whose first weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


@dataclass(frozen=True)
class _Training:
    rate: float
    batch: int
    epochs: int


def _training(network: Network) -> _Training:
    net: Net = network.net
    if isinstance(network.turns, TransformerTurns):
        return _Training(net.tuned_rate, net.tuned_batch, net.tuned_epochs)
    return _Training(net.rate, net.batch, net.epochs)


def _parts(total: int, size: int) -> Iterator[NDArray[np.intp]]:
    for start in range(0, total, size):
        yield np.arange(start, min(start + size, total))


def _tensor(array: NDArray[np.float32] | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(np.ascontiguousarray(array))
