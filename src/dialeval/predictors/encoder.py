"""Sentence encoders that come with the package, run by onnxruntime (extra `models`).

A text becomes the means over its tokens of the embedding layer and of six transformer layers,
and the maximum over tokens of the last: 8 vectors of 384 numbers. The weights are stored in 8
bits; `tools/build_encoders.py` makes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import MissingExtraError, UsageError
from dialeval.predictors.ngrams import MOST_CHARACTERS

Vectors = NDArray[np.float32]

PARTS, WIDTH = 8, 384
TOKENS = 2048
"""Tokens in a batch, padding included: texts of like length go together."""


class Encoder:
    """An encoder folder: `model.onnx` and `tokenizer.json`."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtraError("sentence encoders", "models") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        model = folder / "model.onnx"
        self.sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._memory: dict[str, NDArray[np.float16]] | None = None

    def remember(self) -> None:
        """Keep the vectors of every text from now on: training asks for the same ones often."""
        if self._memory is None:
            self._memory = {}

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Texts by PARTS by WIDTH."""
        if self._memory is None:
            return self._encode(texts)
        new = [text for text in dict.fromkeys(texts) if text not in self._memory]
        if new:
            vectors = self._encode(new).astype(np.float16)
            self._memory.update(zip(new, vectors, strict=True))
        return np.stack([self._memory[text] for text in texts]).astype(np.float32)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        cut = [text[:MOST_CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        ids = [encoding.ids for encoding in self._tokenizer.encode_batch(cut)]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        vectors = np.empty((len(ids), PARTS, WIDTH), np.float32)
        first = 0
        while first < len(order):
            last = first + 1
            while last < len(order) and (last + 1 - first) * len(ids[order[last]]) <= TOKENS:
                last += 1
            batch = order[first:last]
            padded = np.zeros((len(batch), len(ids[batch[-1]])), np.int64)
            for row, place in zip(padded, batch, strict=True):
                row[: len(ids[place])] = ids[place]
            (found,) = self._session.run(None, {"ids": padded})
            vectors[batch] = found.reshape(len(batch), PARTS, WIDTH)
            first = last
        return vectors


@lru_cache
def bundled_encoder(language: str) -> Encoder:
    """The encoder of a language that comes with the package."""
    folder = resources.files("dialeval") / "predictors" / "models" / "encoders" / language
    if not (folder / "model.onnx").is_file():
        raise UsageError(f"there is no bundled encoder for language {language!r}")
    with resources.as_file(folder) as path:
        return Encoder(path)
