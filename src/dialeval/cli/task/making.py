"""How organisers make a task: rules, data, phases, baselines."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialeval.cli.options import (
    LOCAL_SERVER,
    InsecureOption,
    JsonOption,
    LanguageOption,
    RubricOption,
    ServerOption,
    SlugArgument,
    TokenOption,
)

if TYPE_CHECKING:
    from dialeval.cli.client import Client
    from dialeval.core.rubric import Rubric


class Rule(StrEnum):
    """Which runs of a team count."""

    best = "best"
    last = "last"
    chosen = "chosen"


class Kind(StrEnum):
    """The phases of a task."""

    development = "development"
    final = "final"


class Visibility(StrEnum):
    """Who sees scores while a phase runs: everybody, the team its own, or organisers only."""

    public = "public"
    team = "team"
    hidden = "hidden"


PERIOD = "START..END, dates or times in the task's time zone; now.. opens at once, without end."
CollectionsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--collection", metavar="LANGUAGE=FILE", help="Dialogues with votes; may be repeated."
    ),
]
DescriptionOption = Annotated[
    str | None, typer.Option("--description", help="What the task is about; @FILE reads it there.")
]
TimeZoneOption = Annotated[
    str | None, typer.Option("--time-zone", help="Where days change, such as Asia/Tokyo.")
]
RuleOption = Annotated[Rule | None, typer.Option("--rule", help="Which runs of a team count.")]
BestByOption = Annotated[
    str | None, typer.Option("--best-by", help="The measure of --rule best, such as A.nmd.")
]
EntriesOption = Annotated[
    int | None, typer.Option("--entries", min=1, max=100, help="How many runs of a team count.")
]
ReferenceOption = Annotated[
    bool | None,
    typer.Option("--reference/--no-reference", help="Show published results beside the runs."),
]
VisibleOption = Annotated[
    bool | None, typer.Option("--visible/--hidden", help="Whether everybody sees the task.")
]
DailyOption = Annotated[int | None, typer.Option("--daily", min=1, help="Submissions a day.")]
TotalOption = Annotated[int | None, typer.Option("--total", min=1, help="Submissions in all.")]
VisibilityOption = Annotated[
    Visibility | None, typer.Option("--visibility", help="Who sees scores during the phase.")
]


def create(
    task: SlugArgument,
    title: Annotated[str, typer.Option("--title", help="The task's name for people.")],
    collection: CollectionsOption = None,
    rubric: RubricOption = "helpdesk",
    description: DescriptionOption = None,
    time_zone: TimeZoneOption = None,
    development: Annotated[str | None, typer.Option("--development", help=PERIOD)] = None,
    final: Annotated[str | None, typer.Option("--final", help=PERIOD)] = None,
    daily: DailyOption = None,
    total: TotalOption = None,
    visibility: VisibilityOption = None,
    rule: RuleOption = None,
    best_by: BestByOption = None,
    entries: EntriesOption = None,
    reference: ReferenceOption = None,
    visible: VisibleOption = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: make a task from collections with votes. All files are checked first.

    Example: dialeval task create dialeval-2 --title DialEval-2 --collection en=test_en.json
    --development 2026-01-05..2026-01-31 --final 2026-02-01..2026-02-07 --visible
    """
    from dialeval.cli.client import organiser_client
    from dialeval.core.errors import DialevalError, UsageError
    from dialeval.core.rubric import load_rubric

    found = load_rubric(rubric)
    contents = _collections(collection or [], found)
    quotas = {"daily": daily, "total": total, "visibility": visibility}
    phases = {
        kind: _phase(text, time_zone or "UTC", quotas)
        for kind, text in ((Kind.development, development), (Kind.final, final))
        if text is not None
    }
    if visible and not (contents and phases):
        raise UsageError("--visible: a task that everybody sees needs a --collection and a phase")
    client = organiser_client(server, token, insecure)
    rules = _rules(title, description, time_zone, None, rule, best_by, entries, reference)
    client.send("POST", "tasks", {"slug": task, "rubric": _sent(rubric, found), **rules})
    try:
        _put_collections(client, task, contents)
        for kind, phase in phases.items():
            client.send("PUT", f"tasks/{task}/phases/{kind}", phase)
        if visible:
            client.send("PATCH", f"tasks/{task}", {"visible": True})
    except DialevalError as error:
        raise UsageError(
            f"{error}; the task {task} is there, hidden: dialeval task change and phase finish it"
        ) from None
    _show(client, task, json)


