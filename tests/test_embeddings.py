"""Word vectors in the formats that others publish, and learned from a text."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

import dialeval as de
from dialeval.predictors.systems.embeddings import learned_vectors, read_vectors, side_by_side

WORDS = ["phone", "手机", "of", "naïve", "the"]
VECTORS = np.array(
    [[0.5, -1.25, 3], [1, 2, 3], [-0.0625, 0, 1e-3], [9, 8, 7.5], [0.1, 0.2, 0.3]], np.float32
)


def text(header: bool) -> bytes:
    rows = [f"{w} {' '.join(map(repr, v.tolist()))}" for w, v in zip(WORDS, VECTORS, strict=True)]
    return "\n".join([*(["5 3"] if header else []), *rows, ""]).encode()


def binary(end: bytes) -> bytes:
    rows = [w.encode() + b" " + v.tobytes() + end for w, v in zip(WORDS, VECTORS, strict=True)]
    return b"5 3\n" + b"".join(rows)


FORMATS = {
    "glove.txt": text(header=False),
    "fasttext.vec": text(header=True),
    "word2vec.bin": binary(b"\n"),
    "google.bin": binary(b""),
}


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", FORMATS)
def test_formats_give_the_same_vectors(name: str, zipped: bool, write) -> None:
    content = FORMATS[name]
    path = write(name + ".gz", gzip.compress(content)) if zipped else write(name, content)
    found = read_vectors(path, WORDS)
    assert found.words == tuple(WORDS)
    assert np.array_equal(found.matrix, VECTORS)
    assert path.name in found.source
    # Only the words that are needed, and the first of the file.
    few = read_vectors(path, ["the", "absent"], common=1)
    assert few.words == ("phone", "the")
    assert np.array_equal(few.matrix, VECTORS[[0, 4]])


BROKEN = {
    "empty.txt": (b"", "a word and its numbers"),
    "words.txt": (b"just some words\n", "a word and its numbers"),
    "short.txt": (b"a 1 2 3\nb 1 2\n", "line 2: found something else, expected a word and 3 num"),
    "letters.vec": (b"2 3\na 1 2 3\nb 1 x 3\n", "line 3"),
    "cut.bin": (binary(b"\n")[:-9], "word 5: found the end of the file"),
    "none.bin": (b"0 3\n", "no words"),
    "nan.txt": (b"a 1 2\nb nan 2\n", "not finite"),
    "cut.gz": (gzip.compress(text(header=False))[:-9], "gzip"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_told_in_one_line(name: str, write, refused, tmp_path: Path) -> None:
    content, expected = BROKEN[name]
    data, out = tmp_path / "en.json", tmp_path / "model"
    de.save(de.sample("en"), data)
    ask = ("train", "--model", "bl-lstm", "--data", data, "--out", out)
    assert expected in refused(*ask, "--embeddings", write(name, content))
    assert not out.exists()


def test_missing_file_and_wrong_model(refused, tmp_path: Path) -> None:
    data = tmp_path / "en.json"
    de.save(de.sample("en"), data)
    ask = ("--data", data, "--out", tmp_path / "model", "--embeddings", tmp_path / "no.txt")
    assert "no readable file" in refused("train", "--model", "bl-lstm", *ask)
    assert "takes no --embeddings" in refused("train", "--model", "fast", *ask)


def test_vectors_side_by_side(write) -> None:
    given = read_vectors(write("glove.txt", text(header=False)), WORDS)
    learned = learned_vectors([["phone", "?", "phone", "?"]] * 5, 2, seed=0)
    found = side_by_side(given, learned)
    assert found.words == (*given.words, "?")
    assert np.array_equal(found.matrix[:5, :3], VECTORS)
    assert np.array_equal(found.matrix[5], [0, 0, 0, *learned.matrix[learned.words.index("?")]])
    assert np.array_equal(found.matrix[0, 3:], learned.matrix[learned.words.index("phone")])
    assert not found.matrix[1:5, 3:].any()


def test_the_card_names_the_file(write, cli, tmp_path: Path) -> None:
    data, out = tmp_path / "en.json", tmp_path / "model"
    de.save(de.sample("en"), data)
    path = write("glove.txt", text(header=False))
    sets = [x for name in ("epochs", "units", "layers") for x in ("--set", f"{name}=1")]
    ask = ("train", "--model", "bl-lstm", "--data", data, "--out", out, *sets)
    assert cli(*ask, "--embeddings", path).status == 0
    card = cli("models", out).out
    assert f"glove.txt, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}" in card
    assert "beside them word vectors: skip-gram" in card
    assert cli(*ask, "--embeddings", path, "--set", "vectors=file").status == 0
    assert "skip-gram" not in cli("models", out).out


def test_learned_vectors_know_what_words_share() -> None:
    """Words that come in the same places get like vectors."""
    pets = [f"the {pet} eats the food of my {pet}".split() for pet in ("cat", "dog")]
    cars = [f"a {car} drives on roads near a {car}".split() for car in ("truck", "bus")]
    found = learned_vectors((pets + cars) * 300, 8, seed=0)
    unit = found.matrix / np.linalg.norm(found.matrix, axis=1, keepdims=True)
    likeness = {w: unit[found.words.index(w)] for w in ("cat", "dog", "bus")}
    assert likeness["cat"] @ likeness["dog"] > likeness["cat"] @ likeness["bus"]
    assert learned_vectors([["once"]], 8, seed=0).matrix.shape == (0, 8)
