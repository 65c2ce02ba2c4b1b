"""Submissions: scored at once, counted against the quota in the transaction that keeps them."""

from __future__ import annotations

import hashlib
import secrets
import threading
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from math import ceil

from sqlalchemy import Integer, Select, bindparam, cast, func, insert, select, update
from sqlalchemy.orm import Session, joinedload

from dialeval.core.errors import DialevalError
from dialeval.server.actor import Actor
from dialeval.server.context import Context
from dialeval.server.problems import Problem, bad_file, bad_request, not_found
from dialeval.server.scoring import Gold, read_run, unpacked, unzipped
from dialeval.server.services.accounts import baseline_team, clean_name
from dialeval.server.services.counting import SCORED, recount
from dialeval.server.services.events import record
from dialeval.server.services.tasks import (
    collection_in,
    gold_of,
    open_phase,
    phase_of,
    task_in,
    zone_of,
)
from dialeval.server.tables import Phase, Submission, SubmissionFile, Task, Team

WITHDRAWN, DISQUALIFIED = "withdrawn", "disqualified"
FASTEST = 1
"""zlib's level for the files of submissions: the others take longer than scoring does."""

_packing = ThreadPoolExecutor(2, "packing")
_scoring = threading.Lock()
"""One at a time: threads that score side by side only take the interpreter from each other."""

# Every submission runs these, and to build a statement takes longer than to run it.
_USED = select(
    func.count(), func.coalesce(func.sum(cast(Submission.day == bindparam("today"), Integer)), 0)
).where(Submission.team_id == bindparam("team"), Submission.phase_id == bindparam("phase"))
_SENT = (
    select(func.count())
    .select_from(Submission)
    .where(Submission.team_id == bindparam("team"), Submission.task_id == bindparam("task"))
)
_HOLD_TEAM = select(Team).where(Team.id == bindparam("team")).with_for_update()
_KEEP_FILE = insert(SubmissionFile)
_TOUCH = update(Task).where(Task.id == bindparam("task")).values(version=Task.version + 1)


@dataclass(frozen=True)
class Upload:
    """What a team sends with a file."""

    language: str
    content: bytes
    name: str = ""
    description: str = ""
    listed: bool = True
    idempotency_key: str | None = None


@dataclass(frozen=True)
class Quota:
    """What a team has used of a phase's quota, and what is left."""

    daily: int
    total: int
    used_today: int
    used: int

    @property
    def left(self) -> int:
        """How many more can be sent now."""
        return max(0, min(self.daily - self.used_today, self.total - self.used))


def submit(context: Context, actor: Actor, slug: str, upload: Upload) -> tuple[Submission, bool]:
    """Score a file and keep it; whether it is new, or the same request again.

    The file is checked and scored first, outside any transaction, so a refused one costs nothing.
    Then one transaction holds the team and the task, looks for the idempotency key, counts the
    quota and inserts the row with its scores: no two requests of a team can pass the quota
    together, and there is never a row without scores. Whoever holds both takes the team first.
    """
    sent, content = upload.content, unpacked(upload.content, context.settings.body_limit)
    upload = replace(upload, content=content, name=clean_name(upload.name) if upload.name else "")
    sha256 = hashlib.sha256(content).hexdigest()
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        if repeated := _repeated(session, actor, slug, upload, sha256):
            return repeated, False
        phase = _phase_for_submissions(task, context.now())
        moment = context.now()
        _check_quota(quota_in(session, task, phase, actor.id, moment), task, moment)
        gold = gold_of(context, task, upload.language)
        revision = collection_in(task, upload.language).revision
    packing = _packing.submit(_packed, sent, content)
    scored = _scored(gold, upload, whole=phase.kind == "final")
    packed = packing.result()
    with context.database.write() as session:
        team = session.scalars(_HOLD_TEAM, {"team": actor.id}).one()
        if repeated := _repeated(session, actor, slug, upload, sha256):
            return repeated, False
        moment = context.now()
        task = task_in(session, slug, actor=actor, lock=True)
        if _phase_for_submissions(task, moment).id != phase.id:
            raise Problem(409, "phase-closed", "the phase changed while the file was scored")
        _check_quota(quota_in(session, task, phase, actor.id, moment), task, moment)
        if collection_in(task, upload.language).revision != revision:  # votes were replaced
            gold = gold_of(context, task, upload.language)
            scored = _scored(gold, upload, whole=phase.kind == "final")
        submission = _kept(session, task, phase, team, upload, moment, sha256, packed, scored)
        recount(session, task, submission, added=True)
        touch(session, task)
    return submission, True


