"""The queue: its name, the names of its jobs, and how they travel.

arq is a trigger, not a record: what a job is to do stands in Postgres, and its arguments are ids only.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import orjson
from arq.connections import RedisSettings

QUEUE = "parley:jobs"


class JobName(StrEnum):
    MAINTAIN_EVENTS = "events.maintain"
    FORGET_IDEMPOTENCY = "auth.forget_idempotency"
    FORGET_MEMORIES = "memories.forget_expired"


def redis_settings(url: str) -> RedisSettings:
    return RedisSettings.from_dsn(url)


def serialize(job: dict[str, Any]) -> bytes:
    return orjson.dumps(job, default=str)


def deserialize(body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(body)
    return found
