"""Transformers from a local folder in the layout of Hugging Face (extra `transformers`)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dialeval.core.errors import DataError, MissingExtraError
from dialeval.predictors.ngrams import MOST_CHARACTERS
from dialeval.predictors.systems.blocks import Batch, Prefix

MOST_TOKENS = 512
TEXTS = 16
"""Texts that go through a frozen transformer at a time."""


@dataclass
class Pretrained:
    """A transformer with its tokenizer; both are stored inside the models that use them."""

    config: dict[str, Any]
    tokenizer: str
    """As JSON."""
    source: str
    weights: dict[str, Tensor] | None = None

    def module(self) -> nn.Module:
        """The transformer, with its weights if they are there."""
        transformers = _transformers()
        rest = {name: value for name, value in self.config.items() if name != "model_type"}
        config = transformers.AutoConfig.for_model(self.config["model_type"], **rest)
        module: nn.Module = transformers.AutoModel.from_config(config)
        if getattr(module, "pooler", None) is not None:
            module.pooler = None  # type: ignore[assignment]
        if self.weights is not None:
            module.load_state_dict(self.weights, strict=False)
        return module

    def tokenised(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """Numbers of the tokens of texts, without special ones."""
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(self.tokenizer)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        cut = [text[:MOST_CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        found = tokenizer.encode_batch(cut, add_special_tokens=False)
        return [encoding.ids[:most] for encoding in found]

    @property
    def sha256(self) -> str:
        """A name of all of it."""
        digest = hashlib.sha256(json.dumps(self.config, sort_keys=True).encode())
        digest.update(self.tokenizer.encode())
        for _, value in sorted((self.weights or {}).items()):
            digest.update(value.numpy().tobytes())
        return digest.hexdigest()

    @property
    def room(self) -> int:
        """How many tokens it takes; some kinds keep two places for themselves."""
        return min(MOST_TOKENS, int(self.config.get("max_position_embeddings") or 514) - 2)


def read_pretrained(folder: Path) -> Pretrained:
    """A transformer from its folder; nothing is downloaded."""
    transformers = _transformers()
    expected = "a folder with config.json, the weights and a tokenizer"
    if not (folder / "config.json").is_file():
        raise DataError(str(folder), "", "no config.json", expected)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        module = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
        text = tokenizer.backend_tokenizer.to_str()
    except (OSError, ValueError, KeyError, AttributeError, ImportError, RuntimeError) as error:
        found = " ".join(str(error).split())[:200]
        raise DataError(str(folder), "", f"what cannot be read ({found})", expected) from None
    config = json.loads(module.config.to_json_string(use_diff=False))
    kept = {"dtype", "torch_dtype", "_name_or_path", "name_or_path", "transformers_version"}
    config = {name: value for name, value in config.items() if name not in kept}
    weights = {name: value.float() for name, value in module.state_dict().items()}
    made = Pretrained(config, text, "", weights)
    made.source = f"encoder: {folder.name} ({config['model_type']}), sha256 {made.sha256}"
    return made


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("encoders from a folder", "transformers") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return transformers


class FrozenTransformer:
    """A transformer that gives texts their vectors and learns nothing."""

    def __init__(self, pretrained: Pretrained) -> None:
        self.pretrained = pretrained
        self.sha256 = pretrained.sha256
        self._module = pretrained.module().eval()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Texts by POOLINGS by width."""
        rows = self.pretrained.tokenised(texts, self.pretrained.room)
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(rows)
        with torch.no_grad():
            for start in range(0, len(order), TEXTS):
                batch = order[start : start + TEXTS]
                pooled = self._pooled([rows[place] or [0] for place in batch])
                for place, vectors in zip(batch, pooled.numpy(), strict=True):
                    found[place] = vectors
        return np.stack(found)

    def _pooled(self, rows: list[list[int]]) -> Tensor:
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        counts = torch.tensor([len(row) for row in rows])
        real = torch.arange(ids.shape[1]) < counts[:, None]
        states = self._module(
            input_ids=ids, attention_mask=real.long(), output_hidden_states=True
        ).hidden_states
        mask = real[..., None]
        first, last = ((s * mask).sum(1) / counts[:, None] for s in (states[0], states[-1]))
        highest = states[-1].masked_fill(~mask, -math.inf).amax(1)
        return torch.stack([first, last, highest], 1)


class TransformerTurns(nn.Module):
    """A transformer over whole dialogues, each turn after its prefix; or over each turn alone.

    A turn's vector is the mean over its prefix and its tokens. A dialogue that is longer than the
    transformer takes goes through it in parts.
    """

    def __init__(self, pretrained: Pretrained, speakers: int, alone: bool) -> None:
        super().__init__()
        self.room, self.alone = pretrained.room, alone
        self.transformer = pretrained.module()
        self.width = self._embedding.embedding_dim
        self.prefix = Prefix(self.width, speakers)

    @property
    def _embedding(self) -> nn.Embedding:
        found: nn.Embedding = self.transformer.get_input_embeddings()  # type: ignore[operator]
        return found

    def forward(self, batch: Batch) -> Tensor:
        """Real turns by width."""
        assert batch.pieces is not None
        prefix = self.prefix(batch)
        words = self._embedding((batch.pieces - 1).clamp(min=0))
        before = prefix.shape[1]
        counts = before + (batch.pieces > 0).sum(1).clamp(max=self.room - before)
        rows = torch.cat([prefix, words], 1)
        packs = [*self._packs(batch, counts.tolist())]
        longest = max(int(counts[pack].sum()) for pack in packs)
        inputs = rows.new_zeros(len(packs), longest, self.width)
        turn_of = torch.full((len(packs), longest), -1)
        for row, pack in enumerate(packs):
            at = 0
            for turn in pack:
                end = at + int(counts[turn])
                inputs[row, at:end] = rows[turn, : end - at]
                turn_of[row, at:end] = turn
                at = end
        real = turn_of >= 0
        states: Tensor = self.transformer(
            inputs_embeds=inputs, attention_mask=real.long()
        ).last_hidden_state
        summed = states.new_zeros(len(counts), self.width).index_add(0, turn_of[real], states[real])
        mean: Tensor = summed / counts[:, None]
        return mean

    def _packs(self, batch: Batch, counts: list[int]) -> Iterator[list[int]]:
        """The turns that go together into one input."""
        turn = 0
        for length in batch.lengths.tolist():
            pack: list[int] = []
            for own in range(turn, turn + length):
                full = sum(counts[other] for other in pack) + counts[own] > self.room
                if pack and (self.alone or full):
                    yield pack
                    pack = []
                pack.append(own)
            yield pack
            turn += length
