"""Ends tasks whose lease or time ran out. Runs in every worker; each task is ended once."""

from __future__ import annotations

from typing import Any

import structlog

from app.tasks import sweeper
from jobs.context import JobContext

log = structlog.get_logger(__name__)


async def sweep_tasks(ctx: dict[str, Any]) -> None:
    ended = await sweeper.sweep(JobContext.of(ctx).transaction)
    if ended:
        log.info("overdue tasks ended", count=ended)
