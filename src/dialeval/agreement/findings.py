"""What was found about the agreement of annotators, part by part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dialeval.agreement.bootstrap import Interval
from dialeval.agreement.outliers import FAR, AgainstRest, far_off, vote_entropy
from dialeval.agreement.pairs import Places
from dialeval.agreement.parts import Part
from dialeval.agreement.ratings import Array
from dialeval.agreement.reading import is_paradox
from dialeval.agreement.shares import Observed
from dialeval.core.collection import Collection
from dialeval.core.errors import unknown_name

NAMES = {
    "percent": "percent agreement",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
    "alpha_ordinal": "Krippendorff's alpha, ordinal",
    "alpha_interval": "Krippendorff's alpha, interval",
    "ac1": "Gwet's AC1",
    "cohen": "Cohen's kappa, mean of pairs",
    "cohen_linear": "Cohen's kappa, linear weights, mean of pairs",
    "cohen_quadratic": "Cohen's kappa, quadratic weights, mean of pairs",
    "pearson": "Pearson's r, mean of pairs",
    "spearman": "Spearman's rho, mean of pairs",
    "intra_percent": "percent agreement of raters with themselves",
    "intra_cohen": "Cohen's kappa of raters with themselves",
}
"""All coefficients, in the order of a report."""
KAPPAS = {name for name in NAMES if "percent" not in name and name not in ("pearson", "spearman")}
"""Those that are read as a kappa."""


@dataclass(frozen=True)
class Coefficient:
    """A value with its bootstrap interval; where it is NaN, the reason."""

    value: float
    interval: Interval = (math.nan, math.nan)
    reason: str = ""


@dataclass(frozen=True)
class Pairs:
    """All pairs of raters who share an item."""

    places: Places
    """Pairs by two: the places of the two raters."""
    tables: Array
    """Pairs by labels by labels: counts, the first rater in rows."""
    values: Mapping[str, Array]
    """By coefficient (`percent`, `cohen`, ...): the value of each pair."""
    intervals: Sequence[Interval] = ()
    """Of Cohen's kappa, unweighted, if wanted."""


@dataclass(frozen=True)
class PartAgreement:
    """What was found in one part of the votes."""

    part: Part
    raters: tuple[str, ...]
    seen: Observed
    counts: Array
    coefficients: Mapping[str, Coefficient]
    pairs: Pairs
    rest: AgainstRest
    intra: Array | None
    """Of each rater the table of votes on the same items in two rounds, if there are any."""
    samples: Mapping[str, Array] = field(default_factory=dict)
    """By coefficient: its value in every bootstrap sample."""

    @property
    def title(self) -> str:
        """The criterion, and what of it."""
        return self.part.title

    @cached_property
    def votes(self) -> NDArray[np.float64]:
        """How many votes each item has."""
        total: Array = self.counts.sum(axis=1)
        return total

    @property
    def full(self) -> tuple[int, int]:
        """On how many items all agree, of how many with two votes or more."""
        several = int((self.votes > 1).sum())
        return round(float(np.nan_to_num(self.seen.full)) * several), several

    @property
    def paradox(self) -> bool:
        """Whether kappa is low only because votes are one-sided."""
        return is_paradox(self.seen, self.coefficients["fleiss"].value)

    @cached_property
    def entropy(self) -> Array:
        """How divided the votes on each item are, 0 to 1."""
        return vote_entropy(self.counts, self.part.choices)

    def divided_items(self, most: int = 10) -> list[int]:
        """The items whose votes are most divided, by place in the part, most divided first."""
        order = np.argsort(-np.nan_to_num(self.entropy), kind="stable")[:most]
        return [int(item) for item in order if self.entropy[item] > 0]

    def apart(self, rater: int) -> str:
        """Why a rater stands out, or nothing."""
        reasons = []
        if self._low[rater] < -FAR:
            reasons.append("agrees less than others")
        if self._bias[rater] > FAR:
            reasons.append("votes higher than others")
        if self._bias[rater] < -FAR:
            reasons.append("votes lower than others")
        return ", ".join(reasons)

    @cached_property
    def _low(self) -> Array:
        return far_off(self.rest.kappa)

    @cached_property
    def _bias(self) -> Array:
        return far_off(self.rest.bias)


@dataclass(frozen=True)
class Agreement:
    """The agreement of a collection's annotators, part by part."""

    collection: Collection
    parts: tuple[PartAgreement, ...]
    resamples: int
    seed: int

    def __getitem__(self, title: str) -> PartAgreement:
        """The part with this title, such as a criterion's id."""
        for part in self.parts:
            if part.title == title:
                return part
        raise unknown_name("part", title, [part.title for part in self.parts])
