"""Texts as words: Chinese by a segmenter (extra `retrieval` or `text`), others at their spaces."""

from __future__ import annotations

import re
from collections.abc import Callable

from dialeval.core.errors import MissingExtraError

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_TOKEN = re.compile(r"\w+?(?=n't\b)|n't\b|'\w+|\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation.

    A text with Chinese characters is segmented by jieba (Rust), any other split at what is
    neither letter nor digit.

    >>> words("My phone isn't working!"), words("我的iPhone坏了，怎么办？")
    (['my', 'phone', "isn't", 'working'], ['我', '的', 'iphone', '坏', '了', '怎么办'])
    """
    return _words(text, search=False)


def search_words(text: str) -> list[str]:
    """Like `words`, and for long Chinese words also the shorter ones in them.

    >>> search_words("今天天气不错")
    ['今天', '天天', '天气', '今天天气', '不错']
    """
    return _words(text, search=True)


def tokens(text: str) -> list[str]:
    """Words and punctuation in lower case, cut as the vocabularies of word vectors are.

    >>> tokens("It doesn't work!"), tokens("坏了，怎么办？")
    (['it', 'does', "n't", 'work', '!'], ['坏', '了', '，', '怎么办', '？'])
    """
    lowered = text.lower().replace("’", "'")
    if not _HAN.search(lowered):
        return _TOKEN.findall(lowered)
    return [token for token in _segmenter(search=False)(lowered) if not token.isspace()]


def _words(text: str, search: bool) -> list[str]:
    lowered = text.lower()
    if not _HAN.search(lowered):
        return _WORD.findall(lowered)
    cut = _segmenter(search)
    return [word for word in cut(lowered) if word.isalnum() or _WORD.search(word)]


def _segmenter(search: bool) -> Callable[[str], list[str]]:
    try:
        import rjieba
    except ImportError:
        raise MissingExtraError("Chinese texts", "retrieval") from None
    cut: Callable[[str], list[str]] = rjieba.cut_for_search if search else rjieba.cut
    return cut
