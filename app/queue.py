"""Jobs by name: remembered with the transaction that wants them, sent to arq after its commit.

arq is a trigger, not a record: what a job is to do stands in Postgres, its arguments are ids only, and whatever is
lost on the way is found again by the sweeper.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson
from arq.connections import RedisSettings
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.transaction import remember_bell

QUEUE = "parley:jobs"


class JobName(StrEnum):
    MAINTAIN_EVENTS = "events.maintain"
    FORGET_IDEMPOTENCY = "auth.forget_idempotency"
    SWEEP_TASKS = "tasks.sweep"


@dataclass(frozen=True, slots=True)
class Job:
    """The bell that asks for a job."""

    name: JobName
    arguments: tuple[str, ...] = ()


def enqueue(session: AsyncSession, name: JobName, *ids: str) -> None:
    remember_bell(session, Job(name, ids))


def redis_settings(url: str) -> RedisSettings:
    return RedisSettings.from_dsn(url)


def serialize(job: dict[str, Any]) -> bytes:
    return orjson.dumps(job, default=str)


def deserialize(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(body)
    return found
