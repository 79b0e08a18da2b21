"""Brings a database to what this version needs: the migrations, then what is made of data rather than of tables."""

from __future__ import annotations

import asyncio

from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from app.clock import now
from app.contracts import service as contracts
from app.db import migrate
from app.db.engine import available, sqlalchemy_url
from app.events import partitions


def upgrade(url: str) -> None:
    """Safe to run again, and by several machines at once. Raises Unavailable when the database is away."""
    migrate.upgrade(url)
    asyncio.run(_complete(url))


async def _complete(url: str) -> None:
    """The partitions that the event log needs by now, and every team's built-in contracts."""
    engine = create_async_engine(sqlalchemy_url(url), poolclass=NullPool)
    try:
        async with available(), AsyncSession(engine) as session, session.begin():
            await partitions.mend_clock(session)
            await partitions.ensure(session, now())
            await contracts.add_built_in(session)
    finally:
        await engine.dispose()
