"""The measures once more, written from the papers' formulas: one dialogue, one label at a time.

Nothing here uses the package or numpy. The benchmark times the package against it.
"""

from __future__ import annotations

from math import log2, sqrt
from typing import Any

ORDINAL = ("2", "1", "0", "-1", "-2")
LABELS = {
    "customer": ("CNUG0", "CNUG", "CNUG*", "CNaN"),
    "helpdesk": ("HNUG", "HNUG*", "HNaN"),
}

Distribution = list[float]


def nmd(p: Distribution, q: Distribution) -> float:
    total = cp = cq = 0.0
    for i in range(len(p)):
        cp += p[i]
        cq += q[i]
        total += abs(cp - cq)
    return total / (len(p) - 1)


def order_aware(p: Distribution, q: Distribution) -> float:
    """OD(p || q): averaged over the bins where q is positive."""
    bins = [i for i in range(len(q)) if q[i] > 0]
    total = 0.0
    for i in bins:
        for j in range(len(q)):
            total += abs(i - j) * (p[j] - q[j]) ** 2
    return total / len(bins)


def rsnod(p: Distribution, q: Distribution) -> float:
    return sqrt((order_aware(p, q) + order_aware(q, p)) / 2 / (len(p) - 1))


def rnod(p: Distribution, q: Distribution) -> float:
    return sqrt(order_aware(p, q) / (len(p) - 1))


def rnss(p: Distribution, q: Distribution) -> float:
    return sqrt(sum((p[i] - q[i]) ** 2 for i in range(len(p))) / 2)


def kullback_leibler(p: Distribution, q: Distribution) -> float:
    return sum(p[i] * log2(p[i] / q[i]) for i in range(len(p)) if p[i] > 0)


def jsd(p: Distribution, q: Distribution) -> float:
    m = [(p[i] + q[i]) / 2 for i in range(len(p))]
    return (kullback_leibler(p, m) + kullback_leibler(q, m)) / 2


def votes(labels: tuple[str, ...], given: list[Any]) -> Distribution:
    return [sum(str(vote) == label for vote in given) / len(given) for label in labels]


def predicted(labels: tuple[str, ...], distribution: dict[str, float]) -> Distribution:
    values = [distribution.get(label, 0.0) for label in labels]
    return [value / sum(values) for value in values]


def dialogue_scores(
    gold: dict[str, Any], run: dict[str, Any], alpha: float = 0.5
) -> dict[str, float]:
    """All official scores of one dialogue, from records as they stand in the files."""
    annotations = gold["annotations"]
    scores = {}
    for criterion in ("A", "S", "E"):
        p = predicted(ORDINAL, run["quality"][criterion])
        q = votes(ORDINAL, [a["quality"][criterion] for a in annotations])
        scores[f"{criterion}.rsnod"] = rsnod(p, q)
        scores[f"{criterion}.nmd"] = nmd(p, q)
    for name, measure in (("jsd", jsd), ("rnss", rnss)):
        sides: dict[str, list[float]] = {"customer": [], "helpdesk": []}
        for t, turn in enumerate(gold["turns"]):
            labels = LABELS[turn["sender"]]
            p = predicted(labels, run["nugget"][t])
            q = votes(labels, [a["nugget"][t] for a in annotations])
            sides[turn["sender"]].append(measure(p, q))
        means = {side: sum(values) / len(values) for side, values in sides.items() if values}
        if len(means) == 2:
            score = alpha * means["customer"] + (1 - alpha) * means["helpdesk"]
        else:
            (score,) = means.values()
        scores[f"nugget.{name}"] = score
    return scores


def mean_scores(
    gold: list[dict[str, Any]], run: list[dict[str, Any]], alpha: float = 0.5
) -> dict[str, float]:
    by_id = {record["id"]: record for record in run}
    rows = [dialogue_scores(record, by_id[record["id"]], alpha) for record in gold]
    return {column: sum(row[column] for row in rows) / len(rows) for column in rows[0]}
