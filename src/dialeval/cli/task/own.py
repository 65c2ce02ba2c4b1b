"""What a team does in a task: its data, its submissions, its choice."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.cli.options import (
    LOCAL_SERVER,
    InsecureOption,
    JsonOption,
    LanguageOption,
    ServerOption,
    SlugArgument,
    TokenOption,
)

SubmissionArgument = Annotated[
    str, typer.Argument(metavar="SUBMISSION", help="The id that submit and history show.")
]
UndoOption = Annotated[bool, typer.Option("--undo", help="The other way round.")]


def data(
    task: SlugArgument,
    language: LanguageOption,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to keep them: .jsonl.")],
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
) -> None:
    """Teams: download the dialogues of a task, without votes.

    Example: dialeval task data dialeval-2 --language english --out test_en.jsonl
    """
    from dialeval.cli.client import language_code, member_client, path_of
    from dialeval.core.files import format_for_writing

    format_for_writing(out)
    client = member_client(server, token, insecure)
    client.download(path_of("tasks", task, "data", language_code(language)), out)
    print(out)


def history(
    task: SlugArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Teams: your submissions, newest first, and the quota that is left.

    Example: dialeval task history dialeval-2
    """
    from dialeval.cli.client import Client, Refused, path_of, team_client
    from dialeval.cli.output import print_json

    client: Client = team_client(server, token, insecure)
    found = all_submissions(client, task)
    if json:
        print_json(found)
        return
    print_submissions(client, task, found, team=False)
    try:
        quota = client.get(path_of("tasks", task, "quota"))
    except Refused as refused:
        if refused.code != "phase-closed":
            raise
        print("No phase of the task is open.")
    else:
        print(f"Left: {quota['left']} now; used {quota['used']} of {quota['total']} in all.")


def all_submissions(client: Any, task: str) -> list[dict[str, Any]]:
    """All pages of a task's submissions that the asker may see."""
    from dialeval.cli.client import path_of

    found: list[dict[str, Any]] = []
    while True:
        page = client.get(path_of("tasks", task, "submissions"), offset=len(found), limit=1000)
        found += page["submissions"]
        if not page["submissions"] or len(found) >= page["total"]:
            return found


def print_submissions(client: Any, task: str, found: list[dict[str, Any]], *, team: bool) -> None:
    """Submissions as a table, with the score that the task ranks by."""
    from dialeval.cli.client import path_of
    from dialeval.cli.output import print_table
    from dialeval.cli.task.reading import moment

    best_by = client.get(path_of("tasks", task))["best_by"]
    rows = []
    for one in found:
        score = (one["scores"] or {}).get(best_by)
        marks = [
            mark
            for mark, holds in (
                ("counts", one["counting"]),
                ("chosen", one["chosen"]),
                ("not listed", not one["listed"]),
                (
                    f"{one['status']}{': ' if one['reason'] else ''}{one['reason']}",
                    one["status"] != "scored",
                ),
            )
            if holds
        ]
        rows.append(
            [
                one["id"],
                *([one["team"]] if team else []),
                one["name"],
                one["phase"],
                one["language"],
                moment(one["created_at"]),
                "-" if score is None else f"{score:.4f}",
                ", ".join(marks),
            ]
        )
    columns = ["submission", *(["team"] if team else []), "run", "phase", "language", "at (UTC)"]
    columns += [best_by, ""]
    print_table(f"Submissions to {task}", columns, rows, numbers=(len(columns) - 2,), wide=True)


def withdraw(
    submission: SubmissionArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Teams: take a run back for good. The quota it cost stays used.

    Example: dialeval task withdraw 0f3a1c9d2b7e4a5566778899
    """
    from dialeval.cli.client import path_of, team_client

    client = team_client(server, token, insecure)
    changed = client.send("POST", path_of("submissions", submission, "withdraw"))
    print_change(changed, "is withdrawn", json)


def choose(
    submission: SubmissionArgument,
    undo: UndoOption = False,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Teams: choose the run that counts, where the task lets teams choose.

    Example: dialeval task choose 0f3a1c9d2b7e4a5566778899
    """
    from dialeval.cli.client import path_of, team_client

    client = team_client(server, token, insecure)
    changed = client.send("PATCH", path_of("submissions", submission), {"chosen": not undo})
    print_change(changed, "is not chosen any more" if undo else "is chosen", json)


def hide(
    submission: SubmissionArgument,
    undo: UndoOption = False,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Teams: take a run off the leaderboard, or with --undo put it there again.

    Example: dialeval task hide 0f3a1c9d2b7e4a5566778899
    """
    from dialeval.cli.client import path_of, team_client

    client = team_client(server, token, insecure)
    changed = client.send("PATCH", path_of("submissions", submission), {"listed": undo})
    print_change(changed, "is listed" if undo else "is not listed any more", json)


def print_change(changed: dict[str, Any], what: str, json: bool) -> None:
    """What became of a submission."""
    from dialeval.cli.output import print_json

    if json:
        print_json(changed)
    else:
        print(f"{changed['name']} of {changed['team']} ({changed['language']}) {what}.")
