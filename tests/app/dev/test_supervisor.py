"""`parley dev` end to end: ready, one at a time, mended when something dies, and gone without a trace on Ctrl-C."""

import signal
from collections.abc import Callable

import asyncpg
import pytest

from app.dev import port, running
from app.dev.process import is_running
from tests.app.dev.conftest import Dev

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]


def test_ctrl_c_stops_everything_and_the_next_start_finds_the_data(start_dev: Callable[..., Dev]) -> None:
    dev = start_dev()
    dev.wait_until_ready()
    family = dev.family()
    assert set(family) == {"API", "worker", "PostgreSQL", "Valkey"}
    assert port.is_ready("127.0.0.1", dev.port)
    key = next(line for line in dev.output().splitlines() if "key" in line.lower())

    dev.process.send_signal(signal.SIGINT)

    assert dev.process.wait(20) == 0
    assert [name for name, process in family.items() if is_running(process)] == []
    assert running.addresses(dev.folder) == {}
    assert "Traceback" not in dev.output()
    again = start_dev()
    again.wait_until_ready()
    assert key in again.output()
    again.process.send_signal(signal.SIGTERM)
    assert again.process.wait(20) == 0


@pytest.mark.usefixtures("made_folder")
def test_second_one_on_the_same_folder_is_refused(start_dev: Callable[..., Dev]) -> None:
    first = start_dev()
    first.wait_for(lambda: "PostgreSQL ready" in first.output())

    second = start_dev()

    assert second.process.wait(20) == 1
    assert f"Parley already runs on {first.folder} (process {first.process.pid})." in second.output()
    assert "Traceback" not in second.output()
    assert first.process.poll() is None


def test_taken_port_is_said_before_anything_is_started(start_dev: Callable[..., Dev], taken_port: int) -> None:
    dev = start_dev(at_port=taken_port)

    assert dev.process.wait(20) == 1

    assert f"Port {taken_port} is taken by another program." in dev.output()
    assert not (dev.folder / "postgres").exists()


@pytest.mark.usefixtures("made_folder")
def test_what_dies_is_started_again_at_the_same_address(start_dev: Callable[..., Dev]) -> None:
    dev = start_dev()
    dev.wait_until_ready()
    before, addresses = dev.family(), running.addresses(dev.folder)

    for process in before.values():
        process.kill()

    dev.wait_for(lambda: len(dev.family()) == 4 and not set(dev.family().values()) & set(before.values()))
    dev.wait_for(lambda: port.is_ready("127.0.0.1", dev.port))
    assert running.addresses(dev.folder) == addresses
    assert "PostgreSQL has ended; starting it again." in dev.output()
    assert "The worker ended with code 137; it is started again in 0.5 s." in dev.output()


@pytest.mark.usefixtures("made_folder")
async def test_start_after_sigkill_recovers(start_dev: Callable[..., Dev]) -> None:
    dev = start_dev()
    dev.wait_until_ready()
    connection = await asyncpg.connect(running.addresses(dev.folder)["DATABASE_URL"])
    await connection.execute("create table note as select 'kept' as word")
    connection.terminate()
    family = dev.family()

    dev.process.kill()
    dev.process.wait()

    again = start_dev(at_port=dev.port)
    again.wait_until_ready()
    assert [name for name, process in family.items() if is_running(process)] == []
    connection = await asyncpg.connect(running.addresses(dev.folder)["DATABASE_URL"])
    assert await connection.fetchval("select word from note") == "kept"
    await connection.close()


def test_services_given_by_the_environment_are_not_embedded(
    start_dev: Callable[..., Dev], database_url: str, redis_url: str
) -> None:
    dev = start_dev(DATABASE_URL=database_url, REDIS_URL=redis_url)

    dev.wait_until_ready()

    assert set(dev.family()) == {"API", "worker"}
    assert not (dev.folder / "postgres").exists()
