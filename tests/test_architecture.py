"""The map of packages holds: each imports only from those above it."""

from __future__ import annotations

import ast
from pathlib import Path

import dialeval

PACKAGE = Path(dialeval.__file__).parent

# In the order of CONTRIBUTING.md: a package imports only from packages before it.
ORDER = [
    "core",
    "engine",
    "rubrics",
    "samples",
    "measures",
    "agreement",
    "stats",
    "predictors",
    "chatbots",
    "mine",
    "report",
    "server",
    "cli",
]


def imports(file: Path) -> set[str]:
    """The packages of ours that a module imports anywhere in it, functions included."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "dialeval" and len(parts) > 1:
                found.add(parts[1])
    return found


def test_packages_import_only_from_above() -> None:
    seen = 0
    for package in sorted(p for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"):
        assert package.name in ORDER, f"{package.name} is not on the map"
        allowed = set(ORDER[: ORDER.index(package.name) + 1]) | {"__version__"}
        for file in package.rglob("*.py"):
            seen += 1
            below = imports(file) - allowed
            assert not below, f"{file.relative_to(PACKAGE)} imports {', '.join(below)}"
    assert seen > 20


def test_no_rubric_words_outside_rubrics() -> None:
    """Code must work for any rubric, so it may not know the labels of one."""
    words = ("CNUG", "HNUG", "HNaN", "CNaN", '"nugget"', '"customer"', '"helpdesk"]')
    words += ('"L0"', '"L1"', '"L2"', '"fluent"', '"poster"', '"chatbot"', '"syntax"', '"logic"')
    for file in PACKAGE.rglob("*.py"):
        if file.parent.name in ("cli", "samples"):
            continue  # presets and examples
        tree = ast.parse(file.read_text())
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if id(node) in docstrings:
                    continue
                assert not any(word in f'"{node.value}"' for word in words), (file, node.value)
