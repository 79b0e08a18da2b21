"""Turns a handler into the arq function of a follow-up job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Unavailable
from app.follow_ups import service
from jobs.context import JobContext

Handler = Callable[[JobContext, AsyncSession, UUID, UUID], Awaitable[None]]
"""Gets the worker's context, the session, the team's id and the subject's id."""


class FollowUpFunction(Protocol):
    __name__: str

    async def __call__(self, ctx: dict[str, Any], follow_up_id: str) -> None: ...


def follow_up(fallback: Handler | None = None) -> Callable[[Handler], FollowUpFunction]:
    """The handler runs in the transaction that deletes the follow-up. After MAX_FAILURES the fallback runs instead, so
    that nothing waits for it any longer."""

    def decorate(handler: Handler) -> FollowUpFunction:
        async def run(ctx: dict[str, Any], follow_up_id: str) -> None:
            job = JobContext.of(ctx)
            last = None if fallback is None else partial(fallback, job)
            with suppress(Unavailable):  # Postgres is away, so the row is still there: the sweeper enqueues it again
                await service.run(job.transaction, UUID(follow_up_id), partial(handler, job), last)

        run.__name__ = handler.__name__
        run.__qualname__, run.__doc__ = handler.__qualname__, handler.__doc__
        return run

    return decorate
