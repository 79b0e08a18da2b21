"""One of our own programs (API, worker) under supervision: started again when it ends by itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from app.dev.process import KeptProcess

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
HEALTHY_AFTER_S = 60.0


class Program:
    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        grace_s: float,
        hold: Sequence[int] = (),
    ) -> None:
        """`arguments` follow `parley`; after `grace_s` of draining it is killed. `hold`: see KeptProcess."""
        self.name = name
        self._argv = [sys.executable, "-m", "app.cli", *arguments]
        self._environment = environment
        self._grace_s = grace_s
        self._hold = hold
        self._process: KeptProcess | None = None
        self._started = self._due = 0.0
        self._pause_s = FIRST_PAUSE_S

    def start(self) -> None:
        self._process = KeptProcess(self._argv, environment=self._environment, grace_s=self._grace_s, hold=self._hold)
        self._started = time.monotonic()

    def exit_code(self) -> int | None:
        return self._process.exit_code() if self._process else None

    def revive(self) -> str | None:
        """Start it again if it has ended and its pause is over. Answers a sentence when there is something to say."""
        if self._process is None:
            if time.monotonic() >= self._due:
                self.start()
            return None
        code = self._process.exit_code()
        if code is None:
            return None
        if time.monotonic() - self._started > HEALTHY_AFTER_S:
            self._pause_s = FIRST_PAUSE_S
        self._process.wait()
        self._process = None
        self._due = time.monotonic() + self._pause_s
        said = f"The {self.name} ended with code {code}; it is started again in {self._pause_s:g} s."
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)
        return said

    def ask_to_stop(self) -> None:
        if self._process:
            self._process.ask_to_stop()

    def wait(self) -> None:
        if self._process:
            self._process.wait()

    def kill(self) -> None:
        if self._process:
            self._process.kill()
