"""Accounts: which were found, and which of them are active, that is, answer those who ask."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import msgspec

from dialeval.core.errors import DataError
from dialeval.core.files import opened
from dialeval.mine.settings import Settings, Sought, account_key, plain_name


class Account(msgspec.Struct, omit_defaults=True):
    """An account that was found by its name."""

    name: str
    posts: int = 0
    mentions: int = 0
    threads: int = 0
    """Threads of others that mention it."""
    sampled: int = 0
    answered: int = 0
    """Sampled threads that it has answered in."""
    active: bool | None = None

    @property
    def key(self) -> str:
        """Its name as names are compared."""
        return account_key(self.name)


class Found(dict[str, str]):
    """From a name to its key if the account is sought, else to nothing; found out once each."""

    def __init__(self, sought: Sought) -> None:
        super().__init__()
        self._sought = sought

    def __missing__(self, name: str) -> str:
        key = account_key(name)
        self[name] = found = key if self._sought.finds(key) else ""
        return found

    def among(self, names: Sequence[str]) -> list[str]:
        """The names in a list that are sought, each as often as it comes.

        >>> Found(Sought(("help",))).among(["Li", "ABHelp", "Ann", "ABHelp"])
        ['ABHelp', 'ABHelp']
        """
        # Most names are new and not sought: they are looked through in one long text.
        text = "\n".join(names).casefold()
        if text.count("\n") != len(names) - 1:
            return [name for name in names if self[name]]
        rows: set[int] = set()
        for word in self._sought.words:
            at = row = before = 0
            while (at := text.find(word, at)) >= 0:
                row += text.count("\n", before, at)
                rows.add(row)
                before = at
                at = text.find("\n", at)
                if at < 0:
                    break
        return [names[row] for row in sorted(rows) if self[names[row]]]


def found_accounts(parts: Iterable[Iterable[Account]]) -> dict[str, Account]:
    """The accounts by key, in its order, from names as they are spelt; the first spelling counts.

    >>> names = [Account("@ABHelp", 0, 9), Account("ABHelp", 2), Account("abhelp", 1)]
    >>> [(key, a.name, a.posts, a.mentions) for key, a in found_accounts([names]).items()]
    [('abhelp', 'ABHelp', 3, 9)]
    """
    found: dict[str, Account] = {}
    for one in chain.from_iterable(parts):
        name = plain_name(one.name)
        account = found.setdefault(account_key(name), Account(name))
        account.name = min(account.name, name)
        account.posts += one.posts
        account.mentions += one.mentions
    return dict(sorted(found.items()))


class Activity:
    """Of each account: how many threads mention it, and whether it answered a sample of them.

    A thread's place in the draw depends on the seed, the account and the thread alone. So the
    sample is the same however the threads are split up.
    """

    def __init__(self, settings: Settings) -> None:
        self._size, self._seed = settings.sampled, settings.seed
        self.threads: Counter[str] = Counter()
        self.drawn: dict[str, list[tuple[int, bool]]] = {}
        """By account, a heap of the threads drawn so far: minus their place, and if answered."""

    def add(self, account: str, thread: str, answered: bool) -> None:
        """A thread mentions an account."""
        self.threads[account] += 1
        text = f"{self._seed}\\0{account}\\0{thread}".encode()
        place = int.from_bytes(blake2b(text, digest_size=7).digest(), "big")
        self._draw(account, (-place, answered))

    def _draw(self, account: str, ticket: tuple[int, bool]) -> None:
        heap = self.drawn.setdefault(account, [])
        if len(heap) < self._size:
            heapq.heappush(heap, ticket)
        else:
            heapq.heappushpop(heap, ticket)

    def save(self) -> bytes:
        """As bytes, for `merge`."""
        return msgspec.msgpack.encode((self.threads, self.drawn))

    def merge(self, saved: bytes) -> None:
        """Add the activity of other threads."""
        threads, drawn = msgspec.msgpack.decode(
            saved, type=tuple[dict[str, int], dict[str, list[tuple[int, bool]]]]
        )
        self.threads.update(threads)
        for account, tickets in drawn.items():
            for ticket in tickets:
                self._draw(account, ticket)

    def judge(self, accounts: Mapping[str, Account], least: float) -> list[Account]:
        """Say of each account whether it is active: it answered at least this share."""
        for key, account in accounts.items():
            answers = [answered for _, answered in self.drawn.get(key, [])]
            account.threads = self.threads[key]
            account.sampled, account.answered = len(answers), sum(answers)
            account.active = bool(answers) and account.answered >= least * account.sampled
        return [*accounts.values()]


def read_accounts(path: Path) -> list[Account]:
    """Accounts from a file: a name a line, or JSONL as `dialeval mine active` writes it."""
    found = []
    with opened(path) as stream:
        for number, line in enumerate(stream):
            text = line.strip()
            if not text:
                continue
            try:
                if text.startswith(b"{"):
                    found.append(msgspec.json.decode(text, type=Account))
                else:
                    found.append(Account(text.decode()))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                place, said = f"line {number + 1}", f"no account ({error})"
                raise DataError(str(path), place, said, "a name, or a record with one") from None
    if not found:
        raise DataError(str(path), "", "no accounts", "at least one")
    return found
