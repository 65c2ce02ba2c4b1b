"""Whatever bytes come in, nothing but the project's own error comes out."""

from __future__ import annotations

import json
import warnings
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dialeval.core.decode_collection import decode_collection
from dialeval.core.decode_run import parse_run
from dialeval.core.errors import DialevalError
from dialeval.core.records import Origin, split_records
from dialeval.core.rubric import load_rubric, parse_rubric
from dialeval.core.run import align
from dialeval.measures.evaluate import evaluate

RUBRIC = load_rubric("helpdesk")
LABELS = ["2", "0", "-2", "CNUG0", "CNUG*", "CNAN", "HNUG", "HNaN", "X"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(["customer", "helpdesk", "a", "b", *LABELS]),
    st.text(max_size=5),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(LABELS), inner, max_size=3)
    ),
    max_leaves=6,
)
distribution = st.one_of(
    st.dictionaries(st.sampled_from(LABELS), st.floats(0, 1), max_size=4), values
)
turn = st.one_of(
    st.fixed_dictionaries(
        {
            "sender": st.sampled_from(["customer", "helpdesk"]),
            "utterances": st.lists(st.text(max_size=3), max_size=2),
        }
    ),
    values,
)
annotation = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "annotator": scalars,
            "round": scalars,
            "quality": st.dictionaries(st.sampled_from("ASEX"), st.integers(-2, 2), max_size=3),
            "nugget": st.lists(st.sampled_from(LABELS[3:]), max_size=2),
        },
    ),
    values,
)
record = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(st.sampled_from("ab"), values),
        "turns": st.one_of(st.lists(turn, min_size=1, max_size=2), values),
        "annotations": st.one_of(st.lists(annotation, max_size=2), values),
        "quality": st.one_of(
            st.dictionaries(st.sampled_from("ASEX"), distribution, max_size=3), values
        ),
        "nugget": st.one_of(st.lists(distribution, max_size=2), values),
    },
)
documents = st.one_of(st.lists(st.one_of(record, values), max_size=3), values)
contents = st.one_of(
    documents.map(lambda value: json.dumps(value).encode()), st.binary(max_size=60)
)


def attempt(action: Any) -> Any:
    """The action's result, or None if it is refused; other errors come through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except DialevalError:
            return None


@settings(max_examples=1500, deadline=None)
@given(contents, contents, st.sampled_from(["json", "jsonl"]), st.booleans())
def test_no_input_raises_anything_else(
    first: bytes, second: bytes, format: Any, strict: bool
) -> None:
    origin = Origin("fuzz", lines=format == "jsonl")
    gold = attempt(lambda: decode_collection(split_records(first, "fuzz", format), origin, RUBRIC))
    run = attempt(lambda: parse_run(second, RUBRIC, "run", format=format, strict=strict))
    if gold is not None and run is not None:
        attempt(lambda: align(run, gold, "skip"))
        score = attempt(lambda: evaluate(run, gold, missing="skip"))
        if score is not None:
            assert all(value >= 0 for value in score.mean.values())


@settings(max_examples=300, deadline=None)
@given(contents, st.sampled_from([".json", ".toml"]))
def test_rubrics_too(content: bytes, ending: str) -> None:
    attempt(lambda: parse_rubric(content, f"fuzz{ending}"))
