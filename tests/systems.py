"""What the tests of the campaigns' systems share."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from dialeval.predictors.systems.recipes import RECIPES

TINY: dict[str, Any] = {
    "epochs": 2,
    "tuned_epochs": 1,
    "batch": 8,
    "units": 4,
    "layers": 1,
    "dimensions": 6,
    "dense": 5,
    "filters": [4, 4],
    "feed_forward": 6,
}
EVERY = tuple(RECIPES)
OF_WORDS = tuple(
    name for name in EVERY if name.startswith(("bl-", "slstc-run0", "slstc-run1", "w"))
)
"""The systems that read words; the others have an encoder."""


def tiny_transformer(folder: Path, kind: str = "bert") -> Path:
    """A Hugging Face folder with random weights: two small layers, a vocabulary of characters."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = [chr(code) for code in range(33, 127)]
    vocabulary = {token: place for place, token in enumerate(["[PAD]", "[UNK]", *letters])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
    )
    sizes: dict[str, Any] = {
        "bert": {
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 16,
            "max_position_embeddings": 66,
        },
        "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 16},
    }[kind]
    config = transformers.AutoConfig.for_model(kind, vocab_size=len(vocabulary), **sizes)
    torch.manual_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@cache
def encoder_folder() -> Path:
    """One tiny transformer for all tests of this process."""
    folder = Path(mkdtemp())
    atexit.register(rmtree, folder)
    return tiny_transformer(folder)


def tiny(name: str, **more: Any) -> dict[str, Any]:
    """Settings with which a system trains in a moment."""
    encoder = {} if name in OF_WORDS else {"encoder": encoder_folder()}
    return {**TINY, **encoder, **more}
