"""Dialogues: what the initial poster of a thread and one account say to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dialeval.core.dialogue import Turn
from dialeval.mine.counts import Step
from dialeval.mine.settings import Settings, account_key, root_of
from dialeval.mine.threads import Post, Thread
from dialeval.mine.times import iso_time

INACTIVE = "mentions no active account"
BEGUN = "begun by the account"
UNANSWERED = "no answer to the initial poster"
OTHERS = "by others"
TO_OTHERS = "to others"
COLUMNS = {
    "id": "VARCHAR",
    "turns": "STRUCT(sender VARCHAR, utterances VARCHAR[])[]",
    "thread": "VARCHAR",
    "author": "VARCHAR",
    "account": "VARCHAR",
    "time": "VARCHAR",
}


class Mined(msgspec.Struct, gc=False):
    """A dialogue as it is written."""

    id: str
    """The thread's, with the account if the thread has several dialogues."""
    turns: list[Turn]
    thread: str
    author: str
    """Who began it."""
    account: str
    """Whom it is with; sub-accounts may answer."""
    time: str
    """Of the initial post."""


Said = list[tuple[int, int]]
"""The place of a post in its thread, and of its speaker."""


class Extraction:
    """Turns threads into dialogues with active accounts, and counts what it leaves out."""

    def __init__(self, active: Mapping[str, str], settings: Settings) -> None:
        self._names = active
        self._roots = _Roots(active)
        self._speakers = settings.speakers
        self.active, self.step = Step(), Step()

    def dialogues(self, thread: Thread) -> list[Mined]:
        """The dialogues of a thread, one for each active account that is mentioned and answers."""
        posts, roots, size = thread.posts, self._roots, len(thread.posts)
        self.active.given.more(size)
        mentioned = {root for name in thread.mentions if (root := roots[name])}
        if not mentioned:
            self.active.drop(INACTIVE, size, 1)
            return []
        self.active.kept.more(size)
        self.step.given.more(size)
        owners = [roots[post.author] for post in posts]
        mentioned.discard(owners[0] or "")
        if not mentioned:
            self.step.drop(BEGUN, size, 1)
            return []
        spoken: dict[str, Said] = {}
        for account in sorted(mentioned.intersection(owners)):
            said = _between(posts, owners, account)
            if any(speaker for _, speaker in said):
                spoken[account] = said
        if not spoken:
            self.step.drop(UNANSWERED, size, 1)
            return []
        self._count(posts, owners, spoken)
        several = len(spoken) > 1
        return [self._mined(thread, account, said, several) for account, said in spoken.items()]

    def _mined(self, thread: Thread, account: str, said: Said, several: bool) -> Mined:
        """Consecutive posts of a speaker are the utterances of one turn."""
        posts, turns = thread.posts, []
        utterances: list[str] = []
        last = 0
        for place, speaker in said:
            if speaker != last:
                turns.append(Turn(self._speakers[last], tuple(utterances)))
                utterances, last = [], speaker
            utterances.append(posts[place].text)
        turns.append(Turn(self._speakers[last], tuple(utterances)))
        name = self._names[account]
        id = f"{thread.id}/{name}" if several else thread.id
        return Mined(id, turns, thread.id, posts[0].author, name, iso_time(posts[0].time))

    def _count(
        self, posts: Sequence[Post], owners: Sequence[str | None], spoken: Mapping[str, Said]
    ) -> None:
        """Posts that are in no dialogue go with a reason."""
        used = {place for said in spoken.values() for place, _ in said}
        self.step.kept.more(len(used))
        self.step.kept.dialogues += len(spoken)
        if len(used) < len(posts):
            for place, post in enumerate(posts):
                if place not in used:
                    own = post.author == posts[0].author or owners[place] in spoken
                    self.step.drop(TO_OTHERS if own else OTHERS, posts=1)


def _between(posts: Sequence[Post], owners: Sequence[str | None], account: str) -> Said:
    """What the initial poster and an account say, unless it is in reply to somebody else."""
    starter = posts[0].author
    speakers: dict[str | None, int | None] = {}
    said = []
    for place, post in enumerate(posts):
        speaker = 0 if post.author == starter else 1 if owners[place] == account else None
        speakers[post.id] = speaker
        if speaker is not None and speakers.get(post.reply_to, 0) is not None:
            said.append((place, speaker))
    return said


class _Roots(dict[str, str | None]):
    """From a name, as it is spelt, to the active account that it is of; found out once each."""

    def __init__(self, active: Iterable[str]) -> None:
        super().__init__()
        self._active = frozenset(active)
        self._head = min(map(len, self._active), default=0)
        self._heads = {account[: self._head] for account in self._active}

    def __missing__(self, name: str) -> str | None:
        key = account_key(name)
        near = key[: self._head] in self._heads
        self[name] = root = root_of(key, self._active) if near else None
        return root
