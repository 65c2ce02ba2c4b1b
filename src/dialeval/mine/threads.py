"""Threads: posts that belong together, put in order, with their replies made sound."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from operator import attrgetter

import msgspec

from dialeval.core.errors import DataError, shown
from dialeval.mine.counts import Step

DUPLICATE = "duplicate id"
NO_START = "initial post missing"
CIRCLE = "replies in a circle"
EARLY = "time before the post it replies to"


_TIME = attrgetter("time")


class Post(msgspec.Struct, omit_defaults=True, gc=False):
    """A post of a thread."""

    id: str
    author: str
    text: str
    time: float
    """Seconds since 1970."""
    reply_to: str | None = None


class Thread(msgspec.Struct, gc=False):
    """A thread: its initial post first, then the others in order; every reply after its post."""

    id: str
    mentions: list[str]
    """The keys of sought accounts that others mention in it."""
    posts: list[Post]


def sound(id: str, posts: list[Post], step: Step, strict: bool) -> list[Post] | None:
    """The posts of a thread in order, without duplicates; None if the initial post is missing.

    The initial post has the thread's id, or else is the first that replies to nothing. Where a
    clock was wrong, a reply comes right after its post; in a circle nobody replies to anything.
    """
    posts.sort(key=_TIME)  # posts of the same moment stay as they came
    places = {post.id: place for place, post in enumerate(posts)}
    if len(places) < len(posts):
        return sound(id, _distinct(id, posts, step, strict), step, strict)
    start = places.get(id)
    if start is None:
        start = next((place for place, post in enumerate(posts) if post.reply_to is None), None)
        if start is None:
            step.drop(NO_START, len(posts), 1)
            return None
    posts[start].reply_to = None
    if start:
        return _by_replies(id, posts, posts[start], step, strict)
    for place, post in enumerate(posts):
        if post.reply_to is not None and places.get(post.reply_to, -1) >= place:
            return _by_replies(id, posts, posts[0], step, strict)
    return posts


def _distinct(thread: str, posts: Sequence[Post], step: Step, strict: bool) -> list[Post]:
    """The first post of each id."""
    first: dict[str, Post] = {}
    for post in posts:
        if first.setdefault(post.id, post) is not post:
            _refuse(strict, thread, post, DUPLICATE)
            step.drop(DUPLICATE, posts=1)
    return [*first.values()]


def _by_replies(
    thread: str, posts: list[Post], start: Post, step: Step, strict: bool
) -> list[Post]:
    """In order of time, but every reply after its post; who replies to nothing, to the start."""
    by_id = {post.id: post for post in posts}
    for post in posts:
        if post.reply_to == post.id:  # counted when it was read
            post.reply_to = None
    for circle in _circles(posts, by_id):
        for post in circle:
            _refuse(strict, thread, post, CIRCLE)
            step.note(CIRCLE)
            post.reply_to = None
    places = {start.id: (start.time, 0)}
    """When a post can have been written at the earliest, and how many at that moment before it."""
    for post in posts:
        for one in reversed([*_up(post, by_id, places)]):
            time, rank = places[(by_id.get(one.reply_to or "") or start).id]
            if one.time < time:
                _refuse(strict, thread, one, EARLY)
                step.note(EARLY)
            places[one.id] = (one.time, 0) if one.time > time else (time, rank + 1)
    return sorted(posts, key=lambda post: (post is not start, *places[post.id], post.time))


def _up(post: Post, by_id: dict[str, Post], known: Container[str]) -> Iterator[Post]:
    """A post and those above it that are not known yet."""
    one: Post | None = post
    while one is not None and one.id not in known:
        yield one
        one = by_id.get(one.reply_to or "")


def _circles(posts: Sequence[Post], by_id: dict[str, Post]) -> Iterator[list[Post]]:
    """Posts that reply to each other in a circle."""
    known: set[str] = set()
    for post in posts:
        path: dict[str, Post] = {}
        one: Post | None = post
        while one is not None and one.id not in known and one.id not in path:
            path[one.id] = one
            one = by_id.get(one.reply_to or "")
        if one is not None and one.id in path:
            yield [*path.values()][[*path].index(one.id) :]
        known |= path.keys()


def _refuse(strict: bool, thread: str, post: Post, found: str) -> None:
    if strict:
        place = f"thread {shown(thread)}, post {shown(post.id)}"
        raise DataError("posts", place, found, "sound posts, as --strict asks")
