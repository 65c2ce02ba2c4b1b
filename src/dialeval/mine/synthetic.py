"""Synthetic posts with known answers: a microblog with helpdesks, people, and trouble.

Posts come in order of time, so threads lie across each other, and a thread's last posts may come
days after the first. Memory holds the threads that are open, however many posts are asked for.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import resources
from itertools import groupby
from random import Random

import msgspec

from dialeval.core.dialogue import Turn
from dialeval.mine.posts import BAD_TIME, BROKEN, SURROGATES, TO_ITSELF, TOO_LONG
from dialeval.mine.threads import CIRCLE, DUPLICATE, EARLY
from dialeval.mine.times import iso_time

BEGIN = 1_514_764_800.0
"""When the first post is written: 2018-01-01."""
FIRST_ID = 4_190_000_000_000_000
POOL = 3000
"""Sentences of each kind that posts are put together from."""


COLUMNS = {
    **dict.fromkeys(("id", "thread", "author", "text", "time", "reply_to"), "VARCHAR"),
    "mentions": "VARCHAR[]",
}


class Phrases(msgspec.Struct, frozen=True):
    """What posts of a language are made of."""

    companies: list[str]
    titles: list[str]
    branches: list[str]
    places: list[str]
    things: list[str]
    syllables: list[str]
    decoys: list[str]
    problems: list[str]
    details: list[str]
    answers: list[str]
    follow_ups: list[str]
    chatter: list[str]


class Written(msgspec.Struct, gc=False):
    """A post as it stands in the file."""

    id: str
    thread: str
    author: str
    text: str
    time: str
    reply_to: str | None = None
    mentions: list[str] = []


class Expected(msgspec.Struct, gc=False):
    """A dialogue that must come out."""

    id: str
    turns: list[Turn]
    author: str
    account: str


@dataclass
class Helpdesk:
    """An account that people write to. It answers all threads but each seventh, or only those."""

    name: str
    language: str
    branches: tuple[str, ...]
    active: bool
    asked: int = 0

    def answers(self) -> bool:
        """Whether it answers the next thread that mentions it."""
        self.asked += 1
        return (self.asked % 7 != 0) == self.active


@dataclass
class Answers:
    """What is known of the posts, whoever mines them."""

    posts: int = 0
    threads: int = 0
    dialogues: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    helpdesks: list[Helpdesk] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """For a file beside the posts."""
        return {
            "posts": self.posts,
            "threads": self.threads,
            "dialogues": self.dialogues,
            "dropped": dict(self.dropped),
            "noted": dict(self.noted),
            "helpdesks": [
                {"name": h.name, "active": h.active, "threads": h.asked}
                for h in self.helpdesks
                if h.asked
            ],
        }


class Texts:
    """Sentences and names of a language, drawn from pools that are filled at the start."""

    def __init__(self, phrases: Phrases, random: Random) -> None:
        self._phrases, self._random = phrases, random
        kinds = ("problems", "details", "answers", "follow_ups", "chatter")
        self._pools = {kind: [self._sentence(kind) for _ in range(POOL)] for kind in kinds}
        self._names = [self._name() for _ in range(POOL)]

    def _sentence(self, kind: str) -> str:
        draw, phrases = self._random.choice, self._phrases
        template: str = draw(getattr(phrases, kind))
        number = self._random.randrange(10_000, 10_000_000)
        return template.format(
            place=draw(phrases.places), thing=draw(phrases.things), number=number
        )

    def _name(self) -> str:
        return "".join(self._random.choices(self._phrases.syllables, k=3))

    def some(self, *kinds: str) -> str:
        """A sentence of each kind, one after another."""
        place = self._random.random
        return " ".join([self._pools[kind][int(place() * POOL)] for kind in kinds])

    def person(self) -> str:
        """Somebody of about a million."""
        place = self._random.random
        return f"{self._names[int(place() * POOL)]}{int(place() * 300)}"

    def helpdesks(self) -> list[Helpdesk]:
        """The helpdesks of all companies: of five four are active, of three one has branches."""
        phrases, found = self._phrases, []
        for place, company in enumerate(phrases.companies):
            space = " " if company.isascii() else ""
            name = f"{company}{space}{phrases.titles[place % len(phrases.titles)]}"
            branches = [f"{name}{space}{branch}" for branch in phrases.branches]
            language = "en" if company.isascii() else "zh"
            kept = tuple(branches) if place % 3 == 0 else ()
            found.append(Helpdesk(name, language, kept, place % 5 != 4))
        return found

    def decoy(self) -> str:
        """Somebody whose name sounds like a helpdesk's."""
        return self._random.choice(self._phrases.decoys).format(name=self.person())


class Draft:
    """A thread that is being written: its posts, and who says what to whom."""

    def __init__(
        self, author: str, text: str, mentions: list[str], new_id: Callable[[], str]
    ) -> None:
        self._new_id = new_id
        self.id = new_id()
        self.posts = [Written(self.id, self.id, author, text, "", None, mentions)]
        self.asked = False
        """Whether a helpdesk is mentioned."""
        self.early = 0
        """How many seconds the last post's clock is off."""

    def reply(self, author: str, text: str, to: int = 0, mentions: list[str] | None = None) -> int:
        """Add a post in reply to another; gives its place."""
        parent = self.posts[to].id
        post = Written(self._new_id(), self.id, author, text, "", parent, mentions or [])
        self.posts.append(post)
        return len(self.posts) - 1


