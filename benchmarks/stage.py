"""The stage of a run: an embedded Postgres and Valkey in a folder that vanishes afterwards, and servers beside them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from app.dev.postgres import EmbeddedPostgres
from app.dev.process import KeptProcess
from app.dev.redis import EmbeddedValkey
from app.upgrade import upgrade
from benchmarks.seed import Seeded, seed

NODE = Path(__file__).parent / "node"
START_PATIENCE_S = 60.0


@dataclass
class Server:
    """A running server, and what it has used so far."""

    name: str
    port: int
    process: KeptProcess

    def cpu_s(self) -> float:
        return cpu_s(self.process.pid)

    def rss_mb(self) -> float:
        return sum(process.memory_info().rss for process in _family(self.process.pid)) / 1e6


@dataclass
class Stage:
    folder: Path
    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    seeded: Seeded
    servers: list[Server] = field(default_factory=list)

    def serve(self, name: str, command: Sequence[str], **environment: str) -> Server:
        """Start a server on a free port, given to it as PORT, and wait until it listens."""
        port = _free_port()
        given = {"PORT": str(port), "PARLEY_PORT": str(port)} | environment
        log = self.folder / f"{name.replace(' ', '-')}.log"
        process = KeptProcess(command, environment=self.environment() | given, log=log, grace_s=3)
        server = Server(name, port, process)
        self.servers.append(server)
        _await_listening(server, log)
        return server

    def environment(self) -> dict[str, str]:
        """What every process of a run is told."""
        return os.environ | {
            "PARLEY_RATE_LIMIT_POINTS": "1000000000",
            "DATABASE_URL": self.postgres.url(),
            "REDIS_URL": self.valkey.url(),
            "TEAM_ID": str(self.seeded.team_id),
            "API_KEY": self.seeded.secret,
        }

    def stop(self, server: Server) -> None:
        server.process.kill()
        self.servers.remove(server)

    def postgres_cpu_s(self) -> float:
        return cpu_s(self.postgres.pid)


@contextmanager
def stage() -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="parley-bench-"))
    folder.chmod(0o711)  # root lends PostgreSQL another account, which must be able to pass
    postgres, valkey = EmbeddedPostgres(folder, durable=False), EmbeddedValkey(folder)
    made: Stage | None = None
    try:
        url = postgres.start()
        valkey.start()
        upgrade(url)
        made = Stage(folder, postgres, valkey, seed(url, valkey.url()))
        yield made
    finally:
        for server in list(made.servers) if made else ():
            made.stop(server)  # type: ignore[union-attr]
        valkey.stop()
        postgres.stop()
        shutil.rmtree(folder, ignore_errors=True)


def python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def node(script: str) -> list[str]:
    return [str(shutil.which("node")), str(NODE / script)]


def node_is_present() -> bool:
    """Whether Node is here and its packages are, installed once from the lock file into a folder that git ignores."""
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    installed, locked = NODE / "node_modules" / ".package-lock.json", NODE / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime:
        return True
    print("Installing the Node contenders (once; a minute or two) …", flush=True)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"], cwd=NODE, capture_output=True)
    return done.returncode == 0


def cpu_s(pid: int) -> float:
    """CPU seconds, in user and system, of a process and its children, those that have ended included."""
    total = 0.0
    for process in _family(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _family(pid: int) -> list[psutil.Process]:
    program = psutil.Process(pid)
    return [program, *program.children(recursive=True)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_listening(server: Server, log: Path) -> None:
    deadline = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline and server.process.exit_code() is None:
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{server.name} did not start:\n{log.read_text()[-2000:]}")
