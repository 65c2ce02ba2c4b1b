"""The demo: a task on the project's own sample, with teams and runs of the past days.

Everything goes through the services, with a clock that is turned back, so what a visitor clicks
through came about as it would on a real server. Runs are mixtures of baselines with noise.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec
import numpy as np
from sqlalchemy import select

from dialeval.core.collection import Collection
from dialeval.core.encode import collection_records, run_records
from dialeval.core.errors import MissingExtraError, UsageError
from dialeval.core.rubric import load_rubric
from dialeval.core.run import Distributions
from dialeval.predictors.baselines import Popularity, Uniform
from dialeval.predictors.bundled import Bundled
from dialeval.predictors.predictor import run_of
from dialeval.samples import sample
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.services import accounts, submissions, tasks
from dialeval.server.settings import Rate
from dialeval.server.tables import Organiser, Task

SLUG = "demo"
ORGANISER = "demo"
OWN_TEAM = "Demo team"
LANGUAGES = ("en", "zh")
DAY = timedelta(days=1)
DESCRIPTION = """\
Predict how 19 people judge a helpdesk dialogue: the distribution of their votes on each criterion.

This is a demo on 30 English and 30 Chinese dialogues that come with dialeval. The votes are
simulated, and the teams and their runs are made up: mixtures of the baselines with noise.
"""


@dataclass(frozen=True)
class Plan:
    """A team of the demo: how many runs it sends in each language, and how far it gets."""

    team: str
    runs: int
    skill: float
    """What its last run has of the best mixture; the rest is uniform."""
    languages: tuple[str, ...] = LANGUAGES
    first_day: float = 7
    """How many days ago its first run was."""
    noise: float = 0.35
    dialogues_only: bool = False
    """Whether it predicts no turns."""


PLANS = (
    Plan("Blue Lantern", 5, 0.9),
    Plan("Quiet Harbour", 4, 0.75, first_day=6.4, noise=0.2),
    Plan("Paper Boat", 4, 0.8, first_day=5.7, dialogues_only=True),
    Plan("Night Shift", 4, 0.7, languages=("zh",), first_day=6.1),
    Plan("Tall Pines", 2, 0.5, first_day=4.2, noise=0),
    Plan("Second Opinion", 2, 0.5, languages=("en",), first_day=3.8, noise=0),  # ties with it
    Plan(OWN_TEAM, 2, 0.3, languages=("en",), first_day=3.3, noise=0.5),
)


@dataclass(frozen=True)
class Sending:
    """A run to be sent at some moment."""

    at: datetime
    plan: Plan
    number: int
    language: str

    @property
    def share(self) -> float:
        """What the run has of the best mixture: teams get better."""
        return self.plan.skill * (1 + self.number) / self.plan.runs


def make_demo(context: Context) -> list[str]:
    """Fill a new server, once; what to tell the person who started it."""
    with context.database.read() as session:
        if session.scalar(select(Task.id).where(Task.slug == SLUG)) is not None:
            return ["The demo is there from an earlier start, with its passwords."]
        if session.scalar(select(Organiser.id).limit(1)) is not None:
            raise UsageError("--demo fills a new server, and this one has an organiser already")
    today = context.now()
    past = _at(context, today - 9 * DAY)
    password = secrets.token_urlsafe(12)
    organiser = accounts.join(past, accounts.invite(past), ORGANISER, password, "demo")
    collections = {language: sample(language) for language in LANGUAGES}
    models = {language: _predicted(gold) for language, gold in collections.items()}
    _make_task(past, organiser, collections, today)
    for language, gold in collections.items():
        for name in ("uniform", "popularity"):
            content = _file(gold, models[language][name])
            upload = submissions.Upload(language, content, f"BL-{name}")
            submissions.submit_baseline(past, organiser, SLUG, upload)
    teams = {plan.team: accounts.register_team(past, plan.team, {}, "demo") for plan in PLANS}
    for sending in _sendings(today):
        gold = collections[sending.language]
        mixture = _mixture(gold, models[sending.language], sending)
        row, _ = teams[sending.plan.team]
        team = Actor("team", row.id, row.name)
        _send(_at(context, sending.at), organiser, team, sending, _file(gold, mixture))
    return [
        f"The demo's organiser: {ORGANISER}, password {password}",
        f"The token of the team {OWN_TEAM}: {teams[OWN_TEAM][1]}",
    ]


def _at(context: Context, moment: datetime) -> Context:
    """The same server at another time, which lets so many teams register."""
    settings = replace(context.settings, registrations=Rate(len(PLANS), 1), sign_ins=Rate(1, 1))
    return replace(context, now=lambda: moment, settings=settings)


def _make_task(
    context: Context, organiser: Actor, collections: Mapping[str, Collection], today: datetime
) -> None:
    rules = tasks.Rules("Helpdesk dialogues (demo)", DESCRIPTION, reference=True)
    tasks.create_task(context, organiser, SLUG, load_rubric("helpdesk"), rules)
    for language, gold in collections.items():
        content = msgspec.json.encode([*collection_records(gold)])
        tasks.put_collection(context, organiser, SLUG, language, content, None)
    middle = today + 14 * DAY
    development = tasks.PhaseRules(today - 8 * DAY, middle)
    tasks.set_phase(context, organiser, SLUG, "development", development)
    final = tasks.PhaseRules(middle, middle + 7 * DAY)
    tasks.set_phase(context, organiser, SLUG, "final", final)
    tasks.change_task(context, organiser, SLUG, tasks.Rules(visible=True))


def _predicted(gold: Collection) -> dict[str, dict[str, Distributions]]:
    """What is mixed, by name; `fast` stands in for itself where it cannot run."""
    found = {
        "uniform": Uniform().predict_distributions(gold),
        "popularity": Popularity().predict_distributions(gold),
    }
    try:
        found["fast"] = Bundled("fast").predict_distributions(gold)
    except MissingExtraError:
        found["fast"] = found["uniform"]
    return found


def _sendings(today: datetime) -> list[Sending]:
    """All runs in the order of time, none in the last day: today's quota is whole."""
    found = []
    for plan in PLANS:
        step = (plan.first_day - 1.2) / max(1, plan.runs - 1)
        for number in range(plan.runs):
            moment = today - (plan.first_day - step * number) * DAY
            found += [Sending(moment, plan, number, language) for language in plan.languages]
    return sorted(found, key=lambda sending: sending.at)


