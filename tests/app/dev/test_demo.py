"""The demo team is made once; its key is kept for its owner alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from app.agents.models import Agent
from app.auth import service as keys
from app.auth.queries import find_principal
from app.auth.roles import Role
from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dev.demo import ensure_demo
from app.dev.welcome import text
from app.errors import ConfigurationError
from app.events.log import Actor

Count = Callable[[str], Awaitable[int]]
OWN_KEY = "a-key-of-my-own-choice"


@pytest.fixture
def demo_settings(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"data_dir": tmp_path / "data"})


@pytest.fixture
def count(database: Database) -> Count:
    async def rows(table: str) -> int:
        return int(await database.fetchval(f"select count(*) from {table}"))

    return rows


async def test_the_team_and_its_admin_key_are_made(demo_settings: Settings, database: Database, count: Count) -> None:
    secret = await ensure_demo(demo_settings)

    principal = await find_principal(database, secret)
    assert principal is not None
    assert (principal.role, principal.name) == (Role.ADMIN, "demo admin")
    assert await count("agent") == 6
    file = demo_settings.data_dir / "demo-key"
    assert (file.read_text().strip(), file.stat().st_mode & 0o777) == (secret, 0o600)


async def test_a_second_start_changes_nothing(demo_settings: Settings, count: Count) -> None:
    secret = await ensure_demo(demo_settings)
    events = await count("event")

    assert await ensure_demo(demo_settings) == secret
    assert await count("event") == events


async def test_the_users_changes_are_kept(
    demo_settings: Settings, database: Database, transaction: Transactions
) -> None:
    await ensure_demo(demo_settings)
    async with transaction() as session:
        await session.execute(update(Agent).where(Agent.slug == "kyra").values(tagline="mine"))

    await ensure_demo(demo_settings)

    assert await database.fetchval("select tagline from agent where slug = 'kyra'") == "mine"


async def test_starts_at_once_agree(demo_settings: Settings, count: Count) -> None:
    secrets = await asyncio.gather(*(ensure_demo(demo_settings) for _ in range(5)))

    assert len(set(secrets)) == 1
    assert (await count("team"), await count("agent"), await count("api_key")) == (1, 6, 1)


async def test_a_key_of_ones_own_is_added(demo_settings: Settings, count: Count) -> None:
    made = await ensure_demo(demo_settings)

    chosen = await ensure_demo(demo_settings.model_copy(update={"demo_key": OWN_KEY}))

    assert chosen == OWN_KEY
    assert await count("api_key") == 2
    assert await ensure_demo(demo_settings) == made


@pytest.mark.parametrize("bad", ["short", "fifteen-letters", "with a space in it", "ключ-слишком-нелатинский"])
async def test_a_bad_key_is_refused(demo_settings: Settings, bad: str) -> None:
    with pytest.raises(ConfigurationError, match="PARLEY_DEMO_KEY"):
        await ensure_demo(demo_settings.model_copy(update={"demo_key": bad}))


async def test_a_revoked_key_is_replaced_or_refused(
    demo_settings: Settings, database: Database, transaction: Transactions
) -> None:
    mine = demo_settings.model_copy(update={"demo_key": OWN_KEY})
    for secret in (await ensure_demo(demo_settings), await ensure_demo(mine)):
        principal = await find_principal(database, secret)
        assert principal is not None
        async with transaction() as session:
            await keys.revoke(session, team_id=principal.team_id, key_id=principal.key_id, actor=Actor("a test"))

    fresh = await ensure_demo(demo_settings)

    assert await find_principal(database, fresh) is not None
    assert await database.fetchval("select count(*) from api_key where revoked_at is null") == 1
    with pytest.raises(ConfigurationError, match="revoked"):
        await ensure_demo(mine)


async def test_a_damaged_key_file_is_made_anew(demo_settings: Settings, database: Database) -> None:
    await ensure_demo(demo_settings)
    (demo_settings.data_dir / "demo-key").write_text("")

    secret = await ensure_demo(demo_settings)

    assert (demo_settings.data_dir / "demo-key").read_text().strip() == secret


def test_the_welcome_names_address_and_key() -> None:
    page = text("http://127.0.0.1:8000", "it's-a-key")

    assert "GraphiQL   http://127.0.0.1:8000/graphql" in page
    assert "KEY='it'\\''s-a-key'" in page
    assert "{{" not in page
