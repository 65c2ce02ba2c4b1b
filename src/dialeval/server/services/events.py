"""What was done by whom, kept for the organisers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from dialeval.server.context import Context
from dialeval.server.tables import Event


def record(
    session: Session, at: datetime, task_id: int | None, actor: str, action: str, detail: str
) -> None:
    """Note an action in the transaction that does it."""
    session.add(Event(at=at, task_id=task_id, actor=actor, action=action, detail=detail))


def events_of(context: Context, task_id: int, limit: int = 50) -> list[Event]:
    """The newest events of a task."""
    with context.database.read() as session:
        query = select(Event).where(Event.task_id == task_id).order_by(Event.id.desc())
        return [*session.scalars(query.limit(limit))]
