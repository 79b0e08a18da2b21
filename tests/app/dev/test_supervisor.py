"""`parley dev` end to end: ready, one at a time, mended when something dies, and gone without a trace on Ctrl-C."""

import signal
from collections.abc import Callable

import asyncpg
import pytest

from app.dev import port, running
from app.dev.process import is_running
from tests.app.dev.conftest import READY_WITHIN_S, Dev

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


async def test_one_at_a_time_mended_when_something_dies_found_again_after_sigkill_and_gone_on_ctrl_c(
    start_dev: Callable[..., Dev],
) -> None:
    dev = start_dev()
    dev.wait_until_ready()
    before, addresses = dev.family(), running.addresses(dev.folder)
    assert set(before) == {"API", "worker", "PostgreSQL", "Valkey"}
    assert port.is_ready("127.0.0.1", dev.port)
    key = next(line for line in dev.output().splitlines() if "key" in line.lower())
    connection = await asyncpg.connect(addresses["DATABASE_URL"])
    await connection.execute("create table note as select 'kept' as word")
    connection.terminate()

    second = start_dev()
    assert second.process.wait(READY_WITHIN_S) == 1
    assert f"Parley already runs on {dev.folder} (process {dev.process.pid})." in second.output()
    assert "Traceback" not in second.output()

    for process in before.values():
        process.kill()

    dev.wait_for(lambda: len(dev.family()) == 4 and not set(dev.family().values()) & set(before.values()))
    dev.wait_for(lambda: port.is_ready("127.0.0.1", dev.port))
    assert running.addresses(dev.folder) == addresses
    assert "PostgreSQL has ended; starting it again." in dev.output()
    assert "The worker ended with code 137; it is started again in 0.5 s." in dev.output()
    family = dev.family()

    dev.process.kill()
    dev.process.wait()

    again = start_dev(at_port=dev.port)
    again.wait_until_ready()
    assert [name for name, process in family.items() if is_running(process)] == []
    assert key in again.output()
    connection = await asyncpg.connect(running.addresses(dev.folder)["DATABASE_URL"])
    assert await connection.fetchval("select word from note") == "kept"
    await connection.close()
    family = again.family()

    again.process.send_signal(signal.SIGINT)

    assert again.process.wait(READY_WITHIN_S) == 0
    assert [name for name, process in family.items() if is_running(process)] == []
    assert running.addresses(again.folder) == {}
    assert "Traceback" not in again.output()


def test_taken_port_is_said_before_anything_is_started(start_dev: Callable[..., Dev], taken_port: int) -> None:
    dev = start_dev(at_port=taken_port)

    assert dev.process.wait(READY_WITHIN_S) == 1

    assert f"Port {taken_port} is taken by another program." in dev.output()
    assert not (dev.folder / "postgres").exists()


def test_services_given_by_the_environment_are_not_embedded(
    start_dev: Callable[..., Dev], database_url: str, redis_url: str
) -> None:
    dev = start_dev(DATABASE_URL=database_url, REDIS_URL=redis_url)

    dev.wait_until_ready()

    assert set(dev.family()) == {"API", "worker"}
    assert not (dev.folder / "postgres").exists()
    dev.process.send_signal(signal.SIGTERM)
    assert dev.process.wait(READY_WITHIN_S) == 0
