"""What counts as unread, as SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, func, select

from app.messages.models import InboxEntry

Row = Any  # the columns of an inbox entry, or of an agent


def counts_as_unread(entry: Row = InboxEntry) -> ColumnElement[bool]:
    """What has expired waits for nobody any more."""
    waits: ColumnElement[bool] = entry.read_at.is_(None) & (
        entry.expires_at.is_(None) | (entry.expires_at > func.now())
    )
    return waits


def unread_count(agent: Row) -> ColumnElement[int]:
    """Of an agent, from its row."""
    entry = InboxEntry.__table__.alias()
    mine = (entry.c.team_id == agent.team_id) & (entry.c.agent_id == agent.id) & counts_as_unread(entry.c)
    return select(func.count()).select_from(entry).where(mine).correlate_except(entry).scalar_subquery()
