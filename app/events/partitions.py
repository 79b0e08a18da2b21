"""Weekly partitions of the event log: made ahead of time, dropped when retention has passed them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

log = structlog.get_logger(__name__)
WEEKS_AHEAD = 8
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
    """Make this week's partition and the next ones; safe to run anywhere, any number of times."""
    first = week_of(now.astimezone(UTC).date())
    weeks = [first + timedelta(weeks=i) for i in range(-1, WEEKS_AHEAD + 1)]
    missing = [week for week in weeks if partition_name(week) not in await _existing(session)]
    for week in missing:
        end = week + timedelta(days=7)
        await session.execute(
            text(
                f"create table if not exists {partition_name(week)} partition of event "
                f"for values from ('{week} 00:00+00') to ('{end} 00:00+00')"
            )
        )
    return [partition_name(week) for week in missing]


async def drop_expired(session: AsyncSession, now: datetime, retention_days: int) -> list[str]:
    """Drop what retention has passed, and raise the floor so that readers of older cursors are told of the gap."""
    gone = expired(await _existing(session), now.astimezone(UTC).date(), retention_days)
    for name in gone:
        await session.execute(
            text(f"update event_clock set floor = greatest(floor, (select coalesce(max(position), 0) from {name}))")
        )
        await session.execute(text(f"drop table {name}"))
        log.info("events dropped", partition=name)
    return gone


async def mend_clock(session: AsyncSession) -> int:
    """After a restore into another cluster, lift the clock above every stored position; returns the lift."""
    lifted = await session.scalar(
        text(
            "update event_clock set shift = shift + behind from (select (select coalesce(max(position), 0) from event)"
            " - event_position() + 1 as behind) as gap where behind > 1 returning behind"
        )
    )
    if lifted:
        log.warning("event clock lifted after a restore", by=lifted)
    return int(lifted or 0)


async def _existing(session: AsyncSession) -> list[str]:
    found = await session.scalars(
        text("select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'event'::regclass")
    )
    return list(found)
