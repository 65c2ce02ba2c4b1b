"""What the tests in a real browser share."""

from __future__ import annotations

from typing import Any

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


class Watched:
    """A page that notes what went wrong in it and what it fetched."""

    def __init__(self, browser: Any, width: int = 1280, scheme: str = "light") -> None:
        self.width, self.scheme = width, scheme
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _on_console(self, message: Any) -> None:
        # A page that says why a form was refused has a status of 4xx, which Chromium notes.
        refused = "the server responded with a status of 4" in message.text
        if message.type != "verbose" and not refused:
            self.problems.append(message.text)

    def refuse_dialogs(self) -> None:
        """A dialog that opens is a problem: a script ran."""
        self.page.on("dialog", lambda d: (self.problems.append("a dialog"), d.dismiss()))

    def check(self) -> None:
        """No errors, nothing sticks out sideways, and the colours follow the theme."""
        assert self.problems == []
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= self.width, f"{self.page.url} is {wide} wide"
        paper = self.page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in paper[4:-1].split(","))
        assert brightness > 600 if self.scheme == "light" else brightness < 200
