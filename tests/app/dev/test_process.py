"""A kept program ends with its owner, however the owner ends, and ends in order when asked to."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.dev.process import KeptProcess, is_running
from app.errors import Unavailable

OWNER = """
import os, signal, sys, time
from app.dev.process import KeptProcess
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it runs in the background ignore it
program = KeptProcess(["/bin/sleep", "300"])
print(program.pid, flush=True)
time.sleep(300)
"""
STUBBORN = "trap '' TERM INT; echo ready; while :; do sleep 0.05; done"


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_program_ends_with_its_owner(end: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as owner:
        assert owner.stdout is not None
        program = psutil.Process(int(owner.stdout.readline()))

        owner.send_signal(end)

        wait_until(lambda: not is_running(program))


def test_program_ends_with_its_keeper() -> None:
    program = KeptProcess(["/bin/sleep", "300"])
    sleeper = psutil.Process(program.pid)
    keeper = sleeper.parent()
    assert keeper is not None

    keeper.kill()

    assert program.wait(10) == -signal.SIGKILL
    wait_until(lambda: not is_running(sleeper))


def test_stop_asks_before_it_forces(tmp_path: Path) -> None:
    log = tmp_path / "log"
    signals = (signal.SIGTERM, signal.SIGINT)
    program = KeptProcess(["/bin/sh", "-c", STUBBORN], log=log, stop_signals=signals, grace_s=0.2)
    wait_until(lambda: log.read_text() == "ready\n")
    started = time.monotonic()

    code = program.stop()

    assert code == 128 + signal.SIGKILL
    assert 0.4 <= time.monotonic() - started < 5


def test_stop_right_after_the_start() -> None:
    """It counts from the moment that the owner knows the program."""
    codes = {KeptProcess(["/bin/sleep", "300"]).stop() for _ in range(20)}

    assert codes == {128 + signal.SIGTERM}


def test_exit_code_is_the_programs_own() -> None:
    assert KeptProcess(["/bin/sh", "-c", "exit 7"]).wait(10) == 7


def test_program_reads_what_it_is_given(tmp_path: Path) -> None:
    log = tmp_path / "log"

    KeptProcess(["/bin/cat"], log=log, standard_input="two\nlines\n").wait(10)

    assert log.read_text() == "two\nlines\n"


def test_missing_program_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"

    code = KeptProcess([tmp_path / "nothing here"], log=log).wait(10)

    assert code == 127
    assert "nothing here" in log.read_text()


def test_ctrl_c_in_the_terminal_does_not_reach_the_program() -> None:
    program = KeptProcess(["/bin/sleep", "300"])

    assert os.getpgid(program.pid) != os.getpgid(0)

    program.stop()


def test_kill_takes_the_programs_children_along() -> None:
    program = KeptProcess(["/bin/sh", "-c", "sleep 300 & sleep 300 & wait"])
    shell = psutil.Process(program.pid)
    wait_until(lambda: len(shell.children()) == 2)
    children = shell.children()

    program.kill()

    assert [child for child in (shell, *children) if is_running(child)] == []


def test_unstartable_keeper_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("app.dev.process.KEEPER", tmp_path / "gone.py")

    with pytest.raises(Unavailable, match="cannot start /bin/true"):
        KeptProcess(["/bin/true"], log=tmp_path / "log")


def test_sweep_is_deleted_when_the_program_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "sockets"
    folder.mkdir()
    (folder / "left behind").touch()
    program = KeptProcess(["/bin/sleep", "300"], sweep=folder)
    assert folder.exists()

    program.kill()

    assert not folder.exists()


def test_killing_what_has_ended_harms_nobody() -> None:
    program = KeptProcess(["/bin/true"])
    program.wait(10)

    program.kill()

    assert program.exit_code() == 0
