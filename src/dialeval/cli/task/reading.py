"""What everybody may read: tasks, leaderboards, official results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialeval.cli.options import (
    LOCAL_SERVER,
    InsecureOption,
    JsonOption,
    ServerOption,
    SlugArgument,
    TokenOption,
)

if TYPE_CHECKING:
    from dialeval.cli.client import Client

OutFolder = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Keep the report's files there.")
]


def list_(
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """The tasks of a server.

    Example: dialeval task list --server https://example.org
    """
    from dialeval.cli.client import reader_client
    from dialeval.cli.output import print_json, print_table

    client = reader_client(server, token, insecure)
    tasks = client.get("tasks", limit=1000)
    if json:
        print_json(tasks)
        return
    rows = [
        [
            task["slug"],
            task["title"],
            ", ".join(part["language"] for part in task["languages"]),
            next((phase["kind"] for phase in task["phases"] if phase["open"]), "-"),
            "yes" if task["visible"] else "no",
        ]
        for task in tasks
    ]
    columns = ["task", "title", "languages", "open phase", "visible"]
    print_table(f"Tasks at {client.server}", columns, rows)


def show(
    task: SlugArgument,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """A task: its rules, data and phases.

    Example: dialeval task show dialeval-2 --server https://example.org
    """
    from dialeval.cli.client import path_of, reader_client
    from dialeval.cli.output import print_json

    found = reader_client(server, token, insecure).get(path_of("tasks", task))
    if json:
        print_json(found)
    else:
        print_task(found)


def print_task(task: dict[str, Any]) -> None:
    """A task for people."""
    from dialeval.cli.output import print_table

    print(f"{task['title']} ({task['slug']}{'' if task['visible'] else ', hidden'})")
    if task["description"]:
        print(f"\n{task['description'].strip()}\n")
    entries = "one run" if task["entries"] == 1 else f"{task['entries']} runs"
    rule = {
        "best": f"the best by {task['best_by']}",
        "last": "the last",
        "chosen": "chosen by the team, else the last",
    }[task["rule"]]
    data = ", ".join(f"{p['language']} {p['dialogues']} dialogues" for p in task["languages"])
    print(f"Data: {data or 'none yet'}")
    print(f"What counts: {entries} of a team and language: {rule}")
    print(f"Days change at midnight in {task['time_zone']}.")
    rows = [
        [
            phase["kind"],
            moment(phase["opens_at"]),
            moment(phase["closes_at"]) if phase["closes_at"] else "open end",
            "yes" if phase["open"] else "no",
            str(phase["daily"]),
            str(phase["total"]),
            phase["visibility"],
        ]
        for phase in task["phases"]
    ]
    columns = ["phase", "opens (UTC)", "closes (UTC)", "open", "a day", "in all", "scores"]
    print_table("Phases", columns, rows, numbers=(4, 5), wide=True)


def moment(text: str | None) -> str:
    """A time of the API for people.

    >>> moment("2026-01-05T08:30:12.123Z")
    '2026-01-05 08:30'
    """
    return text[:16].replace("T", " ") if text else "-"


def leaderboard(
    task: SlugArgument,
    language: Annotated[str | None, typer.Option("--language", help="One of the task's.")] = None,
    phase: Annotated[str | None, typer.Option("--phase", help="development or final.")] = None,
    sort: Annotated[
        str | None, typer.Option("--sort", help="Rank by this measure, such as A.nmd.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option("--criterion", help="Only the measures of this criterion.")
    ] = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """A leaderboard. Lower is better; runs that share a letter do not differ significantly.

    Example: dialeval task leaderboard dialeval-2 --language english --sort S.nmd
    """
    from dialeval.cli.client import language_code, path_of, reader_client
    from dialeval.cli.output import print_json

    board = reader_client(server, token, insecure).get(
        path_of("tasks", task, "leaderboard"),
        language=language and language_code(language),
        phase=phase,
        sort=sort,
        criterion=criterion,
    )
    if json:
        print_json(board)
    else:
        _print_board(board)


def _print_board(board: dict[str, Any]) -> None:
    from dialeval.cli.output import print_table

    about = f"{board['task']}, {board['language']}, {board['phase']} phase"
    if board["closed"]:
        print(f"{about}: the leaderboard cannot be seen yet")
        return
    heads = [column.replace(".", "\n", 1) for column in board["columns"]]
    rows = [
        [
            "-" if entry["rank"] is None else str(entry["rank"]),
            entry["run"] + (" (baseline)" if entry["kind"] == "baseline" else ""),
            *(_cell(entry, column) for column in board["columns"]),
            "-" if entry["mean_rank"] is None else f"{entry['mean_rank']:.2f}",
        ]
        for entry in board["entries"]
    ]
    official = "official results" if board["official"] else "leaderboard"
    title = f"{official.capitalize()} ({about}), by {board['sort']}"
    places = range(2, len(heads) + 3)
    columns = ["rank", "run", *heads, "mean\nrank"]
    print_table(title, columns, rows, numbers=(0, *places), wide=True)


def _cell(entry: dict[str, Any], column: str) -> str:
    if column not in entry["scores"]:
        return "-"
    letters = entry["groups"].get(column, "")
    return f"{entry['scores'][column]:.4f}{' ' + letters if letters else ''}"


def results(
    task: SlugArgument,
    out: OutFolder = None,
    server: ServerOption = LOCAL_SERVER,
    token: TokenOption = None,
    insecure: InsecureOption = False,
    json: JsonOption = False,
) -> None:
    """The official results of a task, once they are published.

    Example: dialeval task results dialeval-2 --out results
    """
    from dialeval.cli.client import path_of, reader_client

    client = reader_client(server, token, insecure)
    show_results(client, client.get(path_of("tasks", task, "results")), out, json)


def show_results(client: Client, found: dict[str, Any], out: Path | None, json: bool) -> None:
    """Official results: the rows of each language, and the files of the report where wanted."""
    from dialeval.cli.client import path_of
    from dialeval.cli.output import print_json

    if out is not None:
        for name in found["files"]:
            path = path_of("tasks", found["task"], "results") + "/" + path_of(*name.split("/"))
            client.download(path, inside(out, name))
    if json:
        print_json(found)
        return
    print(f"Results of {found['task']}, published {moment(found['published_at'])} UTC")
    for language, rows in found["boards"].items():
        teams = sum(row["kind"] == "team" for row in rows)
        print(f"  {language}: {len(rows)} runs, {len(rows) - teams} of them baselines")
    report = f"{client.server}/api/v1/tasks/{found['task']}/results/report.html"
    where = f"{len(found['files'])} files in {out}" if out else f"report at {report}"
    print(f"{where}; dialeval task leaderboard {found['task']} --phase final shows the ranking")


def inside(folder: Path, name: str) -> Path:
    """Where a file of the server goes: below the folder, whatever the server calls it.

    >>> inside(Path("out"), "tables/a.csv").as_posix()
    'out/tables/a.csv'
    """
    from dialeval.core.errors import UsageError

    parts = name.split("/")
    if any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        raise UsageError(f"the server names a file {name!r}, expected a path below the folder")
    return folder.joinpath(*parts)
