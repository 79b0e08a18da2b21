"""The embedded PostgreSQL: one server on one folder, always at the same address, as root or as anyone."""

from __future__ import annotations

import hashlib
import os
import signal
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from app.dev import cluster
from app.dev.account import Account, account_for
from app.dev.lock import FolderLock
from app.dev.process import KeptProcess
from app.errors import ConfigurationError, Unavailable

LONGEST_SOCKET_PATH_BYTES = 100  # the kernel's limit is 108 on Linux, 104 on macOS
LARGEST_LOG_BYTES = 10_000_000
START_PATIENCE_S = 120.0  # replaying the log after a crash takes its time
POLL_S = 0.01
PORT = 5432  # names the socket; said everywhere, because PGPORT in the environment would change the default

OPTIONS = {
    "listen_addresses": "",
    "port": str(PORT),
    "max_connections": "200",
    "unix_socket_permissions": "0700",
    "jit": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
}
# For tests: a crash of the machine may lose everything, a crash of the server nothing. So commits still wait for the
# log to be handed to the system, or a killed server would forget its last ones.
THROWAWAY_OPTIONS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "io_method": "sync",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "log_checkpoints": "off",
}


class EmbeddedPostgres:
    name = "PostgreSQL"

    def __init__(self, data_dir: Path, *, durable: bool = True) -> None:
        self.folder = data_dir.resolve() / "postgres"
        self._log = self.folder.with_name("postgres.log")
        self._durable = durable
        self._process: KeptProcess | None = None
        self._lock = FolderLock(
            self.folder.with_name("postgres.lock"),
            f"PostgreSQL already runs on {self.folder} (started by process {{pid}}). "
            "Stop that one first, or set PARLEY_DATA_DIR to another folder.",
        )

    @property
    def pid(self) -> int:
        """Of the server's first process, from which the others stem."""
        if self._process is None:
            raise RuntimeError("PostgreSQL is not running")
        return self._process.pid

    def exists(self) -> bool:
        return self.folder.exists()

    def url(self, database: str = cluster.DATABASE) -> str:
        return f"postgresql://{cluster.ROLE}@/{database}?host={quote(str(self._socket_folder()))}&port={PORT}"

    def start(self) -> str:
        """Start, first making the folder if there is none, and answer the address. Raises AppError with the way out."""
        if self._process is not None and self._process.exit_code() is None:
            return self.url()
        make_data_folder(self.folder.parent)
        self._lock.acquire()
        try:
            account = account_for(self.folder, cluster.binaries() / "postgres")
            if cluster.exists_whole(self.folder):
                cluster.free_of_orphans(self.folder)
            else:
                cluster.create(self.folder, account=account, log=self._log, durable=self._durable)
            self._launch(account)
        except BaseException:
            self._lock.release()
            raise
        return self.url()

    def stop(self) -> None:
        """Stop in order: open transactions are rolled back, everything committed is on disk."""
        if self._process is not None:
            self._process.stop()
        self._forget()

    def kill(self) -> None:
        """End all its processes by SIGKILL, as a power cut would."""
        if self._process is not None:
            self._process.kill()
        self._forget()

    def restart(self) -> str:
        self.stop()
        return self.start()

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.exit_code() if self._process else 0

    def _launch(self, account: Account | None) -> None:
        if self._log.exists() and self._log.stat().st_size > LARGEST_LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.old"))
        options = OPTIONS | {"unix_socket_directories": self._make_socket_folder(account)}
        options |= {} if self._durable else THROWAWAY_OPTIONS
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self._process = KeptProcess(
            [cluster.binaries() / "postgres", "-D", self.folder, *settings],
            account=account,
            log=self._log,
            # Fast shutdown; then immediate, which the next start repairs from the log.
            stop_signals=(signal.SIGINT, signal.SIGQUIT) if self._durable else (signal.SIGQUIT,),
            hold=(self._lock.descriptor,),
            sweep=self._socket_folder(),
        )
        self._await_ready(self._process)

    def _await_ready(self, process: KeptProcess) -> None:
        deadline = time.monotonic() + START_PATIENCE_S
        while process.exit_code() is None and time.monotonic() < deadline:
            if _says_ready(self.folder / "postmaster.pid", process.pid):
                return
            time.sleep(POLL_S)
        process.stop()
        last_words = cluster.last_lines(self._log)
        raise Unavailable(f"PostgreSQL did not start. Its last words, from {self._log}:\n{last_words}")

    def _forget(self) -> None:
        self._process = None
        self._lock.release()

    def _socket_folder(self) -> Path:
        """Short whatever the length of the data folder's path, and the same at every start."""
        mark = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]
        name = f"parley-{os.geteuid()}-{mark}"
        wished = Path(tempfile.gettempdir()) / name
        fits = len(os.fsencode(wished / f".s.PGSQL.{PORT}")) <= LONGEST_SOCKET_PATH_BYTES
        return wished if fits else Path("/tmp") / name

    def _make_socket_folder(self, account: Account | None) -> str:
        """The folder is the server's door: whoever can open it is let in, so it must be ours alone."""
        folder = self._socket_folder()
        uid = account.uid if account else os.geteuid()
        try:
            folder.mkdir(mode=0o700)
            if account:
                os.chown(folder, account.uid, account.gid)
        except FileExistsError:
            found = folder.lstat()
            if folder.is_symlink() or found.st_uid != uid or found.st_mode & 0o077:
                raise ConfigurationError(f"{folder} exists and is not ours; delete it and start again.") from None
        return str(folder)


def make_data_folder(folder: Path) -> None:
    """Closed to others; root's is passable, because PostgreSQL runs there as another user."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
    except OSError as error:
        message = f"Cannot make the data folder {folder}: {error.strerror}. Set PARLEY_DATA_DIR."
        raise ConfigurationError(message) from None
    if not os.access(folder, os.W_OK):
        raise ConfigurationError(f"The data folder {folder} is not writable by this user. Set PARLEY_DATA_DIR.")


def _says_ready(pid_file: Path, pid: int) -> bool:
    try:
        lines = pid_file.read_text().split("\n")
    except (FileNotFoundError, PermissionError):
        return False
    return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"
