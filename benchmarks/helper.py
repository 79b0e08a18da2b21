"""A process of a benchmark that takes orders by line."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from benchmarks.stage import Stage, cpu_s, python


class Helper:
    """A process that takes orders by line and answers each by a line."""

    def __init__(self, stage: Stage, module: str) -> None:
        self._process = subprocess.Popen(
            python(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=stage.environment()
        )

    def ask(self, **order: Any) -> dict[str, Any]:
        self.order(**order)
        return self.answer()

    def order(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("a helper of the benchmark ended")
        found: dict[str, Any] = json.loads(line)
        return found

    def cpu_s(self) -> float:
        return cpu_s(self._process.pid)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
