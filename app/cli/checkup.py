"""What `parley doctor` looks at: each check answers what it found and, when that is wrong, how to mend it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit

import asyncpg
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, RedisError

from app.db import migrate

OLDEST_POSTGRES = 150_000  # server_version_num of 15.0
OLDEST_REDIS = 6
LARGEST_SKEW_S = 2.0
WORRYING_FAILURES = 3
TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Finding:
    subject: str
    found: str
    mend: str | None = None


async def database_findings(url: str | None) -> list[Finding]:
    if url is None:
        return [Finding("database", "DATABASE_URL is not set", "Set DATABASE_URL, or start `parley dev`.")]
    try:
        connection = await asyncpg.connect(url, timeout=TIMEOUT_S)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        return [Finding("database", f"cannot connect to {_place(url)}: {_words(error)}", _way_in(error))]
    try:
        return [
            await _version(connection),
            await _extension(connection),
            await _migrations(connection),
            await _follow_ups(connection),
            await _clock(connection),
        ]
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return [Finding("database", f"went away while being examined: {_words(error)}", "Run `parley doctor` again.")]
    finally:
        await connection.close(timeout=TIMEOUT_S)


async def redis_findings(url: str | None) -> list[Finding]:
    if url is None:
        return [Finding("Redis", "REDIS_URL is not set", "Set REDIS_URL, or start `parley dev`.")]
    try:
        async with Redis.from_url(url, socket_connect_timeout=TIMEOUT_S, socket_timeout=TIMEOUT_S) as client:
            about = await client.info("server")
    except AuthenticationError as error:
        return [Finding("Redis", f"refuses the password: {error}", "Correct the password in REDIS_URL.")]
    except (OSError, RedisError, ValueError) as error:
        mend = "Start it, or correct REDIS_URL; check that no firewall stands between."
        return [Finding("Redis", f"cannot connect to {_place(url)}: {_words(error)}", mend)]
    name = "Valkey" if "valkey_version" in about else "Redis"
    version = str(about.get("valkey_version", about["redis_version"]))
    too_old = name == "Redis" and int(version.split(".")[0]) < OLDEST_REDIS
    return [Finding("Redis", f"{name} {version}", f"Upgrade to Redis {OLDEST_REDIS} or Valkey." if too_old else None)]


async def _version(connection: asyncpg.Connection[asyncpg.Record]) -> Finding:
    number = int(await connection.fetchval("show server_version_num"))
    version = await connection.fetchval("show server_version")
    mend = "Upgrade to PostgreSQL 15 or newer." if number < OLDEST_POSTGRES else None
    return Finding("database", f"PostgreSQL {version}", mend)


async def _extension(connection: asyncpg.Connection[asyncpg.Record]) -> Finding:
    found = await connection.fetchrow(
        "select default_version, installed_version from pg_available_extensions where name = 'vector'"
    )
    if found is None:
        mend = "Install pgvector on the database server: its package is postgresql-<version>-pgvector or pgvector."
        return Finding("pgvector", "not available on the database server", mend)
    if found["installed_version"] is None:
        mend = "Run `parley migrate`; if it may not, let a superuser run: CREATE EXTENSION vector"
        return Finding("pgvector", f"{found['default_version']} available, not installed in this database", mend)
    return Finding("pgvector", found["installed_version"])


async def _migrations(connection: asyncpg.Connection[asyncpg.Record]) -> Finding:
    known = await connection.fetchval("select to_regclass('alembic_version')")
    current = await connection.fetchval("select version_num from alembic_version") if known else None
    head = await asyncio.to_thread(migrate.head)
    if current == head:
        return Finding("migrations", f"up to date ({head})")
    mend = "Run `parley migrate`. If that does not know the database's version, upgrade Parley on this machine."
    return Finding("migrations", f"at {current or 'nothing'}, needs {head}", mend)


async def _follow_ups(connection: asyncpg.Connection[asyncpg.Record]) -> Finding:
    """Follow-up jobs that keep failing; one that failed once or twice is retried by itself."""
    failing = None
    if await connection.fetchval("select to_regclass('follow_up')"):
        failing = await connection.fetchrow(
            "select kind, failures, error, count(*) over () from follow_up where failures >= $1 "
            "order by failures desc limit 1",
            WORRYING_FAILURES,
        )
    if failing is None:
        return Finding("follow-ups", "none fails")
    found = f"{failing['count']} fail; {failing['kind']} failed {failing['failures']} times: {failing['error']}"
    return Finding(
        "follow-ups", found[:500], "Look for `follow-up job failed` in the worker's log, and report it as a bug."
    )


async def _clock(connection: asyncpg.Connection[asyncpg.Record]) -> Finding:
    before = datetime.now(UTC)
    theirs: datetime = await connection.fetchval("select clock_timestamp()")
    after = datetime.now(UTC)
    # Whatever part of the round trip may explain is not a difference.
    skew_s = max((before - theirs).total_seconds(), (theirs - after).total_seconds(), 0.0)
    mend = "Switch on time synchronisation (NTP) on both machines." if skew_s > LARGEST_SKEW_S else None
    return Finding("clock", f"{skew_s:.1f} s apart from the database's", mend)


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or 'a local socket'}{f':{parts.port}' if parts.port else ''}"


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _way_in(error: Exception) -> str:
    if isinstance(error, asyncpg.InvalidPasswordError | asyncpg.InvalidAuthorizationSpecificationError):
        return "Correct the user and password in DATABASE_URL."
    if isinstance(error, asyncpg.InvalidCatalogNameError):
        return "Create the database named in DATABASE_URL, or correct the name."
    return "Start the database, or correct DATABASE_URL; check that no firewall stands between."
