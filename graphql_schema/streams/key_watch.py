"""Watches the keys behind open sockets and streams: one that is revoked or expires ends what it holds open."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog

from app.auth.principal import Principal
from app.auth.queries import living
from app.db.engine import Database
from app.errors import Unavailable
from app.events.kinds import EventKind
from app.events.reading import EventRow, Place
from app.events.tailer import Tailer

log = structlog.get_logger(__name__)
# Expiry has no event. Revocation has one and is seen at once, unless an older transaction still hides it.
CHECK_S = 1.0
End = Callable[[], None]


class KeyWatch:
    def __init__(self, database: Database, tailer: Tailer) -> None:
        self._database = database
        self._open: defaultdict[UUID, set[End]] = defaultdict(set)
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        tailer.listen(self._on_batch)

    @contextmanager
    def watch(self, principal: Principal, end: End) -> Iterator[None]:
        """`end` is called once when the key dies."""
        self._open[principal.key_id].add(end)
        try:
            yield
        finally:
            self._open[principal.key_id].discard(end)
            if not self._open[principal.key_id]:
                del self._open[principal.key_id]

    async def is_live(self, principal: Principal) -> bool:
        """Asked of the database, now; raises Unavailable."""
        return principal.key_id in await living(self._database, [principal.key_id])

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _on_batch(self, rows: list[EventRow], through: Place) -> None:
        if any(row.kind == EventKind.API_KEY_REVOKED for row in rows):
            self._look.set()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(CHECK_S):
                    await self._look.wait()
            except TimeoutError:
                pass
            self._look.clear()
            try:
                await self._check()
            except Unavailable:
                continue
            except Exception:
                log.exception("checking open keys failed")

    async def _check(self) -> None:
        if not self._open:
            return
        watched = list(self._open)
        for key_id in set(watched) - await living(self._database, watched):
            ends = list(self._open.get(key_id, ()))
            log.info("key died, closing what it holds open", key_id=str(key_id), count=len(ends))
            for end in ends:
                end()
