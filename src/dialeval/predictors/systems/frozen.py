"""Frozen vectors of texts by an encoder, worked out once: in memory, and in a folder if told.

Encoding takes minutes where training takes seconds, so that systems and folds share the folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dialeval.core.files import writing
from dialeval.predictors.encoder import Encoder, bundled_encoder

Vectors = NDArray[np.float32]

POOLINGS = ("first", "mean", "max")
_BUNDLED_PARTS = [0, 6, 7]
"""What the bundled encoders give under these names."""


class TextEncoder(Protocol):
    """What turns texts into vectors."""

    sha256: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Texts by POOLINGS by width."""


class BundledVectors:
    """The encoder of a language that comes with the package."""

    def __init__(self, language: str) -> None:
        self._encoder: Encoder = bundled_encoder(language)
        self.sha256 = self._encoder.sha256
        self.source = f"encoder: the bundled one ({language}), frozen, sha256 {self.sha256}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Texts by POOLINGS by width."""
        return self._encoder.encode(texts)[:, _BUNDLED_PARTS]


class Remembered:
    """An encoder that works out each text once; its folder is shared with other processes."""

    def __init__(self, encoder: TextEncoder, folder: Path | None = None) -> None:
        self.encoder, self.folder = encoder, folder
        self._known: dict[bytes, Vectors] = {}
        for file in sorted(folder.glob(f"{self._prefix}-*.npz")) if folder else ():
            with np.load(file) as kept:
                self._known.update(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    @property
    def _prefix(self) -> str:
        return self.encoder.sha256[:16]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Texts by POOLINGS by width."""
        keys = [_key(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self.encoder.encode([*new.values()]), strict=True))
        return np.stack([self._known[key] for key in keys])

    def forget(self) -> None:
        """Drop what only memory holds.

        Vectors differ in their last bits with the texts that were encoded beside them: a model
        that has just learned then predicts exactly as it will when it is loaded.
        """
        if self.folder is None:
            self._known.clear()

    def prepare(self, texts: Sequence[str]) -> None:
        """Work out all of these and keep them in the folder."""
        keys = {_key(text): text for text in texts}
        new = {key: text for key, text in keys.items() if key not in self._known}
        if new:
            self.encode([*new.values()])
            if self.folder is not None:
                self._write(self.folder, [*new])

    def _write(self, folder: Path, keys: list[bytes]) -> None:
        vectors = np.stack([self._known[key] for key in keys])
        name = hashlib.sha256(b"".join(sorted(keys))).hexdigest()[:16]
        with writing(folder / f"{self._prefix}-{name}.npz") as stream:
            np.savez(stream, texts=np.array(keys), vectors=vectors)


def _key(text: str) -> bytes:
    """A name for a text. Hexadecimal: numpy would cut zero bytes off the end."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16)
    return digest.hexdigest().encode()
