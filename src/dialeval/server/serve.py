"""Starting the server: the database, the first organiser's link, the processes."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy.exc
import uvicorn
from uvicorn.supervisors import Multiprocess

from dialeval.core.errors import UsageError
from dialeval.server.context import Context
from dialeval.server.database import Database
from dialeval.server.demo import make_demo
from dialeval.server.services.accounts import invite_first
from dialeval.server.settings import Settings, sqlite_url

BACKLOG = 2048
GRACE = 20
"""Seconds that requests have to finish when the server is told to stop."""
BUSY = 60
"""Seconds that a worker may work without a sign of life before another one takes its place."""


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    migrate: bool = False
    demo: bool = False
    behind_proxy: bool = False


def serve(options: Options) -> None:
    """Serve until told to stop."""
    if not os.environ.get("DATABASE_URL"):
        _make_folder(options.folder)
        os.environ["DATABASE_URL"] = sqlite_url(options.folder)
    settings = Settings.from_environment()
    database = Database(settings.database_url)
    _prepare(database, options.migrate)
    listening = _listen(options.host, options.port)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{port}"
    context = Context(database, settings)
    if options.demo:
        for line in make_demo(context):
            print(line)
    secret = invite_first(context)
    print(f"dialeval serves at {address} (stop with Ctrl-C)")
    if secret:
        print(f"Become the first organiser, once: {address}/join/{secret}")
    print(end="", flush=True)
    database.engine.dispose()
    _run(options, listening)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"{folder}: cannot make this folder ({error.strerror})") from None


def _prepare(database: Database, migrate: bool) -> None:
    """Tables that are up to date: a new SQLite file gets them at once."""
    try:
        revision, newest = database.revision(), database.newest()
        if migrate or (revision is None and database.sqlite):
            database.migrate()
        elif revision != newest:
            raise UsageError(
                f"the database is at {revision or 'nothing'} and this version needs {newest}: "
                "run dialeval serve --migrate"
            )
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise UsageError(f"the database cannot be used: {reason}") from None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{host}:{port}: cannot listen there ({reason})") from None
    listening.listen(BACKLOG)  # who reads the address and comes at once is not turned away
    return listening


def _run(options: Options, listening: socket.socket) -> None:
    config = uvicorn.Config(
        "dialeval.server.app:create",
        factory=True,
        workers=options.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=options.behind_proxy,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=BUSY,
        backlog=BACKLOG,
    )
    if options.workers > 1:
        listening.set_inheritable(True)
        Multiprocess(config, sockets=[listening]).run()
    else:
        uvicorn.Server(config).run([listening])
