"""What goes over the wire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from dialeval.server.services.leaderboard import Board, shown_scores
from dialeval.server.services.submissions import Quota
from dialeval.server.services.tasks import Kind, Rule, Visibility, is_open
from dialeval.server.tables import Event, Publication, Submission, Task, Team

EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def _text(value: str) -> str:
    if "\x00" in value:
        raise ValueError("text holds no zero bytes")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("text holds whole characters, no lone surrogates") from None
    return value


def _moment(value: datetime) -> datetime:
    if (
        not EARLIEST.replace(tzinfo=None)
        <= value.replace(tzinfo=None)
        <= LATEST.replace(tzinfo=None)
    ):
        raise ValueError("a date lies between 2000 and 2200")
    return value.astimezone(UTC)


Text = Annotated[str, AfterValidator(_text)]
Moment = Annotated[AwareDatetime, AfterValidator(_moment)]
Offset = Annotated[int, Field(ge=0, le=1_000_000_000)]
Limit = Annotated[int, Field(ge=1, le=1000)]


class In(BaseModel):
    """A request: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid")


class ProblemOut(BaseModel):
    """Why a request is refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    place: str | None = None
    found: str | None = None
    expected: str | None = None


class Information(In):
    """What a team tells of itself; all of it may be left out."""

    organisation: Annotated[Text, Field(max_length=200)] = ""
    contact: Annotated[Text, Field(max_length=200)] = ""
    members: Annotated[Text, Field(max_length=500)] = ""
    website: Annotated[Text, Field(max_length=200)] = ""


class TeamIn(Information):
    """A registration."""

    name: Annotated[Text, Field(min_length=1, max_length=60)]

    def information(self) -> dict[str, str]:
        """Everything but the name."""
        return {name: value for name, value in self.model_dump().items() if name != "name"}


class TeamOut(BaseModel):
    """A team, as itself and organisers see it."""

    name: str
    baseline: bool
    information: dict[str, Any]
    created_at: datetime

    @classmethod
    def of(cls, team: Team) -> TeamOut:
        return cls(
            name=team.name,
            baseline=team.baseline,
            information=team.information,
            created_at=team.created_at,
        )


class TokenOut(BaseModel):
    """A token, shown this once."""

    name: str
    token: str


class OrganiserIn(In):
    """The use of an invitation."""

    invitation: Annotated[Text, Field(max_length=200)]
    name: Annotated[Text, Field(max_length=60)]
    password: Annotated[Text, Field(max_length=500)]


class PasswordIn(In):
    """An organiser's name and password."""

    name: Annotated[Text, Field(max_length=60)]
    password: Annotated[Text, Field(max_length=500)]


class InvitationOut(BaseModel):
    """A link that makes one organiser."""

    path: str


class PhaseIn(In):
    """A phase. The development phase scores a half that stays secret, the final one all."""

    opens_at: Moment
    closes_at: Moment | None = None
    daily: Annotated[int, Field(ge=1, le=1_000_000)] = 5
    total: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    visibility: Visibility = "public"


class PhaseOut(BaseModel):
    """A phase and whether it is open."""

    kind: Kind
    opens_at: datetime
    closes_at: datetime | None
    daily: int
    total: int
    visibility: Visibility
    open: bool


class RulesIn(In):
    """What can be said of a task; what is left out stays."""

    title: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    description: Annotated[Text, Field(max_length=20_000)] | None = None
    time_zone: Annotated[Text, Field(max_length=60)] | None = None
    visible: bool | None = None
    rule: Rule | None = None
    best_by: Annotated[Text, Field(max_length=100)] | None = None
    entries: Annotated[int, Field(ge=1, le=100)] | None = None
    reference: bool | None = None


class TaskIn(RulesIn):
    """A new task."""

    slug: Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
    rubric: Annotated[Text, Field(max_length=60)] | dict[str, Any] = "helpdesk"
    """The name of a built-in rubric, or a whole one."""


class LanguageOut(BaseModel):
    """A language of a task."""

    language: str
    dialogues: int


