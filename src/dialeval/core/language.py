"""Which language a text is in, as far as it matters here: Chinese or not."""

from __future__ import annotations

import re
from collections import Counter

from dialeval.core.collection import Collection

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LETTER = re.compile(r"[^\W\d_]")
_NOISE = re.compile(r"https?://\S+|@\S+")

HAN_SHARE = 0.25
"""Han characters carry about as much as a short word does, so a quarter of the letters decides."""


def detect_language(text: str) -> str:
    """`zh` or `en`, by the share of Han characters among the letters.

    >>> detect_language("My phone is broken"), detect_language("我的 iPhone 坏了")
    ('en', 'zh')
    """
    cleaned = _NOISE.sub(" ", text)
    letters = len(_LETTER.findall(cleaned))
    if not letters:  # only links and names: these decide after all
        cleaned, letters = text, len(_LETTER.findall(text))
    return "zh" if letters and len(_HAN.findall(cleaned)) >= HAN_SHARE * letters else "en"


def collection_language(collection: Collection) -> str:
    """The language of most of its dialogues."""
    languages = Counter(detect_language(dialogue.text) for dialogue in collection.dialogues)
    return languages.most_common(1)[0][0]
