"""`dialeval mine`: from posts to dialogues."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.cli.options import (
    EngineOption,
    JobsOption,
    JsonOption,
    PartsOption,
    RubricOption,
    SchedulerOption,
    SeedOption,
)

if TYPE_CHECKING:
    from dialeval.mine.accounts import Account
    from dialeval.mine.fields import Fields
    from dialeval.mine.pipeline import Mining, Report
    from dialeval.mine.settings import Settings


class Step(StrEnum):
    """What `dialeval mine` does: everything, or one step of it."""

    all = "all"
    accounts = "accounts"
    active = "active"
    threads = "threads"
    dialogues = "dialogues"


def command(
    posts: Annotated[
        list[Path],
        typer.Argument(
            metavar="POSTS...", help="Posts: .jsonl, .jsonl.gz, .parquet, or folders of them."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIALOGUES", help="A file, or a folder for parts."),
    ] = None,
    step: Annotated[
        Step, typer.Option("--step", help="One step alone; `dialogues` reads threads, not posts.")
    ] = Step.all,
    preset: Annotated[
        str,
        typer.Option("--preset", help="helpdesk, twitter, weibo, zendesk, or a .toml file."),
    ] = "helpdesk",
    fields: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="NAME=PATH", help="Where a field stands; repeatable."),
    ] = None,
    keywords: Annotated[
        list[str] | None,
        typer.Option("--keyword", help="A word in accounts' names, instead of the preset's."),
    ] = None,
    accounts: Annotated[
        Path | None,
        typer.Option("--accounts", metavar="FILE", help="Look for these instead: a name a line."),
    ] = None,
    sampled: Annotated[
        int, typer.Option("--sampled", min=1, help="Threads that tell if an account is active.")
    ] = 40,
    least: Annotated[
        float, typer.Option("--least", min=0, max=1, help="The share that active ones answer.")
    ] = 0.5,
    longest: Annotated[
        int, typer.Option("--longest", min=1, help="Drop posts with more characters.")
    ] = 100_000,
    rubric: RubricOption = "helpdesk",
    speakers: Annotated[
        str | None,
        typer.Option("--speakers", metavar="A,B", help="Initial poster and account in dialogues."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first bad post instead of counting it.")
    ] = False,
    seed: SeedOption = 0,
    parts: PartsOption = None,
    partition_size: Annotated[
        int, typer.Option("--partition-size", min=1, help="Bytes of posts that are read at once.")
    ] = 1 << 26,
    jobs: JobsOption = 1,
    engine: EngineOption = "local",
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
) -> None:
    """Mine dialogues with helpdesks from the posts of a microblog or a ticket system.

    Finds the accounts of helpdesks by their names, keeps those that answer, gathers the threads
    that mention them, and takes from each what the initial poster and the account say. Ends with a
    table of what each step kept and dropped, and why.

    Example: dialeval mine posts.jsonl --out dialogues.jsonl --jobs 2
    """
    from tempfile import TemporaryDirectory

    from dialeval.cli.output import print_json, progress_bar
    from dialeval.core.errors import UsageError
    from dialeval.engine import open_engine
    from dialeval.mine.accounts import read_accounts
    from dialeval.mine.fields import post_decoder
    from dialeval.mine.pipeline import Mining
    from dialeval.mine.settings import Settings, Sought, load_preset

    if out is None and step not in (Step.accounts, Step.active):
        raise UsageError(f"--step {step} needs --out: where to write")
    if step is Step.dialogues and accounts is None:
        raise UsageError("--step dialogues needs --accounts: the active ones")
    chosen = load_preset(preset)
    given = read_accounts(accounts) if accounts else []
    names = tuple(a.name for a in given if a.active is not False)
    settings = Settings(
        sought=Sought(names=names) if given else Sought(tuple(keywords or chosen.keywords)),
        speakers=_speakers(rubric, speakers),
        fields=_fields(chosen.fields, fields or []),
        tickets=chosen.tickets,
        sampled=sampled,
        least=least,
        longest=longest,
        seed=seed,
        strict=strict,
    )
    post_decoder(settings.fields)  # fields that cannot be are told before anything is read
    with (
        progress_bar() as show,
        open_engine(jobs, engine, scheduler) as workers,
        TemporaryDirectory() as folder,
    ):
        mining = Mining(posts, settings, workers, out or Path(folder) / step, show, partition_size)
        report = _mined(mining, step, out, parts, given)
    if json:
        print_json(report)
    else:
        _print(report, step, out)
    _warn(report, settings)


def _mined(
    mining: Mining, step: Step, out: Path | None, parts: str | None, given: list[Account]
) -> Report:
    from dialeval.core.errors import UsageError
    from dialeval.mine.pipeline import dialogues_at, threads_at, write_accounts

    if step in (Step.accounts, Step.active):
        if parts is not None:
            raise UsageError(f"--parts: --step {step} writes one file")
        report = mining.accounts() if step is Step.accounts else mining.active()
        if out is not None:
            write_accounts(report.accounts, out)
        return report
    assert out is not None
    if step is Step.threads:
        return mining.threads(threads_at(out, parts))
    if step is Step.dialogues:
        return mining.dialogues(dialogues_at(out, parts), given)
    return mining.all(dialogues_at(out, parts))


def _speakers(rubric: str, told: str | None) -> tuple[str, str]:
    """What the two sides are called: as told, or the rubric's speakers."""
    from dialeval.core.errors import UsageError
    from dialeval.core.rubric import load_rubric

    names = tuple(told.split(",")) if told is not None else load_rubric(rubric).speakers
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        found = ", ".join(names)
        raise UsageError(
            f"--speakers: found {found!r}, expected two: the initial poster, the account"
        )
    return names[0], names[1]


