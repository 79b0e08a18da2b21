"""The arq queue as its producers see it: enqueue jobs, find out which are missing, take started ones off.

The queue is a delivery, not a record: jobs carry ids only, and what is due stands in Postgres.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from arq.connections import ArqRedis, RedisSettings

from app.clock import now
from app.redis import Redis

QUEUE = "parley:jobs"
PROBE_KEY = "parley:jobs:probe"
PROBE_TTL_S = 60
_RECENT_MS = 3_600_000
_CRON_SHIFT_MS = 7 * 86_400_000
EXPIRES_AFTER = timedelta(days=7)  # a job whose body expired is enqueued again by the sweeper


@dataclass(frozen=True, slots=True)
class Job:
    """`position` is its score in the queue: the lowest starts first, and one in the future waits for its time."""

    id: str
    function: str
    args: tuple[str | int, ...]
    due_at: datetime
    position: datetime


class JobQueue:
    """All methods raise Unavailable while Redis is away or refuses writes."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._arq = arq_client(redis)

    async def enqueue(self, jobs: Sequence[Job]) -> None:
        """Does nothing for a job whose id is queued or running."""
        for job in jobs:
            await self._redis.run(lambda _, job=job: self._enqueue(job))  # type: ignore[misc]

    async def _enqueue(self, job: Job) -> None:
        wait = max(job.position - now(), timedelta(0))
        await self._arq.enqueue_job(
            job.function, *job.args, _job_id=job.id, _defer_until=job.position, _expires=wait + EXPIRES_AFTER
        )

    async def repair(self, due: Sequence[Job]) -> int:
        """Enqueues due jobs that are missing and returns their number. A job is in the queue until it ends, or until it
        has claimed its task. One that waited there for its time counts by its position now."""
        if not due:
            return 0
        scores = await self._redis.run(lambda client: client.zmscore(QUEUE, [job.id for job in due]))
        waited = [job for job, score in zip(due, scores, strict=True) if score and score >= _score(job.due_at)]
        missing = [job for job, score in zip(due, scores, strict=True) if score is None]
        await self._advance({job.id: _score(job.position) for job in waited})
        await self.enqueue(missing)
        return len(missing)

    async def advance_cron_jobs(self) -> None:
        """arq enqueues them at the present time, behind every task that waits."""
        at = _score(now())
        recent = await self._redis.run(lambda client: client.zrangebyscore(QUEUE, at - _RECENT_MS, at, 0, 100))
        await self._advance({job_id: at - _CRON_SHIFT_MS for job_id in recent if job_id.startswith(b"cron:")})

    async def _advance(self, scores: Mapping[Any, float]) -> None:
        if scores:
            await self._redis.run(lambda client: client.zadd(QUEUE, scores, xx=True, lt=True))

    async def remove(self, job_ids: Collection[str]) -> None:
        await self._redis.run(lambda client: client.zrem(QUEUE, *job_ids))

    async def check_writable(self) -> None:
        """A Redis that is read-only or out of memory answers pings but takes no jobs."""
        await self._redis.ping()
        await self._redis.run(lambda client: client.set(PROBE_KEY, b"", ex=PROBE_TTL_S))

    async def length(self) -> int:
        return int(await self._redis.run(lambda client: client.zcard(QUEUE)))


def _score(moment: datetime) -> float:
    return moment.timestamp() * 1000


def arq_client(redis: Redis) -> ArqRedis:
    """arq's view of the connection: same pool, same time-outs."""
    return ArqRedis(
        redis.client.connection_pool,
        job_serializer=serialize,
        job_deserializer=deserialize,
        default_queue_name=QUEUE,
    )


def redis_settings(url: str | None) -> RedisSettings:
    """For arq's command line; without an address, arq's default."""
    return RedisSettings.from_dsn(url) if url else RedisSettings()


def serialize(job: dict[str, Any]) -> bytes:
    return orjson.dumps(job, default=str)


def deserialize(body: bytes) -> dict[str, Any]:
    job: dict[str, Any] = orjson.loads(body)
    return job
