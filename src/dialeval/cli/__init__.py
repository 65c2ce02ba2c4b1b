"""The command line: one module a command.

The modules import what they need inside their functions, so that `dialeval --help` and each
command start fast and load nothing of the others.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated

import typer

from dialeval import __version__
from dialeval.cli import (
    agreement,
    compare,
    correlate,
    crossval,
    evaluate,
    generate,
    mask,
    mine,
    models,
    open_domain,
    predict,
    questionnaire,
    quickstart,
    ranked,
    register,
    reproduce,
    sample,
    score,
    serve,
    stats,
    submit,
    task,
    topic_size,
    train,
    validate,
)
from dialeval.core.errors import DataWarning, DialevalError

app = typer.Typer(
    name="dialeval",
    help="Evaluate dialogues by distributions of people's votes.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # rich would double the time of --help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("quickstart")(quickstart.command)
app.command("score")(score.command)
app.command("evaluate")(evaluate.command)
app.command("compare")(compare.command)
app.add_typer(ranked.app, name="ranked")
app.add_typer(open_domain.app, name="open-domain")
app.command("correlate")(correlate.command)
app.command("topic-size")(topic_size.command)
app.command("agreement")(agreement.command)
app.command("questionnaire")(questionnaire.command)
app.command("predict")(predict.command)
app.command("train")(train.command)
app.command("crossval")(crossval.command)
app.command("models")(models.command)
app.command("reproduce")(reproduce.command)
app.command("mine")(mine.command)
app.command("mask")(mask.command)
app.command("sample")(sample.command)
app.command("generate")(generate.command)
app.command("validate")(validate.command)
app.command("stats")(stats.command)
app.command("serve")(serve.command)
app.command("register")(register.command)
app.command("submit")(submit.command)
app.add_typer(task.app, name="task")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dialeval {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of dialeval itself."""


def main() -> None:
    """Run the command line; bad input ends with one line and status 2."""
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", DataWarning)
    try:
        app()
    except DialevalError as error:
        sys.exit(_complain(str(error)))
    except BrokenPipeError:
        # The reader of our output has gone, as with `| head`; Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _complain(message: str) -> int:
    line = " ".join(message.split())
    print(f"error: {line}", file=sys.stderr)
    return 2


def _show_warning(
    message: Warning | str, category: type[Warning], *_where: object, **_more: object
) -> None:
    label = "warning" if issubclass(category, DataWarning) else category.__name__
    print(f"{label}: {message}", file=sys.stderr)
