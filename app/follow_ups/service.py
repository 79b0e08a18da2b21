"""Schedules follow-up jobs and runs them: each in one transaction, once, however many workers try."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.transaction import Transactions, after_commit
from app.errors import Unavailable
from app.follow_ups.models import FollowUp, FollowUpKind
from app.ids import new_id
from app.observability.metrics import FOLLOW_UP_FAILURES

log = structlog.get_logger(__name__)
_Row = Row[UUID, FollowUpKind, UUID, UUID, int]
Handler = Callable[[AsyncSession, UUID, UUID], Awaitable[None]]
"""Gets the session, the team's id and the subject's id."""
MAX_FAILURES = 8  # in about three minutes; then the fallback runs
MAX_PAUSE_S = 60.0


def schedule(
    session: AsyncSession, kind: FollowUpKind, *, team_id: UUID, subject_id: UUID, due_at: datetime | None = None
) -> None:
    """Has the job run after this transaction, at once or at `due_at`. It is never cancelled: its handler checks whether
    there is still something to do."""
    follow_up = FollowUp(id=new_id(), kind=kind, team_id=team_id, subject_id=subject_id)
    if due_at is not None:
        follow_up.due_at = due_at
    session.add(follow_up)
    after_commit(session).follow_up_ids.append(follow_up.id)


async def run(transaction: Transactions, follow_up_id: UUID, handler: Handler, fallback: Handler | None = None) -> bool:
    """Runs a follow-up that is due and that nobody else is running; returns whether there was one.

    A handler that fails leaves nothing behind, and the job is put off, longer each time; it is never dropped. After
    MAX_FAILURES the fallback runs instead, if there is one.
    """
    row: _Row | None = None
    try:
        async with transaction() as session:
            row = await _lock_due(session, follow_up_id)
            if row is None:
                return False
            await _handle(session, row, fallback if fallback and row.failures >= MAX_FAILURES else handler)
    except Exception as error:
        if row is None:
            raise
        # The connection died, or another transaction was in the way: use a new one to put the job off.
        async with transaction() as session:
            await _put_off(session, row, error)
    return True


async def _lock_due(session: AsyncSession, follow_up_id: UUID) -> _Row | None:
    statement = (
        select(FollowUp.id, FollowUp.kind, FollowUp.team_id, FollowUp.subject_id, FollowUp.failures)
        .where(FollowUp.id == follow_up_id, FollowUp.due_at <= func.clock_timestamp())
        .with_for_update(skip_locked=True)
    )
    return (await session.execute(statement)).one_or_none()


async def _handle(session: AsyncSession, row: _Row, handler: Handler) -> None:
    """A failed job is put off while its row is still locked, so that nobody takes it in between."""
    try:
        async with session.begin_nested():
            await handler(session, row.team_id, row.subject_id)
        await session.execute(delete(FollowUp).where(FollowUp.id == row.id))
    except Unavailable:
        raise
    except Exception as error:
        try:
            await _put_off(session, row, error)
        except Exception:
            raise error from None


async def _put_off(session: AsyncSession, row: _Row, error: Exception) -> None:
    """Does nothing if another process has run the job or put it off since."""
    pause = timedelta(seconds=min(2.0 ** min(row.failures, 10), MAX_PAUSE_S))
    changes = {"failures": row.failures + 1, "error": repr(error)[:2_000], "due_at": func.clock_timestamp() + pause}
    unchanged = (FollowUp.id == row.id) & (FollowUp.failures == row.failures)
    if await session.scalar(update(FollowUp).where(unchanged).values(changes).returning(FollowUp.id)) is None:
        return
    after_commit(session).follow_up_ids.append(row.id)
    FOLLOW_UP_FAILURES.labels(row.kind).inc()
    log.error(
        "follow-up job failed; it will be retried",
        kind=row.kind,
        subject=str(row.subject_id),
        error=repr(error),
        exc_info=None if isinstance(error, Unavailable) else error,
    )
