"""Official results: the runs that count, compared over the whole collection, and published."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session, joinedload

from dialeval import __version__
from dialeval.core.errors import DialevalError
from dialeval.report.provenance import Provenance
from dialeval.report.results import Comparison, Results, compare_language
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_request, not_found
from dialeval.server.scoring import read_collection, read_run, task_rubric, unzipped
from dialeval.server.services.counting import recount_task
from dialeval.server.services.events import record
from dialeval.server.services.leaderboard import latest_publication, run_label, shown_scores
from dialeval.server.services.tasks import gold_of, task_in
from dialeval.server.tables import (
    Publication,
    PublishedFile,
    Submission,
    SubmissionFile,
    Task,
)
from dialeval.stats.contest import Settings
from dialeval.stats.groups import group_letters

REPORT = "report.html"


@dataclass(frozen=True)
class Finalist:
    """A run in the official results."""

    run: str
    team: str
    kind: str
    submitted_at: str
    sha256: str
    content: bytes


@dataclass(frozen=True)
class Field:
    """All finalists of a language, with the collection as its row keeps it."""

    collection: bytes
    finalists: Sequence[Finalist]


def publish(context: Context, actor: Actor, slug: str, *, seed: int = 0) -> Publication:
    """Compare the runs that count over the whole collection, and publish the results.

    A team's runs of the final phase count; a team that has none there is in with those of the
    development phase. The comparison runs in a process of its own, so that the server goes on
    answering; only when it is done is anything written.
    """
    with context.database.read() as session:
        task = task_in(session, slug)
        fields = {
            row.language: Field(row.content, _finalists(session, task, row.language))
            for row in task.collections
        }
    fields = {language: field for language, field in fields.items() if len(field.finalists) > 1}
    if not fields:
        raise bad_request("no language has two runs that count, and results compare runs")
    settings = Settings(trials=context.settings.trials, seed=seed)
    try:
        job = _comparing().submit(
            compare_fields, task.rubric, fields, settings, task.reference, task.title
        )
        boards, files = job.result()
    except BrokenProcessPool:  # somebody ended the process, or memory ran out
        _comparing.cache_clear()
        detail = "the comparison was cut off; nothing was changed, try again later"
        raise Problem(503, "unavailable", detail) from None
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        publication = Publication(task_id=task.id, created_at=context.now(), boards=boards)
        session.add(publication)
        session.flush()
        session.add_all(
            PublishedFile(publication_id=publication.id, path=path, content=content)
            for path, content in files.items()
        )
        task.version += 1
        detail = ", ".join(
            f"{language} {len(field.finalists)} runs" for language, field in fields.items()
        )
        record(session, context.now(), task.id, str(actor), "publish results", detail)
    return publication


@lru_cache
def _comparing() -> ProcessPoolExecutor:
    """One at a time; a fresh process each, which leaves no memory behind."""
    return ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)


def _finalists(session: Session, task: Task, language: str) -> list[Finalist]:
    final = [p.id for p in task.phases if p.kind == "final"]
    query = (
        select(Submission)
        .options(joinedload(Submission.team))
        .where(
            Submission.task_id == task.id,
            Submission.language == language,
            Submission.counting,
        )
        .order_by(Submission.id)
    )
    counting = [*session.scalars(query)]
    in_final = {s.team_id for s in counting if s.phase_id in final}
    chosen = [s for s in counting if s.phase_id in final or s.team_id not in in_final]
    names: dict[str, int] = {}
    finalists = []
    for submission in chosen:
        team = submission.team
        label = run_label(team.name, submission.name, team.baseline, task.entries)
        names[label] = names.get(label, 0) + 1
        if names[label] > 1:
            label = f"{label} ({names[label]})"
        file = session.get_one(SubmissionFile, submission.id)
        finalists.append(
            Finalist(
                label,
                team.name,
                "baseline" if team.baseline else "team",
                submission.created_at.isoformat(),
                submission.sha256,
                file.content,
            )
        )
    return finalists


def compare_fields(
    rubric: str, fields: Mapping[str, Field], settings: Settings, reference: bool, title: str
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The boards by language, and the files of the report by their paths."""
    comparisons = []
    boards: dict[str, Any] = {}
    known = task_rubric(rubric)
    for language, field in fields.items():
        gold = read_collection(field.collection, known, title)
        runs = {f.run: read_run(unzipped(f.content), known, f.run) for f in field.finalists}
        comparison = compare_language(runs, gold, settings, language=language)
        comparisons.append(comparison)
        boards[language] = _board(comparison, field.finalists)
    options = {"test": settings.test, "trials": settings.trials, "alpha": settings.alpha}
    inputs = {
        f"{language}/{f.run}": f.sha256 for language, fd in fields.items() for f in fd.finalists
    }
    provenance = Provenance(__version__, settings.seed, {"task": title, **options}, inputs)
    teams = {f.run: f.team for field in fields.values() for f in field.finalists}
    results = Results(comparisons, settings, provenance, reference, teams)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results.report(folder, ["svg"], dialogues=False)
        paths = [path for path in folder.rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return boards, files


def _board(comparison: Comparison, finalists: Sequence[Finalist]) -> list[dict[str, Any]]:
    scores: dict[str, dict[str, float]] = {f.run: {} for f in finalists}
    groups: dict[str, dict[str, str]] = {f.run: {} for f in finalists}
    for one in comparison.contests:
        letters = group_letters(one.p, one.alpha)
        for run, mean, letter in zip(one.runs, one.means.tolist(), letters, strict=True):
            scores[run][one.column] = mean
            groups[run][one.column] = letter
    return [
        {
            "run": f.run,
            "team": f.team,
            "kind": f.kind,
            "submitted_at": f.submitted_at,
            "scores": shown_scores(scores[f.run]),
            "groups": groups[f.run],
        }
        for f in finalists
    ]


def is_published(context: Context, task: Task) -> bool:
    """Whether there are official results."""
    with context.database.read() as session:
        return latest_publication(session, task) is not None


def published(context: Context, actor: Actor, slug: str) -> tuple[Task, Publication, list[str]]:
    """The official results of a task, and the paths of their files."""
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        publication = latest_publication(session, task)
        if publication is None:
            raise not_found("result: nothing is published yet")
        query = select(PublishedFile.path).where(PublishedFile.publication_id == publication.id)
        return task, publication, sorted(session.scalars(query))


def published_file(context: Context, actor: Actor, slug: str, path: str) -> bytes:
    """A file of the official results."""
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        publication = latest_publication(session, task)
        if publication is not None:
            file = session.get(PublishedFile, (publication.id, path))
            if file is not None:
                return file.content
    raise not_found("file")


def rescore(context: Context, actor: Actor, slug: str) -> tuple[int, int]:
    """Score all submissions of a task anew; how many there are, and how many changed.

    All scores are worked out first and then written together, so that a leaderboard never mixes
    old ones and new ones.
    """
    with context.database.read() as session:
        task = task_in(session, slug)
        rows = session.execute(
            select(Submission.id, Submission.language, Submission.phase_id, Submission.scores)
            .where(Submission.task_id == task.id)
            .order_by(Submission.id)
        ).all()
        kinds = {phase.id: phase.kind for phase in task.phases}
        changed: list[dict[str, Any]] = []
        for id, language, phase_id, before in rows:
            gold = gold_of(context, task, language)
            content = unzipped(session.get_one(SubmissionFile, id).content)
            run = read_run(content, gold.collection.rubric, "submission")
            session.expunge_all()
            try:
                scores = gold.score(run, whole=kinds[phase_id] == "final")
            except DialevalError as error:
                raise Problem(
                    409, "conflict", f"submission {id} cannot be scored: {error}"
                ) from None
            if scores != before:
                changed.append({"id": id, "scores": scores})
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        if changed:
            session.execute(update(Submission), changed)
        recount_task(session, task)
        task.version += 1
        detail = f"{len(changed)} of {len(rows)} changed"
        record(session, context.now(), task.id, str(actor), "rescore", detail)
    return len(rows), len(changed)
