"""Writing rubrics, in the TOML that `load_rubric` reads."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dialeval.core.rubric import Rubric, parse_rubric


def rubric_toml(rubric: Rubric) -> str:
    """A rubric as TOML: what it says of itself, then a table a criterion.

    >>> from dialeval.core.rubric import load_rubric
    >>> rubric_toml(load_rubric("helpdesk")).splitlines()[1]
    'speakers = ["customer", "helpdesk"]'
    """
    fields = _said(rubric)
    criteria = [_said(criterion) for criterion in rubric.criteria]
    fields.pop("criteria")
    blocks = ["\n".join(_lines(fields))]
    blocks += ["\n".join(["[[criteria]]", *_lines(criterion)]) for criterion in criteria]
    text = "\n\n".join(blocks) + "\n"
    parse_rubric(text.encode(), f"{rubric.name}.toml")  # a form that contradicts itself is none
    return text


def _said(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields that are not as they are by themselves."""
    values = msgspec.to_builtins(struct)
    said: dict[str, Any] = {
        field.name: values[field.name]
        for field in msgspec.structs.fields(struct)
        if field.required or values[field.name]
    }
    return said


def _lines(fields: dict[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in fields.items()]


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    """A value on one line; a string as JSON writes it, which TOML reads."""
    if isinstance(value, dict):
        said = {k: v for k, v in value.items() if v is not None}  # TOML has no word for None
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in said.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON leaves DEL as it is, which TOML does not allow.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
