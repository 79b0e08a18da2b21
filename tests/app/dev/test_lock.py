"""One holder at a time, named to the second comer, and free again however the holder ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.dev.lock import FolderLock
from app.errors import Conflict

HOLDER = """
import sys, time
from pathlib import Path
from app.dev.lock import FolderLock
FolderLock(Path(sys.argv[1]), "").acquire()
print("held", flush=True)
time.sleep(300)
"""


def test_second_comer_is_told_who_holds_it(tmp_path: Path) -> None:
    first = FolderLock(tmp_path / "lock", "held by {pid}")
    first.acquire()

    with pytest.raises(Conflict, match=f"^held by {os.getpid()}$"):
        FolderLock(tmp_path / "lock", "held by {pid}").acquire()

    first.release()


def test_released_lock_can_be_taken(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "lock", "held by {pid}")
    lock.acquire()
    lock.release()

    lock.acquire()

    lock.release()


def test_lock_of_a_killed_holder_is_free(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path / "lock"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)
    lock = FolderLock(tmp_path / "lock", "held by {pid}")

    lock.acquire()

    assert (tmp_path / "lock").read_text().splitlines()[0] == str(os.getpid())
    lock.release()


def test_lock_waits_for_a_dead_holders_programs(tmp_path: Path) -> None:
    """What the dead holder started still has the lock: it is being stopped, so that is worth waiting for."""
    first = FolderLock(tmp_path / "lock", "")
    first.acquire()
    os.pwrite(first.descriptor, b"999999999\n", 0)
    with subprocess.Popen(["/bin/sleep", "0.5"], pass_fds=(first.descriptor,)):
        first.release()
        started = time.monotonic()
        second = FolderLock(tmp_path / "lock", "held by {pid}")

        second.acquire()

        assert time.monotonic() - started > 0.3
        second.release()


def test_pid_of_the_dead_holder_may_belong_to_another(tmp_path: Path) -> None:
    first = FolderLock(tmp_path / "lock", "")
    first.acquire()
    os.pwrite(first.descriptor, f"{os.getpid()}\n1.5\n".encode().ljust(60), 0)
    with subprocess.Popen(["/bin/sleep", "0.2"], pass_fds=(first.descriptor,)):
        first.release()
        second = FolderLock(tmp_path / "lock", "held by {pid}")

        second.acquire()

        second.release()
