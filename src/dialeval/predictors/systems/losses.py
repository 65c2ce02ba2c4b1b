"""Heads by criterion, what they are taught, their losses, and the distributions they predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor
from torch.nn import functional

from dialeval.core.collection import Collection
from dialeval.core.rubric import Rubric
from dialeval.core.run import Distributions
from dialeval.predictors.network import Head, heads_of
from dialeval.predictors.systems.recipes import Net

Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Target:
    """What a head is taught: distributions of items, and which items count."""

    gold: Tensor
    counts: Tensor


def heads_for(rubric: Rubric, net: Net, scope: str) -> list[Head]:
    """The heads of a scope: one for speakers with the same labels, or for all of them."""
    heads = [head for head in heads_of(rubric, 1) if head.criterion.scope == scope]
    if net.labels == "own":
        return heads
    joined: dict[str, Head] = {}
    for head in heads:
        id = head.criterion.id
        speakers = (*(joined[id].speakers if id in joined else ()), *head.speakers)
        columns = tuple(range(len(head.criterion.columns)))
        joined[id] = replace(head, name=id, speakers=speakers, columns=columns)
    return [*joined.values()]


def targets_of(collection: Collection, heads: Sequence[Head], net: Net) -> list[Target]:
    """By head: gold of all turns or dialogues of a collection, or all mass on its mode."""
    targets = []
    for head in heads:
        gold = collection.gold(head.criterion)[:, list(head.columns)]
        counts = ~np.isnan(gold[:, 0])
        if head.criterion.scope == "turn":
            counts &= np.isin(collection.speakers, head.speakers)
        gold = np.nan_to_num(gold)
        if net.target == "mode":
            gold = np.eye(gold.shape[1])[gold.argmax(axis=1)]
        targets.append(Target(torch.from_numpy(gold).float(), torch.from_numpy(counts)))
    return targets


def loss_of(head: Head, scores: Tensor, gold: Tensor, counts: Tensor, net: Net) -> Tensor:
    """The mean loss of the items that count."""
    gold = gold * (1 - net.smoothing) + net.smoothing / gold.shape[-1]
    if net.loss == "sigmoid":
        losses = functional.binary_cross_entropy_with_logits(scores, gold, reduction="none").sum(-1)
    else:
        chances = scores.log_softmax(-1)
        losses = -(gold * chances).sum(-1)
        if net.loss == "differences" and head.criterion.kind == "ordinal":
            steps = chances.exp().diff(dim=-1) - gold.diff(dim=-1)
            losses = 0.5 * losses + 0.5 * steps.square().sum(-1)
    return (losses * counts).sum() / counts.sum().clamp(min=1)


def distributions_of(
    collection: Collection, heads: Sequence[Head], scores: Sequence[Scores], net: Net
) -> dict[str, Distributions]:
    """Distributions by criterion from scores of all items; NaN for turns that are not judged."""
    predicted: dict[str, Distributions] = {}
    for head, found in zip(heads, scores, strict=True):
        criterion = head.criterion
        table = predicted.setdefault(
            criterion.id, np.full((len(found), len(criterion.columns)), np.nan)
        )
        if criterion.scope == "dialogue":
            table[:] = _normalised(found, np.ones(found.shape, bool), net)
            continue
        rows = np.flatnonzero(np.isin(collection.speakers, head.speakers))
        own = collection.own_labels(criterion)[rows][:, list(head.columns)]
        table[rows] = 0
        table[rows[:, None], list(head.columns)] = _normalised(found[rows], own, net)
    return predicted


def _normalised(scores: Scores, own: NDArray[np.bool_], net: Net) -> Distributions:
    """Probabilities over the labels that an item may have."""
    exact = scores.astype(np.float64)
    if net.loss == "sigmoid":
        chances = expit(np.clip(exact, -30, 30)) * own
        shares: Distributions = chances / chances.sum(axis=1, keepdims=True)
        return shares
    found: Distributions = softmax(np.where(own, exact, -np.inf), axis=1)
    return found
