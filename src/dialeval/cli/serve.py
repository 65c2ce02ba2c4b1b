"""`dialeval serve`: the score server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    folder: Annotated[
        Path, typer.Option("--folder", help="Where SQLite keeps everything (no DATABASE_URL).")
    ] = Path("dialeval-server"),
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0 finds a free one.")
    ] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many processes.")] = 1,
    migrate: Annotated[
        bool, typer.Option("--migrate", help="Bring the database up to date first.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Come with a task, teams and runs to click through.")
    ] = False,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Believe a local proxy's X-Forwarded headers.")
    ] = False,
) -> None:
    """Host tasks: teams submit runs and get scores at once. SQLite, or DATABASE_URL.

    Example: dialeval serve --demo
    """
    from dialeval.core.errors import MissingExtraError

    try:
        from dialeval.server.serve import Options, serve
    except ImportError as error:
        if error.name and error.name.startswith("dialeval"):
            raise
        raise MissingExtraError("servers", "server") from None
    serve(Options(folder, host, port, workers, migrate, demo, behind_proxy))
