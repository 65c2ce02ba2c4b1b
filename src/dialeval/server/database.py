"""The database: SQLite in one file, or PostgreSQL; reading and writing transactions; migrations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy.exc
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event, make_url, text
from sqlalchemy.orm import Session

from dialeval.core.errors import UsageError

WRITING = "dialeval_writing"
CONNECTIONS = 20
POSTGRES_CONNECTIONS = 10
"""Of one worker. PostgreSQL takes 100 in all unless told otherwise, so nine workers fit."""


class Database:
    """One engine, and the two kinds of transaction."""

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except sqlalchemy.exc.ArgumentError:
            raise UsageError(
                "DATABASE_URL: found what is no address, expected postgresql://user@host/name"
            ) from None
        self.sqlite = parsed.get_backend_name() == "sqlite"
        if not self.sqlite:
            if parsed.get_backend_name() not in ("postgresql", "postgres"):
                raise UsageError(
                    f"DATABASE_URL: found {parsed.get_backend_name()!r}, "
                    "expected postgresql:// or sqlite:///"
                )
            parsed = parsed.set(drivername="postgresql+psycopg")
        self.url = parsed
        self.engine = create_engine(parsed, **self._options())
        # Writers of this process wait in line here rather than by SQLite's sleeping and retrying.
        self._turn = threading.Lock() if self.sqlite else nullcontext()
        if self.sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    def _options(self) -> dict[str, Any]:
        if self.sqlite:
            connect = {"check_same_thread": False, "timeout": 30, "isolation_level": None}
            return {"connect_args": connect, "pool_size": CONNECTIONS, "pool_timeout": 30}
        return {
            "connect_args": {"connect_timeout": 3},
            "pool_size": POSTGRES_CONNECTIONS,
            "max_overflow": 0,
            "pool_timeout": 30,
            "pool_pre_ping": True,
        }

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction that only reads."""
        with Session(self.engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction that writes: all of it or nothing.

        On SQLite it holds the database's write lock from the start, so what it reads stays true;
        on PostgreSQL, what must stay true is read with FOR UPDATE.
        """
        engine = self.engine.execution_options(**{WRITING: True})
        with self._turn, Session(engine, expire_on_commit=False) as session, session.begin():
            yield session

    def check(self) -> None:
        """Raise if the database does not answer."""
        with self.engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def revision(self) -> str | None:
        """The migration that the database is at; None if it is empty."""
        with self.engine.connect() as connection:
            return MigrationContext.configure(connection).get_current_revision()

    def newest(self) -> str | None:
        """The migration that this version of the code needs."""
        return ScriptDirectory.from_config(self._alembic()).get_current_head()

    def migrate(self) -> None:
        """Bring the tables up to date."""
        config = self._alembic()
        with self.engine.execution_options(**{WRITING: True}).begin() as connection:
            if not self.sqlite:  # one of several workers migrates, the others wait
                connection.execute(text("SELECT pg_advisory_xact_lock(4711)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _alembic(self) -> Config:
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        return config


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writing = connection.get_execution_options().get(WRITING)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
