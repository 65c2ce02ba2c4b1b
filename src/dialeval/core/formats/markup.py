"""HTML as plain text: what a reader of the page sees, one line a block."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_BLOCKS = {"p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"}
_HIDDEN = {"script", "style", "head", "title"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.hidden += tag in _HIDDEN
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in _HIDDEN and self.hidden > 0
        if tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.pieces.append(re.sub(r"\s+", " ", data))


def plain_text(html: str) -> str:
    """The text of a piece of HTML.

    >>> plain_text("<p>It&#39;s <b>broken</b></p><p>Help<br>please</p>")
    "It's broken\\nHelp\\nplease"
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (line.strip() for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)
