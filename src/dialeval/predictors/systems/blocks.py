"""The blocks that the networks are made of. Padding never reaches a real turn or token."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from dialeval.core.errors import MissingExtraError

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
except ImportError:
    raise MissingExtraError("the systems of the campaigns", "neural") from None

MOST_PLACES = 20
"""Places and numbers of turns beyond this share a learned vector."""
GROUP = 64
"""Turns of like length go through convolutions together, so many at a time."""


@dataclass(frozen=True)
class Batch:
    """Dialogues side by side; what is of turns has a row for each real turn, in order."""

    real: Tensor
    """Dialogues by turns: which are no padding."""
    speakers: Tensor
    features: Tensor | None = None
    pieces: Tensor | None = None
    table: Tensor | None = None
    beside: Tensor | None = None

    @property
    def lengths(self) -> Tensor:
        """How many turns each dialogue has."""
        return self.real.sum(1)

    @property
    def places(self) -> Tensor:
        """Of each real turn: its place in its dialogue."""
        return torch.arange(self.real.shape[1]).expand_as(self.real)[self.real]

    @property
    def totals(self) -> Tensor:
        """Of each real turn: how many turns its dialogue has."""
        return self.lengths[:, None].expand_as(self.real)[self.real]

    def padded(self, turns: Tensor) -> Tensor:
        """Rows of real turns as dialogues by turns by width, with zeros between."""
        table = turns.new_zeros(*self.real.shape, turns.shape[-1])
        table[self.real] = turns
        return table


class WordEmbedding(nn.Module):
    """Frozen word vectors; row 0 is padding."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.register_buffer("vectors", torch.zeros(words + 1, width), persistent=False)

    def forward(self, pieces: Tensor) -> Tensor:
        """Vectors of pieces."""
        return functional.embedding(pieces, self.get_buffer("vectors"))


