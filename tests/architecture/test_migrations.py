"""The migrations go up and down, and end where the models are."""

from __future__ import annotations

import asyncio

import asyncpg

from app.db import migrate


def test_up_down_up_and_no_difference_to_the_models(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url)
    assert migrate.current(empty_database_url) == migrate.head()
    migrate.check(empty_database_url)

    migrate.downgrade(empty_database_url, "base")
    assert _tables(empty_database_url) == {"alembic_version"}

    migrate.upgrade(empty_database_url)
    migrate.check(empty_database_url)


def _tables(url: str) -> set[str]:
    async def read() -> set[str]:
        connection = await asyncpg.connect(url)
        try:
            rows = await connection.fetch("select tablename from pg_tables where schemaname = 'public'")
            return {row["tablename"] for row in rows}
        finally:
            await connection.close()

    return asyncio.run(read())
