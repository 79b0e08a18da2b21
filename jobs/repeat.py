"""Steps of a worker that come again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from app.errors import Unavailable

log = structlog.get_logger(__name__)
_AWAY_PAUSE_S = 0.5


async def repeat(step: Callable[[bool], Awaitable[None]], bell: asyncio.Event, every_s: float) -> None:
    """Again at every ring, and after a while without one; the step is told which. Neither an absent database nor a
    fault ends it."""
    while True:
        rung, pause_s = bell.is_set(), every_s
        bell.clear()
        try:
            await step(rung)
        except Unavailable:
            pause_s = _AWAY_PAUSE_S
        except Exception:
            log.exception("a step of the worker failed; trying again", step=step.__qualname__)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await bell.wait()
