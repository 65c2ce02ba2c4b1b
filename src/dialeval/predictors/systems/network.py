"""A network of a recipe: turns are encoded, then the dialogue over them, then come the heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dialeval.predictors.network import Head
from dialeval.predictors.systems.blocks import (
    AdditiveAttention,
    Batch,
    Convolutions,
    GatedContext,
    Memory,
    Prefix,
    Recurrent,
    TransformerLayer,
    WordEmbedding,
    by_length,
)
from dialeval.predictors.systems.pretrained import Pretrained, TransformerTurns
from dialeval.predictors.systems.recipes import Net


@dataclass(frozen=True)
class Sizes:
    """What a network must know of its inputs."""

    speakers: int
    features: int = 0
    words: int = 0
    beside: int = 0


class Network(nn.Module):
    """The network that a recipe describes, with scores for each head."""

    def __init__(
        self, net: Net, heads: Sequence[Head], sizes: Sizes, pretrained: Pretrained | None = None
    ) -> None:
        super().__init__()
        self.net, self.heads, self.speakers = net, tuple(heads), sizes.speakers
        width = self._build_turns(net, sizes, pretrained)
        self.prefix: Prefix | None = None
        if net.speaker == "doubled":
            width *= sizes.speakers
        elif net.speaker == "bit":
            width += sizes.speakers
        elif not isinstance(self.turns, TransformerTurns):
            self.prefix = Prefix(width, sizes.speakers)
        width += sizes.beside
        self.context = nn.ModuleList()
        for kind in net.context:
            block = _context(kind, net, width)
            self.context.append(block)
            width = block.width
        self._build_outputs(net, width)

    def _build_turns(self, net: Net, sizes: Sizes, pretrained: Pretrained | None) -> int:
        """What encodes a turn; gives its width."""
        if net.turn in ("words", "cnn", "gated-cnn"):
            self.embedding = WordEmbedding(sizes.words, sizes.features)
        if net.turn == "words":
            self.turns: nn.Module = AdditiveAttention(sizes.features, net.units)
            return sizes.features
        if net.turn in ("cnn", "gated-cnn"):
            gated = net.turn == "gated-cnn"
            self.turns = Convolutions(sizes.features, net.kernels, net.filters, gated)
            return self.turns.width
        if net.turn == "sentences":
            self.turns = Recurrent("gru", sizes.features, net.units, 1, net.dropout)
            self.sentences = AdditiveAttention(self.turns.width, net.units)
            return self.turns.width
        if net.turn == "transformer" and pretrained is not None:
            self.turns = TransformerTurns(pretrained, sizes.speakers, net.alone)
            return self.turns.width
        # The sums of word vectors are used as they are, as the campaigns' baseline did.
        self.turns = nn.Identity() if net.turn == "bag" else nn.LayerNorm(sizes.features)
        return sizes.features

    def _build_outputs(self, net: Net, width: int) -> None:
        """What makes scores of states."""
        of_turns = any(head.criterion.scope == "turn" for head in self.heads)
        of_dialogues = any(head.criterion.scope == "dialogue" for head in self.heads)
        if net.pool == "attention":
            self.attention = AdditiveAttention(width, net.units)
        turn_width = width * (2 if net.pool == "attention" else 1)
        dialogue_width = width * (net.turns if net.pool == "flatten" else 1)
        self.turn_dense = self.dialogue_dense = None
        if net.dense and of_turns:
            self.turn_dense = _dense(turn_width, net)
            turn_width = net.dense
        if net.dense and of_dialogues:
            self.dialogue_dense = _dense(dialogue_width, net)
            dialogue_width = net.dense
        widths = {"turn": turn_width, "dialogue": dialogue_width}
        self.outputs = nn.ModuleList(
            nn.Linear(widths[head.criterion.scope], len(head.columns)) for head in self.heads
        )

    def give_words(self, matrix: Tensor) -> None:
        """Fill in the word vectors, which are stored once for all networks."""
        if hasattr(self, "embedding"):
            self.embedding.get_buffer("vectors")[1:] = matrix

    def forward(self, batch: Batch) -> list[Tensor]:
        """By head: scores of real turns, or of dialogues, by labels."""
        turns = self._spoken(self._encoded(batch), batch)
        states = batch.padded(turns)
        for block in self.context:
            states = block(states, batch.real)
        scopes = {head.criterion.scope for head in self.heads}
        pooled = self._pooled(states, batch)
        by_scope = {}
        if "turn" in scopes:
            own = states[batch.real]
            if self.net.pool == "attention":
                around = pooled[:, None].expand(*batch.real.shape, -1)[batch.real]
                own = torch.cat([own, around], -1)
            by_scope["turn"] = self.turn_dense(own) if self.turn_dense else own
        if "dialogue" in scopes:
            by_scope["dialogue"] = self.dialogue_dense(pooled) if self.dialogue_dense else pooled
        return [
            output(by_scope[head.criterion.scope])
            for head, output in zip(self.heads, self.outputs, strict=True)
        ]

    def _encoded(self, batch: Batch) -> Tensor:
        """Real turns by width."""
        found: Tensor
        if isinstance(self.turns, TransformerTurns):
            found = self.turns(batch)
        elif batch.features is not None:
            found = self.turns(batch.features)
        elif batch.table is not None and batch.pieces is not None:
            real = batch.pieces > 0
            found = self.sentences(self.turns(batch.table[batch.pieces], real), real)
        else:
            found = self._of_words(batch)
        return found

    def _of_words(self, batch: Batch) -> Tensor:
        assert batch.pieces is not None
        return by_length(
            lambda pieces, real: self.turns(self.embedding(pieces), real), batch.pieces
        )

    def _spoken(self, turns: Tensor, batch: Batch) -> Tensor:
        """Turns that show who speaks, and what another network predicted for them."""
        speaker = functional.one_hot(batch.speakers, self.speakers).to(turns.dtype)
        if self.net.speaker == "doubled":
            turns = (speaker[:, :, None] * turns[:, None]).flatten(1)
        elif self.net.speaker == "bit":
            turns = torch.cat([turns, speaker], -1)
        elif self.prefix is not None:
            turns = turns + self.prefix(batch).sum(1)
        return turns if batch.beside is None else torch.cat([turns, batch.beside], -1)

    def _pooled(self, states: Tensor, batch: Batch) -> Tensor:
        """Dialogues by width."""
        if self.net.pool == "attention":
            found: Tensor = self.attention(states, batch.real)
            return found
        if self.net.pool == "flatten":
            turns = self.net.turns
            cut = functional.pad(states, (0, 0, 0, max(0, turns - states.shape[1])))[:, :turns]
            return cut.flatten(1)
        summed = states.sum(1)
        return summed / batch.lengths[:, None] if self.net.pool == "mean" else summed


def _context(
    kind: str, net: Net, width: int
) -> Recurrent | TransformerLayer | GatedContext | Memory:
    """A block over turns."""
    if kind in ("lstm", "gru"):
        return Recurrent(kind, width, net.units, net.layers, net.dropout)
    if kind == "transformer":
        return TransformerLayer(width, net.attention_heads, net.feed_forward, net.dropout)
    if kind == "gated-cnn":
        return GatedContext(width, 2 * net.units)
    return Memory(width)


def _dense(width: int, net: Net) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, net.dense), nn.ReLU(), nn.Dropout(net.dropout))
