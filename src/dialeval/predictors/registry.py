"""Predictors by name: ours, the systems of the campaigns, and those of other packages.

A package adds one with an entry point in the group `dialeval.predictors`:

    [project.entry-points."dialeval.predictors"]
    my-model = "my_package:MyPredictor"
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from dialeval.core.errors import UsageError, unknown_name
from dialeval.predictors.predictor import Predictor
from dialeval.predictors.systems.recipes import RECIPES

ENTRY_POINTS = "dialeval.predictors"

_OURS = {
    "uniform": "dialeval.predictors.baselines:Uniform",
    "popularity": "dialeval.predictors.baselines:Popularity",
    "fast": "dialeval.predictors.recurrent:Fast",
    "accurate": "dialeval.predictors.recurrent:Accurate",
}


def _others() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def names() -> tuple[str, ...]:
    """The names of all predictors that can be had."""
    return tuple(dict.fromkeys([*_OURS, *RECIPES, *_others()]))


def get(name: str) -> type[Predictor]:
    """The predictor class of this name, imported only now.

    >>> get("uniform").__name__
    'Uniform'
    """
    if name in _OURS:
        module, _, attribute = _OURS[name].partition(":")
        found = getattr(import_module(module), attribute)
    elif name in RECIPES:
        found = import_module("dialeval.predictors.systems.system").system(name)
    else:
        others = _others()
        if name not in others:
            raise unknown_name("model", name, [*_OURS, *RECIPES, *others])
        found = others[name].load()
    if not (isinstance(found, type) and issubclass(found, Predictor)):
        raise UsageError(f"model {name!r} is a {type(found).__name__}, expected a Predictor class")
    return found
