"""What a model sees of a turn: words, sentence vectors and structure, fitted on a collection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection
from dialeval.predictors.encoder import WIDTH, bundled_encoder
from dialeval.predictors.ngrams import cleaned, counted, hashed_ngrams, tfidf
from dialeval.predictors.recipe import Recipe
from dialeval.predictors.structure import PLACES, echoes, structure_features

Features = NDArray[np.float32]
Arrays = dict[str, Any]


@dataclass(frozen=True)
class TurnFeatures:
    """Fitted features: hashed TF-IDF reduced by SVD, structure, and layers of an encoder."""

    recipe: Recipe
    kept: NDArray[np.int32]
    """The hashes that count, in the order of their columns."""
    idf: NDArray[np.float32]
    svd: Features
    mean: NDArray[np.float32]
    scale: NDArray[np.float32]

    @cached_property
    def _column(self) -> NDArray[np.int32]:
        """From hash to column, -1 for those that do not count."""
        column = np.full(1 << self.recipe.bits, -1, np.int32)
        column[self.kept] = np.arange(self.kept.size)
        return column

    @property
    def structure(self) -> int:
        """How many features, the last ones, are structure."""
        return int(self.mean.size - self.svd.shape[1] - WIDTH * len(self.recipe.layers))

    def transform(self, collection: Collection) -> Features:
        """A row a turn, standardised."""
        return (self.raw(collection) - self.mean) * self.scale

    def raw(self, collection: Collection) -> Features:
        """A row a turn: encoder layers, reduced words, structure."""
        texts = turn_texts(collection)
        clean = [cleaned(text) for text in texts]
        words = self.words(clean) @ self.svd
        parts = [words, structure_features(collection, clean), echoes(collection, words)]
        if self.recipe.layers:
            vectors = bundled_encoder(self.recipe.language).encode(texts)
            layers = vectors[:, list(self.recipe.layers)].reshape(len(texts), -1)
            parts.insert(0, layers)
        return np.concatenate(parts, axis=1)

    def words(self, clean: list[str]) -> Features:
        """The sparse TF-IDF matrix of cleaned texts."""
        rows, hashes = hashed_ngrams(
            clean, self.recipe.characters, self.recipe.words, self.recipe.bits
        )
        columns = self._column[hashes].astype(np.int64)
        known = np.flatnonzero(columns >= 0)
        shape = (len(clean), self.kept.size)
        matrix: Features = tfidf(counted(rows[known], columns[known], shape), self.idf)
        return matrix

    def arrays(self) -> Arrays:
        """For storing: the SVD in 8 bits with a scale a column."""
        svd, svd_scale = in_8_bits(self.svd)
        return {
            "kept": self.kept,
            "idf": self.idf,
            "svd": svd,
            "svd.scale": svd_scale,
            "mean": self.mean,
            "scale": self.scale,
        }

    @classmethod
    def from_arrays(cls, recipe: Recipe, arrays: Arrays) -> TurnFeatures:
        """The inverse of `arrays`."""
        svd = (arrays["svd"] * arrays["svd.scale"]).astype(np.float32)
        return cls(recipe, arrays["kept"], arrays["idf"], svd, arrays["mean"], arrays["scale"])


def fit_features(collection: Collection, recipe: Recipe) -> TurnFeatures:
    """Fit the words that count, their weights, the SVD and the standardisation."""
    from sklearn.utils.extmath import randomized_svd

    clean = [cleaned(text) for text in turn_texts(collection)]
    rows, hashes = hashed_ngrams(clean, recipe.characters, recipe.words, recipe.bits)
    pairs = np.unique(rows * (1 << recipe.bits) + hashes)
    frequency = np.bincount(pairs % (1 << recipe.bits), minlength=1 << recipe.bits)
    kept = np.flatnonzero(frequency >= min(recipe.least_texts, max(1, len(clean) // 4)))
    if kept.size > recipe.most_words:
        common = np.argsort(-frequency[kept], kind="stable")[: recipe.most_words]
        kept = np.sort(kept[common])
    if not kept.size:  # not a word in it: one column that nothing fills
        kept = np.zeros(1, np.intp)
    idf = (np.log((1 + len(clean)) / (1 + frequency[kept])) + 1).astype(np.float32)
    none = np.zeros((0, 0), np.float32)
    unreduced = TurnFeatures(recipe, kept.astype(np.int32), idf, none, none, none)
    matrix = unreduced.words(clean)
    dimensions = min(recipe.dimensions, *(size - 1 for size in matrix.shape))
    if dimensions < 1:
        svd = np.zeros((kept.size, 1), np.float32)
    else:
        _, _, axes = randomized_svd(matrix, dimensions, n_iter=3, random_state=0)
        coarse, scale = in_8_bits(np.ascontiguousarray(axes.T, np.float32))
        svd = (coarse * scale).astype(np.float32)  # as it will be stored
    rough = replace(unreduced, svd=svd)
    raw = rough.raw(collection)
    mean, deviation = raw.mean(axis=0), raw.std(axis=0)
    encoded = WIDTH * len(recipe.layers)
    weight = np.full(raw.shape[1], recipe.structure_scale)
    weight[: encoded + svd.shape[1]] = recipe.text_scale
    # Features that hardly vary are not blown up.
    least = np.where(np.arange(raw.shape[1]) < encoded, 1e-6, 1e-2)
    scaled = (weight / np.maximum(deviation, least)).astype(np.float32)
    return replace(rough, mean=mean.astype(np.float32), scale=scaled)


def turn_texts(collection: Collection) -> list[str]:
    """The text of every turn."""
    return [turn.text for dialogue in collection.dialogues for turn in dialogue.turns]


def in_8_bits(matrix: Features) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers of 8 bits and a scale a column that give the matrix again, roughly."""
    scale = np.maximum(np.abs(matrix).max(axis=-2, keepdims=True), 1e-9) / 127
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)


def exact_columns(features: TurnFeatures, speakers: int) -> NDArray[np.intp]:
    """Structure columns, counted from their first, that mean the same in every language."""
    echo = 3
    own = features.structure - echo - 2 * speakers
    return np.concatenate([np.arange(PLACES), np.arange(own, own + 2 * speakers)])
