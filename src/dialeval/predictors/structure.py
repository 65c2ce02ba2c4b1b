"""Features of a turn that are not its words: place, lengths, speaker, signs of thanks or goals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import Collection

Features = NDArray[np.float32]

# Words that people use, in English and Chinese, whatever the rubric.
_SIGNS = (
    ("thank", "thx", "谢"),
    ("sorry", "apolog", "抱歉", "对不起", "不好意思"),
    ("http", "www.", "链接", "t.cn"),
    ("please", "hello", "dear", "您好", "亲"),
    (
        *("solved", "works now", "it's ok", "already", "got it"),
        *("解决", "好了", "可以了", "知道了", "明白", "收到"),
    ),
    ("private", "direct message", "inbox", "私信", "私聊"),
    ("@",),
    ("~", "～"),
    ("...", "…"),
)
_NEGATION = ("n't", " no ", "not ", "never", "still", "没", "不", "无法", "还是")
USUAL_TURNS = 7
PLACES = 14
"""The first features say only where a turn stands: they mean the same in any language."""


def structure_features(collection: Collection, texts: Sequence[str]) -> Features:
    """A row a turn, for texts that are `cleaned`."""
    places = _places(collection)
    lengths = np.array([len(text) for text in texts], np.float32)
    start = np.repeat(collection.offsets[:-1], collection.lengths)
    before = np.where(places[:, 8] == 1, 0, np.roll(lengths, 1))
    total = np.add.reduceat(lengths, collection.offsets[:-1])
    mean = np.repeat(total / collection.lengths, collection.lengths)
    size = np.stack([np.log1p(lengths), np.log1p(before), np.log1p(mean)], axis=1) / 3
    empty = np.stack([lengths < 5, lengths == 0], axis=1)
    speaker = np.eye(len(collection.rubric.speakers), dtype=np.float32)[collection.speakers]
    last = np.repeat(collection.offsets[1:] - 1, collection.lengths)
    signs = _signs(collection, texts, start)
    return np.concatenate(
        [places, size, empty, signs, speaker, speaker[last]], axis=1, dtype=np.float32
    )


def _places(collection: Collection) -> Features:
    """Where the turn stands in its dialogue, from the front and from the back."""
    turns = np.repeat(collection.lengths, collection.lengths)
    place = np.arange(turns.size) - np.repeat(collection.offsets[:-1], collection.lengths)
    left = turns - 1 - place
    shares = [place / USUAL_TURNS, left / USUAL_TURNS, place / np.maximum(turns - 1, 1)]
    shares += [turns / USUAL_TURNS]
    flags = [turns == 1, turns == 2, turns == 3, turns >= USUAL_TURNS]
    flags += [place == k for k in range(3)] + [left == k for k in range(3)]
    return np.stack([*shares, *(flag.astype(float) for flag in flags)], axis=1).astype(np.float32)


def _signs(collection: Collection, texts: Sequence[str], start: NDArray[np.intp]) -> Features:
    # Plain searches in plain loops: faster here than regular expressions or generators.
    rows = []
    turns = (turn for dialogue in collection.dialogues for turn in dialogue.turns)
    for place, (turn, text) in enumerate(zip(turns, texts, strict=True)):
        posts = turn.utterances
        rows.append(
            (
                min(len(posts), 5) / 3,
                not all(post.strip() for post in posts),
                min(sum(map(text.count, "?？")), 4) / 2,
                text.endswith(("?", "？")),
                min(sum(map(text.count, "!！")), 4) / 2,
                min(sum(map(text.count, "0123456789")), 12) / 6,
                min(sum(map(text.count, _NEGATION)), 4) / 2,
                bool(text) and text in texts[start[place] : place],
                *[any([word in text for word in words]) for words in _SIGNS],  # noqa: C419
            )
        )
    return np.array(rows, np.float32)


def echoes(collection: Collection, vectors: Features) -> Features:
    """How like a turn's vector is to the turn before, two before, and the first (cosines)."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    start = np.repeat(collection.offsets[:-1], collection.lengths)
    place = np.arange(len(unit)) - start
    result = np.zeros((len(unit), 3), np.float32)
    for column, other in enumerate((place - 1, place - 2, np.where(place > 0, 0, -1))):
        rows = np.flatnonzero(other >= 0)
        result[rows, column] = np.einsum("ij,ij->i", unit[rows], unit[start[rows] + other[rows]])
    return result
