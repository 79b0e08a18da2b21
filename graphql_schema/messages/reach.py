"""Which messages between agents a caller may read."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select

from app.messages.models import InboxEntry
from graphql_schema.planner.mapping import Caller


def readable_message(row: Any) -> ColumnElement[bool]:
    """An agent's key reads what its agent sent or received, other keys the whole team's."""
    entry = InboxEntry.__table__.alias()
    received = select(entry.c.id).where(entry.c.message_id == row.id, entry.c.agent_id == Caller.agent_id)
    own = or_(Caller.agent_id.is_(None), row.sender_id == Caller.agent_id, received.correlate_except(entry).exists())
    return and_(row.team_id == Caller.team_id, own)
