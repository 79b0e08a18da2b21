"""Writes down what runs came to. While one write is under way the next ones gather, and are then written together."""

from __future__ import annotations

import asyncio
from collections import deque

import structlog

from app.db.transaction import Transactions
from app.errors import Unavailable
from app.tasks.completion import Completion, complete_plain
from app.tasks.models import TaskStatus
from app.tasks.run import Made, Run

log = structlog.get_logger(__name__)
MOST = 50


class Completions:
    def __init__(self, transaction: Transactions) -> None:
        self._transaction = transaction
        self._waiting: deque[tuple[Completion, asyncio.Future[bool]]] = deque()
        self._writing: asyncio.Task[None] | None = None

    async def write(self, run: Run, made: Made) -> TaskStatus:
        """What the task has become; raises ClaimLost. What is not plain, or could not be written with others, is
        written alone."""
        if run.at_completion:
            return await run.complete(made)
        run.ending = True
        plain: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((Completion(run.token, run.actor, made.result, made.output, run.usage), plain))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return TaskStatus.COMPLETED if await plain else await run.complete(made)

    async def _write_all(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST))]
            written = await self._write_together([one for one, _ in batch])
            for one, plain in batch:
                if not plain.done():
                    plain.set_result(one.claim_token in written)

    async def _write_together(self, batch: list[Completion]) -> set[object]:
        try:
            async with self._transaction() as session:
                return set(await complete_plain(session, batch))
        except Unavailable:
            return set()
        except Exception:
            log.exception("completing tasks together failed; each is completed alone", count=len(batch))
            return set()