def submit_baseline(context: Context, actor: Actor, slug: str, upload: Upload) -> Submission:
    """A baseline's run, from an organiser: listed in every phase, no quota."""
    content = unpacked(upload.content, context.settings.body_limit)
    upload = replace(upload, content=content, listed=True)
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        if not task.phases:
            raise bad_request("the task needs a phase first")
        gold = gold_of(context, task, upload.language)
    results = {
        phase.id: _scored(gold, upload, whole=phase.kind == "final") for phase in task.phases
    }
    packed = _packed(content, content)
    with context.database.write() as session:
        task = task_in(session, slug, lock=True)
        team = baseline_team(session, context, upload.name)
        moment, sha256 = context.now(), hashlib.sha256(content).hexdigest()
        for phase in (p for p in task.phases if p.id in results):
            scored = results[phase.id]
            submission = _kept(session, task, phase, team, upload, moment, sha256, packed, scored)
            recount(session, task, submission, added=True)
        task.version += 1
        record(session, moment, task.id, str(actor), "add a baseline", team.name)
    return submission


def _packed(sent: bytes, content: bytes) -> bytes:
    """The file as it is kept: gzip as it came, or packed by zlib."""
    return zlib.compress(content, FASTEST) if sent is content else sent


def _scored(gold: Gold, upload: Upload, *, whole: bool) -> tuple[dict[str, float], str]:
    with _scoring:
        run = read_run(upload.content, gold.collection.rubric, upload.name or "submission")
        try:
            return gold.score(run, whole=whole), "\n".join(run.remarks)
        except DialevalError as error:
            raise bad_file(error) from None


def _kept(
    session: Session,
    task: Task,
    phase: Phase,
    team: Team,
    upload: Upload,
    moment: datetime,
    sha256: str,
    packed: bytes,
    scored: tuple[dict[str, float], str],
) -> Submission:
    scores, remarks = scored
    submission = Submission(
        key=secrets.token_hex(12),
        task=task,
        phase=phase_of(task, phase.kind),
        team=team,
        language=upload.language,
        name=upload.name or f"run{_number(session, task, team)}",
        description=upload.description,
        created_at=moment,
        day=moment.astimezone(zone_of(task)).date(),
        listed=upload.listed,
        status=SCORED,
        idempotency_key=upload.idempotency_key,
        sha256=sha256,
        scores=scores,
        remarks=remarks,
    )
    session.add(submission)
    session.flush()
    file = {"submission_id": submission.id, "content": packed}
    session.connection().execute(_KEEP_FILE, file)
    return submission


def _number(session: Session, task: Task, team: Team) -> int:
    return 1 + (session.scalar(_SENT, {"team": team.id, "task": task.id}) or 0)


def _repeated(
    session: Session, actor: Actor, slug: str, upload: Upload, sha256: str
) -> Submission | None:
    """The submission that an earlier request with the same idempotency key made."""
    if upload.idempotency_key is None:
        return None
    query = _with_names().where(
        Submission.team_id == actor.id, Submission.idempotency_key == upload.idempotency_key
    )
    earlier = session.scalar(query)
    if earlier is None:
        return None
    if (earlier.task.slug, earlier.sha256, earlier.language) != (slug, sha256, upload.language):
        raise Problem(409, "conflict", "the idempotency key was used for another file or task")
    return earlier


def touch(session: Session, task: Task) -> None:
    """Let leaderboards know. By statement: nobody's change of the counter is lost."""
    session.flush()
    session.connection().execute(_TOUCH, {"task": task.id})


def _phase_for_submissions(task: Task, moment: datetime) -> Phase:
    phase = open_phase(task.phases, moment)
    if phase is not None:
        return phase
    opening = [p for p in task.phases if p.opens_at > moment]
    if opening:
        detail = f"the {opening[0].kind} phase opens at {opening[0].opens_at:%Y-%m-%d %H:%M} UTC"
    else:
        detail = "no phase of the task is open"
    raise Problem(409, "phase-closed", detail)


def quota_in(session: Session, task: Task, phase: Phase, team_id: int, moment: datetime) -> Quota:
    """What a team has used: every submission that was scored, whatever became of it since."""
    today: date = moment.astimezone(zone_of(task)).date()
    given = {"team": team_id, "phase": phase.id, "today": today}
    used, used_today = session.execute(_USED, given).one()
    return Quota(phase.daily, phase.total, int(used_today), int(used))


def _check_quota(quota: Quota, task: Task, moment: datetime) -> None:
    if quota.left:
        return
    more = {"daily": quota.daily, "total": quota.total, "used": quota.used}
    if quota.used >= quota.total:
        raise Problem(429, "quota", f"all {quota.total} submissions of this phase are used", **more)
    zone = zone_of(task)
    tomorrow = moment.astimezone(zone).date() + timedelta(days=1)
    midnight = datetime.combine(tomorrow, time(), zone)
    more["retry_after"] = ceil((midnight - moment).total_seconds())
    detail = (
        f"all {quota.daily} submissions of today are used; the day ends at midnight in "
        f"{task.time_zone}"
    )
    raise Problem(429, "quota", detail, **more)


def quota_of(context: Context, actor: Actor, slug: str) -> Quota | None:
    """A team's quota in the phase that is open; None if none is."""
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        phase = open_phase(task.phases, context.now())
        if phase is None:
            return None
        return quota_in(session, task, phase, actor.id, context.now())


