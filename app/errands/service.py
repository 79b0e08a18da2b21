"""Asks for errands, and does those that are due: each in one transaction, once, however many processes look."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.engine import Database
from app.db.transaction import Bell, Transactions, remember_bell
from app.errands.models import Errand, ErrandKind
from app.errors import Unavailable
from app.observability.metrics import ERRAND_FAILURES

log = structlog.get_logger(__name__)
_Row = Row[UUID, ErrandKind, UUID, UUID, int]
Do = Callable[[AsyncSession, UUID, UUID], Awaitable[None]]
MOST_FAILURES = 8  # in about three minutes
_LONGEST_PAUSE_S = 60.0
_NEXT = (
    select(Errand.id, Errand.kind, Errand.team_id, Errand.subject_id, Errand.failures)
    .where(Errand.due_at <= func.clock_timestamp())
    .order_by(Errand.due_at, Errand.id)
    .limit(1)
    .with_for_update(skip_locked=True)
)
_ANY_DUE = "select exists (select from errand where due_at <= clock_timestamp())"


def ask(
    session: AsyncSession, kind: ErrandKind, *, team_id: UUID, subject_id: UUID, due_at: datetime | None = None
) -> None:
    """To be done after this transaction, at once or at a time. It is never called off: whoever does it looks first
    whether there is still something to do."""
    errand = Errand(kind=kind, team_id=team_id, subject_id=subject_id)
    if due_at is not None:
        errand.due_at = due_at
    session.add(errand)
    remember_bell(session, Bell.WORK)


async def any_due(database: Database) -> bool:
    return bool(await database.fetchval(_ANY_DUE))


async def do_next(
    transaction: Transactions, deeds: Mapping[ErrandKind, Do], last_resorts: Mapping[ErrandKind, Do] | None = None
) -> bool:
    """Do the errand that has been due for longest and that nobody else is doing; whether there was one.

    A deed gets the session, the team and the subject. One that fails leaves nothing behind and is put off, longer each
    time; it is never dropped. What has failed too often is done as its last resort says, where it has one.
    """
    row: _Row | None = None
    try:
        async with transaction() as session:
            row = (await session.execute(_NEXT)).one_or_none()
            if row is None:
                return False
            rest = last_resorts if last_resorts and row.failures >= MOST_FAILURES else {}
            await _do(session, row, rest.get(row.kind) or deeds[row.kind])
    except Exception as error:
        if row is None:
            raise
        # The connection is dead, or the database was in the way: another one puts it off, or says that it is away.
        async with transaction() as session:
            await _put_off(session, row, error)
    return True


async def _do(session: AsyncSession, row: _Row, deed: Do) -> None:
    """What fails is put off while it is still held: nobody else takes it in between."""
    try:
        async with session.begin_nested():
            await deed(session, row.team_id, row.subject_id)
        await session.execute(delete(Errand).where(Errand.id == row.id))
    except Unavailable:
        raise
    except Exception as error:
        try:
            await _put_off(session, row, error)
        except Exception:
            raise error from None


async def _put_off(session: AsyncSession, row: _Row, error: Exception) -> None:
    """Unless another process has done it or put it off since then."""
    pause = timedelta(seconds=min(2.0 ** min(row.failures, 10), _LONGEST_PAUSE_S))
    changes = {"failures": row.failures + 1, "error": repr(error)[:2_000], "due_at": func.clock_timestamp() + pause}
    mine = (Errand.id == row.id) & (Errand.failures == row.failures)
    if await session.scalar(update(Errand).where(mine).values(changes).returning(Errand.id)) is not None:
        ERRAND_FAILURES.labels(row.kind).inc()
        traced = None if isinstance(error, Unavailable) else error
        log.error(
            "an errand failed; it is put off",
            kind=row.kind,
            subject=str(row.subject_id),
            error=repr(error),
            exc_info=traced,
        )