class Microblog:
    """Writes posts; `expect` is told every dialogue that must be found in them.

    `trouble` is the share of threads in which something is wrong.
    """

    def __init__(
        self,
        seed: int,
        speakers: tuple[str, str],
        expect: Callable[[Expected], None],
        trouble: float = 0.0,
    ) -> None:
        self._random = Random(seed)
        self._speakers, self._expect = speakers, expect
        file = resources.files("dialeval") / "mine" / "phrases.toml"
        phrases = msgspec.toml.decode(file.read_bytes(), type=dict[str, Phrases])
        self._texts = {language: Texts(p, self._random) for language, p in phrases.items()}
        self.answers = Answers()
        self._by_language = {language: t.helpdesks() for language, t in self._texts.items()}
        self.answers.helpdesks = [h for found in self._by_language.values() for h in found]
        self._ids = FIRST_ID
        self._encode = msgspec.json.Encoder().encode
        self._trouble = Trouble(trouble, self._random, self.answers, self._new_id)

    def lines(self, posts: int) -> Iterator[bytes]:
        """At least so many posts, as JSON, in order of time; the last thread is whole."""
        open_posts: list[tuple[float, int, bytes]] = []
        now, written, sequence = BEGIN, 0, 0
        while written < posts:
            now += self._random.random() * 2
            for time, line in self._thread(now):
                heapq.heappush(open_posts, (time, sequence, line))
                sequence += 1
                written += 1
            while open_posts and open_posts[0][0] <= now:
                yield heapq.heappop(open_posts)[2]
        while open_posts:
            yield heapq.heappop(open_posts)[2]

    def _new_id(self) -> str:
        self._ids += 7
        return str(self._ids)

    def _thread(self, start: float) -> Iterator[tuple[float, bytes]]:
        """The posts of a new thread, with the times when they appear."""
        draw = self._random.random()
        texts = self._texts["en" if self._random.random() < 0.5 else "zh"]
        if draw < 0.55:
            draft = self._chatter(texts)
        elif draw < 0.57:
            draft = self._announcement(texts)
        else:
            draft = self._request(texts, several=draw > 0.97)
        self.answers.threads += 1
        wrong = self._trouble.comes()
        if wrong:
            self._trouble.inside(draft, texts)
        lines = self._timed(draft, start)
        if wrong:
            lines += self._trouble.beside(draft, lines, texts)
        self.answers.posts += len(lines)
        yield from lines

    def _timed(self, draft: Draft, start: float) -> list[tuple[float, bytes]]:
        """Posts follow each other in an hour or so; in some threads after days."""
        pause = 200_000 if self._random.random() < 0.02 else 5000
        time, lines = start, []
        for post in draft.posts:
            post.time = iso_time(round(time) + (draft.early if post is draft.posts[-1] else 0))
            lines.append((time, self._encode(post)))
            time += 30 + self._random.random() * pause
        return lines

    def _chatter(self, texts: Texts) -> Draft:
        """People among themselves; some mention a friend, or somebody with a telling name."""
        draw = self._random.random
        friend = texts.decoy() if draw() < 0.02 else texts.person()
        mentions = [friend] if draw() < 0.2 else []
        name = f"@{friend} " if mentions else ""
        text = name + texts.some("chatter", "chatter")
        draft = Draft(texts.person(), text, mentions, self._new_id)
        for _ in range(int(draw() * 6)):
            to = int(draw() * len(draft.posts))
            draft.reply(texts.person(), texts.some("chatter", "chatter"), to)
        return draft

    def _announcement(self, texts: Texts) -> Draft:
        """Begun by a helpdesk, and commented on: no dialogue."""
        helpdesk = self._helpdesk(texts)
        draft = Draft(helpdesk.name, texts.some("answers"), [], self._new_id)
        person = texts.person()
        asked = draft.reply(
            person, f"@{helpdesk.name} " + texts.some("problems"), mentions=[helpdesk.name]
        )
        draft.reply(helpdesk.name, texts.some("answers"), asked)
        draft.asked = True
        return draft

    def _helpdesk(self, texts: Texts) -> Helpdesk:
        found = self._by_language["en" if texts is self._texts["en"] else "zh"]
        return found[int(self._random.random() * len(found))]

    def _request(self, texts: Texts, several: bool) -> Draft:
        """Somebody writes to a helpdesk, or to two at once."""
        draw = self._random.random
        asked = [self._helpdesk(texts)]
        if several and (other := self._helpdesk(texts)) is not asked[0]:
            asked.append(other)
        names = [helpdesk.name for helpdesk in asked]
        at = " ".join(f"@{name}" for name in names)
        customer = texts.person()
        text = texts.some("problems", "details")
        if draw() < 0.9:
            draft = Draft(customer, f"{at} {text}", names, self._new_id)
        else:  # they are mentioned in a comment only
            draft = Draft(customer, text, [], self._new_id)
            draft.reply(customer, f"{at} {texts.some('details')}", mentions=names)
        opening = [*range(len(draft.posts))]
        dialogues: dict[str, list[int]] = {}
        for helpdesk in asked:
            if helpdesk.answers():
                said = self._conversation(draft, helpdesk, customer, texts)
                if helpdesk.active:
                    dialogues[helpdesk.name] = opening + said
        if draw() < 0.25:
            self._bystander(draft, customer, texts)
        self._tell(draft, customer, dialogues)
        draft.asked = True
        return draft

    def _conversation(
        self, draft: Draft, helpdesk: Helpdesk, customer: str, texts: Texts
    ) -> list[int]:
        """The helpdesk (or a branch) and the customer in turns; gives the places of its answers
        and the customer's replies to them."""
        draw = self._random.random
        said, last = [], 0
        branches = helpdesk.branches
        answerer = branches[int(draw() * len(branches))] if branches and draw() < 0.3 else ""
        for turn in range(1 + int(draw() * 6)):
            by_helpdesk = turn % 2 == 0
            author = (answerer or helpdesk.name) if by_helpdesk else customer
            first = last
            for _ in range(2 if draw() < 0.2 else 1):
                kinds = ("answers", "answers") if by_helpdesk else ("follow_ups", "details")
                text = texts.some(*kinds)
                last = draft.reply(author, text, first)
                said.append(last)
        return said

    def _bystander(self, draft: Draft, customer: str, texts: Texts) -> None:
        """Somebody else joins in, and may get an answer, which is not for the customer."""
        person = texts.person()
        if person == customer:
            return
        comment = draft.reply(person, texts.some("chatter"))
        answerer = draft.posts[-2].author
        if self._random.random() < 0.5 and len(draft.posts) > 3:
            draft.reply(answerer, texts.some("follow_ups"), comment)

    def _tell(self, draft: Draft, customer: str, dialogues: dict[str, list[int]]) -> None:
        """Say which dialogues must be found: posts in a row of one speaker are a turn."""
        for account, places in dialogues.items():
            posts = [draft.posts[place] for place in places]
            turns = [
                Turn(self._speakers[not by_customer], tuple(post.text for post in group))
                for by_customer, group in groupby(posts, lambda post: post.author == customer)
            ]
            id = f"{draft.id}/{account}" if len(dialogues) > 1 else draft.id
            self._expect(Expected(id, turns, customer, account))
            self.answers.dialogues += 1


