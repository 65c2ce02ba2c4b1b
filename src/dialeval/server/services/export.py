"""Everything about a task in one ZIP file, for its organisers."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Sequence
from typing import IO, Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from dialeval.core.encode import collection_records, lines_of
from dialeval.server.context import Context
from dialeval.server.scoring import columns_of, task_rubric, unzipped
from dialeval.server.services.leaderboard import latest_publication
from dialeval.server.services.tasks import gold_of, task_in
from dialeval.server.tables import Event, PublishedFile, Submission, SubmissionFile, Task, Team

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(context: Context, slug: str, stream: IO[bytes]) -> None:
    """Write the task, its data with votes, all submissions, teams, events and results."""
    with (
        context.database.read() as session,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        task = task_in(session, slug)
        archive.writestr("task.json", _json(_described(task)))
        archive.writestr("rubric.json", task.rubric)
        for row in task.collections:
            gold = gold_of(context, task, row.language)
            lines = b"".join(lines_of(collection_records(gold.collection)))
            archive.writestr(f"data/{row.language}.jsonl", lines)
            half = [gold.collection.ids[place] for place in row.half]
            archive.writestr(f"data/{row.language}-half.json", _json(half))
        submissions = [
            *session.scalars(
                select(Submission)
                .options(joinedload(Submission.team), joinedload(Submission.phase))
                .where(Submission.task_id == task.id)
                .order_by(Submission.id)
            )
        ]
        archive.writestr("submissions.csv", _submissions(submissions, task))
        for submission in submissions:
            content = session.scalar(
                select(SubmissionFile.content).where(SubmissionFile.submission_id == submission.id)
            )
            archive.writestr(f"submissions/{submission.key}.json", unzipped(content or b""))
        archive.writestr("teams.csv", _teams({s.team.id: s.team for s in submissions}.values()))
        events = session.scalars(select(Event).where(Event.task_id == task.id).order_by(Event.id))
        rows = [(e.at.isoformat(), e.actor, e.action, e.detail) for e in events]
        archive.writestr("events.csv", _csv(("at", "who", "action", "detail"), rows))
        publication = latest_publication(session, task)
        if publication is not None:
            query = select(PublishedFile).where(PublishedFile.publication_id == publication.id)
            for file in session.scalars(query):
                archive.writestr(f"results/{file.path}", file.content)


def _described(task: Task) -> dict[str, Any]:
    rules = ("slug", "title", "description", "time_zone", "visible", "rule", "best_by", "entries")
    times = ("opens_at", "closes_at", "kind", "daily", "total", "visibility")
    phases = [{name: getattr(phase, name) for name in times} for phase in task.phases]
    return {**{name: getattr(task, name) for name in rules}, "phases": phases}


def _submissions(submissions: Iterable[Submission], task: Task) -> str:
    columns = columns_of(task_rubric(task.rubric))
    head = ["id", "team", "name", "phase", "language", "at", "status", "reason", "listed"]
    head += ["chosen", "counting", "sha256", *columns]
    rows = [
        [
            s.key,
            s.team.name,
            s.name,
            s.phase.kind,
            s.language,
            s.created_at.isoformat(),
            s.status,
            s.reason,
            s.listed,
            s.chosen,
            s.counting,
            s.sha256,
            *(s.scores.get(column) for column in columns),
        ]
        for s in submissions
    ]
    return _csv(head, rows)


def _teams(teams: Iterable[Team]) -> str:
    keys = ("organisation", "contact", "members", "website")
    rows = [
        (team.name, team.baseline, team.created_at.isoformat(), *map(team.information.get, keys))
        for team in teams
    ]
    return _csv(("name", "baseline", "registered", *keys), rows)


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets a quote before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)