def _fields(preset: Fields, told: list[str]) -> Fields:
    """The preset's fields, but where told otherwise."""
    import msgspec

    from dialeval.core.errors import UsageError, unknown_name
    from dialeval.mine.fields import FIELDS

    changed = {}
    for one in told:
        name, equals, path = one.partition("=")
        if not equals:
            raise UsageError(f"--field: found {one!r}, expected NAME=PATH")
        name = name.replace("-", "_")
        if name not in FIELDS:
            raise unknown_name("field", name, FIELDS)
        changed[name] = path
    return msgspec.structs.replace(preset, **changed)


def _print(report: Report, step: Step, out: Path | None) -> None:
    from dialeval.cli.output import print_table

    if step in (Step.accounts, Step.active):
        _print_accounts(report.accounts, judged=step is Step.active)
    rows: list[list[str]] = []
    for name, counts in report.steps.items():
        if rows:
            rows.append([])
        lines = [("given", counts.given)]
        lines += [(f"dropped: {why}", count) for why, count in counts.dropped.items()]
        lines += [("kept", counts.kept)]
        lines += [(f"  with: {what}", count) for what, count in counts.noted.items()]
        for place, (what, count) in enumerate(lines):
            numbers = [f"{n:,}" if n else "" for n in (count.posts, count.threads, count.dialogues)]
            rows.append(["" if place else name, what, *numbers])
    columns = ["step", "", "posts", "threads", "dialogues"]
    print_table("What each step kept and dropped", columns, rows, numbers=(2, 3, 4))
    found = f"{len(report.accounts)} accounts"
    if step in (Step.all, Step.active, Step.threads):
        found += f", {sum(bool(a.active) for a in report.accounts)} of them active"
    print(f"{out}: {found}" if out else found)


def _print_accounts(accounts: list[Account], judged: bool) -> None:
    from dialeval.cli.output import print_table

    columns = ["account", "posts", "mentions"]
    rows = [[a.name, f"{a.posts:,}", f"{a.mentions:,}"] for a in accounts]
    if judged:
        columns += ["threads", "answered", ""]
        for row, account in zip(rows, accounts, strict=True):
            answered = f"{account.answered} of {account.sampled}"
            row += [f"{account.threads:,}", answered, "active" if account.active else ""]
    print_table("Accounts", columns, rows, numbers=(1, 2, 3, 4))


def _warn(report: Report, settings: Settings) -> None:
    from dialeval.cli.output import warn
    from dialeval.mine.counts import READ

    read = report.steps.get(READ)
    if report.resumed:
        warn(f"{report.resumed} parts of the work were done already, by a run that was stopped")
    if read is not None and not read.kept.posts:
        warn("not one post could be read: is everything where --field and --preset say?")
    elif not report.accounts:
        words = ", ".join(settings.sought.keywords or settings.sought.names)
        warn(f"no account was found: {words}")
    elif read is not None and not any(a.active is not False for a in report.accounts):
        warn("no account is active: nobody answers")
