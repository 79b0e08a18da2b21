"""Housekeeping: partitions of the event log, idempotency keys that have served, memories that expired."""

from __future__ import annotations

from typing import Any

import structlog

from app.auth import idempotency
from app.clock import now
from app.events import partitions
from app.handoffs.judging import kept as verdicts
from app.memories import service as memories
from jobs.context import JobContext

log = structlog.get_logger(__name__)
MOST_AT_ONCE = 1_000


async def maintain_events(ctx: dict[str, Any]) -> None:
    """Makes partitions ahead of time and drops what retention has passed, judges' verdicts too. May run anywhere, any
    number of times."""
    job = JobContext.of(ctx)
    async with job.transaction() as session:
        await partitions.mend_clock(session)
        await partitions.ensure(session, now())
        await partitions.drop_expired(session, now(), job.settings.event_retention_days)
        await verdicts.forget_old(session, days=job.settings.event_retention_days)


async def forget_idempotency(ctx: dict[str, Any]) -> None:
    job = JobContext.of(ctx)
    async with job.transaction() as session:
        gone = await idempotency.forget_old(session, hours=job.settings.idempotency_hours)
    if gone:
        log.info("idempotency keys forgotten", count=gone)


async def forget_memories(ctx: dict[str, Any]) -> None:
    """In small transactions, until none is left."""
    job, gone = JobContext.of(ctx), MOST_AT_ONCE
    while gone == MOST_AT_ONCE:
        async with job.transaction() as session:
            gone = await memories.forget_expired(session, most=MOST_AT_ONCE)
        if gone:
            log.info("memories expired", count=gone)
