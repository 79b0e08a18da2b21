"""Which follow-ups are due, as arq jobs: one job for each try."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import asyncpg

from app.clock import now
from app.db.engine import Database
from app.queue import Job

_COLUMNS = "select id, kind, failures, due_at from follow_up"
_BY_ID = f"{_COLUMNS} where id = any($1)"
_DUE = f"{_COLUMNS} where due_at <= clock_timestamp() order by due_at, id limit $1"
_ROUNDING = timedelta(milliseconds=1)  # arq's scores are whole milliseconds
# Follow-ups are short and others wait for them, so they stand before all tasks in the queue.
QUEUE_SHIFT = timedelta(days=3)


async def jobs_of(database: Database, follow_up_ids: Collection[UUID]) -> list[Job]:
    return [_job(row) for row in await database.fetch(_BY_ID, list(follow_up_ids))]


async def due_jobs(database: Database, *, limit: int) -> list[Job]:
    """Also those that a worker is running at this moment."""
    return [_job(row) for row in await database.fetch(_DUE, limit)]


def _job(row: asyncpg.Record) -> Job:
    """The kind is read as text: a newer version may know kinds that this one does not."""
    due = row["due_at"]
    position = due - QUEUE_SHIFT if due <= now() else due + _ROUNDING
    return Job(f"{row['kind']}:{row['id']}:{row['failures']}", row["kind"], (str(row["id"]),), due, position)