class AdditiveAttention(nn.Module):
    """A weighted mean: weights are softmax(v tanh(W x)). Bahdanau and others (2015)."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(width, units)
        self.score = nn.Linear(units, 1, bias=False)

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """Items by places by width to items by width; nothing real gives zeros."""
        scores: Tensor = self.score(torch.tanh(self.hidden(values)))[..., 0]
        weights = scores.masked_fill(~real, -math.inf).softmax(-1).nan_to_num()
        return (weights[..., None] * values).sum(-2)


class Convolutions(nn.Module):
    """Stacks of convolutions, one for each kernel, and the maximum over places.

    Plain ones are ReLU(a); gated ones ReLU(a) * sigmoid(b). Dauphin and others (2017).
    """

    def __init__(
        self, width: int, kernels: tuple[int, ...], filters: tuple[int, ...], gated: bool
    ) -> None:
        super().__init__()
        self.gated = gated
        self.width = len(kernels) * filters[-1]
        sizes = [width, *filters]
        self.stacks = nn.ModuleList(
            nn.ModuleList(
                nn.Conv1d(size, (2 if gated else 1) * new, kernel) for size, new in pairwise(sizes)
            )
            for kernel in kernels
        )

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """Items by places by width to items by filters."""
        mask = real[:, None]
        found = []
        for stack in self.stacks:
            assert isinstance(stack, nn.ModuleList)
            state = values.transpose(1, 2) * mask
            for layer in stack:
                assert isinstance(layer, nn.Conv1d)
                state = convolved(layer, state, self.gated, centred=False) * mask
            found.append(state.amax(-1))  # of numbers that are not negative: padding changes none
        return torch.cat(found, -1)


def convolved(layer: nn.Conv1d, state: Tensor, gated: bool, centred: bool) -> Tensor:
    """A convolution that keeps the number of places, with zeros beyond the edges."""
    more = layer.kernel_size[0] - 1
    before = more // 2 if centred else 0
    found = layer(functional.pad(state, (before, more - before)))
    if not gated:
        return functional.relu(found)
    value, gate = found.chunk(2, 1)
    return functional.relu(value) * torch.sigmoid(gate)


def by_length(encode: Callable[[Tensor, Tensor], Tensor], pieces: Tensor) -> Tensor:
    """Encode rows of pieces in groups of like length, so that little padding is worked on."""
    counts = (pieces > 0).sum(1)
    order = counts.argsort(stable=True)
    found = []
    for rows in torch.split(order, GROUP):
        own = pieces[rows, : max(1, int(counts[rows[-1]]))]
        found.append(encode(own, own > 0))
    return torch.cat(found)[order.argsort()]


class Recurrent(nn.Module):
    """Bidirectional LSTM or GRU layers over real places, with dropout on their outputs."""

    def __init__(self, kind: str, width: int, units: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.width = 2 * units
        between = dropout if layers > 1 else 0.0
        make = nn.LSTM if kind == "lstm" else nn.GRU
        self.layers = make(
            width, units, layers, batch_first=True, bidirectional=True, dropout=between
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """Items by places by width; zeros where nothing is real."""
        counts = real.sum(1).clamp(min=1)
        packed = pack_padded_sequence(values, counts, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(
            self.layers(packed)[0], batch_first=True, total_length=values.shape[1]
        )
        dropped: Tensor = self.dropout(states)
        return dropped * real[..., None]


class TransformerLayer(nn.Module):
    """Multi-head self-attention and a feed-forward layer, with sinusoidal positions."""

    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.layer = nn.TransformerEncoderLayer(
            width, math.gcd(heads, width), feed_forward, dropout, batch_first=True
        )

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """Items by places by width."""
        placed = values + sinusoids(values.shape[1], self.width)
        found: Tensor = self.layer(placed, src_key_padding_mask=~real)
        return found * real[..., None]


def sinusoids(places: int, width: int) -> Tensor:
    """Positions as in Vaswani and others (2017)."""
    place = torch.arange(places)[:, None]
    column = torch.arange(width)
    angle = place / 10_000 ** (2 * (column // 2) / width)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


class GatedContext(nn.Module):
    """A gated convolution over the previous, the current and the next turn."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.width = units
        self.layer = nn.Conv1d(width, 2 * units, 3)

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """Items by places by width."""
        found = convolved(self.layer, values.transpose(1, 2), gated=True, centred=True)
        return found.transpose(1, 2) * real[..., None]


class Memory(nn.Module):
    """Each turn adds what it finds in a memory of all turns.

    Two GRUs give the input memory, which a turn is compared with, and the output memory, whose
    weighted mean it adds to itself.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.width = 2 * half
        self.project = nn.Linear(width, self.width) if width % 2 else nn.Identity()
        self.input = Recurrent("gru", self.width, half, 1, 0.0)
        self.output = Recurrent("gru", self.width, half, 1, 0.0)

    def forward(self, values: Tensor, real: Tensor) -> Tensor:
        """Items by places by width."""
        turns: Tensor = self.project(values)
        scores = turns @ self.input(turns, real).transpose(1, 2)
        weights = scores.masked_fill(~real[:, None], -math.inf).softmax(-1)
        found: Tensor = (turns + weights @ self.output(turns, real)) * real[..., None]
        return found


class Prefix(nn.Module):
    """Learned vectors for the number of turns, a turn's place and its speaker."""

    def __init__(self, width: int, speakers: int) -> None:
        super().__init__()
        sizes = (MOST_PLACES + 1, MOST_PLACES + 1, speakers)
        self.tokens = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        for embedding in self.tokens:
            nn.init.normal_(embedding.weight, std=0.02)  # type: ignore[arg-type]

    def forward(self, batch: Batch) -> Tensor:
        """Real turns by the three of them by width."""
        numbers = (
            batch.totals.clamp(max=MOST_PLACES),
            batch.places.clamp(max=MOST_PLACES),
            batch.speakers,
        )
        found = [token(number) for token, number in zip(self.tokens, numbers, strict=True)]
        return torch.stack(found, 1)
