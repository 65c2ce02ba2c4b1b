"""Ranked runs: a list of comments for each post, best first, with the labels judges gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.errors import DataError, UsageError, shown
from dialeval.core.files import format_for_writing, stem_of, writing
from dialeval.core.levels import Level
from dialeval.core.records import check_new, decode_part, read_records
from dialeval.core.rubric import Rubric


class Comment(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer to a post; `labels` are the levels that judges gave it, `label` that of one."""

    text: str
    id: str | int | None = None
    score: float | None = None
    label: str | None = None
    labels: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """What tells comments on a post apart: the id, or the text where there is none."""
        return self.text if self.id is None else str(self.id)

    @property
    def judged(self) -> tuple[str, ...]:
        """The levels that judges gave."""
        return self.labels or (() if self.label is None else (self.label,))


class RankedPost(msgspec.Struct, frozen=True):
    """A post with its comments, best first."""

    id: str | int
    comments: tuple[Comment, ...]
    post: str = ""

    @property
    def key(self) -> str:
        """The id as a string."""
        return str(self.id)


@dataclass(frozen=True)
class RankedRun:
    """What a system answers to each post."""

    name: str
    posts: tuple[RankedPost, ...]
    source: str = "run"


_POST = msgspec.json.Decoder(RankedPost)


def load_ranked(path: str | Path, level: Level | None = None, name: str | None = None) -> RankedRun:
    """Read a ranked run: `.json`, `.jsonl`, either gzipped, `.parquet`.

    A record a post: `id`, `post`, and `comments`, each with `text`, and if wanted `id`, `score` and
    `label` or `labels`. With a level, labels are checked against it.
    """
    origin, records = read_records(Path(path))
    posts: list[RankedPost] = []
    seen: dict[str, int] = {}
    for record in records:
        number = record[0]
        post = decode_part(_POST, record, origin)
        check_new(post.key, number, seen, origin)
        keys: dict[str, int] = {}
        for c, comment in enumerate(post.comments):
            place = f".comments[{c}]"
            if comment.key in keys:
                expected = f"each comment once (first: .comments[{keys[comment.key]}])"
                raise origin.error(number, place, f"{shown(comment.key)} again", expected)
            keys[comment.key] = c
            if comment.label is not None and comment.labels is not None:
                raise origin.error(number, place, "label and labels", "one of them")
            for j, label in enumerate(comment.judged):
                if level is not None and label not in level.labels:
                    where = place + (".label" if comment.labels is None else f".labels[{j}]")
                    expected = f"one of {', '.join(level.labels)}"
                    raise origin.error(number, where, shown(label), expected)
        posts.append(post)
    if not posts:
        raise DataError(origin.source, "", "no posts", "at least one")
    return RankedRun(name or stem_of(Path(path)), tuple(posts), origin.source)


def save_ranked(posts: Iterable[RankedPost], path: str | Path) -> None:
    """Write a ranked run as `.json` or `.jsonl`, either gzipped; nothing if it goes wrong."""
    target = Path(path)
    format = format_for_writing(target)
    if format == "parquet":
        raise UsageError(f"{target}: expected a name that ends in .json or .jsonl (or .gz)")
    with writing(target) as stream:
        if format == "jsonl":
            for post in posts:
                stream.write(msgspec.json.encode(post) + b"\n")
        else:
            encoded = msgspec.json.format(msgspec.json.encode([*posts]), indent=1)
            stream.write(encoded + b"\n")


def pairs_to_judge(runs: Sequence[RankedRun], rubric: Rubric, depth: int = 10) -> Collection:
    """The distinct comments of all runs down to `depth`: a dialogue each, for people to judge.

    The rubric's first speaker says the post, its last the comment. The fields `post` and
    `comment` lead back to the runs.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for run in runs:
        for post in run.posts:
            for comment in post.comments[:depth]:
                found.setdefault((post.key, comment.key), (post.post, comment.text))
    dialogues = []
    count: dict[str, int] = {}
    for (post_key, comment_key), (post_text, comment_text) in found.items():
        count[post_key] = count.get(post_key, 0) + 1
        turns = (
            Turn(rubric.speakers[0], (post_text,)),
            Turn(rubric.speakers[-1], (comment_text,)),
        )
        fields = {"post": post_key, "comment": comment_key}
        dialogues.append(Dialogue(f"{post_key}#{count[post_key]}", turns, fields))
    return Collection(dialogues, rubric)
