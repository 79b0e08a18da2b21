"""A program under a keeper: started, stopped in order, or killed, and never left behind by us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

import psutil

from app.dev.account import Account
from app.errors import Unavailable

KEEPER = Path(__file__).with_name("keeper.py")
POLL_S = 0.01


class KeptProcess:
    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        account: Account | None = None,
        log: Path | None = None,
        standard_input: str = "",
        stop_signals: Sequence[signal.Signals] = (signal.SIGTERM,),
        grace_s: float = 15.0,
        hold: Sequence[int] = (),
        sweep: Path | None = None,
    ) -> None:
        """Start the program. `log` takes its output, else our own standard error does; the keeper stops it by the
        signals in turn, `grace_s` apart. The descriptors in `hold` stay open until the program has ended, then the
        folder `sweep` is deleted.
        """
        spec: dict[str, Any] = {
            "argv": [str(part) for part in argv],
            "cwd": str(cwd) if cwd else None,
            "account": astuple(account) if account else None,
            "input": standard_input,
            "stop_signals": [int(number) for number in stop_signals],
            "grace_s": grace_s,
            "hold": list(hold),
            "sweep": str(sweep) if sweep else None,
        }
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600) if log else None
        try:
            self._keeper = subprocess.Popen(
                # Isolated and without site-packages: it starts in 10 ms and nothing of the project can break it.
                [sys.executable, "-I", "-S", str(KEEPER), json.dumps(spec)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=dict(environment) if environment is not None else None,
                pass_fds=tuple(hold),
                # Its own session, so that Ctrl-C in the terminal reaches us alone and we choose the order.
                start_new_session=True,
            )
        finally:
            if output is not None:
                os.close(output)
        assert self._keeper.stdout is not None
        with self._keeper.stdout as answer:
            line = answer.readline()
        if not line:
            self.wait()
            raise Unavailable(f"cannot start {spec['argv'][0]}")
        self.pid = int(line)
        self._program = _found(self.pid)

    def exit_code(self) -> int | None:
        """None while it runs; 128 + n when signal n ended it."""
        return self._keeper.poll()

    def wait(self, timeout_s: float | None = None) -> int:
        try:
            return self._keeper.wait(timeout_s)
        finally:
            if self._keeper.poll() is not None:
                self._hang_up()

    def ask_to_stop(self) -> None:
        if self._keeper.poll() is None:
            self._keeper.terminate()
        self._hang_up()

    def stop(self) -> int:
        """Stop in order and wait for the end."""
        self.ask_to_stop()
        return self.wait()

    def kill(self) -> None:
        """End it and all it started at once, as a power cut would."""
        # Asked of the process found at the start, so that its pid, once given to another program, harms nobody.
        if self._program is not None:
            kill_all([self._program, *_children_of(self._program)])
        self.wait()

    def _hang_up(self) -> None:
        if self._keeper.stdin is not None and not self._keeper.stdin.closed:
            self._keeper.stdin.close()


def _found(pid: int) -> psutil.Process | None:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid)
    return None


def _children_of(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return process.children(recursive=True)
    return []


def kill_all(processes: Iterable[psutil.Process], *, patience_s: float = 10.0) -> None:
    """SIGKILL, then wait until none runs; a zombie that nobody reaps (a container without an init) counts as ended."""
    left = list(processes)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    deadline = time.monotonic() + patience_s
    while left and time.monotonic() < deadline:
        left = [process for process in left if is_running(process)]
        time.sleep(POLL_S)


def is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
