"""Make the sample collections: the drafts in tools/sample/ with simulated votes.

    python tools/simulate_votes.py

A draft holds, beside the turns, what people would say on average (quality) and how likely each
label is (nugget). Each simulated annotator is more or less lenient, and noisy. A draft for the
questionnaire holds the questions that most answer with yes, and those on which they are divided;
two of its annotators answer some of it twice. The votes are simulated: nobody judged these
dialogues.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dialeval.core.collection import NO_VOTE, Collection
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.encode import save
from dialeval.core.rubric import Rubric, load_rubric

ROOT = Path(__file__).resolve().parent.parent
ANNOTATORS = 19
RATERS = 5
MATTERS_OF_TASTE = ("casual", "earnest")
LENIENCY, NOISE, SHARED_NOISE = 0.35, 0.55, 0.45


def simulate(drafts: list[dict], rubric: Rubric, seed: int) -> Collection:
    random = np.random.default_rng(seed)
    leniency = random.normal(0, LENIENCY, ANNOTATORS)
    strictness = random.beta(2, 12, ANNOTATORS)
    dialogues = [
        Dialogue(
            draft["id"],
            tuple(Turn(turn["sender"], tuple(turn["utterances"])) for turn in draft["turns"]),
            {"votes": "simulated"},
        )
        for draft in drafts
    ]
    votes: dict[str, list] = {criterion.id: [] for criterion in rubric.criteria}
    for draft in drafts:
        impression = leniency + random.normal(0, SHARED_NOISE, ANNOTATORS)
        for criterion in rubric.of_dialogues:
            opinion = draft["quality"][criterion.id] + impression
            opinion = opinion + random.normal(0, NOISE, ANNOTATORS)
            scores = np.clip(np.rint(opinion), -2, 2).astype(int)
            votes[criterion.id].append([criterion.codes[int(score)] for score in scores])
        nugget = rubric.criterion("nugget")
        for turn, expected in zip(draft["turns"], draft["nugget"], strict=True):
            own = nugget.columns_of(turn["sender"])
            chance = np.array([expected.get(nugget.columns[column], 0.0) for column in own])
            unhelpful = np.eye(len(own))[-1]  # the last label of each speaker: not a nugget
            votes["nugget"].append(
                [
                    random.choice(own, p=(1 - s) * chance / chance.sum() + s * unhelpful)
                    for s in strictness
                ]
            )
    arrays = {id: np.array(rows, np.int8) for id, rows in votes.items()}
    annotators = [str(a + 1) for a in range(ANNOTATORS)]
    return Collection(dialogues, rubric, arrays, annotators)


def simulate_answers(drafts: list[dict], rubric: Rubric, seed: int) -> Collection:
    random = np.random.default_rng(seed)
    dialogues = [
        Dialogue(
            draft["id"],
            tuple(Turn(turn["sender"], tuple(turn["utterances"])) for turn in draft["turns"]),
            {"votes": "simulated"},
        )
        for draft in drafts
    ]
    votes: dict[str, np.ndarray] = {}
    again: dict[str, np.ndarray] = {}
    for criterion in rubric.criteria:
        question = criterion.id.partition("-")[2]
        doubt = 0.3 if question in MATTERS_OF_TASTE else 0.05
        chance = np.array(
            [
                0.5 if question in d["maybe"] else 1 - doubt if question in d["yes"] else doubt
                for d in drafts
            ]
        )
        leaning = random.normal(0, 0.05, RATERS)
        yes = random.random((len(drafts), RATERS)) < chance[:, None] + leaning
        votes[criterion.id] = np.where(yes, 0, 1).astype(np.int8)
        changed = random.random(yes.shape) < 0.05 + doubt / 2
        twice = (np.arange(len(drafts)) < len(drafts) // 3)[:, None] & (np.arange(RATERS) < 2)
        second = np.where(yes ^ changed, 0, 1)
        again[criterion.id] = np.where(twice, second, NO_VOTE).astype(np.int8)
    raters = [f"r{a + 1}" for a in range(RATERS)]
    return Collection(dialogues, rubric, votes, raters, again=[again])


def drafts_of(name: str) -> list[dict]:
    lines = (ROOT / "tools/sample" / name).read_text().splitlines()
    return [json.loads(line) for line in lines]


if __name__ == "__main__":
    for seed, language in enumerate(("en", "zh")):
        name = f"helpdesk-{language}.jsonl"
        collection = simulate(drafts_of(name), load_rubric("helpdesk"), seed)
        save(collection, ROOT / "src/dialeval/samples" / name)
    name = "questionnaire-en.jsonl"
    collection = simulate_answers(drafts_of(name), load_rubric("questionnaire"), seed=2)
    save(collection, ROOT / "src/dialeval/samples" / name)
