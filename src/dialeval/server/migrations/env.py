"""Run by Alembic: migrate over the connection that `Database.migrate` hands over."""

from alembic import context

import dialeval.server.annotation_tables
import dialeval.server.live_tables  # noqa: F401
from dialeval.server.tables import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
context.run_migrations()
