"""The database as planned reads use it."""

from __future__ import annotations

from app.config import load_settings
from app.db.engine import Database

LAUNCHED = "select parallel_workers_launched from pg_stat_database where datname = current_database()"


async def test_a_value_may_be_computed_by_parallel_workers(database_url: str) -> None:
    database = Database(load_settings(DATABASE_URL=database_url, read_pool_size=1))
    await database.fetchval("select set_config('debug_parallel_query', 'on', false)")
    before = await database.fetchval(LAUNCHED)

    assert await database.fetchval("select count(*) from agent") == 0
    assert await database.fetchval("select id from agent") is None

    await database.fetchval("select pg_stat_force_next_flush()")
    assert await database.fetchval(LAUNCHED) > before
    await database.close()
