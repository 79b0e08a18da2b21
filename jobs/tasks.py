"""Executes tasks."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import UUID

from app.errors import Unavailable
from app.tasks.claiming import JobClaim
from jobs.context import JobContext


async def execute_task(ctx: dict[str, Any], task_id: str, attempt: int) -> None:
    """Runs one attempt of a task of a managed agent."""
    claim = JobClaim(UUID(task_id), attempt, ctx.get("job_id"))
    with suppress(Unavailable):  # Postgres is away, so the task is still pending: the sweeper enqueues it again
        await JobContext.of(ctx).runner.run(claim)
