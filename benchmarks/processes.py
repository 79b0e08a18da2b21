"""The processes of a part: servers, child processes that take commands line by line, and the load generator."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from app.dev.process import KeptProcess


@dataclass(eq=False)
class Server:
    """A running server, its CPU time and its memory."""

    name: str
    port: int
    process: KeptProcess

    def cpu_s(self) -> float:
        return cpu_s(self.process.pid)

    def rss_mb(self) -> float:
        return sum(process.memory_info().rss for process in _process_tree(self.process.pid)) / 1e6

    def stop(self) -> None:
        self.process.kill()


class ChildProcess:
    """A Python module in a process of its own; answers each command, a line of JSON, with a line of JSON."""

    def __init__(self, module: str, environment: dict[str, str], log: Path) -> None:
        self._module, self._log = module, log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                python(module), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )

    def call(self, **command: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        self.send(**command)
        return self.receive()

    def send(self, **command: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._module} ended before it answered:\n{self._log.read_text()[-2000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def is_running(self) -> bool:
        return self._process.poll() is None

    def cpu_s(self) -> float:
        return cpu_s(self._process.pid)

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()


def run_load(ports: list[int], requests: list[str], connections: int, seconds: float) -> dict[str, Any]:
    """Runs the load generator as a process and returns its report."""
    plan = {"ports": ports, "requests": requests, "connections": connections, "seconds": seconds}
    process = subprocess.run(python("benchmarks.load"), input=json.dumps(plan), capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"The load generator failed: {process.stderr[-1000:]}")
    report: dict[str, Any] = json.loads(process.stdout)
    return report


def python(module: str, *arguments: str) -> list[str]:
    """Returns the command that runs a module."""
    return [sys.executable, "-m", module, *arguments]


def cpu_s(pid: int) -> float:
    """Returns the CPU seconds, user and system, of a process and its children, including those that have ended."""
    total = 0.0
    for process in _process_tree(pid):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _process_tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]
