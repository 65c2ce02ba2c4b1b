"""What a network sees of a collection: for every turn a vector, or the pieces it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dialeval.core.collection import Collection, ranges
from dialeval.core.words import tokens
from dialeval.predictors.features import turn_texts
from dialeval.predictors.ngrams import MOST_CHARACTERS
from dialeval.predictors.systems.embeddings import WordVectors
from dialeval.predictors.systems.frozen import POOLINGS, Remembered
from dialeval.predictors.systems.recipes import Net

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Pieces:
    """Numbers of tokens or sentences, those of all turns one after another."""

    values: NDArray[np.int64]
    counts: NDArray[np.intp]
    """How many each turn has."""

    def padded(self, turns: NDArray[np.intp]) -> NDArray[np.int64]:
        """The pieces of these turns, with 0 at the end of the shorter ones."""
        counts = self.counts[turns]
        table = np.zeros((len(turns), max(1, int(counts.max(initial=0)))), np.int64)
        starts = np.cumsum(self.counts) - self.counts
        table[np.arange(table.shape[1]) < counts[:, None]] = self.values[
            ranges(starts[turns], counts)
        ]
        return table


@dataclass(frozen=True)
class Inputs:
    """A collection as a network sees it."""

    lengths: NDArray[np.intp]
    speakers: NDArray[np.int8]
    features: Matrix | None = None
    """A vector a turn."""
    pieces: Pieces | None = None
    table: Matrix | None = None
    """The vectors of pieces, if they are frozen sentences; row 0 is padding."""
    beside: Matrix | None = None
    """More numbers a turn: distributions that another network predicted."""

    @property
    def offsets(self) -> NDArray[np.intp]:
        """Where each dialogue's turns begin."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def with_beside(self, beside: Matrix) -> Inputs:
        """The same with more numbers a turn."""
        return replace(self, beside=beside)


def bag_inputs(collection: Collection, vectors: WordVectors, most: int) -> Inputs:
    """Each turn the sum of its word vectors."""
    pieces = _word_pieces(collection, vectors, most)
    shape = (len(pieces.counts), len(vectors.words))
    starts = np.concatenate([[0], np.cumsum(pieces.counts)])
    ones = np.ones(pieces.values.size, np.float32)
    counts = sparse.csr_matrix((ones, pieces.values - 1, starts), shape=shape)
    return Inputs(collection.lengths, collection.speakers, features=counts @ vectors.matrix)


def word_inputs(collection: Collection, vectors: WordVectors, most: int) -> Inputs:
    """Each turn its words, by their rows counted from 1."""
    pieces = _word_pieces(collection, vectors, most)
    return Inputs(collection.lengths, collection.speakers, pieces=pieces)


def vector_inputs(collection: Collection, encoder: Remembered, net: Net) -> Inputs:
    """Each turn a frozen vector of an encoder."""
    vectors = _pooled(encoder, turn_texts(collection), net)
    return Inputs(collection.lengths, collection.speakers, features=vectors)


def sentence_inputs(collection: Collection, encoder: Remembered, net: Net) -> Inputs:
    """Each turn its sentences, the posts it was merged from, as frozen vectors."""
    posts = [sentences_of(turn.utterances) for d in collection.dialogues for turn in d.turns]
    place = {text: row for row, text in enumerate(dict.fromkeys(t for ts in posts for t in ts), 1)}
    vectors = _pooled(encoder, [*place], net)
    table = np.concatenate([np.zeros_like(vectors[:1]), vectors])
    counts = np.array([len(texts) for texts in posts], np.intp)
    values = np.array([place[text] for texts in posts for text in texts], np.int64)
    return Inputs(
        collection.lengths, collection.speakers, pieces=Pieces(values, counts), table=table
    )


def piece_inputs(collection: Collection, rows: Sequence[Sequence[int]]) -> Inputs:
    """Each turn the numbers that a tokenizer gave, and 1 more: 0 is padding."""
    counts = np.array([len(row) for row in rows], np.intp)
    values = np.array([number + 1 for row in rows for number in row], np.int64)
    return Inputs(collection.lengths, collection.speakers, pieces=Pieces(values, counts))


def sentences_of(posts: Sequence[str]) -> list[str]:
    """The posts of a turn that say something; one empty text if none does."""
    return [post for post in posts if post.strip()] or [""]


@lru_cache(200_000)
def turn_tokens(text: str) -> tuple[str, ...]:
    """The tokens of a turn, cut once: folds and systems ask for the same ones often."""
    return tuple(tokens(text[:MOST_CHARACTERS]))


def _word_pieces(collection: Collection, vectors: WordVectors, most: int) -> Pieces:
    row = {word: place for place, word in enumerate(vectors.words, 1)}
    rows = [
        [row[token] for token in turn_tokens(text)[:most] if token in row]
        for text in turn_texts(collection)
    ]
    counts = np.array([len(own) for own in rows], np.intp)
    return Pieces(np.array([number for own in rows for number in own], np.int64), counts)


def _pooled(encoder: Remembered, texts: Sequence[str], net: Net) -> Matrix:
    vectors = encoder.encode(texts)
    return np.concatenate([vectors[:, POOLINGS.index(name)] for name in net.pooling], axis=1)
