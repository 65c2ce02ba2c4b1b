"""Where the fields of a post stand in a record, and a decoder that reads just these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec

from dialeval.core.errors import UsageError

FIELDS = ("id", "thread", "author", "text", "time", "reply_to", "mentions")


class Fields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where each field of a post stands in its record: `user.name` inside an object, `names[].name`
    inside objects of a list. Empty: nowhere."""

    id: str = "id"
    thread: str = "thread"
    author: str = "author"
    text: str = "text"
    time: str = "time"
    reply_to: str = "reply_to"
    mentions: str = "mentions"


_NAME: Any = str | int
_TYPES: dict[str, Any] = {
    "id": _NAME,
    "author": _NAME,
    "text": str | None,
    "time": str | int | float,
    "thread": _NAME | None,
    "reply_to": _NAME | None,
    "mentions": list[str] | None,
}
_OPTIONAL = frozenset({"thread", "reply_to", "mentions"})
_Step = tuple[str, bool]
"""An attribute, and whether it is a list of objects."""


def post_decoder(
    fields: Fields,
) -> tuple[msgspec.json.Decoder[Any], dict[str, Callable[[Any], Any]]]:
    """A decoder of records that reads the fields of a post alone, and how to get at each.

    >>> decoder, get = post_decoder(Fields(author="user.name", mentions="names[].name"))
    >>> post = decoder.decode(
    ...     '{"id": 1, "text": "a", "time": 2, "user": {"name": "Li"}, "names": [{"name": "B"}]}'
    ... )
    >>> get["author"](post), get["mentions"](post), get["thread"](post)
    ('Li', ['B'], None)
    """
    tree: dict[str, Any] = {}
    for name in FIELDS:
        path = getattr(fields, name)
        if path:
            _plant(tree, path, name)
        elif name not in _OPTIONAL:
            raise UsageError(f"field {name}: every post must have one")
    getters: dict[str, Callable[[Any], Any]] = {}
    return msgspec.json.Decoder(_struct(tree, (), getters)), getters


def _plant(tree: dict[str, Any], path: str, name: str) -> None:
    """Put a field into the tree of objects that its path goes through."""
    *above, last = path.split(".")
    for step in above:
        if isinstance(tree.setdefault(step, {}), str):
            raise _taken(name, path)
        tree = tree[step]
    if last in tree:
        raise _taken(name, path)
    tree[last] = name


def _taken(name: str, path: str) -> UsageError:
    return UsageError(f"field {name}: {path!r} is taken by another field")


def _struct(
    tree: dict[str, Any], above: tuple[_Step, ...], getters: dict[str, Callable[[Any], Any]]
) -> Any:
    """The type of the objects of one level, which `above` leads to."""
    required, optional = [], []
    rename = {}
    for place, (key, value) in enumerate(tree.items()):
        many = key.endswith("[]")
        attribute, steps = f"f{place}", (*above, (f"f{place}", many))
        rename[attribute] = key.removesuffix("[]")
        if isinstance(value, str):
            inside_list = any(step[1] for step in above)
            kind: Any = str | None if inside_list else _TYPES[value]
            may_lack = inside_list or value in _OPTIONAL
            getters[value] = (
                attrgetter(attribute) if len(steps) == 1 else partial(_follow, steps=steps)
            )
        else:
            kind = _struct(value, steps, getters)
            kind = list[kind] if many else kind
            may_lack = _leaves(value) <= _OPTIONAL
            kind = kind | None if may_lack else kind
        if may_lack:
            optional.append((attribute, kind, None))
        else:
            required.append((attribute, kind))
    return msgspec.defstruct("Record", [*required, *optional], rename=rename, gc=False)


def _leaves(tree: dict[str, Any]) -> set[str]:
    names: set[str] = set()
    for value in tree.values():
        names |= {value} if isinstance(value, str) else _leaves(value)
    return names


def _follow(value: Any, steps: tuple[_Step, ...]) -> Any:
    """What stands at the end of steps; None where one of them leads nowhere."""
    for place, (attribute, many) in enumerate(steps):
        if value is None:
            return None
        value = getattr(value, attribute)
        if many:
            found = [_follow(item, steps[place + 1 :]) for item in value or ()]
            return [item for item in found if item is not None]
    return value
