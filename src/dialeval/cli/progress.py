"""How far a command is, on standard error, for people only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def steps_shown() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each step; it is told the step, and how many tasks of how many are done."""
    if not sys.stderr.isatty():
        yield lambda _step, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    bars: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:

        def show(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = progress.add_task(step, total=total)
            progress.update(bars[step], completed=done)

        yield show
