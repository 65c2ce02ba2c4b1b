"""`dialeval task`: tasks on a score server, for organisers, teams and readers."""

from __future__ import annotations

from collections.abc import Callable

import typer

from dialeval.cli.task import making, organisers, own, reading, running

app = typer.Typer(
    help="Tasks on a score server: read them, take part, organise them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "list": reading.list_,
    "show": reading.show,
    "leaderboard": reading.leaderboard,
    "results": reading.results,
    "data": own.data,
    "history": own.history,
    "withdraw": own.withdraw,
    "choose": own.choose,
    "hide": own.hide,
    "join": organisers.join,
    "sign-in": organisers.sign_in,
    "invite": organisers.invite,
    "create": making.create,
    "change": making.change,
    "phase": making.phase,
    "close": making.close,
    "baseline": making.baseline,
    "submissions": running.submissions,
    "disqualify": running.disqualify,
    "reinstate": running.reinstate,
    "rescore": running.rescore,
    "publish": running.publish,
    "export": running.export,
    "events": running.events,
    "teams": organisers.teams,
    "team-token": organisers.team_token,
}
for name, function in COMMANDS.items():
    app.command(name)(function)
