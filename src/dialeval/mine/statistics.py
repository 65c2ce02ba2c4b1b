"""What a collection holds: the rows of the papers' tables of statistics."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import msgspec
import numpy as np

from dialeval.core.collection import NO_VOTE, Collection
from dialeval.core.formats.conversation import seconds
from dialeval.core.language import collection_language


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a collection; lengths in characters (Chinese) or white-space tokens."""

    dialogues: int
    language: str
    unit: str
    times: tuple[str, str] | None
    """The first and the last day, where dialogues have a field `time`."""
    sources: list[str]
    """The values of their field `source`."""
    annotators: int
    votes_per_dialogue: float
    turns: int
    posts: int
    turns_per_dialogue: float
    posts_per_dialogue: float
    post_length: float
    turn_length: float
    turns_histogram: dict[int, int]
    turns_by_speaker: dict[str, int]
    labels: dict[str, dict[str, int]]
    """Votes for each label, by criterion."""


def statistics(collection: Collection, language: str | None = None) -> Statistics:
    """Count what a collection holds. The language is the one of most dialogues, unless told."""
    language = language or collection_language(collection)
    by_characters = language == "zh"
    lengths = [
        [len(post) if by_characters else len(post.split()) for post in turn.utterances]
        for dialogue in collection.dialogues
        for turn in dialogue.turns
    ]
    posts = sum(len(turn) for turn in lengths)
    total = sum(sum(turn) for turn in lengths)
    dialogues, turns = len(collection), len(lengths)
    histogram = Counter(collection.lengths.tolist())
    speakers = Counter(turn.sender for d in collection.dialogues for turn in d.turns)
    return Statistics(
        dialogues=dialogues,
        language=language,
        unit="characters" if by_characters else "tokens",
        times=_times(collection),
        sources=sorted(
            {str(d.fields["source"]) for d in collection.dialogues if "source" in d.fields}
        ),
        annotators=len(collection.annotators),
        votes_per_dialogue=_votes_per_dialogue(collection),
        turns=turns,
        posts=posts,
        turns_per_dialogue=turns / dialogues,
        posts_per_dialogue=posts / dialogues,
        post_length=total / posts if posts else 0.0,
        turn_length=total / turns,
        turns_histogram=dict(sorted(histogram.items())),
        turns_by_speaker={speaker: speakers[speaker] for speaker in collection.rubric.speakers},
        labels={
            c.id: dict(zip(c.columns, collection.counts(c).sum(axis=0).tolist(), strict=True))
            for c in collection.rubric.criteria
            if c.id in collection.votes
        },
    )


def _times(collection: Collection) -> tuple[str, str] | None:
    told = [seconds(d.fields["time"]) for d in collection.dialogues if "time" in d.fields]
    known = [time for time in told if time is not None]
    if not known:
        return None
    first, last = (datetime.fromtimestamp(time, UTC) for time in (min(known), max(known)))
    return first.date().isoformat(), last.date().isoformat()


def _votes_per_dialogue(collection: Collection) -> float:
    """The mean number of annotators who voted on anything in a dialogue."""
    if not collection.votes:
        return 0.0
    voted = np.zeros((len(collection), len(collection.annotators)), bool)
    for criterion in collection.rubric.criteria:
        if criterion.id in collection.votes:
            votes = collection.votes[criterion.id] != NO_VOTE
            if criterion.scope == "turn":
                votes = np.logical_or.reduceat(votes, collection.offsets[:-1], axis=0)
            voted |= votes
    return float(voted.sum(axis=1).mean())
