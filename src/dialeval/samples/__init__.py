"""Small collections that the project wrote itself, for a first look and for tests.

Helpdesk dialogues in English and Chinese with 19 votes each, and posts with answers on which five
people answered ten questions, two of them some twice. The votes are simulated
(`tools/simulate_votes.py`): figures on them show how things work, not how good they are.
"""

from __future__ import annotations

from importlib import resources

from dialeval.core.collection import Collection
from dialeval.core.decode_collection import decode_collection
from dialeval.core.errors import unknown_name
from dialeval.core.records import Origin, split_records
from dialeval.core.rubric import load_rubric

# By name: the file, which begins with the rubric's name.
SAMPLES = {
    "en": "helpdesk-en.jsonl",
    "zh": "helpdesk-zh.jsonl",
    "questionnaire": "questionnaire-en.jsonl",
}


def sample(name: str) -> Collection:
    """A sample with simulated votes: `en` or `zh` (helpdesk dialogues), or `questionnaire`.

    >>> len(sample("zh")), len(sample("questionnaire"))
    (30, 24)
    """
    if name not in SAMPLES:
        raise unknown_name("sample", name, SAMPLES)
    file = SAMPLES[name]
    content = (resources.files("dialeval") / "samples" / file).read_bytes()
    records = split_records(content, file, "jsonl")
    rubric = load_rubric(file.rpartition("-")[0])
    return decode_collection(records, Origin(file, lines=True), rubric)
