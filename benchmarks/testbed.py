"""The testbed of one part: a database of its own, and the servers and child processes that the part starts on it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.dev.process import KeptProcess
from benchmarks.processes import ChildProcess, Server, cpu_s
from benchmarks.seed import Seed

START_TIMEOUT_S = 60.0
POLL_S = 0.1


@dataclass
class Testbed:
    folder: Path
    database_url: str
    redis_url: str
    postgres_pid: int
    seed: Seed
    _running: list[Server | ChildProcess] = field(default_factory=list)

    def start_server(self, name: str, command: Sequence[str], **environment: str) -> Server:
        """Starts a server on a free port, passed as PORT, and waits until it listens."""
        port = _free_port()
        variables = self.environment() | {"PORT": str(port), "PARLEY_PORT": str(port)} | environment
        log = self.folder / f"{name.replace(' ', '-')}.log"
        server = Server(name, port, KeptProcess(command, environment=variables, log=log, grace_s=3))
        self._running.append(server)
        _wait_until_listening(server, log)
        return server

    def start_child(self, module: str) -> ChildProcess:
        child = ChildProcess(module, self.environment(), self.folder / f"{module}.log")
        self._running.append(child)
        return child

    def stop(self, process: Server | ChildProcess) -> None:
        self._running.remove(process)
        process.stop()

    def stop_all(self) -> None:
        for process in list(self._running):
            self.stop(process)

    def environment(self) -> dict[str, str]:
        """Returns the environment variables of every process of the part."""
        return os.environ | {
            "PARLEY_RATE_LIMIT_POINTS": "1000000000",
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "TEAM_ID": str(self.seed.team_id),
            "API_KEY": self.seed.secret,
        }

    def postgres_cpu_s(self) -> float:
        return cpu_s(self.postgres_pid)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_listening(server: Server, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and server.process.exit_code() is None:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
            return
        except OSError:
            time.sleep(POLL_S)
    raise RuntimeError(f"{server.name} did not start:\n{log.read_text()[-2000:]}")
