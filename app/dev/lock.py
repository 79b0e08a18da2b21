"""One user per folder: a lock file that names the process holding it and goes free however that process dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import psutil

from app.dev.process import is_running
from app.errors import Conflict

POLL_S = 0.05


class FolderLock:
    def __init__(self, path: Path, refusal: str) -> None:
        """`refusal` is what the second comer is told; `{pid}` in it becomes the first one's process id."""
        self._path = path
        self._refusal = refusal
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        if self._descriptor is None:
            raise RuntimeError("the lock is not held")
        return self._descriptor

    def acquire(self, *, patience_s: float = 30.0, even_from_the_living: bool = False) -> None:
        """Take the lock or raise Conflict. Waits while a dead owner's programs are still being stopped, or
        `even_from_the_living`."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + patience_s
        while not _try_lock(descriptor):
            holder, _, born = os.pread(descriptor, 80, 0).decode(errors="replace").partition("\n")
            hopeless = _is_alive(holder, born.strip()) and not even_from_the_living
            if hopeless or time.monotonic() > deadline:
                os.close(descriptor)
                raise Conflict(self._refusal.format(pid=holder or "unknown"))
            time.sleep(POLL_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n{psutil.Process().create_time()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pid: str, born: str) -> bool:
    """Pids are given anew; pid and time of birth are not."""
    try:
        process = psutil.Process(int(pid))
        return str(process.create_time()) == born and is_running(process)
    except (ValueError, psutil.NoSuchProcess):
        return False
