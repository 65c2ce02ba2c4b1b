"""Reading what a retrieval chatbot needs: pairs to answer from, and posts to answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dialeval.chatbots.retrieval import RetrievalChatbot
from dialeval.core.errors import DataError, shown
from dialeval.core.records import check_new
from dialeval.core.rows import field, read_rows, text_of


def read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Pairs from rows with the fields `post` and `comment`."""
    origin, rows = read_rows(path)
    for number, row in rows:
        yield text_of(row, "post", number, origin), text_of(row, "comment", number, origin)


def read_posts(path: Path) -> list[tuple[str, str]]:
    """Ids and texts of posts, from rows with the fields `id` and `post`."""
    origin, rows = read_rows(path)
    posts: list[tuple[str, str]] = []
    seen: dict[str, int] = {}
    for number, row in rows:
        id = field(row, "id", number, origin)
        if not isinstance(id, str | int):
            raise origin.error(number, ".id", shown(id), "a string")
        check_new(str(id), number, seen, origin)
        posts.append((str(id), text_of(row, "post", number, origin)))
    if not posts:
        raise DataError(origin.source, "", "no posts", "at least one")
    return posts


def load_chatbot(repository: Path) -> RetrievalChatbot:
    """A chatbot over a file of pairs, or over the index in a folder."""
    if repository.is_dir():
        return RetrievalChatbot.load(repository)
    pairs = [*read_pairs(repository)]
    if not pairs:
        raise DataError(str(repository), "", "no pairs", "at least one")
    return RetrievalChatbot().fit(pairs)