def submissions_of(
    context: Context, actor: Actor, slug: str, offset: int = 0, limit: int = 100
) -> tuple[Sequence[Submission], int]:
    """A team's own submissions, or all of them for an organiser, newest first; and how many."""
    with context.database.read() as session:
        task = task_in(session, slug, actor=actor)
        wanted = [Submission.task_id == task.id]
        if not actor.is_organiser:
            wanted.append(Submission.team_id == actor.id)
        total = session.scalar(select(func.count()).select_from(Submission).where(*wanted)) or 0
        query = _with_names().where(*wanted).order_by(Submission.id.desc())
        return [*session.scalars(query.offset(offset).limit(limit))], total


def find_submission(context: Context, actor: Actor, key: str) -> Submission:
    """A submission that this actor may see: a team its own, an organiser any."""
    with context.database.read() as session:
        return _own(session, actor, key)


def file_of(context: Context, actor: Actor, key: str) -> tuple[Submission, bytes]:
    """The file as it was sent."""
    with context.database.read() as session:
        submission = _own(session, actor, key)
        file = session.get_one(SubmissionFile, submission.id)
    return submission, unzipped(file.content)


def change_submission(
    context: Context,
    actor: Actor,
    key: str,
    *,
    listed: bool | None = None,
    chosen: bool | None = None,
) -> Submission:
    """A team lists or hides its run, or chooses it as the one that counts, or not any more."""
    with context.database.write() as session:
        submission = _own_for_change(session, actor, key)
        task = submission.task
        if submission.status != SCORED:
            raise Problem(409, "conflict", f"the submission is {submission.status}")
        if listed is not None:
            submission.listed = listed
            submission.chosen = submission.chosen and listed
        if chosen is not None:
            if chosen and not submission.listed:
                raise Problem(409, "conflict", "a run that is not listed cannot be chosen")
            if chosen:
                _make_room(session, task, submission)
            submission.chosen = chosen
        recount(session, task, submission)
        touch(session, task)
        what = ", ".join(
            f"{name} {value}"
            for name, value in (("listed", listed), ("chosen", chosen))
            if value is not None
        )
        detail = f"{submission.team.name} {submission.name}: {what}"
        record(session, context.now(), task.id, str(actor), "change a submission", detail)
    return submission


def _make_room(session: Session, task: Task, submission: Submission) -> None:
    """Let the oldest choice go, if the task takes no more of them."""
    query = select(Submission).where(
        Submission.team_id == submission.team_id,
        Submission.phase_id == submission.phase_id,
        Submission.language == submission.language,
        Submission.chosen,
        Submission.id != submission.id,
    )
    others = [*session.scalars(query.order_by(Submission.id))]
    for other in others[: max(0, len(others) - task.entries + 1)]:
        other.chosen = False


def withdraw(context: Context, actor: Actor, key: str) -> Submission:
    """A team takes its run back. The quota it cost stays used."""
    return _set_status(context, actor, key, WITHDRAWN, "")


def disqualify(context: Context, actor: Actor, key: str, reason: str) -> Submission:
    """An organiser takes a run out, for a reason that its team can read."""
    if not reason.strip():
        raise bad_request("say why the submission is disqualified")
    return _set_status(context, actor, key, DISQUALIFIED, reason.strip()[:1000])


def reinstate(context: Context, actor: Actor, key: str) -> Submission:
    """An organiser lets a disqualified run in again."""
    return _set_status(context, actor, key, SCORED, "")


def _set_status(context: Context, actor: Actor, key: str, status: str, reason: str) -> Submission:
    before = DISQUALIFIED if status == SCORED else SCORED
    with context.database.write() as session:
        submission = _own_for_change(session, actor, key)
        if submission.status != before:
            raise Problem(409, "conflict", f"the submission is {submission.status}")
        submission.status, submission.reason = status, reason
        submission.chosen = False
        recount(session, submission.task, submission)
        touch(session, submission.task)
        detail = f"{submission.team.name} {submission.name}: {status}"
        if reason:
            detail += f" ({reason})"
        task_id = submission.task_id
        record(session, context.now(), task_id, str(actor), "change a submission", detail)
    return submission


def _with_names() -> Select[Submission]:
    return select(Submission).options(
        joinedload(Submission.team), joinedload(Submission.phase), joinedload(Submission.task)
    )


def _own(session: Session, actor: Actor, key: str) -> Submission:
    submission = session.scalar(_with_names().where(Submission.key == key))
    if submission is None or not (actor.is_organiser or submission.team_id == actor.id):
        raise not_found("submission")
    return submission


def _own_for_change(session: Session, actor: Actor, key: str) -> Submission:
    """The same, and its team and task held: what counts is worked out over the team's rows."""
    submission = _own(session, actor, key)
    session.get_one(Team, submission.team_id, with_for_update=True, populate_existing=True)
    task_in(session, submission.task.slug, lock=True, fresh=True)
    session.refresh(submission)
    return submission
