"""Alive is always said; ready only with database, migrations and what else was asked for; degraded without Redis."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from app import health as module
from app.config import Settings, load_settings
from app.db import migrate
from app.db.engine import Database
from app.dev.redis import EmbeddedValkey
from app.errors import Unavailable
from app.health import Health
from app.redis import Redis


async def ask(health: Health, path: str) -> tuple[int, dict[str, Any]]:
    transport = httpx.ASGITransport(Starlette(routes=health.routes))
    async with httpx.AsyncClient(transport=transport, base_url="http://parley") as client:
        response = await client.get(path)
    return response.status_code, response.json()


@pytest.fixture
async def redis(redis_url: str) -> Any:
    connection = Redis(load_settings(REDIS_URL=redis_url))
    yield connection
    await connection.close()


async def test_ready_names_each_check(database: Database, redis: Redis) -> None:
    async def tailing() -> None:
        pass

    status, body = await ask(Health(database, redis, {"events": tailing}), "/readyz")

    assert status == 200
    assert body["status"] == "ready"
    assert {name: check["ok"] for name, check in body["checks"].items()} == {
        "database": True, "redis": True, "migrations": True, "events": True,
    }  # fmt: skip


async def test_redis_away_is_degraded_and_back_is_ready(database: Database, own_valkey: EmbeddedValkey) -> None:
    redis = Redis(load_settings(REDIS_URL=own_valkey.url()))
    health = Health(database, redis)
    own_valkey.stop()
    away = await ask(health, "/readyz")
    own_valkey.start()
    back = await ask(health, "/readyz")
    await redis.close()

    assert (away[0], away[1]["status"]) == (200, "degraded")
    assert (back[0], back[1]["status"]) == (200, "ready")
    assert away[1]["checks"]["redis"] == {"ok": False, "message": "Redis does not answer."}
    assert away[1]["checks"]["database"]["ok"]


async def test_an_empty_database_is_not_ready(empty_database_url: str, redis: Redis) -> None:
    database = Database(load_settings(DATABASE_URL=empty_database_url))
    status, body = await ask(Health(database, redis), "/readyz")
    await database.close()

    assert status == 503
    assert "parley migrate" in body["checks"]["migrations"]["message"]


async def test_an_old_database_is_not_ready(database: Database, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "head", lambda: "newer")
    status, body = await ask(Health(database, redis), "/readyz")

    assert status == 503
    assert body["checks"]["migrations"]["message"].endswith("this version needs newer: run `parley migrate`.")


async def test_a_database_that_hangs_is_answered_for_in_time(
    database: Database, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "TIMEOUT_S", 0.05)
    monkeypatch.setattr(database, "fetchval", hang)
    health = Health(database, redis)
    async with asyncio.timeout(5):
        status, body = await ask(health, "/readyz")
        alive = await ask(health, "/healthz")

    assert status == 503
    assert not body["checks"]["database"]["ok"]
    assert not body["checks"]["migrations"]["ok"]
    assert body["checks"]["redis"]["ok"]
    assert alive == (200, {"status": "ok"})


async def test_a_further_check_that_fails_is_said(database: Database, redis: Redis) -> None:
    async def behind() -> None:
        raise Unavailable("The event log is not read.")

    async def broken() -> None:
        raise KeyError("secret")

    status, body = await ask(Health(database, redis, {"events": behind, "other": broken}), "/readyz")

    assert status == 503
    assert body["checks"]["events"] == {"ok": False, "message": "The event log is not read."}
    assert body["checks"]["other"] == {"ok": False, "message": "Failed with KeyError."}


async def test_a_process_that_closes_is_not_ready(database: Database, redis: Redis) -> None:
    health = Health(database, redis)
    health.closing = True

    status, body = await ask(health, "/readyz")

    assert status == 503
    assert body["checks"]["shutdown"]["ok"] is False


async def test_a_start_does_not_need_the_services() -> None:
    settings: Settings = load_settings(
        DATABASE_URL="postgresql://nobody@127.0.0.1:1/x", REDIS_URL="redis://127.0.0.1:1"
    )
    database, redis = Database(settings), Redis(settings)
    status, body = await ask(Health(database, redis), "/readyz")
    await database.close()
    await redis.close()

    assert status == 503
    assert [check["ok"] for check in body["checks"].values()] == [False, False, False]