def change(
    task: SlugArgument,
    title: Annotated[str | None, typer.Option("--title", help="The name for people.")] = None,
    collection: CollectionsOption = None,
    description: DescriptionOption = None,
    time_zone: TimeZoneOption = None,
    rule: RuleOption = None,
    best_by: BestByOption = None,
    entries: EntriesOption = None,
    reference: ReferenceOption = None,
    visible: VisibleOption = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: change a task; what is left out stays. After new votes, rescore.

    Example: dialeval task change dialeval-2 --rule chosen --entries 3
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.core.rubric import parse_rubric

    client = organiser_client(server, token, insecure)
    rules = _rules(title, description, time_zone, visible, rule, best_by, entries, reference)
    if collection:
        import msgspec

        sent = client.get(path_of("tasks", task, "rubric"))
        rubric = parse_rubric(msgspec.json.encode(sent), "rubric.json")
        _put_collections(client, task, _collections(collection, rubric))
    if rules:
        client.send("PATCH", path_of("tasks", task), rules)
    _show(client, task, json)


def phase(
    task: SlugArgument,
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="development or final.")],
    period: Annotated[
        str | None, typer.Argument(metavar="[START..END]", help=PERIOD, show_default=False)
    ] = None,
    daily: DailyOption = None,
    total: TotalOption = None,
    visibility: VisibilityOption = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: add a phase to a task, or change it; what is left out stays.

    Example: dialeval task phase dialeval-2 final 2026-02-01..2026-02-07 --daily 2
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.core.errors import UsageError

    client = organiser_client(server, token, insecure)
    found = client.get(path_of("tasks", task))
    before = next((p for p in found["phases"] if p["kind"] == kind), None)
    if before is None and period is None:
        raise UsageError(f"the task has no {kind} phase yet: say START..END")
    keys = ("opens_at", "closes_at", "daily", "total", "visibility")
    value = {key: before[key] for key in keys} if before else {}
    quotas = {"daily": daily, "total": total, "visibility": visibility}
    if period is not None:
        value |= _phase(period, found["time_zone"], quotas)
    else:
        value |= _given(quotas)
    client.send("PUT", path_of("tasks", task, "phases", kind), value)
    _show(client, task, json)


