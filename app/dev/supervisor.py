"""`parley dev`: database, Redis, API and worker on one machine, started, watched and stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from rich.console import Console

from app.config import Settings, load_settings
from app.dev import port, running, welcome
from app.dev.demo import ensure_demo
from app.dev.lock import FolderLock
from app.dev.postgres import EmbeddedPostgres, make_data_folder
from app.dev.program import Program
from app.dev.redis import EmbeddedValkey
from app.dev.steps import Steps
from app.errors import Unavailable
from app.upgrade import upgrade

READY_PATIENCE_S = 60.0
WATCH_EVERY_S = 0.25
POLL_S = 0.02
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_MARGIN_S = 5.0  # beyond what a program gives its own open work


class StopAsked(BaseException):
    """Ctrl-C or SIGTERM. Not an Exception, so that no handler of errors swallows it."""


class Supervisor:
    def __init__(self, settings: Settings, console: Console) -> None:
        self._settings = settings
        self._console = console
        self._steps = Steps(console)
        self._data_dir = settings.data_dir.resolve()
        self._lock = FolderLock(
            self._data_dir / "dev.lock",
            f"Parley already runs on {self._data_dir} (process {{pid}}). Use that one or stop it; "
            "for a second one beside it: PORT=8001 PARLEY_DATA_DIR=.parley2 make run",
        )
        self._services: list[EmbeddedPostgres | EmbeddedValkey] = []
        self._programs: list[Program] = []

    def run(self) -> None:
        """Returns when asked to stop; raises AppError when it cannot start."""
        make_data_folder(self._data_dir)
        self._lock.acquire()
        try:
            with stop_signals():
                try:
                    self._start()
                    self._watch()
                except StopAsked:
                    pass
                finally:
                    self._stop()
        finally:
            self._lock.release()

    def _start(self) -> None:
        settings = self._settings
        chosen_port = port.claim(settings.host, settings.port)
        addresses = self._start_services()
        running.announce(self._data_dir, addresses)
        settings = load_settings(**addresses, port=chosen_port, data_dir=self._data_dir)
        with self._steps.step("Bringing the database up to date", "Database up to date"):
            upgrade(addresses["DATABASE_URL"])
        with self._steps.step("Looking for the demo team", "Demo team ready"):
            key = asyncio.run(ensure_demo(settings))
        with self._steps.step("Starting the API and the worker", "API and worker ready", others_write=True):
            self._start_programs(settings, addresses)
        host = port.reachable_host(settings.host)
        address = f"http://{f'[{host}]' if ':' in host else host}:{chosen_port}"
        with suppress(BrokenPipeError):  # whoever read our output had enough; that is no reason to stop
            sys.stdout.write(welcome.text(address, key))
            sys.stdout.flush()

    def _start_services(self) -> dict[str, str]:
        database_url, redis_url = self._settings.database_url, self._settings.redis_url
        if database_url is None:
            postgres = EmbeddedPostgres(self._data_dir)
            first = " (first start: making the data folder)" if not postgres.exists() else ""
            database_url = self._start_service(postgres, "PostgreSQL", first)
        if redis_url is None:
            redis_url = self._start_service(EmbeddedValkey(self._data_dir, self._settings.embedded_redis_mb), "Valkey")
        return {"DATABASE_URL": database_url, "REDIS_URL": redis_url}

    def _start_service(self, service: EmbeddedPostgres | EmbeddedValkey, name: str, note: str = "") -> str:
        self._services.append(service)
        with self._steps.step(f"Starting {name}{note}", f"{name} ready"):
            return service.start()

    def _start_programs(self, settings: Settings, addresses: dict[str, str]) -> None:
        environment = {
            "PARLEY_GRAPHIQL": "true",
            "PARLEY_CORS_ORIGINS": "*",
            "PARLEY_OFFLINE_DIRECTIVES": "true",
            "PARLEY_LOG_FORMAT": "console",
            **os.environ,
            **addresses,
            "PARLEY_PORT": str(settings.port),
            "PARLEY_DATA_DIR": str(self._data_dir),
        }
        grace_s = settings.shutdown_grace_s + GRACE_MARGIN_S
        # Should we be killed, the lock goes free when they have ended, so that the next start finds the port free.
        hold = (self._lock.descriptor,)
        self._programs = [
            Program("API", ["serve"], environment, grace_s=grace_s, hold=hold),
            Program("worker", ["worker"], environment, grace_s=grace_s, hold=hold),
        ]
        for program in self._programs:
            program.start()
        self._await_ready(settings)

    def _await_ready(self, settings: Settings) -> None:
        deadline = time.monotonic() + READY_PATIENCE_S
        while not port.is_ready(settings.host, settings.port):
            for program in self._programs:
                code = program.exit_code()
                if code is not None:
                    raise Unavailable(f"The {program.name} ended with code {code}; its reason stands above.")
            if time.monotonic() > deadline:
                raise Unavailable(f"The API is not ready after {READY_PATIENCE_S:.0f} s; its reason stands above.")
            time.sleep(POLL_S)

    def _watch(self) -> None:
        while True:
            time.sleep(WATCH_EVERY_S)
            for service in self._services:
                if service.exit_code() is not None:
                    self._warn(f"{service.name} has ended; starting it again.")
                    service.restart()
            for program in self._programs:
                if said := program.revive():
                    self._warn(said)

    def _warn(self, sentence: str) -> None:
        self._say(f"[yellow]{sentence}[/yellow]")

    def _say(self, sentence: str) -> None:
        with suppress(OSError):  # the terminal may be gone, which is then why we stop
            self._console.print(sentence, highlight=False)

    def _stop(self) -> None:
        """What stands on the services goes first; a second signal ends the patience."""
        try:
            if self._services or self._programs:
                self._say("\nStopping … (Ctrl-C again to force)")
            for program in self._programs:
                program.ask_to_stop()
            for program in self._programs:
                program.wait()
            for service in reversed(self._services):
                service.stop()
        except StopAsked:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            self._say("Forced.")
            for victim in (*self._programs, *reversed(self._services)):
                victim.kill()
        running.withdraw(self._data_dir)


@contextmanager
def stop_signals() -> Iterator[None]:
    """Within, a stop signal raises StopAsked."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        raise StopAsked

    before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}
    for number in STOP_SIGNALS:
        before[number] = signal.signal(number, ask)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
