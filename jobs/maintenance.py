"""Housekeeping: partitions of the event log, idempotency keys that have served."""

from __future__ import annotations

from typing import Any

import structlog

from app.auth import idempotency
from app.clock import now
from app.events import partitions
from jobs.context import JobContext

log = structlog.get_logger(__name__)


async def maintain_events(ctx: dict[str, Any]) -> None:
    """Makes partitions ahead of time and drops what retention has passed. May run anywhere, any number of times."""
    job = JobContext.of(ctx)
    async with job.transaction() as session:
        await partitions.mend_clock(session)
        await partitions.ensure(session, now())
        await partitions.drop_expired(session, now(), job.settings.event_retention_days)


async def forget_idempotency(ctx: dict[str, Any]) -> None:
    job = JobContext.of(ctx)
    async with job.transaction() as session:
        gone = await idempotency.forget_old(session, hours=job.settings.idempotency_hours)
    if gone:
        log.info("idempotency keys forgotten", count=gone)