def close(
    task: SlugArgument,
    kind: Annotated[
        Kind | None, typer.Argument(metavar="[KIND]", help="The open one.", show_default=False)
    ] = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: end the open phase now.

    Example: dialeval task close dialeval-2
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.core.errors import UsageError

    client = organiser_client(server, token, insecure)
    wanted = str(kind) if kind else None
    if wanted is None:
        phases = client.get(path_of("tasks", task))["phases"]
        wanted = next((p["kind"] for p in phases if p["open"]), None)
    if wanted is None:
        raise UsageError("no phase of the task is open")
    client.send("POST", path_of("tasks", task, "phases", wanted, "close"))
    _show(client, task, json)


def baseline(
    task: SlugArgument,
    name: Annotated[str, typer.Option("--name", help="Such as BL-uniform.")],
    submission: Annotated[Path, typer.Option("-s", "--submission", help="The baseline's run.")],
    language: LanguageOption,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: put a baseline's run on every leaderboard of a task. Costs no quota.

    Example: dialeval task baseline dialeval-2 --name BL-uniform -s uniform.json --language english
    """
    from dialeval.cli.client import Refused, about_file, organiser_client, path_of, read_upload
    from dialeval.cli.output import print_json, print_table
    from dialeval.cli.submit import score_rows

    content = read_upload(submission)
    client = organiser_client(server, token, insecure)
    path = path_of("tasks", task, "baselines")
    try:
        answer = client.send("POST", path, body=content, name=name, language=language)
    except Refused as refused:
        raise about_file(refused, submission) from None
    if json:
        print_json(answer)
        return
    title = f"Scores ({task}, {answer['language']}, {answer['phase']} phase)"
    rows = score_rows(answer["team"], answer["scores"])
    print_table(title, ["measure", "baseline", "mean"], rows, numbers=(2,))


def _rules(
    title: str | None,
    description: str | None,
    time_zone: str | None,
    visible: bool | None,
    rule: Rule | None,
    best_by: str | None,
    entries: int | None,
    reference: bool | None,
) -> dict[str, Any]:
    if description is not None and description.startswith("@"):
        from dialeval.core.files import opened

        with opened(Path(description[1:])) as stream:
            description = stream.read().decode(errors="replace")
    return _given(
        {
            "title": title,
            "description": description,
            "time_zone": time_zone,
            "visible": visible,
            "rule": rule,
            "best_by": best_by,
            "entries": entries,
            "reference": reference,
        }
    )


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _sent(name: str, rubric: Rubric) -> Any:
    """A built-in rubric by its name, another one whole."""
    import msgspec

    from dialeval.core.rubric import built_in_rubrics

    return name if name in built_in_rubrics() else msgspec.to_builtins(rubric)


def _collections(given: list[str], rubric: Rubric) -> dict[str, tuple[Path, bytes]]:
    """By language: the file and what is sent of it, read and checked."""
    from dialeval.cli.client import BODY_LIMIT, language_code, packed, read_upload
    from dialeval.core.decode_collection import load
    from dialeval.core.errors import DataError, UsageError

    found: dict[str, tuple[Path, bytes]] = {}
    for text in given:
        language, equals, name = text.partition("=")
        if not (language and equals and name):
            raise UsageError(f"--collection: found {text!r}, expected LANGUAGE=FILE")
        path, code = Path(name), language_code(language)
        if code in found:
            raise UsageError(f"--collection: found {code} twice, expected one file a language")
        content = packed(read_upload(path, limit=None))
        if not load(path, rubric).votes:
            raise DataError(str(path), "", "no votes", "a collection with annotations")
        if len(content) > BODY_LIMIT:
            expected = f"at most {BODY_LIMIT >> 20} MB compressed"
            raise DataError(str(path), "", f"{len(content) >> 20} MB", expected)
        found[code] = path, content
    return found


def _put_collections(client: Client, task: str, contents: dict[str, tuple[Path, bytes]]) -> None:
    from dialeval.cli.client import LONG, Refused, about_file, path_of

    for language, (path, content) in contents.items():
        where = path_of("tasks", task, "collections", language)
        try:
            client.send("PUT", where, body=content, timeout=LONG)
        except Refused as refused:
            raise about_file(refused, path) from None


def _phase(period: str, time_zone: str, quotas: dict[str, Any]) -> dict[str, Any]:
    """A phase as it is sent."""
    from dialeval.core.errors import UsageError

    start, dots, end = (part.strip() for part in period.partition(".."))
    if not dots or not start:
        raise UsageError(f"found {period!r}, expected START..END, such as 2026-01-05..2026-01-31")
    opens = moment_of(start, time_zone)
    closes = moment_of(end, time_zone, end=True) if end else None
    return {
        "opens_at": opens.isoformat(),
        "closes_at": closes.isoformat() if closes else None,
        **_given(quotas),
    }


def moment_of(text: str, time_zone: str, *, end: bool = False) -> datetime:
    """A date or time as people write it. A date that ends something is meant whole.

    >>> moment_of("2026-01-05 09:30", "Asia/Tokyo").isoformat()
    '2026-01-05T09:30:00+09:00'
    >>> moment_of("2026-01-31", "UTC", end=True).isoformat()
    '2026-02-01T00:00:00+00:00'
    """
    from datetime import UTC, timedelta
    from zoneinfo import ZoneInfo

    from dialeval.core.errors import UsageError

    if text == "now":
        return datetime.now(UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"found {text!r}, expected a date such as 2026-01-31, or now") from None
    if end and len(text) <= len("2026-01-31"):
        found += timedelta(days=1)
    if found.tzinfo is not None:
        return found
    try:
        return found.replace(tzinfo=ZoneInfo(time_zone))
    except (OSError, ValueError, KeyError):
        raise UsageError(f"unknown time zone {time_zone!r}, such as Asia/Tokyo") from None


def _show(client: Client, task: str, json: bool) -> None:
    from dialeval.cli.client import path_of
    from dialeval.cli.output import print_json
    from dialeval.cli.task.reading import print_task

    found = client.get(path_of("tasks", task))
    if json:
        print_json(found)
    else:
        print_task(found)
