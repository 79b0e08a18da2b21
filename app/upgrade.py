"""Brings a database to what this version needs: the migrations, then the partitions that the event log needs by now."""

from __future__ import annotations

import asyncio

from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

from app.clock import now
from app.db import migrate
from app.db.engine import available, sqlalchemy_url
from app.events import partitions


def upgrade(url: str) -> None:
    """Safe to run again, and by several machines at once. Raises Unavailable when the database is away."""
    migrate.upgrade(url)
    asyncio.run(_make_partitions(url))


async def _make_partitions(url: str) -> None:
    engine = create_async_engine(sqlalchemy_url(url), poolclass=NullPool)
    try:
        async with available(), AsyncSession(engine) as session, session.begin():
            await partitions.mend_clock(session)
            await partitions.ensure(session, now())
    finally:
        await engine.dispose()
