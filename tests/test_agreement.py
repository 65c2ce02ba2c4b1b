"""Agreement: every coefficient against an independent implementation or its formula, and `dialeval
agreement` on collections of every shape."""

from __future__ import annotations

import csv
import io
import json
import math
import resource
import subprocess
import sys
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from browsing import HOSTILE
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

import dialeval as de
from dialeval.agreement import (
    against_rest,
    coded,
    cohen_kappa,
    cohen_table,
    fleiss_kappa,
    full_agreement,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
    reading,
    vote_counts,
    vote_entropy,
)
from dialeval.core.errors import UsageError

# The study's tables 9, 10, 13 and 14 with the kappas it reports.
STUDY = [
    ([[11, 6], [5, 14]], 0.385),
    ([[1, 7], [6, 10]], -0.258),
    ([[983, 706], [695, 3616]], 0.421),
    ([[619, 678], [491, 2212]], 0.307),
]


@pytest.mark.parametrize(("matrix", "kappa"), STUDY)
def test_the_studys_kappas(matrix, kappa) -> None:
    # The study cuts digits off: its 0.421 is 0.42162.
    assert math.trunc(cohen_kappa(matrix=matrix) * 1000) / 1000 == kappa
    cells = [(a, b, matrix[a][b]) for a in (0, 1) for b in (0, 1)]
    first = [["yes", "no"][a] for a, _, n in cells for _ in range(n)]
    second = [["yes", "no"][b] for _, b, n in cells for _ in range(n)]
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa(matrix=matrix), abs=1e-12)
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    table, labels = cohen_table(first, second, labels=["yes", "no"])
    assert labels == ("yes", "no")
    assert table.tolist() == matrix


def random_votes(seed: int, *, labels: int = 4, missing: float = 0.0) -> np.ndarray:
    """Items by raters, who agree more than chance, with ties and missing votes."""
    random = np.random.default_rng(seed)
    items, raters = random.integers(3, 30), random.integers(2, 7)
    truth = random.integers(labels, size=items)
    votes = np.where(
        random.random((items, raters)) < 0.5,
        truth[:, None],
        random.integers(labels, size=(items, raters)),
    )
    votes[random.random(votes.shape) < missing] = -1
    return votes


SEEDS = range(12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", SEEDS)
def test_cohen_against_scikit_learn(seed: int, weights: Any) -> None:
    votes = random_votes(seed, missing=0.2)
    a, b = votes[:, 0], votes[:, 1]
    both = (a >= 0) & (b >= 0)
    expected = cohen_kappa_score(a[both], b[both], labels=range(4), weights=weights)
    missing = [[None if v < 0 else int(v) for v in row] for row in (a, b)]
    found = cohen_kappa(*missing, weights=weights, labels=range(4))
    assert found == pytest.approx(expected, abs=1e-12)
    table, _ = cohen_table(*missing, labels=range(4))
    assert cohen_kappa(matrix=table, weights=weights) == pytest.approx(expected, abs=1e-12)


def test_cohen_where_there_is_nothing_to_say() -> None:
    assert math.isnan(cohen_kappa(["a", "a"], ["a", "a"]))  # one label: as scikit-learn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert math.isnan(cohen_kappa_score(["a", "a"], ["a", "a"]))
    assert math.isnan(cohen_kappa([], []))
    assert math.isnan(cohen_kappa([None, "a"], ["a", None]))
    assert cohen_kappa(["a"], ["b"]) == 0.0  # one item
    assert cohen_kappa(["a", "a"], ["a", "b"]) == 0.0
    assert math.isnan(cohen_kappa(matrix=[[5, 0], [0, 0]]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cohen_kappa(["a"], ["a", "b"]), "1 and 2 votes"),
        (lambda: cohen_kappa(["a"]), "two sequences"),
        (lambda: cohen_kappa(["a"], ["a"], matrix=[[1]]), "not both"),
        (lambda: cohen_kappa(matrix=[[1, 2]]), "labels by labels"),
        (lambda: cohen_kappa(matrix=[[1, -2], [0, 0]]), "0 or more"),
        (lambda: cohen_kappa(["a"], ["b"], labels=["a"]), 'a vote for "b"'),
        (lambda: cohen_kappa(["a"], ["a"], labels=["a", "a"]), "distinct labels"),
        (lambda: cohen_kappa([1, 2], [1, 2], weights="cubic"), "unknown weights"),  # type: ignore[arg-type]
        (lambda: fleiss_kappa([1, 2]), "items by labels"),
        (lambda: fleiss_kappa([[0.5, 1]]), "whole numbers"),
        (lambda: krippendorff_alpha([[1, 2]], "ratio"), "unknown level"),  # type: ignore[arg-type]
        (lambda: krippendorff_alpha([[1, 2]], values=[1]), "one a label"),
        (lambda: coded([["a"], ["a", "b"]]), "different lengths"),
    ],
)
def test_wrong_arguments(call, words) -> None:
    with pytest.raises(UsageError, match=words):
        call()


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_against_statsmodels(seed: int) -> None:
    counts = vote_counts(random_votes(seed), 4)
    expected = statsmodels_fleiss(counts, method="fleiss")
    assert fleiss_kappa(counts) == pytest.approx(expected, abs=1e-12)


