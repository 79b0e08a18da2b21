"""Weekly partitions of the event log: made ahead of time, dropped when retention has passed them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta

import structlog
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Unavailable

log = structlog.get_logger(__name__)
WEEKS_AHEAD = 8
_LOCK_PATIENCE_MS = 3_000
_LOCK_NOT_AVAILABLE = "55P03"
# Room for what the other cluster wrote after the backup: its cursors then lie before all that is new, not within it.
_LOST_POSITIONS = 2**32
# How far the clock stands behind the newest event: above 0 only when the events come from another cluster.
_BEHIND = """
select (select coalesce(max(position), 0) from event) - shift
    - pg_snapshot_{edge}(pg_current_snapshot())::text::bigint + 1 from event_clock
"""
_NAME = re.compile(r"^event_p(\d{4})(\d{2})(\d{2})$")


def week_of(day: date) -> date:
    return day - timedelta(days=day.weekday())


def partition_name(week: date) -> str:
    return f"event_p{week:%Y%m%d}"


def expired(names: list[str], today: date, retention_days: int) -> list[str]:
    """The partitions whose last day lies before the retention."""
    keep_from = today - timedelta(days=retention_days)
    return [name for name in names if (week := _week_from(name)) and week + timedelta(days=7) <= keep_from]


def _week_from(name: str) -> date | None:
    match = _NAME.match(name)
    return date(*map(int, match.groups())) if match else None


async def ensure(session: AsyncSession, now: datetime) -> list[str]:
    """Make this week's partition and the next ones; safe to run anywhere, any number of times at once."""
    first = week_of(now.astimezone(UTC).date())
    weeks = [first + timedelta(weeks=i) for i in range(-1, WEEKS_AHEAD + 1)]
    if not await _missing(session, weeks):
        return []
    async with _alone(session):
        missing = await _missing(session, weeks)
        for week in missing:
            end = week + timedelta(days=7)
            await session.execute(
                text(
                    f"create table {partition_name(week)} partition of event "
                    f"for values from ('{week} 00:00+00') to ('{end} 00:00+00')"
                )
            )
    return [partition_name(week) for week in missing]


async def drop_expired(session: AsyncSession, now: datetime, retention_days: int) -> list[str]:
    """Drop what retention has passed, and raise the floor so that readers of older cursors are told of the gap."""
    today = now.astimezone(UTC).date()
    if not expired(await _existing(session), today, retention_days):
        return []
    async with _alone(session):
        gone = expired(await _existing(session), today, retention_days)
        for name in gone:
            await session.execute(
                text(f"update event_clock set floor = greatest(floor, (select coalesce(max(position), 0) from {name}))")
            )
            await session.execute(text(f"drop table {name}"))
            log.info("events dropped", partition=name)
    return gone


async def mend_clock(session: AsyncSession) -> int:
    """After a restore into another cluster, lift the clock above every stored position; returns the lift."""
    if await session.scalar(text(_BEHIND.format(edge="xmax"))) <= 0:
        return 0
    # Writers wait meanwhile: an event under the old clock would never be seen by readers of the new one.
    async with _alone(session):
        await session.execute(text("lock table event in share row exclusive mode"))
        if await session.scalar(text(_BEHIND.format(edge="xmax"))) <= 0:
            return 0
        lift = int(await session.scalar(text(_BEHIND.format(edge="xmin")))) + _LOST_POSITIONS
        await session.execute(text("update event_clock set shift = shift + :lift"), {"lift": lift})
    log.warning("event clock lifted after a restore", by=lift)
    return lift


@asynccontextmanager
async def _alone(session: AsyncSession) -> AsyncIterator[None]:
    """One housekeeper at a time, which gives up (Unavailable) rather than let everybody queue behind it for long."""
    try:
        await session.execute(text(f"set local lock_timeout = {_LOCK_PATIENCE_MS}"))
        await session.execute(text("select id from event_clock for update"))
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise Unavailable("The event log is in use; its partitions are seen to later.") from error
        raise


async def _missing(session: AsyncSession, weeks: list[date]) -> list[date]:
    existing = set(await _existing(session))
    return [week for week in weeks if partition_name(week) not in existing]


async def _existing(session: AsyncSession) -> list[str]:
    inherited = "select inhrelid::regclass::text from pg_inherits where inhparent = 'event'::regclass"
    return list(await session.scalars(text(inherited)))