def _mixture(
    gold: Collection, models: Mapping[str, Mapping[str, Distributions]], sending: Sending
) -> dict[str, Distributions]:
    plan = sending.plan
    random = np.random.default_rng([PLANS.index(plan), sending.number])
    mixed = {}
    for criterion in gold.rubric.criteria:
        if plan.dialogues_only and criterion.scope == "turn":
            continue
        uniform, popular, fast = (
            models[name][criterion.id] for name in ("uniform", "popularity", "fast")
        )
        values = (1 - sending.share) * uniform + sending.share * (popular + fast) / 2
        values = values * np.exp(plan.noise * random.standard_normal(values.shape))
        mixed[criterion.id] = values / values.sum(axis=1, keepdims=True)
    return mixed


def _file(gold: Collection, predicted: dict[str, Distributions]) -> bytes:
    return msgspec.json.encode([*run_records(run_of("demo", gold, predicted))])


def _send(
    context: Context, organiser: Actor, team: Actor, sending: Sending, content: bytes
) -> None:
    """Submit a run; some are hidden, one is withdrawn and one disqualified."""
    last = sending.number == sending.plan.runs - 1
    hidden = team.name == "Night Shift" and last
    upload = submissions.Upload(sending.language, content, listed=not hidden)
    sent, _ = submissions.submit(context, team, SLUG, upload)
    if team.name == "Quiet Harbour" and sending.number == 1:
        submissions.withdraw(context, team, sent.key)
    if team.name == "Blue Lantern" and last and sending.language == LANGUAGES[0]:
        reason = "made up for the demo: the model had seen the test dialogues"
        submissions.disqualify(context, organiser, sent.key, reason)
