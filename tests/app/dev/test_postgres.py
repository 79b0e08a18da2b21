"""The embedded PostgreSQL survives what a developer's machine does to it, always at the same address."""

import os
import shutil
import signal
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import psutil
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from app.db.engine import sqlalchemy_url
from app.dev.postgres import EmbeddedPostgres
from app.errors import ConfigurationError, Conflict


async def remember(url: str, word: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("create table if not exists note (word text)")
    await connection.execute("insert into note values ($1)", word)
    await connection.close()


async def remembered(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    words = [row["word"] for row in await connection.fetch("select word from note order by word")]
    await connection.close()
    return words


async def test_restart_keeps_the_address_and_the_data(own_postgres: EmbeddedPostgres) -> None:
    url = own_postgres.url()
    await remember(url, "kept")

    assert own_postgres.restart() == url

    assert await remembered(url) == ["kept"]


async def test_stopped_server_is_away_until_started_again(own_postgres: EmbeddedPostgres) -> None:
    url = own_postgres.url()
    await remember(url, "kept")

    own_postgres.stop()

    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        await asyncpg.connect(url)
    own_postgres.start()
    assert await remembered(url) == ["kept"]


async def test_kill_loses_nothing_committed(own_postgres: EmbeddedPostgres) -> None:
    url = own_postgres.url()
    await remember(url, "kept")
    open_connection = await asyncpg.connect(url)

    own_postgres.kill()

    with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
        await open_connection.fetchval("select 1")
    assert own_postgres.start() == url
    assert await remembered(url) == ["kept"]


async def test_kill_ends_every_process_of_the_server(own_postgres: EmbeddedPostgres) -> None:
    place = str(own_postgres.folder.resolve())
    connection = await asyncpg.connect(own_postgres.url())

    own_postgres.kill()

    connection.terminate()
    assert [process for process in psutil.process_iter() if _working_in(process) == place] == []


def _working_in(process: psutil.Process) -> str | None:
    try:
        return str(process.cwd())
    except psutil.Error:
        return None


async def test_starting_twice_is_one_server(own_postgres: EmbeddedPostgres) -> None:
    assert own_postgres.start() == own_postgres.url()


def test_second_server_on_one_folder_is_refused(own_postgres: EmbeddedPostgres) -> None:
    second = EmbeddedPostgres(own_postgres.folder.parent)

    with pytest.raises(Conflict, match=rf"already runs on .* \(started by process {os.getpid()}\)"):
        second.start()

    assert own_postgres.exit_code() is None


@pytest.mark.parametrize("name", ["with a space", "ünïcode", 'quote\'s "here"', "x" * 200, "per%cent"])
async def test_folder_may_have_any_name(passable_folder: Path, name: str) -> None:
    server = EmbeddedPostgres(passable_folder / name / name, durable=False)

    url = server.start()

    await remember(url, "kept")
    assert server.restart() == url
    assert await remembered(url) == ["kept"]
    server.stop()


def test_interrupted_initialisation_is_begun_anew(passable_folder: Path) -> None:
    (passable_folder / "postgres.new" / "base").mkdir(parents=True)
    (passable_folder / "postgres.new" / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(passable_folder, durable=False)

    server.start()

    assert not (passable_folder / "postgres.new").exists()
    server.stop()


def test_empty_folder_is_used(passable_folder: Path) -> None:
    (passable_folder / "postgres").mkdir()
    server = EmbeddedPostgres(passable_folder, durable=False)

    server.start()

    assert server.exit_code() is None
    server.stop()


@pytest.mark.parametrize("missing", ["PG_VERSION", "global/pg_control", "postgresql.conf"])
def test_incomplete_folder_is_named_and_left_alone(own_postgres: EmbeddedPostgres, missing: str) -> None:
    own_postgres.stop()
    (own_postgres.folder / missing).unlink()
    before = sorted(path.name for path in own_postgres.folder.iterdir())

    with pytest.raises(ConfigurationError, match=rf"not a complete PostgreSQL folder \({missing} missing\)"):
        own_postgres.start()

    assert sorted(path.name for path in own_postgres.folder.iterdir()) == before


def test_folder_of_another_version_is_named(own_postgres: EmbeddedPostgres) -> None:
    own_postgres.stop()
    (own_postgres.folder / "PG_VERSION").write_text("16\n")

    with pytest.raises(ConfigurationError, match="belongs to PostgreSQL 16"):
        own_postgres.start()


async def test_stale_pid_file_of_a_living_stranger_does_not_stop_the_start(own_postgres: EmbeddedPostgres) -> None:
    await remember(own_postgres.url(), "kept")
    pid_file = own_postgres.folder / "postmaster.pid"
    lines = pid_file.read_text().split("\n")
    own_postgres.kill()
    pid_file.write_text("\n".join([str(os.getppid()), *lines[1:]]))

    url = own_postgres.start()

    assert await remembered(url) == ["kept"]


async def test_server_that_outlived_its_owner_and_keeper_is_replaced(own_postgres: EmbeddedPostgres) -> None:
    """Both ends of the leash cut at once; on Linux the kernel stops it, elsewhere the next start does."""
    url = own_postgres.url()
    await remember(url, "kept")
    server = psutil.Process(own_postgres.pid)
    keeper = server.parent()
    assert keeper is not None
    keeper.send_signal(signal.SIGKILL)
    keeper.wait(5)

    successor = EmbeddedPostgres(own_postgres.folder.parent, durable=False)
    own_postgres.stop()

    assert successor.start() == url
    assert successor.pid != server.pid
    assert await remembered(url) == ["kept"]
    successor.stop()


def test_socket_folder_of_a_stranger_is_refused(own_postgres: EmbeddedPostgres) -> None:
    folder = Path(parse_qs(urlsplit(own_postgres.url()).query)["host"][0])
    own_postgres.stop()
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)

    with pytest.raises(ConfigurationError, match="exists and is not ours"):
        own_postgres.start()

    shutil.rmtree(folder)


async def test_pgvector_is_there(own_postgres: EmbeddedPostgres) -> None:
    connection = await asyncpg.connect(own_postgres.url())

    await connection.execute("create extension vector")

    assert await connection.fetchval("select '[1,2]'::vector <-> '[1,4]'::vector") == 2
    await connection.close()


async def test_durable_server_syncs(passable_folder: Path) -> None:
    server = EmbeddedPostgres(passable_folder)
    connection = await asyncpg.connect(server.start())

    names = ("fsync", "synchronous_commit", "full_page_writes")

    assert [await connection.fetchval(f"show {name}") for name in names] == ["on", "on", "on"]
    await connection.close()
    server.stop()


async def test_address_does_not_depend_on_the_environment(
    own_postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGPORT": "6543", "PGHOST": "nowhere", "PGUSER": "nobody", "PGDATA": "/nowhere"}.items():
        monkeypatch.setenv(name, value)

    url = own_postgres.restart()

    await remember(url, "kept")
    engine = create_async_engine(sqlalchemy_url(url))
    async with engine.connect() as connection:
        assert await connection.scalar(text("select word from note")) == "kept"
    await engine.dispose()
