"""Does the errands that are due, a few at a time. What is due stands in Postgres: this process can be killed at any
moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from app.db.engine import Database
from app.db.transaction import Transactions
from app.errands import service
from app.errands.models import ErrandKind
from app.errands.service import Do
from jobs.repeat import repeat

AT_A_TIME = 3
POLL_S = 1.0


class ErrandRunner:
    def __init__(
        self,
        database: Database,
        transaction: Transactions,
        deeds: Mapping[ErrandKind, Do],
        last_resorts: Mapping[ErrandKind, Do] | None = None,
    ) -> None:
        self._database = database
        self._transaction = transaction
        self._deeds = deeds
        self._last_resorts = last_resorts
        self._due = asyncio.Event()

    def wake(self) -> None:
        """Something became due."""
        self._due.set()

    async def run(self) -> None:
        """Until cancelled; what is cut off half-way is rolled back and done by another."""
        await repeat(self._do_all, self._due, POLL_S)

    async def _do_all(self, rung: bool) -> None:
        if await service.any_due(self._database):
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_A_TIME):
                    group.create_task(self._do_until_none())

    async def _do_until_none(self) -> None:
        while await service.do_next(self._transaction, self._deeds, self._last_resorts):
            continue
