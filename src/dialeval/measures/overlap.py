"""Metrics of overlap between a reply and its references: BLEU, ROUGE-L, chrF (extra `text`).

They stand here to be compared with people, not to replace them. All are between 0 and 1. Chinese
is split into characters for BLEU, as its users do, and into words for ROUGE-L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from dialeval.core.errors import MissingExtraError, unknown_name
from dialeval.core.language import detect_language
from dialeval.core.words import words

Metric = Callable[[str, Sequence[str]], float]


def bleu(reply: str, references: Sequence[str], order: int = 4) -> float:
    """Sentence BLEU over n-grams up to `order`, by sacrebleu: exponential smoothing.

    Orders that the reply is too short for do not count. Papineni et al.: BLEU (ACL 2002); Post: A
    call for clarity in reporting BLEU scores (2018).

    >>> round(bleu("the cat sat down", ["the cat sat here"], order=1), 2)
    0.75
    """
    scorer = _bleu(order, detect_language(" ".join(references)))
    return float(scorer.sentence_score(reply, [*references]).score) / 100


def chrf(reply: str, references: Sequence[str]) -> float:
    """chrF: the F-score of character n-grams, recall counting double, by sacrebleu.

    Popovic: chrF: character n-gram F-score for automatic MT evaluation (WMT 2015).

    >>> chrf("hello there", ["hello there"])
    1.0
    """
    return min(1.0, float(_chrf().sentence_score(reply, [*references]).score) / 100)


def rouge_l(reply: str, references: Sequence[str]) -> float:
    """ROUGE-L: the F-score of the longest common subsequence of words, by rouge-score.

    With several references, that of the best. Lin: ROUGE (2004).

    >>> round(rouge_l("the cat sat", ["the cat ran"]), 4)
    0.6667
    """
    scores = _rouge().score_multi([*references], reply)
    return float(scores["rougeL"].fmeasure)


@lru_cache
def _bleu(order: int, language: str) -> Any:
    BLEU = _sacrebleu().BLEU
    tokenizer = "zh" if language == "zh" else "13a"
    return BLEU(max_ngram_order=order, tokenize=tokenizer, effective_order=True, lowercase=True)


@lru_cache
def _chrf() -> Any:
    return _sacrebleu().CHRF()


def _sacrebleu() -> Any:
    try:
        from sacrebleu import metrics
    except ImportError:
        raise MissingExtraError("BLEU and chrF", "text") from None
    return metrics


class _Words:
    """The tokenizer that rouge-score asks for."""

    def tokenize(self, text: str) -> list[str]:
        return words(text)


@lru_cache
def _rouge() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise MissingExtraError("ROUGE scores", "text") from None
    return RougeScorer(["rougeL"], tokenizer=_Words())


def _bleu_of(order: int) -> Metric:
    return lambda reply, references: bleu(reply, references, order)


METRICS: dict[str, Metric] = {
    **{f"bleu-{order}": _bleu_of(order) for order in (1, 2, 3, 4)},
    "rouge-l": rouge_l,
    "chrf": chrf,
}


def metric(name: str) -> Metric:
    """A ready metric by its name."""
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    return METRICS[name]
