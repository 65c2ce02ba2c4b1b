"""How organisers run a task: submissions, results, everything in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialeval.cli.options import (
    LOCAL_SERVER,
    InsecureOption,
    JsonOption,
    SeedOption,
    ServerOption,
    SlugArgument,
    TokenOption,
)
from dialeval.cli.task.own import SubmissionArgument
from dialeval.cli.task.reading import OutFolder


def submissions(
    task: SlugArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: every submission of every team, newest first.

    Example: dialeval task submissions dialeval-2
    """
    from dialeval.cli.client import organiser_client
    from dialeval.cli.output import print_json
    from dialeval.cli.task.own import all_submissions, print_submissions

    client = organiser_client(server, token, insecure)
    found = all_submissions(client, task)
    if json:
        print_json(found)
    else:
        print_submissions(client, task, found, team=True)


def events(
    task: SlugArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: what was done in a task and by whom, newest first.

    Example: dialeval task events dialeval-2
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.cli.output import print_json, print_table
    from dialeval.cli.task.reading import moment

    found = organiser_client(server, token, insecure).get(path_of("tasks", task, "events"))
    if json:
        print_json(found)
        return
    rows = [[moment(e["at"]), e["actor"], e["action"], e["detail"]] for e in found]
    print_table(f"What was done in {task}", ["at (UTC)", "who", "action", "detail"], rows)


def disqualify(
    submission: SubmissionArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; its team can read it.")],
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: take a run out, for a reason.

    Example: dialeval task disqualify 0f3a1c9d2b7e4a5566778899 --reason "trained on test data"
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.cli.task.own import print_change

    client = organiser_client(server, token, insecure)
    path = path_of("submissions", submission, "disqualify")
    print_change(client.send("POST", path, {"reason": reason}), "is disqualified", json)


def reinstate(
    submission: SubmissionArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: let a disqualified run in again.

    Example: dialeval task reinstate 0f3a1c9d2b7e4a5566778899
    """
    from dialeval.cli.client import organiser_client, path_of
    from dialeval.cli.task.own import print_change

    client = organiser_client(server, token, insecure)
    changed = client.send("POST", path_of("submissions", submission, "reinstate"))
    print_change(changed, "is in again", json)


def rescore(
    task: SlugArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: score all submissions anew, for instance after votes were mended.

    Example: dialeval task rescore dialeval-2
    """
    from dialeval.cli.client import LONG, organiser_client, path_of
    from dialeval.cli.output import print_json

    client = organiser_client(server, token, insecure)
    answer = client.send("POST", path_of("tasks", task, "rescore"), timeout=LONG)
    if json:
        print_json(answer)
    else:
        print(f"{answer['submissions']} submissions scored anew; {answer['changed']} changed.")


def publish(
    task: SlugArgument,
    out: OutFolder = None,
    seed: SeedOption = 0,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """Organisers: compare the runs that count over all dialogues and publish the results.

    Example: dialeval task publish dialeval-2 --out results
    """
    from dialeval.cli.client import LONG, organiser_client, path_of
    from dialeval.cli.task.reading import show_results

    client = organiser_client(server, token, insecure)
    found = client.send("POST", path_of("tasks", task, "publish"), timeout=LONG, seed=seed)
    show_results(client, found, out, json)


def export(
    task: SlugArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to keep it: .zip.")],
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
) -> None:
    """Organisers: everything about a task in one ZIP file, votes and submissions included.

    Example: dialeval task export dialeval-2 --out dialeval-2.zip
    """
    from dialeval.cli.client import organiser_client, path_of

    organiser_client(server, token, insecure).download(path_of("tasks", task, "export"), out)
    print(out)
