"""`parley doctor` finds what is wrong and says how to mend it."""

import asyncio
from collections.abc import Callable

import asyncpg
import pytest

from app.cli import checkup
from tests.app.cli.conftest import Answer


def test_healthy_installation(parley: Callable[..., Answer], database_url: str, redis_url: str) -> None:
    answer = parley("doctor", DATABASE_URL=database_url, REDIS_URL=redis_url)

    assert answer.code == 0
    assert [line.split()[:2] for line in answer.out.splitlines()] == [
        ["ok", "database"],
        ["ok", "pgvector"],
        ["ok", "migrations"],
        ["ok", "follow-ups"],
        ["ok", "clock"],
        ["ok", "Redis"],
    ]


def test_nothing_set(parley: Callable[..., Answer]) -> None:
    answer = parley("doctor")

    assert answer.code == 1
    assert "→ Set DATABASE_URL, or start `parley dev`." in answer.out
    assert "→ Set REDIS_URL, or start `parley dev`." in answer.out


def test_services_away(parley: Callable[..., Answer]) -> None:
    answer = parley("doctor", DATABASE_URL="postgresql://x@127.0.0.1:1/x", REDIS_URL="redis://:sesame@127.0.0.1:1/0")

    assert answer.code == 1
    assert "cannot connect to 127.0.0.1:1" in answer.out
    assert "→ Start the database, or correct DATABASE_URL" in answer.out
    assert "→ Start it, or correct REDIS_URL" in answer.out
    assert "sesame" not in answer.out


def test_unknown_database(parley: Callable[..., Answer], database_url: str) -> None:
    answer = parley("doctor", DATABASE_URL=database_url.replace("/test_", "/absent_"))

    assert answer.code == 1
    assert "→ Create the database named in DATABASE_URL, or correct the name." in answer.out


def test_database_that_was_never_migrated(
    parley: Callable[..., Answer], empty_database_url: str, redis_url: str
) -> None:
    answer = parley("doctor", DATABASE_URL=empty_database_url, REDIS_URL=redis_url)

    assert answer.code == 1
    assert "available, not installed in this database" in answer.out
    assert "at nothing, needs " in answer.out
    assert "→ Run `parley migrate`." in answer.out


def test_wrong_redis_password(parley: Callable[..., Answer], redis_url: str) -> None:
    answer = parley("doctor", REDIS_URL="redis://:wrong@" + redis_url.partition("@")[2])

    assert answer.code == 1
    assert "→ Correct the password in REDIS_URL." in answer.out


def test_clocks_apart(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "LARGEST_SKEW_S", -1.0)

    findings = asyncio.run(checkup.database_findings(database_url))

    assert findings[-1].subject == "clock"
    assert findings[-1].mend == "Switch on time synchronisation (NTP) on both machines."


def test_a_follow_up_that_keeps_failing_is_reported(
    parley: Callable[..., Answer], database_url: str, redis_url: str
) -> None:
    async def let_one_fail() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute("insert into team (id, slug, name) values (gen_random_uuid(), 'x', 'X')")
        await connection.execute(
            "insert into follow_up (id, team_id, kind, subject_id, failures, error) "
            "select gen_random_uuid(), id, 'start_reply', id, 5, 'KeyError(1)' from team"
        )
        await connection.close()

    asyncio.run(let_one_fail())
    answer = parley("doctor", DATABASE_URL=database_url, REDIS_URL=redis_url)

    assert answer.code == 1
    assert "1 fail; start_reply failed 5 times: KeyError(1)" in answer.out
    assert "→ Look for `follow-up job failed`" in answer.out


def test_newer_database(parley: Callable[..., Answer], database_url: str, redis_url: str) -> None:
    async def migrate_by_a_newer_version() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute("update alembic_version set version_num = '9999'")
        await connection.close()

    asyncio.run(migrate_by_a_newer_version())

    answer = parley("doctor", DATABASE_URL=database_url, REDIS_URL=redis_url)

    assert answer.code == 1
    assert "upgrade Parley on this machine" in answer.out
