"""Make the sample collections: the drafts in tools/sample/ with 19 simulated votes each.

    python tools/simulate_votes.py

A draft holds, beside the turns, what people would say on average (quality) and how likely each
label is (nugget). Each simulated annotator is more or less lenient, and noisy. The votes are
simulated: nobody judged these dialogues.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from dialeval.core.collection import Collection
from dialeval.core.dialogue import Dialogue, Turn
from dialeval.core.encode import save
from dialeval.core.rubric import Rubric, load_rubric

ROOT = Path(__file__).resolve().parent.parent
ANNOTATORS = 19
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


if __name__ == "__main__":
    for seed, language in enumerate(("en", "zh")):
        name = f"helpdesk-{language}.jsonl"
        lines = (ROOT / "tools/sample" / name).read_text().splitlines()
        collection = simulate([json.loads(line) for line in lines], load_rubric("helpdesk"), seed)
        save(collection, ROOT / "src/dialeval/samples" / name)
