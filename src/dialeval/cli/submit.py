"""`dialeval submit`: send a run to a score server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialeval.cli.options import (
    LOCAL_SERVER,
    InsecureOption,
    JsonOption,
    LanguageOption,
    ServerOption,
    TokenOption,
)

if TYPE_CHECKING:
    from dialeval.cli.client import Client


def command(
    submission: Annotated[
        Path,
        typer.Option("-s", "--submission", help="The run: .json, .jsonl, or either with .gz."),
    ],
    language: LanguageOption,
    task: Annotated[
        str | None, typer.Option("--task", help="The task's slug; not needed if there is one.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="What to call the run.")] = "",
    description: Annotated[
        str, typer.Option("--description", help="What the system does, for the organisers.")
    ] = "",
    no_leaderboard: Annotated[
        bool, typer.Option("--no-leaderboard", help="Keep the run off the leaderboard.")
    ] = False,
    idempotency_key: Annotated[
        str | None,
        typer.Option("--idempotency-key", help="The same key again is the same submission."),
    ] = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Send a run to a score server and get its scores. A refused file costs no quota.

    Lower is better; 0 is perfect. If the connection breaks it is sent again, and counts once.

    Example: dialeval submit -s run.json --language english --server https://example.org
    """
    import secrets

    from dialeval.cli.client import (
        Refused,
        Unreachable,
        about_file,
        only_task,
        path_of,
        read_upload,
        team_client,
    )
    from dialeval.cli.output import print_json
    from dialeval.core.errors import UsageError

    content = read_upload(submission)
    client = team_client(server, token, insecure)
    slug = only_task(client, task)
    key = idempotency_key or secrets.token_hex(16)
    try:
        answer = client.send(
            "POST",
            path_of("tasks", slug, "submissions"),
            body=content,
            key=key,
            language=language,
            name=name,
            description=description,
            leaderboard=not no_leaderboard,
        )
    except Refused as refused:
        raise about_file(refused, submission) from None
    except Unreachable as error:
        again = f"whether the run arrived is not known; --idempotency-key {key} sends it again"
        raise UsageError(f"{error}; {again}, counting once") from None
    if json:
        print_json(answer)
    else:
        print_submission(client, answer)


def print_submission(client: Client, answer: dict[str, Any]) -> None:
    """The scores of a submission, and what is left of the quota."""
    from dialeval.cli.client import Refused, path_of
    from dialeval.cli.output import print_table, warn

    for remark in answer["remarks"]:
        warn(remark)
    about = f"{answer['task']}, {answer['language']}, {answer['phase']} phase"
    if answer["scores"] is None:
        print(f"{answer['name']} ({about}): received; its scores are hidden in this phase")
    else:
        rows = score_rows(answer["name"], answer["scores"])
        print_table(f"Scores ({about})", ["measure", "run", "mean"], rows, numbers=(2,))
    print(f"Submission {answer['id']}{'' if answer['listed'] else ', not on the leaderboard'}.")
    try:
        quota = client.get(path_of("tasks", answer["task"], "quota"))
    except Refused:  # the phase closed just now
        return
    today = max(0, quota["daily"] - quota["used_today"])
    print(
        f"Left: {min(today, quota['left'])} of {quota['daily']} today, "
        f"{max(0, quota['total'] - quota['used'])} of {quota['total']} in all."
    )


def score_rows(run: str, scores: dict[str, float]) -> list[list[str]]:
    """Rows as `evaluate` prints them: a line between criteria."""
    rows: list[list[str]] = []
    last = ""
    for column, score in scores.items():
        criterion, _, measure = column.partition(".")
        if last and criterion != last:
            rows.append([])
        rows.append([f"{criterion} {measure.upper()}", run, f"{score:.4f}"])
        last = criterion
    return rows
