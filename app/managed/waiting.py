"""How a run waits for what others do: its place is lent meanwhile, and the longer it waits the less often it looks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container
from uuid import UUID

from app.errors import Unavailable
from app.managed.tool import Desk

_FIRST_LOOK_S, _LONGEST_S = 0.25, 2.0  # hundreds of waiting runs cost Postgres hundreds of reads a second at most
_LONGER = 1.25


async def wait_until(desk: Desk, ended: Callable[[], Awaitable[bool]], *, seconds: float) -> None:
    """Until it has ended or the time is over; without time nothing is looked at. While the database is away nothing
    has ended. A look that was begun is waited for: to break one off costs Postgres more than the look."""
    if not seconds:
        return
    time, pause_s = asyncio.get_running_loop().time, _FIRST_LOOK_S
    over = time() + seconds
    async with desk.run.resting():
        while time() < over and not await _looked(ended):
            await asyncio.sleep(min(pause_s, over - time()))
            pause_s = min(pause_s * _LONGER, _LONGEST_S)


async def wait_while(desk: Desk, going_on: Container[str], sql: str, *named: UUID, seconds: float) -> None:
    """While the status that the statement reads is one of these. None is nothing to wait for."""

    async def ended() -> bool:
        return await desk.database.fetchval(sql, desk.run.task.team_id, *named) not in going_on

    await wait_until(desk, ended, seconds=seconds)


async def _looked(ended: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await ended()
    except Unavailable:
        return False
