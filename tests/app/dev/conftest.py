"""Fixtures of the tests of `parley dev`."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from app.dev import port

READY_WITHIN_S = 60
FAMILY = {
    "app.cli serve": "API",
    "app.cli worker": "worker",
    "bin/postgres -D": "PostgreSQL",
    "valkey-server": "Valkey",
}


@dataclass
class Dev:
    """A `parley dev` in a process of its own."""

    process: subprocess.Popen[str]
    folder: Path
    port: int
    log: Path

    def output(self) -> str:
        return self.log.read_text()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while not condition():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.02)

    def wait_until_ready(self) -> None:
        self.wait_for(lambda: "the data stays" in self.output())

    def family(self) -> dict[str, psutil.Process]:
        """Its programs and services by name, without their keepers and their own children."""
        found = {}
        for process in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                line = " ".join(process.cmdline())
                name = next((name for mark, name in FAMILY.items() if mark in line and "keeper.py" not in line), None)
                if name:
                    found[name] = process
        return found


@pytest.fixture
def start_dev(tmp_path: Path) -> Iterator[Callable[..., Dev]]:
    started: list[Dev] = []

    def start(*, at_port: int | None = None, **environment: str) -> Dev:
        chosen = port.claim("127.0.0.1", 0) if at_port is None else at_port
        log = tmp_path / f"dev{len(started)}.log"
        given = {"PARLEY_DATA_DIR": str(tmp_path / "data"), "PARLEY_PORT": str(chosen), **environment}
        hidden = ("DATABASE_URL", "REDIS_URL")
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", "dev"],
                stdout=output,
                stderr=output,
                text=True,
                env={name: value for name, value in os.environ.items() if name not in hidden} | given,
            )
        started.append(Dev(process, tmp_path / "data", chosen, log))
        return started[-1]

    tmp_path.chmod(0o711)
    yield start
    for dev in started:
        dev.process.kill()
        dev.process.wait()


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]
