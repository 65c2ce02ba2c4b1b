"""The retrieval chatbot: building, loading and asking, from ten thousand to a million pairs.

    make bench

Prints and writes benchmarks/retrieve.json. The pairs are made up: Chinese words of the sample and
random ones, drawn by Zipf's law, about as long as posts on Weibo. A plain Python BM25 over
dictionaries answers the same posts, over the smallest repository, for a ratio in one run. Times are
of the processor: everything here uses one core.
"""

from __future__ import annotations

import json
import math
import os
import platform
import resource
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

import dialeval as de
from dialeval.chatbots.retrieval import RetrievalChatbot
from dialeval.core.words import search_words, words

HERE = Path(__file__).resolve().parent
SIZES = (10_000, 100_000, 1_000_000)
POSTS = 100
VOCABULARY = 50_000
Pairs = list[tuple[str, str]]


def made_up(count: int, seed: int = 0) -> Pairs:
    """Posts of 6 to 18 words and comments of 3 to 12."""
    random = np.random.default_rng(seed)
    known = dict.fromkeys(
        word for dialogue in de.sample("zh").dialogues for word in words(dialogue.text)
    )
    letters = np.random.default_rng(0).integers(0x4E00, 0x9000, (VOCABULARY, 2))
    vocabulary = [*known, *("".join(map(chr, pair)) for pair in letters.tolist())][:VOCABULARY]
    weights = 1 / (np.arange(VOCABULARY) + 10)
    lengths = np.column_stack([random.integers(6, 19, count), random.integers(3, 13, count)])
    ends = np.cumsum(lengths.ravel())
    drawn = random.choice(VOCABULARY, int(ends[-1]), p=weights / weights.sum()).tolist()
    texts, start = [], 0
    for end in ends.tolist():
        texts.append("".join([vocabulary[place] for place in drawn[start:end]]))
        start = end
    return [*zip(texts[::2], texts[1::2], strict=True)]


class Plain:
    """BM25 with dictionaries, one posting at a time."""

    def __init__(self, pairs: Pairs) -> None:
        counts = [Counter(search_words(post) + search_words(comment)) for post, comment in pairs]
        lengths = [sum(count.values()) for count in counts]
        mean = sum(lengths) / len(lengths)
        postings = defaultdict(list)
        for place, count in enumerate(counts):
            for word, times in count.items():
                postings[word].append((place, times))
        self.postings = {}
        for word, found in postings.items():
            idf = math.log(1 + (len(pairs) - len(found) + 0.5) / (len(found) + 0.5))
            self.postings[word] = [
                (place, idf * times / (times + 1.5 * (0.25 + 0.75 * lengths[place] / mean)))
                for place, times in found
            ]

    def best(self, post: str, most: int = 10) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for word in set(search_words(post)):
            for place, score in self.postings.get(word, ()):
                scores[place] += score
        return sorted(scores, key=lambda place: (-scores[place], place))[:most]


def timed(bot: RetrievalChatbot, posts: list[str]) -> float:
    """Milliseconds a post, the best of three rounds."""
    rounds = []
    for _ in range(3):
        start = time.process_time()
        for post in posts:
            bot.reply(post)
        rounds.append((time.process_time() - start) / len(posts))
    return 1000 * min(rounds)


def main() -> None:
    posts = [post for post, _ in made_up(POSTS, seed=1)]
    pairs = made_up(SIZES[-1])
    result = {
        "version": de.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "posts": POSTS,
        "characters_a_pair": round(sum(len(p) + len(c) for p, c in pairs[:1000]) / 1000, 1),
        "sizes": {},
    }
    for size in SIZES:
        start = time.process_time()
        bot = RetrievalChatbot().fit(pairs[:size])
        build = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            bot.save(folder)
            start = time.process_time()
            loaded = RetrievalChatbot.load(folder)
            load = time.process_time() - start
            figures = {
                "build_seconds": round(build, 2),
                "pairs_a_second": round(size / build),
                "load_seconds": round(load, 2),
                "milliseconds_a_post": round(timed(loaded, posts), 2),
                "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
            }
        result["sizes"][str(size)] = figures
        print(size, figures, flush=True)
        if size == SIZES[0]:
            plain = Plain(pairs[:size])
            start = time.process_time()
            for post in posts:
                plain.best(post)
            milliseconds = 1000 * (time.process_time() - start) / len(posts)
            result["plain_milliseconds_a_post"] = round(milliseconds, 2)
            result["ratio_to_plain"] = round(milliseconds / figures["milliseconds_a_post"], 1)
    print(json.dumps(result, indent=2))
    (HERE / "retrieve.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
