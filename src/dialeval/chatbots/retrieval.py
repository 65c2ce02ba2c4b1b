"""A retrieval chatbot: to a new post it answers with comments that others got on such posts.

Post and comment of each known pair are indexed together, and searched by BM25: Robertson,
Zaragoza: The probabilistic relevance framework: BM25 and beyond (2009). It is the kind of system
that took part in the Short Text Conversation tasks of NTCIR.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dialeval.core.errors import DataError, MissingExtraError, UsageError
from dialeval.core.words import search_words, words

BLOCK = 512
"""Scores are looked through in blocks of this size to find the highest."""
_COMMENTS = "comments.json"
_INDEX = "bm25"


@dataclass(frozen=True)
class Reply:
    """A comment that answers a post."""

    text: str
    score: float
    pair: int
    """The place, in the repository, of the pair it comes from."""


class RetrievalChatbot:
    """Answers a post with the comments of the most similar pairs in a repository.

    >>> pairs = [("It rains again", "Take an umbrella"), ("I love my cat", "Cats are great")]
    >>> bot = RetrievalChatbot().fit(pairs)
    >>> [reply.text for reply in bot.reply("Rain, and it rains and rains")]
    ['Take an umbrella']
    """

    def __init__(self, *, k1: float = 1.5, b: float = 0.75) -> None:
        self.k1, self.b = k1, b
        self.comments: Sequence[str] = ()
        self._index: Any = None

    def __len__(self) -> int:
        return len(self.comments)

    def fit(self, pairs: Iterable[tuple[str, str]]) -> RetrievalChatbot:
        """Index pairs of a post and a comment, replacing what was there."""
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        documents: list[list[int]] = []
        comments: list[str] = []
        for post, comment in pairs:
            documents.append([numbers[word] for word in search_words(f"{post}\n{comment}")])
            comments.append(comment)
        vocabulary = dict(numbers)
        if not vocabulary:
            raise UsageError(f"found {len(comments)} pairs without a word, expected some to index")
        index = _bm25().BM25(k1=self.k1, b=self.b)
        index.index((documents, vocabulary), show_progress=False)
        self.comments, self._index = comments, index
        return self

    def reply(self, post: str, most: int = 10) -> list[Reply]:
        """The comments that fit best, best first: at most this many, none twice.

        A comment that shares no word with the post, alone or through the post it answered, is no
        answer, nor is one that says the same as the post. Pairs of equal score keep their order.
        """
        if self._index is None:
            raise UsageError("the chatbot has no repository yet: fit it, or load one")
        scores = self._scores(search_words(post))
        found: list[Reply] = []
        said = {tuple(words(post))}
        wanted, done = most, 0
        while len(found) < most:
            wanted *= 8
            best = _highest(scores, wanted)
            for pair in best[done:].tolist():
                key = tuple(words(self.comments[pair]))
                if key and key not in said:
                    said.add(key)
                    found.append(Reply(self.comments[pair], float(scores[pair]), pair))
                    if len(found) == most:
                        break
            if best.size < wanted:
                break
            done = best.size
        return found

    def _scores(self, query: list[str]) -> NDArray[np.float32]:
        known = [word for word in dict.fromkeys(query) if word in self._index.vocab_dict]
        if not known:
            return np.zeros(len(self), np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(known)
        return scores

    def save(self, folder: str | Path) -> None:
        """Write the index and the comments, so that `load` need not build them again."""
        if self._index is None:
            raise UsageError("the chatbot has no repository yet: nothing to save")
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            self._index.save(str(target / _INDEX), show_progress=False)
            (target / _COMMENTS).write_bytes(msgspec.json.encode(self.comments))
        except OSError as error:
            raise UsageError(f"{target}: cannot be written ({error.strerror or error})") from None

    @classmethod
    def load(cls, folder: str | Path) -> RetrievalChatbot:
        """A chatbot that `save` wrote."""
        source = Path(folder)
        library = _bm25()
        try:
            comments = msgspec.json.decode((source / _COMMENTS).read_bytes(), type=list[str])
            index = library.BM25.load(str(source / _INDEX), mmap=True, show_progress=False)
        except (OSError, ValueError, KeyError, msgspec.DecodeError) as error:
            expected = "an index that `dialeval ranked retrieve --save-index` wrote"
            raise DataError(str(source), "", f"no readable index ({error})", expected) from None
        bot = cls(k1=index.k1, b=index.b)
        bot.comments, bot._index = comments, index
        return bot


def _highest(scores: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    """The places of the highest scores above 0, best first, equal ones in order.

    At least `most` scores reach the most-th highest of the blocks' highest, so only those that do
    are sorted.
    """
    blocks = -(-scores.size // BLOCK)
    floor = 0.0
    if blocks > most:
        starts = np.arange(blocks) * BLOCK
        tops = np.maximum.reduceat(scores, starts)
        floor = float(np.partition(tops, blocks - most)[blocks - most])
    places = np.flatnonzero((scores >= floor) & (scores > 0))
    order = np.lexsort((places, -scores[places]))
    result: NDArray[np.intp] = places[order][:most]
    return result


def _bm25() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MissingExtraError("retrieval chatbots", "retrieval") from None
    return bm25s
