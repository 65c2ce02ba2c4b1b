"""Small collections that the project wrote itself, for a first look and for tests.

Helpdesk dialogues in English and Chinese with 19 votes each. The votes are simulated
(`tools/simulate_votes.py`): figures on them show how things work, not how good they are.
"""

from __future__ import annotations

from importlib import resources

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import decode_collection
from dialeval.core.errors import unknown_name
from dialeval.core.records import Origin, split_records
from dialeval.core.rubric import load_rubric

LANGUAGES = ("en", "zh")


def sample(language: str) -> Collection:
    """The sample of a language, `en` or `zh`, with simulated votes.

    >>> len(sample("zh"))
    30
    """
    if language not in LANGUAGES:
        raise unknown_name("sample", language, LANGUAGES)
    name = f"helpdesk-{language}.jsonl"
    content = (resources.files("dialeval") / "samples" / name).read_bytes()
    records = split_records(content, name, "jsonl")
    return decode_collection(records, Origin(name, lines=True), load_rubric("helpdesk"))
