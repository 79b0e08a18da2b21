"""One tailer per process follows the event log and hands new events to whoever listens in this process.

One query, whatever the number of listeners. Woken by a Redis message; polls as a fallback.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import WakeUp
from app.errors import Unavailable
from app.events.reading import EventRow, Place, log_state, tail
from app.observability import metrics
from app.wakeups import Listener

log = structlog.get_logger(__name__)
BATCH = 500
_HIDDEN_POLL_S = (0.002, 0.05)  # while a commit waits for an older transaction to end
_AWAY_POLL_S = 0.5
_START_PATIENCE_S = 3.0
STALE_S = 15.0
Listening = Callable[[list[EventRow], Place], None]


class Tailer:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._poll_s = settings.event_poll_s
        self._woken = asyncio.Event()
        self._listeners: list[Listening] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.listener = Listener(settings, WakeUp.EVENTS, self.wake)
        self.place: Place | None = None
        self._read_at = time.monotonic()
        self._following = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    def listen(self, listener: Listening) -> None:
        """Called with each batch of events in order, and with the place up to which the log has been read."""
        self._listeners.append(listener)

    async def following(self) -> None:
        """Wait until the first read: what commits before it is handed to nobody. Raises Unavailable."""
        try:
            async with asyncio.timeout(_START_PATIENCE_S):
                await self._following.wait()
        except TimeoutError:
            raise Unavailable("The event log cannot be read yet. Try again in a few seconds.") from None

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self.listener.run())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def check(self) -> None:
        """For /readyz: raises Unavailable when the log has not been read for a while."""
        silent = time.monotonic() - self._read_at
        if silent > STALE_S:
            raise Unavailable(f"The event log has not been read for {silent:.0f} seconds.")

    async def _run(self) -> None:
        hidden_s = _HIDDEN_POLL_S[0]
        while True:
            try:
                hidden = await self._read_all()
            except Unavailable:
                await asyncio.sleep(_AWAY_POLL_S)
                continue
            except Exception:
                log.exception("reading the event log failed; trying again")
                await asyncio.sleep(_AWAY_POLL_S)
                continue
            if not hidden:
                hidden_s = _HIDDEN_POLL_S[0]
            await self._wait(hidden_s if hidden else self._poll_s)
            if hidden:
                hidden_s = min(2 * hidden_s, _HIDDEN_POLL_S[1])

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _read_all(self) -> bool:
        """Hand out everything new; returns whether there is something to wait for that sends no wake-up."""
        if self.place is None:
            state = await log_state(self._database)
            if not state.mended:  # or all that was restored would be handed out as new
                return True
            self.place = state.end
        while True:
            self._woken.clear()
            batch = await tail(self._database, self.place, BATCH)
            for listener in self._listeners:
                listener(batch.rows, batch.through)
            # Only now: should a listener have failed, the batch is handed out again, and readers drop what they have.
            self.place, self._read_at = batch.through, time.monotonic()
            self._following.set()
            if batch.rows:
                metrics.EVENT_LAG.observe(max(0.0, time.time() - batch.rows[-1].at.timestamp()))
            if not batch.full:
                return batch.hidden