def by_the_book(counts: np.ndarray, chance: str) -> float:
    """Fleiss' kappa and AC1 of items with unequal numbers of votes, written out (Gwet 2014)."""
    agreeing = []
    shares = [0.0] * len(counts[0])
    voted = 0
    for item in counts.tolist():
        n = sum(item)
        if n >= 1:
            voted += 1
            for label, votes in enumerate(item):
                shares[label] += votes / n
        if n >= 2:
            same = [a == b for a, b in combinations(np.repeat(range(len(item)), item), 2)]
            agreeing.append(sum(same) / len(same))
    if not agreeing:
        return math.nan
    shares = [share / voted for share in shares]
    if chance == "fleiss":
        expected = sum(share**2 for share in shares)
    else:
        expected = sum(share * (1 - share) for share in shares) / (len(shares) - 1)
    observed = sum(agreeing) / len(agreeing)
    return math.nan if expected == 1 else (observed - expected) / (1 - expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_unequal_numbers_of_votes(seed: int) -> None:
    counts = vote_counts(random_votes(seed, missing=0.4), 4)
    assert fleiss_kappa(counts) == pytest.approx(by_the_book(counts, "fleiss"), abs=1e-12)
    assert gwet_ac1(counts) == pytest.approx(by_the_book(counts, "ac1"), abs=1e-12)


def test_gwets_example() -> None:
    """Twelve items, four raters with missing votes, five labels: the example of Gwet's handbook.

    The figures are those of the R package irrCAC for its `cac.raw4raters`.
    """
    rows = [
        [1, 1, None, 1],
        [2, 2, 3, 2],
        [3, 3, 3, 3],
        [3, 3, 3, 3],
        [2, 2, 2, 2],
        [1, 2, 3, 4],
        [4, 4, 4, 4],
        [1, 1, 2, 1],
        [2, 2, 2, 2],
        [None, 5, 5, 5],
        [None, None, 1, 1],
        [None, None, 3, None],
    ]
    codes, labels = coded(rows)
    counts = vote_counts(codes, len(labels))
    assert round(fleiss_kappa(counts), 5) == 0.76117
    assert round(gwet_ac1(counts), 5) == 0.77544
    assert round(krippendorff_alpha(counts), 5) == 0.74342
    assert round(percent_agreement(counts), 5) == 0.81818
    assert full_agreement(counts) == (8, 11)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_against_krippendorff(seed: int, level: Any) -> None:
    votes = random_votes(seed, missing=0.3)
    values = np.array([-3.0, 0.0, 1.0, 5.0])
    data = np.where(votes < 0, np.nan, values[votes]).T
    expected = krippendorff.alpha(
        reliability_data=data, value_domain=values, level_of_measurement=level
    )
    found = krippendorff_alpha(vote_counts(votes, 4), level, values=values.tolist())
    assert found == pytest.approx(expected, abs=1e-12)


NOTHING = {"one label": [[3, 0], [2, 0]], "one rater": [[1, 0], [0, 1]], "no vote": [[0, 0]]}


@pytest.mark.parametrize("case", NOTHING)
def test_where_there_is_nothing_to_say(case: str) -> None:
    counts = NOTHING[case]
    assert math.isnan(fleiss_kappa(counts))
    for level in ("nominal", "ordinal", "interval"):
        assert math.isnan(krippendorff_alpha(counts, level))
    alone = case == "one label"
    assert (percent_agreement(counts) == 1) == alone
    assert (gwet_ac1(counts) == 1) == alone
    assert full_agreement(counts) == ((2, 2) if alone else (0, 0))


def test_one_item() -> None:
    assert fleiss_kappa([[2, 1]]) == pytest.approx((1 / 3 - 5 / 9) / (4 / 9))
    assert krippendorff_alpha([[1, 1]]) == pytest.approx(0)
    assert math.isnan(gwet_ac1([[3]]))  # one label in all


def test_entropy() -> None:
    entropy = vote_entropy(np.array([[1.0, 1, 2, 0], [2, 2, 0, 0]]), np.array([4.0, 2]))
    assert entropy.tolist() == pytest.approx([stats.entropy([1, 1, 2]) / math.log(4), 1])


def test_readings() -> None:
    bounds = {0.20: "None", 0.21: "Minimal", 0.39: "Minimal", 0.40: "Weak", 0.59: "Weak"}
    bounds |= {0.60: "Moderate", 0.79: "Moderate", 0.80: "Strong", 0.90: "Strong"}
    bounds |= {0.91: "Almost Perfect", 1.0: "Almost Perfect", -1.0: "None"}
    assert {kappa: reading(kappa) for kappa in bounds} == bounds


def test_a_rater_against_the_rest() -> None:
    votes = random_votes(3, labels=3, missing=0.2)
    values = np.array([2.0, 1.0, -1.0])
    found = against_rest(votes, 3, values)
    for rater in range(votes.shape[1]):
        agree, higher, own, others = [], [], [], []
        for item in votes:
            rest = [v for r, v in enumerate(item) if r != rater and v >= 0]
            if item[rater] >= 0 and rest:
                agree.append(np.mean([v == item[rater] for v in rest]))
                higher.append(values[item[rater]] - np.mean([values[v] for v in rest]))
                own.append(np.eye(3)[item[rater]])
                others.append(np.mean([np.eye(3)[v] for v in rest], axis=0))
        chance = np.mean(own, axis=0) @ np.mean(others, axis=0)
        assert found.items[rater] == len(agree)
        assert found.percent[rater] == pytest.approx(np.mean(agree))
        assert found.bias[rater] == pytest.approx(np.mean(higher))
        assert found.kappa[rater] == pytest.approx((np.mean(agree) - chance) / (1 - chance))


# Collections through the command.

OWN = """
name = "own"
speakers = ["x", "y"]
[[criteria]]
id = "scale"
scope = "dialogue"
kind = "ordinal"
labels = ["3", "1", "0", "-4"]
measures = ["nmd"]
[[criteria]]
id = "act"
scope = "turn"
kind = "nominal"
measures = ["jsd"]
[criteria.labels]
x = ["ask", "tell", "none"]
y = ["tell", "thank"]
"""
SCALE = ["3", "1", "0", "-4"]
ACTS = {"x": ["ask", "tell", "none"], "y": ["tell", "thank"]}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return path


def collection(
    seed: int, *, raters: int = 4, dialogues: int = 25, missing: float = 0.2, named: bool = True
) -> list[dict[str, Any]]:
    random = np.random.default_rng(seed)
    records = []
    for d in range(dialogues):
        senders = [str(s) for s in random.choice(["x", "y"], random.integers(1, 5))]
        truth = random.integers(4)
        acts = {t: random.choice(ACTS[s]) for t, s in enumerate(senders)}
        annotations = []
        for r in range(raters):
            vote = truth if random.random() < 0.6 else random.integers(4)
            annotation: dict[str, Any] = {"annotator": f"w{r}"} if named else {}
            if random.random() >= missing:
                annotation["quality"] = {"scale": SCALE[vote]}
            annotation["act"] = [
                None
                if random.random() < missing
                else str(acts[t] if random.random() < 0.6 else random.choice(ACTS[s]))
                for t, s in enumerate(senders)
            ]
            annotations.append(annotation)
        turns = [{"sender": s, "utterances": ["hm"]} for s in senders]
        records.append({"id": f"d{d}", "turns": turns, "annotations": annotations})
    return records


def votes_of(records: list[dict[str, Any]], speaker: str | None = None) -> list[list[Any]]:
    """Items by raters: the scale, or the acts of one speaker's turns."""
    rows: list[list[Any]] = []
    for record in records:
        given = record["annotations"]
        if speaker is None:
            rows.append([a.get("quality", {}).get("scale") for a in given])
            continue
        for t, turn in enumerate(record["turns"]):
            if turn["sender"] == speaker:
                rows.append([a["act"][t] for a in given])
    return [row for row in rows if any(vote is not None for vote in row)]


def part_of(
    found: Any, criterion: str, speaker: str | None = None, label: str | None = None
) -> Any:
    wanted = (criterion, speaker, label)
    return next(
        part
        for part in found["parts"]
        if (part["criterion"], part["speaker"], part["label"]) == wanted
    )


def check_part(part: Any, rows: list[list[Any]], labels: list[str], ordinal: bool) -> None:
    """Every figure of a part against other implementations."""
    codes, _ = coded(rows, labels)
    counts = vote_counts(codes, len(labels))
    value = {name: one["value"] for name, one in part["coefficients"].items()}
    assert part["items"] == len(rows)
    assert part["votes"] == counts.sum()
    assert value["fleiss"] == pytest.approx(by_the_book(counts, "fleiss"))
    assert value["ac1"] == pytest.approx(by_the_book(counts, "ac1"))
    scale = np.array([float(label) for label in labels] if ordinal else range(len(labels)))
    data = np.where(codes < 0, np.nan, scale[codes]).T
    for name in ["alpha", *(["alpha_ordinal", "alpha_interval"] if ordinal else [])]:
        expected = krippendorff.alpha(
            reliability_data=data,
            value_domain=np.sort(scale),
            level_of_measurement=name.partition("_")[2] or "nominal",
        )
        assert value[name] == pytest.approx(expected)
    full = [len({v for v in row if v is not None}) == 1 for row in rows]
    several = [sum(v is not None for v in row) > 1 for row in rows]
    assert part["all_agree"] == sum(f and s for f, s in zip(full, several, strict=True))
    assert part["items_with_two_votes"] == sum(several)
    kinds = {"cohen": None}
    kinds |= {"cohen_linear": "linear", "cohen_quadratic": "quadratic"} if ordinal else {}
    means: dict[str, list[float]] = {name: [] for name in kinds}
    correlations: dict[str, list[float]] = {"pearson": [], "spearman": []}
    for (a, b), pair in zip(combinations(range(codes.shape[1]), 2), part["pairs"], strict=True):
        both = (codes[:, a] >= 0) & (codes[:, b] >= 0)
        x, y = codes[both, a], codes[both, b]
        assert pair["items"] == both.sum()
        table = np.zeros((len(labels), len(labels)), int)
        np.add.at(table, (x, y), 1)
        assert pair["table"] == table.tolist()
        assert pair["percent"] == pytest.approx(np.mean(x == y))
        for name, weights in kinds.items():
            expected = cohen_kappa_score(x, y, labels=range(len(labels)), weights=weights)
            assert pair[name] == pytest.approx(expected)
            means[name].append(expected)
        if ordinal:
            assert pair["pearson"] == pytest.approx(stats.pearsonr(scale[x], scale[y])[0])
            assert pair["spearman"] == pytest.approx(stats.spearmanr(scale[x], scale[y])[0])
            for name in correlations:
                correlations[name].append(pair[name])
    for name, values in (means | (correlations if ordinal else {})).items():
        assert value[name] == pytest.approx(np.mean(values))


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_any_collection_by_any_rubric(cli, write, own: Path, seed: int, named: bool) -> None:
    records = collection(seed, named=named)
    file = write("votes.json", records)
    found = cli("agreement", file, "--rubric", own, "--json", "--resamples", 0).json
    assert found["raters_are_named"] == named
    assert found["parts"][0]["pairs"][0]["raters"] == (["w0", "w1"] if named else ["1", "2"])
    check_part(part_of(found, "scale"), votes_of(records), SCALE, ordinal=True)
    for speaker, labels in ACTS.items():  # labels of their own: by speaker in any case
        rows = votes_of(records, speaker)
        check_part(part_of(found, "act", speaker), rows, labels, ordinal=False)
    whole = votes_of(records, "x") + votes_of(records, "y")
    counts = vote_counts(*(lambda c: (c[0], len(c[1])))(coded(whole)))
    kappa = part_of(found, "act")["coefficients"]["fleiss"]["value"]
    shares = len({v for row in whole for v in row} - {None})
    assert shares == 4
    assert kappa == pytest.approx(by_the_book(counts, "fleiss"))


def test_by_label_and_speaker(cli, write, own: Path) -> None:
    records = collection(2)
    file = write("votes.json", records)
    args = ("--rubric", own, "--json", "--resamples", 0, "--by", "label")
    found = cli("agreement", file, *args).json
    for label in SCALE:
        rows = [[None if v is None else v == label for v in row] for row in votes_of(records)]
        codes, _ = coded(rows, [True, False])
        expected = by_the_book(vote_counts(codes, 2), "fleiss")
        part = part_of(found, "scale", label=label)
        assert part["coefficients"]["fleiss"]["value"] == pytest.approx(expected)
        assert part["labels"] == [label, "other"]
    # Only the turns whose speaker may have the label.
    assert part_of(found, "act", label="ask")["items"] == len(votes_of(records, "x"))
    assert part_of(found, "act", label="tell")["items"] == part_of(found, "act")["items"]

    same = OWN.replace("[criteria.labels]", "").replace('x = ["ask", "tell", "none"]', "")
    same = same.replace('y = ["tell", "thank"]', 'labels = ["ask", "tell", "none", "thank"]')
    own.write_text(same)
    titles = [
        (p["criterion"], p["speaker"]) for p in cli("agreement", file, *args[:5]).json["parts"]
    ]
    assert titles == [("scale", None), ("act", None)]
    split = cli("agreement", file, *args[:5], "--by", "speaker").json["parts"]
    assert [p["speaker"] for p in split] == [None, None, "x", "y"]
    assert split[2]["items"] == len(votes_of(records, "x"))


def test_intervals_are_those_of_a_plain_bootstrap(write, own: Path) -> None:
    """The same draws, one sample after the other, everything worked out anew."""
    records = collection(4, dialogues=12, missing=0.1)
    gold = de.load(write("votes.json", records), own)
    found = de.agreement_of(gold, resamples=60, seed=5)
    random = np.random.default_rng(5)
    drawn = random.integers(12, size=(60, 12))
    for title, speaker in (("scale", None), ("act x", "x")):
        labels = SCALE if speaker is None else ACTS["x"]
        kappas, cohens, firsts = [], [], []
        for sample in drawn:
            rows = votes_of([records[d] for d in sample], speaker)
            codes, _ = coded(rows, labels)
            kappas.append(by_the_book(vote_counts(codes, len(labels)), "fleiss"))
            pairs = []
            for a, b in combinations(range(4), 2):
                both = (codes[:, a] >= 0) & (codes[:, b] >= 0)
                table, _ = cohen_table(codes[both, a], codes[both, b], labels=range(len(labels)))
                pairs.append(cohen_kappa(matrix=table))
            cohens.append(np.nanmean(pairs))
            firsts.append(pairs[0])
        part = found[title]
        for values, interval in (
            (kappas, part.coefficients["fleiss"].interval),
            (cohens, part.coefficients["cohen"].interval),
            (firsts, part.pairs.intervals[0]),
        ):
            assert interval == pytest.approx(np.nanquantile(values, [0.025, 0.975]), abs=1e-9)
    again = de.agreement_of(gold, resamples=60, seed=5)
    other = de.agreement_of(gold, resamples=60, seed=6)
    for name, one in found["scale"].coefficients.items():
        assert one == again["scale"].coefficients[name]
        assert one.interval != other["scale"].coefficients[name].interval


def test_pairs_in_small_portions_give_the_same(write, own: Path, monkeypatch) -> None:
    gold = de.load(write("votes.json", collection(4)), own)
    whole = de.agreement_of(gold, resamples=50)
    monkeypatch.setattr("dialeval.agreement.analysis.CELLS", 1)
    monkeypatch.setattr("dialeval.agreement.bootstrap.CELLS", 1)
    portions = de.agreement_of(gold, resamples=50)
    for one, other in zip(whole.parts, portions.parts, strict=True):
        assert one.pairs.intervals == other.pairs.intervals
        for name, coefficient in one.coefficients.items():
            # Draws come in blocks too, and are the same in blocks of any size.
            assert coefficient.interval == pytest.approx(other.coefficients[name].interval)


def test_too_many_pairs_for_intervals(cli, write, own: Path, monkeypatch) -> None:
    monkeypatch.setattr("dialeval.agreement.analysis.MOST_WORK", 0)
    file = write("votes.json", collection(4))
    args = ("agreement", file, "--rubric", own, "--resamples", 20)
    coefficients = part_of(cli(*args, "--json").json, "scale")["coefficients"]
    assert coefficients["fleiss"]["low"] is not None
    assert coefficients["cohen"]["low"] is None
    assert coefficients["cohen"]["value"] is not None
    assert "scale: Too many pairs of raters for intervals" in cli(*args).out


def test_raters_with_themselves(cli, write, own: Path) -> None:
    records = collection(6, raters=3, missing=0.0)
    random = np.random.default_rng(0)
    pairs: list[tuple[str, str]] = []
    for record in records[:10]:
        first = record["annotations"][1]["quality"]["scale"]
        second = first if random.random() < 0.7 else "0"
        pairs.append((first, second))
        again = {"annotator": "w1", "round": 2, "quality": {"scale": second}}
        record["annotations"].insert(0, again)
    file = write("votes.json", records)
    args = ("agreement", file, "--rubric", own, "--resamples", 0)
    part = part_of(cli(*args, "--json").json, "scale")
    a, b = zip(*pairs, strict=True)
    expected = cohen_kappa_score(a, b)
    assert part["coefficients"]["intra_cohen"]["value"] == pytest.approx(expected)
    agree = np.mean([x == y for x, y in pairs])
    assert part["coefficients"]["intra_percent"]["value"] == pytest.approx(agree)
    by_rater = {r["rater"]: r for r in part["raters"]}
    assert by_rater["w1"]["judged_twice"] == 10
    assert by_rater["w1"]["kappa_with_self"] == pytest.approx(expected)
    assert by_rater["w0"]["judged_twice"] == 0
    assert by_rater["w0"]["kappa_with_self"] is None
    # The second round counts nowhere else.
    for record in records:
        record["annotations"] = [a for a in record["annotations"] if "round" not in a]
    once = part_of(cli("agreement", write("once.json", records), *args[2:], "--json").json, "scale")
    assert once["coefficients"]["fleiss"] == part["coefficients"]["fleiss"]
    assert "intra_cohen" not in once["coefficients"]
    assert "Raters with themselves" in cli(*args).out


def simple(rows: list[list[int | None]], named: bool = False) -> list[dict[str, Any]]:
    """Helpdesk dialogues with votes on A alone."""
    return [
        {
            "id": f"d{i}",
            "turns": [{"sender": "customer", "utterances": ["Hello"]}],
            "annotations": [
                ({"annotator": f"w{a}"} if named else {})
                | ({} if vote is None else {"quality": {"A": vote}})
                for a, vote in enumerate(row)
            ],
        }
        for i, row in enumerate(rows)
    ]


DEGENERATE = {
    "one label": ([[1, 1, 1], [1, 1, 1]], "every vote is 1"),
    "one rater": ([[1], [2], [0]], "no item has two votes"),
    "one item": ([[1, 1, 2]], ""),
    "one vote": ([[1]], "no item has two votes"),
    "nobody shares an item": ([[1, None], [None, 2]], "no item has two votes"),
    "raters of one label each": ([[1, 2], [1, 2]], "in every pair of raters one gives"),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("resamples", [0, 50])
def test_degenerate_collections(cli, write, tmp_path: Path, case: str, resamples: int) -> None:
    rows, reason = DEGENERATE[case]
    file = write("votes.json", simple(rows))
    args = ("agreement", file, "--resamples", resamples)
    found = cli(*args, "--json", "--out", tmp_path / "out")
    assert found.status == 0, found.err
    coefficients = found.json["parts"][0]["coefficients"]
    for one in coefficients.values():
        assert (one["value"] is None) == ("reason" in one)
    assert reason in " ".join(one.get("reason", "") for one in coefficients.values())
    assert (tmp_path / "out" / "agreement.html").is_file()
    text = cli(*args)
    assert text.status == 0
    assert reason in text.out
    assert cli(*args, "--by", "label", "--csv").status == 0


def test_the_paradox_is_pointed_out(cli, write) -> None:
    rows: list[list[int | None]] = [[2, 2, 2]] * 38 + [[2, 2, 1], [1, 2, 2]]
    result = cli("agreement", write("votes.json", simple(rows)), "--resamples", 0)
    assert "A: Fleiss' paradox: 97% of pairs of votes agree" in result.out
    assert "98% of the votes are 2" in result.out
    balanced: list[list[int | None]] = [[2, 2, 2]] * 20 + [[1, 1, 1]] * 18 + [[2, 2, 1]] * 2
    result = cli("agreement", write("votes.json", simple(balanced)), "--resamples", 0)
    assert "Fleiss' paradox" not in result.out


def test_single_and_missing_votes_are_told(cli, write) -> None:
    rows: list[list[int | None]] = [[1, 1, 2], [1, None, 2], [1, None, None], [None] * 3]
    result = cli("agreement", write("votes.json", simple(rows)), "--resamples", 0)
    assert "A: Items have 2 to 3 votes." in result.out
    assert "A: 1 items have a single vote" in result.out
    assert "A: 1 items have no vote." in result.out


def test_who_and_what_stands_out(cli, write) -> None:
    random = np.random.default_rng(1)
    truth = random.integers(-1, 2, 60)
    rows = []
    for t in truth.tolist():
        votes = [int(np.clip(t + random.choice([-1, 0, 0, 0, 1]), -2, 2)) for _ in range(6)]
        votes.append(int(random.integers(-2, 3)))  # w6 votes at random
        votes.append(min(2, t + 2))  # w7 is generous
        rows.append(votes)
    rows.append([2, 2, 1, 1, 0, -1, -2, -2])
    file = write("votes.json", simple(rows, named=True))
    part = cli("agreement", file, "--json", "--resamples", 0).json["parts"][0]
    reasons = {r["rater"]: r["stands_out"] for r in part["raters"]}
    assert "agrees less than others" in reasons["w6"]
    assert "votes higher than others" in reasons["w7"]
    assert all(reasons[f"w{r}"] == "" for r in range(6))
    bias = {r["rater"]: r["bias"] for r in part["raters"]}
    assert bias["w7"] > 1
    assert part["divided_items"][0]["dialogue"] == "d60"
    text = " ".join(cli("agreement", file, "--resamples", 0).out.split())
    assert "votes higher than others" in text
    assert "d60" in text


def test_csv(cli, write, own: Path) -> None:
    file = write("votes.json", collection(1))
    args = ("agreement", file, "--rubric", own, "--resamples", 20)
    rows = [*csv.DictReader(io.StringIO(cli(*args, "--csv").out))]
    found = cli(*args, "--json").json
    assert {row["coefficient"] for row in rows} >= {"fleiss", "alpha_ordinal", "cohen_linear"}
    for row in rows:
        part = part_of(found, row["criterion"], row["speaker"] or None)
        one = part["coefficients"][row["coefficient"]]
        assert float(row["value"]) == pytest.approx(one["value"])
        assert float(row["low"]) == pytest.approx(one["low"])
        assert row["reading"] == one.get("reading", "")


def test_bad_input(refused, write, own: Path, gold_records, tmp_path: Path) -> None:
    gold = write("gold.json", gold_records)
    assert "--json and --csv" in refused("agreement", gold, "--json", "--csv")
    assert "unknown rubric" in refused("agreement", gold, "--rubric", "nothing")
    assert "sender" in refused("agreement", gold, "--rubric", own)
    gold_records[0]["annotations"][0]["quality"]["A"] = 3
    line = refused("agreement", write("bad.json", gold_records), "--out", tmp_path / "never")
    assert "[0].annotations[0].quality.A: found 3" in line
    for record in gold_records:
        del record["annotations"]
    assert "found no votes" in refused("agreement", write("plain.json", gold_records))
    assert not (tmp_path / "never").exists()


def test_wrong_options(cli, write, gold_records) -> None:
    gold = write("gold.json", gold_records)
    assert cli("agreement", gold, "--by", "day").status == 2
    assert cli("agreement", gold, "--resamples", -1).status == 2
    with pytest.raises(UsageError, match="resamples"):
        de.agreement_of(de.sample("en"), resamples=-1)
    with pytest.raises(UsageError, match="unknown part"):
        de.agreement_of(de.sample("en"), by=["day"])


# The files that --out writes.


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agreement")
    de.save(de.sample("en"), folder / "gold.json")
    records = json.loads((folder / "gold.json").read_text())
    for record in records:
        record["turns"][0]["utterances"] = [HOSTILE]
        for a, annotation in enumerate(record["annotations"]):
            annotation["annotator"] = f"<b>{a}" if a else HOSTILE
    (folder / "gold.json").write_text(json.dumps(records))
    command = [sys.executable, "-m", "dialeval", "agreement", "gold.json", "--out", "out"]
    subprocess.run(
        [*command, "--by", "label", "--resamples", "50"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder / "out"


def test_the_tables(written: Path) -> None:
    found = json.loads((written / "agreement.json").read_text())
    kappa = part_of(found, "A")["coefficients"]["fleiss"]
    with (written / "tables" / "coefficients.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["criterion"] == "A" and not r["label"]]
    assert float(next(r["value"] for r in rows if r["coefficient"] == "fleiss")) == kappa["value"]
    assert {r["provenance"] for r in rows} == {found["provenance"]["id"]}
    with (written / "tables" / "A-pairs.csv").open() as file:
        pairs = [*csv.DictReader(file)]
    assert len(pairs) == 19 * 18 // 2
    cells = [[int(cell) for cell in row.split()] for row in pairs[0]["table"].split(" / ")]
    assert cohen_kappa(matrix=cells) == pytest.approx(float(pairs[0]["cohen"]))
    assert cells == part_of(found, "A")["pairs"][0]["table"]
    assert (written / "tables" / "nugget-label7-raters.tex").is_file()
    assert f"{kappa['value']:.3f}" in (written / "tables" / "agreement.md").read_text()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(
    browser: Any,
    written: Path,
    width: int,
    scheme: str,
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append("a dialog"), dialog.dismiss()))
    page.goto((written / "agreement.html").as_uri())
    assert problems == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure svg").count() == 1 + 6 * 3
    assert page.locator("img").count() == page.locator("script").count() == 0
    assert page.get_by_text(HOSTILE).count() > 0
    found = json.loads((written / "agreement.json").read_text())
    kappa = part_of(found, "A")["coefficients"]["fleiss"]["value"]
    assert page.locator("#A .number").inner_text() == f"{kappa:.3f}"
    context.close()


def test_without_the_extra_there_are_tables(cli, write, own, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    file = write("votes.json", collection(1))
    result = cli("agreement", file, "--rubric", own, "--resamples", 0, "--out", tmp_path / "out")
    assert result.status == 0
    assert "warning: tables only" in result.err
    assert (tmp_path / "out" / "agreement.json").is_file()


def test_many_raters(write) -> None:
    """A crowd: 400 raters, three votes an item."""
    random = np.random.default_rng(0)
    rows: list[list[int | None]] = []
    for _ in range(300):
        row: list[int | None] = [None] * 400
        for rater in random.choice(400, 3, replace=False):
            row[rater] = int(random.integers(-2, 3))
        rows.append(row)
    gold = de.load(write("crowd.json", simple(rows, named=True)))
    part = de.agreement_of(gold)["A"]
    assert part.pairs.tables.sum() == 300 * 3
    counts = vote_counts(gold.votes["A"], 5)
    assert part.coefficients["fleiss"].value == pytest.approx(statsmodels_fleiss(counts))


@pytest.mark.stc3
def test_the_research_collection_fast(stc3: Path) -> None:
    file = stc3 / "train_data_cn.json"
    command = [sys.executable, "-m", "dialeval", "agreement", str(file), "--resamples", "0"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, "--json"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Time of the processor: tests run beside others.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3
    found = json.loads(done.stdout)
    records = json.loads(file.read_text())
    votes = [[a["quality"]["A"] for a in record["annotations"]] for record in records]
    codes, labels = coded(votes, [2, 1, 0, -1, -2])
    expected = statsmodels_fleiss(vote_counts(codes, len(labels)))
    part = part_of(found, "A")
    assert part["coefficients"]["fleiss"]["value"] == pytest.approx(expected, abs=1e-12)
    first, last = codes[:, 0], codes[:, 18]
    pair = next(p for p in part["pairs"] if p["raters"] == ["1", "19"])
    assert pair["cohen"] == pytest.approx(cohen_kappa_score(first, last), abs=1e-12)
