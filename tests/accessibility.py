"""axe-core on a page: what it finds that keeps people out."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any


@cache
def axe() -> str:
    """The script, as the package axe-playwright-python brings it."""
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text()


def faults(page: Any) -> list[str]:
    """Serious and critical faults: what, where, and why. `evaluate` runs beside the page's CSP."""
    page.evaluate(axe())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{page.url}: {violation['id']} at {' '.join(map(str, node['target']))}: "
        f"{node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
