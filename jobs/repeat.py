"""Repeats a step of a worker until it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from app.errors import Unavailable

log = structlog.get_logger(__name__)
_AWAY_PAUSE_S = 0.5


async def repeat(step: Callable[[], Awaitable[None]], woken: asyncio.Event, pause_s: Callable[[], float]) -> None:
    """Runs the step at every wake-up and after every pause. Neither an absent database nor a fault ends it."""
    while True:
        woken.clear()
        away = False
        try:
            await step()
        except Unavailable:
            away = True
        except Exception:
            log.exception("a step of the worker failed; it will be retried", step=step.__qualname__)
        with suppress(TimeoutError):
            async with asyncio.timeout(_AWAY_PAUSE_S if away else pause_s()):
                await woken.wait()