class Trouble:
    """What is wrong in some threads; all of it is counted, and none of it changes a dialogue."""

    def __init__(
        self, share: float, random: Random, answers: Answers, new_id: Callable[[], str]
    ) -> None:
        self._share, self._random, self._new_id = share, random, new_id
        self._answers = answers
        self._kind = 0

    def comes(self) -> bool:
        """Whether something is wrong with the next thread."""
        if not self._share or self._random.random() >= self._share:
            return False
        self._kind = int(self._random.random() * 8)
        return True

    def inside(self, draft: Draft, texts: Texts) -> None:
        """What is wrong with the thread's own posts."""
        last = draft.posts[-1]
        if self._kind == 0 and draft.asked:
            first = draft.reply(texts.person(), texts.some("chatter"))
            second = draft.reply(texts.person(), texts.some("chatter"), first)
            draft.posts[first].reply_to = draft.posts[second].id
            self._answers.noted[CIRCLE] += 2
        elif self._kind == 1 and draft.asked and last.reply_to == draft.posts[-2:][0].id:
            draft.early = -1_000_000
            self._answers.noted[EARLY] += 1

    def beside(
        self, draft: Draft, lines: list[tuple[float, bytes]], texts: Texts
    ) -> list[tuple[float, bytes]]:
        """Lines that come in addition."""
        time, line = lines[-1]
        id = self._new_id()
        post = Written(id, id, texts.person(), texts.some("chatter"), iso_time(round(time)))
        whole = msgspec.to_builtins(post)
        dropped, noted = self._answers.dropped, self._answers.noted
        if self._kind == 2 and draft.asked:
            dropped[DUPLICATE] += 1
            return [(time + 1, line)]
        if self._kind == 3:
            dropped[BROKEN] += 1
            return [(time, line[: len(line) // 2])]
        if self._kind == 4:
            dropped["no author"] += 1
            return [(time, msgspec.json.encode({**whole, "author": None}))]
        if self._kind == 5:
            dropped[BAD_TIME] += 1
            return [(time, msgspec.json.encode({**whole, "time": "yesterday"}))]
        if self._kind == 6 and self._random.random() < 0.02:
            dropped[TOO_LONG] += 1
            return [(time, msgspec.json.encode({**whole, "text": "a " * 500_000}))]
        self._answers.threads += 1
        if self._kind == 7:
            noted[SURROGATES] += 1
            return [(time, msgspec.json.encode(whole).replace(b'"text":"', b'"text":"\\ud83d'))]
        noted[TO_ITSELF] += 1
        return [(time, msgspec.json.encode({**whole, "reply_to": id}))]
