"""Published results: every mean score in the result tables of the two NTCIR campaigns."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

CAMPAIGNS = {"ntcir14-stc3": "NTCIR-14 STC-3", "ntcir16-dialeval2": "NTCIR-16 DialEval-2"}


@dataclass(frozen=True)
class PublishedScore:
    """One row of a published table."""

    collection: str
    language: str
    criterion: str
    measure: str
    rank: int
    run: str
    score: float

    @property
    def label(self) -> str:
        """The run's name with the campaign that it comes from."""
        return f"{self.run} ({CAMPAIGNS.get(self.collection, self.collection)})"


@lru_cache
def published_scores() -> tuple[PublishedScore, ...]:
    """All of them, as the campaigns' overview papers print them.

    >>> published_scores()[0].label, published_scores()[0].score
    ('SLSTC-run1 (NTCIR-14 STC-3)', 0.1235)
    """
    text = (resources.files("dialeval") / "report" / "published_results.csv").read_text()
    return tuple(
        PublishedScore(
            row["collection"],
            row["language"],
            row["criterion"],
            row["measure"],
            int(row["rank"]),
            row["run"],
            float(row["score"]),
        )
        for row in csv.DictReader(text.splitlines())
    )
