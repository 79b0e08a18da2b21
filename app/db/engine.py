"""Connections to Postgres: SQLAlchemy sessions for writes, a bare asyncpg pool for planned reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import asyncpg
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from app.config import Settings
from app.errors import ConfigurationError, Unavailable

T = TypeVar("T")
CONNECT_TIMEOUT_S = 5.0
ACQUIRE_TIMEOUT_S = 5.0
AWAY = (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, asyncpg.AdminShutdownError,
        asyncpg.CrashShutdownError, asyncpg.InterfaceError, asyncpg.TooManyConnectionsError)  # fmt: skip
_AWAY_MESSAGE = "The database does not answer. The server reconnects by itself; try again in a few seconds."


class Database:
    """Opened once per process. Holds no session: whoever needs one opens a short one."""

    def __init__(self, settings: Settings) -> None:
        if settings.database_url is None:
            raise ConfigurationError("DATABASE_URL is not set. Set it, or use `parley dev`, which embeds a database.")
        self.url = settings.database_url
        self._settings = settings
        self.engine: AsyncEngine = create_async_engine(
            sqlalchemy_url(self.url),
            pool_size=settings.pool_size,
            max_overflow=settings.pool_size,
            pool_timeout=ACQUIRE_TIMEOUT_S,
            pool_pre_ping=False,
            hide_parameters=True,  # an error in the log must not carry what users wrote
            connect_args={"server_settings": self._server_settings(), "timeout": CONNECT_TIMEOUT_S},
        )
        self.sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()

    def _server_settings(self, **more: str) -> dict[str, str]:
        return {
            "application_name": "parley",
            "timezone": "UTC",
            "statement_timeout": str(self._settings.statement_timeout_ms),
            "idle_in_transaction_session_timeout": "60000",
            "jit": "off",
            **more,
        }

    async def reads(self) -> asyncpg.Pool[asyncpg.Record]:
        """The pool of read-only connections; opened on first use, so that a start does not need the database."""
        if self._pool is None:
            async with self._opening:
                if self._pool is None:
                    self._pool = await asyncpg.create_pool(
                        self.url,
                        min_size=0,
                        max_size=self._settings.read_pool_size,
                        timeout=CONNECT_TIMEOUT_S,
                        statement_cache_size=512,
                        max_inactive_connection_lifetime=600,
                        init=_json_as_bytes,
                        reset=_no_reset,
                        server_settings=self._server_settings(default_transaction_read_only="on"),
                    )
        return self._pool

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        """One value from one statement."""
        return await self._read(lambda connection: connection.fetchval(sql, *arguments))

    async def fetchrow(self, sql: str, *arguments: Any) -> asyncpg.Record | None:
        return await self._read(lambda connection: connection.fetchrow(sql, *arguments))

    async def fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        return await self._read(lambda connection: connection.fetch(sql, *arguments))

    async def _read(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """A connection that died while idle is replaced and the read tried again; raises Unavailable."""
        for last_try in (False, True):
            try:
                pool = await self.reads()
                async with pool.acquire(timeout=ACQUIRE_TIMEOUT_S) as connection:
                    return await work(connection)
            except TimeoutError:
                raise Unavailable("The database is busy. Try again in a few seconds.") from None
            except AWAY as error:
                if last_try:
                    raise Unavailable(_AWAY_MESSAGE) from error
                await self._drop_dead_connections()
        raise AssertionError

    async def _drop_dead_connections(self) -> None:
        if self._pool is not None:
            await self._pool.expire_connections()

    async def ping(self) -> float:
        """Seconds that the database takes to answer; raises Unavailable."""
        started = time.perf_counter()
        await self.fetchval("select 1")
        return time.perf_counter() - started

    async def close(self) -> None:
        await self.engine.dispose()
        if self._pool is not None:
            try:
                async with asyncio.timeout(2):
                    await self._pool.close()
            except TimeoutError:
                self._pool.terminate()


async def _json_as_bytes(connection: Any) -> None:
    """JSON that Postgres built goes out as it came: neither decoded nor parsed."""
    await connection.set_type_codec(
        "json", schema="pg_catalog", encoder=lambda value: value, decoder=lambda value: value, format="binary"
    )


async def _no_reset(connection: Any) -> None:
    """Planned reads leave nothing behind on a connection, so the reset's round trip is saved."""


@asynccontextmanager
async def available() -> AsyncIterator[None]:
    """Turn the driver's many ways of saying that the database is away into one error."""
    try:
        yield
    except TimeoutError as error:
        raise Unavailable("The database is busy. Try again in a few seconds.") from error
    except (OperationalError, InterfaceError) as error:
        raise Unavailable(_AWAY_MESSAGE) from error
    except DBAPIError as error:
        if error.connection_invalidated or isinstance(error.orig.__cause__ if error.orig else None, AWAY):
            raise Unavailable(_AWAY_MESSAGE) from error
        raise
    except AWAY as error:
        raise Unavailable(_AWAY_MESSAGE) from error


def sqlalchemy_url(url: str) -> str:
    return "postgresql+asyncpg://" + url.split("://", 1)[1]


__all__ = ["AsyncSession", "Database", "available", "sqlalchemy_url"]
