"""Putting a bucket of threads together: those that mention a sought account, whole and in order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from pathlib import Path

import msgspec

from dialeval.core.files import writing
from dialeval.engine import Output, bucket_frames, without_cycles
from dialeval.mine.accounts import Activity
from dialeval.mine.counts import Step
from dialeval.mine.posts import PostReader
from dialeval.mine.scan import spill_files
from dialeval.mine.settings import Settings, is_sub_account
from dialeval.mine.threads import Post, Thread, sound
from dialeval.mine.times import seconds_of

NO_MENTION = "mentions no account found"
COLUMNS = {
    "id": "VARCHAR",
    "mentions": "VARCHAR[]",
    "posts": "STRUCT(id VARCHAR, author VARCHAR, text VARCHAR, time DOUBLE, reply_to VARCHAR)[]",
}


class Gather(msgspec.Struct, frozen=True):
    """A bucket of threads to put together."""

    bucket: int
    buckets: int
    partitions: int
    settings: Settings
    folder: str
    output: Output


class Gathered(msgspec.Struct):
    """What was in a bucket."""

    step: Step
    rows: int


@without_cycles
def gather(task: Gather) -> Gathered:
    """Write the threads of a bucket that mention a sought account, and beside them what they say
    of the accounts' activity."""
    folder = Path(task.folder)
    step, activity = Step(), Activity(task.settings)
    names = msgspec.json.decode(names_file(folder).read_bytes(), type=dict[str, str])
    threads = _in_order(_threads(task, names, step), task.settings, step)
    rows = _rows(threads, activity, names)
    written = task.output.write_part(folder / "threads", task.bucket, rows)
    with writing(activity_file(folder, task.bucket)) as stream:
        stream.write(activity.save())
    return Gathered(step, written)


def names_file(folder: Path) -> Path:
    """Where the sought names are kept, as they are spelt, each with its key."""
    return folder / "names.json"


def activity_file(folder: Path, bucket: int) -> Path:
    """Where a bucket's activity is kept."""
    return folder / f"activity-{bucket:05}"


def _threads(task: Gather, names: dict[str, str], step: Step) -> dict[str, Thread]:
    """The threads of a bucket that mention a sought account, as they come."""
    spills = [spill_files(Path(task.folder), number) for number in range(task.partitions)]
    marks = bucket_frames([marks for _, marks in spills], task.bucket, task.buckets)
    threads = {key: Thread(key, [], []) for keys, _ in marks for key in keys}
    reader, tickets = PostReader(task.settings), task.settings.tickets
    seen: set[str] = set()
    lines: list[bytes] = []
    for keys, rows in bucket_frames([lines for lines, _ in spills], task.bucket, task.buckets):
        seen.update(keys)
        lines += compress(rows, map(threads.__contains__, keys))
        step.given.posts += len(rows)
    step.drop(NO_MENTION, posts=step.given.posts - len(lines))
    batch = reader.decoded(lines)  # all at once: frames are small
    times = seconds_of(batch.times)
    posts = map(Post, batch.ids, batch.authors, batch.texts, times, batch.replies)
    named = ((author,) for author in batch.authors) if tickets else batch.mentions
    for key, post, mentioned in zip(batch.threads, posts, named, strict=True):
        thread = threads[key]
        thread.posts.append(post)
        if mentioned:
            thread.mentions.extend(filter(None, map(names.get, mentioned)))
    step.given.threads += len(seen)
    step.drop(NO_MENTION, threads=len(seen) - len(threads))
    return threads


def _in_order(threads: dict[str, Thread], settings: Settings, step: Step) -> Iterator[Thread]:
    """The threads by id, their posts in order; without those that have no beginning."""
    for key in sorted(threads):
        thread = threads.pop(key)
        posts = sound(key, thread.posts, step, settings.strict)
        if posts is not None:
            step.kept.more(len(posts))
            thread.posts = posts
            thread.mentions = sorted(set(thread.mentions))
            yield thread


def _rows(threads: Iterator[Thread], activity: Activity, names: dict[str, str]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for thread in threads:
        _watch(thread, activity, names)
        yield encode(thread)


def _watch(thread: Thread, activity: Activity, names: dict[str, str]) -> None:
    """Which of the mentioned accounts answer; those that began the thread were not asked."""
    starter = names.get(thread.posts[0].author)
    answering = {name for post in thread.posts[1:] if (name := names.get(post.author))}
    for account in thread.mentions:
        if not (starter and _is_of(starter, account)):
            answered = account in answering or any(_is_of(who, account) for who in answering)
            activity.add(account, thread.id, answered)


def _is_of(author: str, account: str) -> bool:
    return author == account or is_sub_account(author, account)
