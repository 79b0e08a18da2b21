"""The fixtures give each test a database and a Redis of its own, whatever the tests before it left."""

import asyncpg
import pytest
import redis.asyncio


@pytest.mark.parametrize("turn", [1, 2])
async def test_each_test_has_its_own_database(database_url: str, turn: int) -> None:
    connection = await asyncpg.connect(database_url)

    await connection.execute("create table left_behind (turn int)")

    assert await connection.fetchval("select count(*) from left_behind") == 0
    assert await connection.fetchval("select version_num from alembic_version") is not None
    await connection.close()


@pytest.mark.parametrize("turn", [1, 2])
async def test_each_test_finds_redis_empty(redis_url: str, turn: int) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        assert await client.dbsize() == 0
        await client.set("left behind", turn)
