"""Connections to Postgres: SQLAlchemy sessions for writes, bare asyncpg connections for planned reads."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from app.config import Settings, environment_name
from app.db.read_pool import ReadPool
from app.errors import ConfigurationError, InvalidInput, Unavailable

CONNECT_TIMEOUT_S = 5.0
ACQUIRE_TIMEOUT_S = 5.0
IDLE_S = 600.0
# InternalClientError: a statement met the server's last words, which asyncpg had not yet read to their end.
AWAY = (OSError, asyncpg.PostgresConnectionError, asyncpg.CannotConnectNowError, asyncpg.AdminShutdownError,
        asyncpg.CrashShutdownError, asyncpg.InterfaceError, asyncpg.TooManyConnectionsError,
        asyncpg.InternalClientError)  # fmt: skip
_IN_THE_WAY = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_IN_THE_WAY_MESSAGE = "Others changed the same at this moment, and nothing was done. Try again."
# Services check their texts and name the field. This is for one that was forgotten.
_UNSTORABLE = (asyncpg.CharacterNotInRepertoireError, asyncpg.UntranslatableCharacterError)
_UNSTORABLE_MESSAGE = "A text has a character that cannot be stored, such as a null character. Remove it and try again."
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
            max_overflow=0,  # what overflows is opened for one transaction, which costs more than most of them
            pool_timeout=ACQUIRE_TIMEOUT_S,
            # The one used last: in turn, twenty would each have to learn every statement and keep it warm.
            pool_use_lifo=True,
            pool_pre_ping=False,
            hide_parameters=True,  # an error in the log must not carry what users wrote
            connect_args={"server_settings": self._server_settings(), "timeout": CONNECT_TIMEOUT_S},
        )
        event.listen(self.engine.sync_engine, "checkout", _refuse_dead)
        self.sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        self._pool = ReadPool(
            self._open_for_reads, settings.read_pool_size, patience_s=ACQUIRE_TIMEOUT_S, idle_s=IDLE_S
        )

    def _server_settings(self, **more: str) -> dict[str, str]:
        return {
            "application_name": "parley",
            "timezone": "UTC",
            "statement_timeout": str(self._settings.statement_timeout_ms),
            "idle_in_transaction_session_timeout": "60000",
            "jit": "off",
            **more,
        }

    async def _open_for_reads(self) -> Any:
        connection = await asyncpg.connect(
            self.url,
            timeout=CONNECT_TIMEOUT_S,
            statement_cache_size=512,
            server_settings=self._server_settings(
                default_transaction_read_only="on", statement_timeout=str(self._settings.read_timeout_ms)
            ),
        )
        try:
            await _json_as_bytes(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        """The first value of one statement; None when it has no row."""
        # asyncpg's own asks for one row, and Postgres starts no parallel workers for a bounded read.
        rows = await self._read(_FETCH, sql, arguments)
        return rows[0][0] if rows else None

    async def fetchrow(self, sql: str, *arguments: Any) -> asyncpg.Record | None:
        row: asyncpg.Record | None = await self._read(_FETCHROW, sql, arguments)
        return row

    async def fetch(self, sql: str, *arguments: Any) -> list[asyncpg.Record]:
        rows: list[asyncpg.Record] = await self._read(_FETCH, sql, arguments)
        return rows

    @asynccontextmanager
    async def tuned(self, **settings: str) -> AsyncIterator[Any]:
        """A connection for one long read, with settings of Postgres that hold until it is given back."""
        settings = {"statement_timeout": str(self._settings.statement_timeout_ms), **settings}
        async with available():
            connection = await self._pool.take()
            try:
                async with connection.transaction():
                    for name, value in settings.items():
                        await connection.execute("select set_config($1, $2, true)", name, value)
                    yield connection
            finally:
                self._pool.give_back(connection)

    async def _read(self, work: Callable[..., Awaitable[Any]], sql: str, arguments: tuple[Any, ...]) -> Any:
        """A connection that died while idle is replaced and the read tried again; raises Unavailable."""
        for last_try in (False, True):
            try:
                connection = await self._pool.take()
                try:
                    return await work(connection, sql, *arguments)
                finally:
                    self._pool.give_back(connection)
            except TimeoutError:
                raise Unavailable(
                    "All connections to the database that you may use at a time are busy. Try again in a few seconds.",
                    limit="readConnections",
                    maximum=self._settings.read_pool_size,
                    setting=environment_name("read_pool_size"),
                ) from None
            except _UNSTORABLE:
                raise InvalidInput(_UNSTORABLE_MESSAGE) from None
            except AWAY as error:
                if last_try:
                    raise Unavailable(_AWAY_MESSAGE) from error
                self._pool.drop_free()
        raise AssertionError

    async def ping(self) -> float:
        """Seconds that the database takes to answer; raises Unavailable."""
        started = time.perf_counter()
        await self.fetchval("select 1")
        return time.perf_counter() - started

    async def close(self) -> None:
        await self.engine.dispose()
        await self._pool.close()


_FETCHROW, _FETCH = asyncpg.Connection.fetchrow, asyncpg.Connection.fetch


def _refuse_dead(connection: Any, record: Any, proxy: Any) -> None:
    """A connection that the server closed while it lay idle is replaced. Unlike a ping, this costs no round trip."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError


async def _json_as_bytes(connection: Any) -> None:
    """JSON that Postgres built goes out as it came: neither decoded nor parsed."""
    await connection.set_type_codec(
        "json", schema="pg_catalog", encoder=lambda value: value, decoder=lambda value: value, format="binary"
    )


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
        cause = error.orig.__cause__ if error.orig else None
        if isinstance(cause, _UNSTORABLE):
            raise InvalidInput(_UNSTORABLE_MESSAGE) from error
        if isinstance(cause, _IN_THE_WAY):
            raise Unavailable(_IN_THE_WAY_MESSAGE) from error
        if error.connection_invalidated or isinstance(cause, AWAY):
            raise Unavailable(_AWAY_MESSAGE) from error
        raise
    except _IN_THE_WAY as error:
        raise Unavailable(_IN_THE_WAY_MESSAGE) from error
    except AWAY as error:
        raise Unavailable(_AWAY_MESSAGE) from error


def sqlalchemy_url(url: str) -> str:
    return "postgresql+asyncpg://" + url.split("://", 1)[1]


__all__ = ["AsyncSession", "Database", "available", "sqlalchemy_url"]
