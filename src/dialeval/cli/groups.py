"""Commands with commands of their own, one of which is meant where none is named."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup


def group(default: str, help: str) -> typer.Typer:
    """A group of commands: `dialeval NAME ARGS` means `dialeval NAME default ARGS`."""

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
                args = [default, *args]
            return super().parse_args(ctx, args)

    return typer.Typer(cls=Group, help=help, no_args_is_help=True, rich_markup_mode=None)