class TaskOut(BaseModel):
    """A task as anybody sees it."""

    slug: str
    title: str
    description: str
    time_zone: str
    visible: bool
    rule: Rule
    best_by: str
    entries: int
    reference: bool
    languages: list[LanguageOut]
    phases: list[PhaseOut]

    @classmethod
    def of(cls, task: Task, moment: datetime) -> TaskOut:
        plain = ("slug", "title", "description", "time_zone", "visible", "rule", "best_by")
        return cls(
            **{name: getattr(task, name) for name in plain},
            entries=task.entries,
            reference=task.reference,
            languages=[
                LanguageOut(language=c.language, dialogues=c.dialogues) for c in task.collections
            ],
            phases=[phase_out(phase, moment) for phase in task.phases],
        )


def phase_out(phase: Any, moment: datetime) -> PhaseOut:
    """A phase as anybody sees it."""
    names = ("kind", "opens_at", "closes_at", "daily", "total", "visibility")
    return PhaseOut(**{name: getattr(phase, name) for name in names}, open=is_open(phase, moment))


class QuotaOut(BaseModel):
    """What is left of a team's quota in the open phase."""

    daily: int
    total: int
    used_today: int
    used: int
    left: int

    @classmethod
    def of(cls, quota: Quota) -> QuotaOut:
        return cls(**vars(quota), left=quota.left)


class SubmissionOut(BaseModel):
    """A submission as its team sees it. Scores are to four decimals; lower is better."""

    id: str
    task: str
    team: str
    name: str
    description: str
    phase: Kind
    language: str
    created_at: datetime
    status: str
    reason: str
    listed: bool
    chosen: bool
    counting: bool | None
    """None while scores are hidden and the best run counts: it would tell which one that is."""
    scores: dict[str, float] | None
    """None while the phase keeps them hidden."""
    remarks: list[str]
    sha256: str

    @classmethod
    def of(cls, submission: Submission, *, organiser: bool = False) -> SubmissionOut:
        plain = ("name", "description", "language", "created_at", "status", "reason")
        flags = ("listed", "chosen", "sha256")
        hidden = submission.phase.visibility == "hidden" and not organiser
        return cls(
            **{name: getattr(submission, name) for name in (*plain, *flags)},
            id=submission.key,
            task=submission.task.slug,
            team=submission.team.name,
            phase=submission.phase.kind,  # type: ignore[arg-type]
            counting=None if hidden and submission.task.rule == "best" else submission.counting,
            scores=None if hidden else shown_scores(submission.scores),
            remarks=submission.remarks.splitlines(),
        )


class SubmissionsOut(BaseModel):
    """A page of submissions, newest first."""

    total: int
    submissions: list[SubmissionOut]


class SubmissionPatch(In):
    """What a team changes about a run of its own."""

    listed: bool | None = None
    chosen: bool | None = None


class ReasonIn(In):
    """Why."""

    reason: Annotated[Text, Field(min_length=1, max_length=1000)]


class EntryOut(BaseModel):
    """A row of a leaderboard."""

    rank: int | None
    run: str
    team: str
    kind: str
    scores: Mapping[str, float]
    mean_rank: float | None
    groups: Mapping[str, str]
    submitted_at: datetime | None


class BoardOut(BaseModel):
    """A leaderboard. `official` ones carry groups: runs that share a letter do not differ."""

    task: str
    phase: Kind
    language: str
    sort: str
    columns: list[str]
    official: bool
    closed: bool
    total: int
    entries: list[EntryOut]

    @classmethod
    def of(cls, board: Board) -> BoardOut:
        return cls(
            task=board.task.slug,
            phase=board.phase,  # type: ignore[arg-type]
            language=board.language,
            sort=board.sort,
            columns=[*board.columns],
            official=board.official,
            closed=board.closed,
            total=board.total,
            entries=[EntryOut(**vars(entry)) for entry in board.entries],
        )


class RescoredOut(BaseModel):
    """How many submissions were scored anew, and how many changed."""

    submissions: int
    changed: int


class ResultsOut(BaseModel):
    """Official results: the boards by language, and the files of the report."""

    task: str
    published_at: datetime
    boards: dict[str, Any]
    files: list[str]

    @classmethod
    def of(cls, task: Task, publication: Publication, files: list[str]) -> ResultsOut:
        return cls(
            task=task.slug,
            published_at=publication.created_at,
            boards=publication.boards,
            files=files,
        )


class EventOut(BaseModel):
    """Something that was done."""

    at: datetime
    actor: str
    action: str
    detail: str

    @classmethod
    def of(cls, event: Event) -> EventOut:
        return cls(at=event.at, actor=event.actor, action=event.action, detail=event.detail)
