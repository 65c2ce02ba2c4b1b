"""Scoring ranked runs: judges' levels become gains, and each post's list a score a measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dialeval.core.collection import NO_VOTE, Collection
from dialeval.core.derive import derived_votes
from dialeval.core.errors import DataError, shown, unknown_name
from dialeval.core.levels import Level
from dialeval.core.ranked_run import RankedPost, RankedRun
from dialeval.core.rubric import Rubric
from dialeval.measures.evaluate import Score
from dialeval.measures.ranked import CUTOFF, nerr, ng, p_plus

Array = NDArray[np.float64]
Unjudged = Literal["error", "zero"]
Missing = Literal["error", "skip"]
Judged = dict[tuple[str, str], list[int]]
"""By post and comment: the place of the label that each judge gave."""


def _median(places: list[int], gain: Sequence[float]) -> float:
    return gain[sorted(places)[(len(places) - 1) // 2]]


def _majority(places: list[int], gain: Sequence[float]) -> float:
    return gain[min(set(places), key=lambda place: (-places.count(place), place))]


def _mean(places: list[int], gain: Sequence[float]) -> float:
    return sum(gain[place] for place in places) / len(places)


COMBINE: dict[str, Callable[[list[int], Sequence[float]], float]] = {
    "median": _median,
    "majority": _majority,
    "mean": _mean,
}
"""How the levels of several judges become one gain. Median and majority: of the levels, the lower
where two are equally good. Mean: of the gains."""


def judged_levels(collection: Collection, level: str) -> Judged:
    """What judges gave to pairs of a post and a comment, by the rubric's rule.

    A dialogue is a pair; its fields `post` and `comment` say which.
    """
    votes = derived_votes(collection.rubric, level, collection.votes) if collection.votes else None
    judged: Judged = {}
    for place, dialogue in enumerate(collection.dialogues):
        for field in ("post", "comment"):
            if not isinstance(dialogue.fields.get(field), str | int):
                raise DataError(
                    collection.source,
                    f"dialogue {dialogue.id!r}",
                    f"no field {field!r}",
                    "the ids of a post and a comment",
                )
        key = str(dialogue.fields["post"]), str(dialogue.fields["comment"])
        row = [] if votes is None else votes[place].tolist()
        judged.setdefault(key, []).extend(given for given in row if given != NO_VOTE)
    return judged


def evaluate_ranked(
    runs: Sequence[RankedRun],
    rubric: Rubric,
    *,
    level: str | None = None,
    judged: Mapping[tuple[str, str], list[int]] | None = None,
    combine: str = "median",
    unjudged: Unjudged = "error",
    missing: Missing = "error",
) -> list[Score]:
    """Each run's nG@1, nERR@10 and P+, post by post.

    The ideal list of a post is made of all comments on it that were judged: in any of these runs
    and in `judged`, each once at its highest gain. What `judged` says of a comment replaces the
    labels in the runs.
    """
    if combine not in COMBINE:
        raise unknown_name("way to combine judges", combine, COMBINE)
    wanted = rubric.level(level)
    gains = [_gains(run, wanted, judged or {}, COMBINE[combine], unjudged) for run in runs]
    pool: dict[str, dict[str, float]] = {}
    for (post_key, comment_key), places in (judged or {}).items():
        if places:
            pool.setdefault(post_key, {})[comment_key] = COMBINE[combine](places, wanted.gain)
    for run, of_run in zip(runs, gains, strict=True):
        for post, values in zip(run.posts, of_run, strict=True):
            known = pool.setdefault(post.key, {})
            for comment, value in zip(post.comments, values, strict=True):
                known[comment.key] = max(value, known.get(comment.key, 0.0))
    posts = dict.fromkeys(post.key for run in runs for post in run.posts)
    if missing == "error":
        for run in runs:
            lacks = posts.keys() - {post.key for post in run.posts}
            if lacks:
                first = next(id for id in posts if id in lacks)
                expected = f"all posts of the other runs, {shown(first)} too"
                raise DataError(run.source, "", f"{len(run.posts)} posts", expected)
    return [
        Score(
            run.name,
            tuple(post.key for post in run.posts),
            _scores(run.posts, of_run, pool, wanted),
            rubric,
        )
        for run, of_run in zip(runs, gains, strict=True)
    ]


def _gains(
    run: RankedRun,
    level: Level,
    judged: Mapping[tuple[str, str], list[int]],
    combine: Callable[[list[int], Sequence[float]], float],
    unjudged: Unjudged,
) -> list[list[float]]:
    """The gain of each comment of each post."""
    result = []
    for post in run.posts:
        row = []
        for rank, comment in enumerate(post.comments):
            own = [level.labels.index(label) for label in comment.judged]
            places = judged.get((post.key, comment.key)) or own
            if not places and unjudged == "error" and rank < CUTOFF:
                where = f"post {post.key!r}, comment {rank + 1}"
                expected = "labels of judges (--unjudged zero counts it as worthless)"
                raise DataError(run.source, where, "no labels", expected)
            row.append(combine(places, level.gain) if places else 0.0)
        result.append(row)
    return result


def _scores(
    posts: Sequence[RankedPost],
    gains: list[list[float]],
    pool: Mapping[str, Mapping[str, float]],
    level: Level,
) -> dict[str, Array]:
    own = _filled(gains)
    ideal = _filled([sorted(pool[post.key].values(), reverse=True) for post in posts])
    return {
        f"{level.id}.nG@1": ng(own, ideal),
        f"{level.id}.nERR@{CUTOFF}": nerr(own, ideal, highest=max(level.gain)),
        f"{level.id}.P+": p_plus(own, ideal),
    }


def _filled(rows: list[list[float]]) -> Array:
    """Lists of any length as one array down to the cutoff, filled up with 0."""
    table = np.zeros((len(rows), CUTOFF))
    for place, row in enumerate(rows):
        table[place, : len(row[:CUTOFF])] = row[:CUTOFF]
    return table
