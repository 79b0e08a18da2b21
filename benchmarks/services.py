"""The embedded Postgres and Valkey of a run. Every part gets a database cloned from the seeded one."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
from redis import Redis

from app.dev.cluster import DATABASE
from app.dev.postgres import EmbeddedPostgres
from app.dev.redis import EmbeddedValkey
from app.upgrade import upgrade
from benchmarks.seed import Seed, create_seed
from benchmarks.testbed import Testbed

SEEDED_DATABASE, PART_DATABASE = DATABASE, "benchmark_part"
STATEMENT_TIMEOUT_S = 120.0


class Services:
    """Starts Postgres and Valkey when the first testbed is opened; deletes their folder at the end."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="parley-bench-"))
        self._folder.chmod(0o711)  # as root, PostgreSQL runs under another account, which must be able to enter
        self._postgres = EmbeddedPostgres(self._folder, durable=False)
        self._valkey = EmbeddedValkey(self._folder)
        self._seed: Seed | None = None

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *error: object) -> None:
        self._valkey.stop()
        self._postgres.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def open_testbed(self) -> Iterator[Testbed]:
        """Clones the seeded database and empties Valkey, so that no part depends on what another left behind."""
        seed = self._seed = self._seed or self._start()
        self._execute(f"drop database if exists {PART_DATABASE} with (force)")
        self._execute(f"create database {PART_DATABASE} template {SEEDED_DATABASE}")
        with Redis.from_url(self._valkey.url()) as redis:
            redis.flushall()
        database_url = self._postgres.url(PART_DATABASE)
        testbed = Testbed(self._folder, database_url, self._valkey.url(), self._postgres.pid, seed)
        try:
            yield testbed
        finally:
            testbed.stop_all()

    def _start(self) -> Seed:
        url = self._postgres.start()
        self._valkey.start()
        upgrade(url)
        return create_seed(url, self._valkey.url())

    def _execute(self, statement: str) -> None:
        asyncio.run(_execute(self._postgres.url("postgres"), statement))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement, timeout=STATEMENT_TIMEOUT_S)
    finally:
        await connection.close()
