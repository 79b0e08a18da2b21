"""The one place that commits. What must be told to Redis is remembered on the session and rung after the commit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import Any

import asyncpg
import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.engine import Database, available

log = structlog.get_logger(__name__)


class Bell(StrEnum):
    """Who is to look at once; the value is the channel on which it is rung."""

    EVENTS = "parley:events"  # whoever follows the event log
    WORK = "parley:work"  # workers: something became due, or a claim counts no more


Ringer = Callable[[list[Bell]], Awaitable[None]]


def remember_bell(session: AsyncSession, bell: Bell) -> None:
    """Keep a bell to ring after this session's commit; equal bells ring once, a rollback forgets them."""
    bells: list[Bell] = session.info.setdefault("bells", [])
    if bell not in bells:
        bells.append(bell)


class Statement:
    """A single statement to be sent, and the bells to ring when it is committed."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.bells: list[Bell] = []

    async def fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._connection.fetch(sql, *arguments)
        return rows


class Transactions:
    """Opens transactions on one database and rings the bells that they leave."""

    def __init__(self, database: Database, ring: Ringer) -> None:
        self._database = database
        self._ring = ring

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[AsyncSession]:
        """Commits on a clean exit, rolls back on an error; raises Unavailable when the database is away."""
        async with available(), self._database.sessions() as session:
            async with session.begin():
                yield session
            await self._ring_for(session)  # before the connection is given back: whoever waits need not

    @asynccontextmanager
    async def of_one_statement(self) -> AsyncIterator[Statement]:
        """For a single statement that commits itself, without SQLAlchemy between: one round trip instead of three, and
        half the work."""
        async with available(), self._database.engine.connect() as connection:
            statement = Statement((await connection.get_raw_connection()).driver_connection)
            yield statement
        if statement.bells:
            await self._ring_safely(statement.bells)

    async def _ring_for(self, session: AsyncSession) -> None:
        if bells := session.info.pop("bells", []):
            await self._ring_safely(bells)

    async def _ring_safely(self, bells: list[Bell]) -> None:
        # The commit stands whatever happens here: readers poll and the sweeper repairs what a lost bell left.
        try:
            await self._ring(bells)
        except Exception as error:
            log.warning("bell lost; polling covers for it", error=repr(error), bells=len(bells))
