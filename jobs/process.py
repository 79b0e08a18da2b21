"""One worker process. It can be killed at any moment: what it holds can be lost."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import structlog
from arq.worker import get_kwargs
from prometheus_client import start_http_server

from app.config import Settings
from app.consultations.preparation import Consulting
from app.conversations.answering import Answering
from app.conversations.partials import Speaker
from app.db.engine import Database
from app.db.transaction import Transactions, WakeUp
from app.dispatch import Dispatcher
from app.embeddings.choice import embedder_of
from app.errors import Unavailable
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.memories.library import Library
from app.queue import JobQueue, arq_client
from app.redis import Redis
from app.routing.lexicon import lexicon
from app.routing.service import Routing
from app.routing.team_indexes import TeamIndexes
from app.wakeups import Listener
from jobs.context import JobContext
from jobs.functions import FUNCTIONS
from jobs.sweeper import Sweeper
from jobs.task_runner import Execute, TaskRunner
from jobs.woken_worker import WokenWorker

log = structlog.get_logger(__name__)
AWAY_PAUSE_S = 1.0
FINISH_S = 2.0  # for follow-ups under way, and for arq to take ended jobs off the queue


class WorkerProcess:
    """`execute` runs a claimed task; by default on the models of the settings."""

    def __init__(self, settings: Settings, execute: Execute | None = None) -> None:
        self._settings = settings
        self._opened, self._is_managed = AsyncExitStack(), execute is None
        self.database, self.redis = Database(settings), Redis(settings)
        self._opened.push_async_callback(self.database.close)
        self._opened.push_async_callback(self.redis.close)
        dispatcher = Dispatcher(settings, self.database, self.redis)
        self._opened.push_async_callback(dispatcher.close)
        transaction = Transactions(self.database, dispatcher)
        self.runner = TaskRunner(
            self.database, transaction, execute or self._managed(transaction), slots=settings.worker_slots
        )
        self.context = JobContext(settings, self.database, transaction, self.runner, Answering(settings))
        self.sweeper = Sweeper(self.context, JobQueue(self.redis), FUNCTIONS)
        self.listener = Listener(settings, WakeUp.JOBS, self._wake)
        self._arq: WokenWorker | None = None
        self._background: list[asyncio.Task[Any]] = []

    def _managed(self, transaction: Transactions) -> Execute:
        settings, database = self._settings, self.database
        providers, speaker, embedder = Providers(settings), Speaker(self.redis), embedder_of(settings.embedder)
        self._opened.push_async_callback(providers.close)
        self._opened.push_async_callback(speaker.close)
        library, indexes = Library(database, transaction, embedder, self.redis), TeamIndexes(database, embedder)
        routing = Routing(database, transaction, settings, embedder, indexes)
        consulting = Consulting(settings, database, routing, indexes, embedder, library)
        return Execution(settings, database, providers, library, speaker, consulting)

    def _wake(self) -> None:
        self.runner.wake()
        if self._arq is not None:
            self._arq.wake()

    def start(self) -> None:
        """Starts what goes on beside arq: the sweeper, the leases, the wake-ups."""
        if self._settings.worker_metrics_port:
            start_http_server(self._settings.worker_metrics_port, self._settings.host)
        self._background = [
            asyncio.create_task(self.sweeper.run()),
            asyncio.create_task(self.runner.keep_claims()),
            asyncio.create_task(self.listener.run()),
        ]
        if self._is_managed:
            self._background.append(
                asyncio.create_task(asyncio.to_thread(lexicon))
            )  # or the first message waits for it
        log.info("worker started", slots=self._settings.worker_slots)

    async def work(self, worker_settings: type, stopping: asyncio.Event) -> None:
        """Runs arq's worker, and a new one whenever Redis was lost, until asked to stop."""
        while not stopping.is_set():
            try:
                await self.redis.ping()
            except Unavailable:
                await _wait(stopping, AWAY_PAUSE_S)
                continue
            await self._work_until(worker_settings, stopping)

    async def _work_until(self, worker_settings: type, stopping: asyncio.Event) -> None:
        """One life of an arq worker: it ends when asked to stop, or when Redis is lost."""
        client = Redis(self._settings)
        settings: dict[str, Any] = get_kwargs(worker_settings)
        own: dict[str, Any] = {
            "redis_settings": None,
            "redis_pool": arq_client(client),
            "ctx": self.context.as_arq_context(),
            "cron_jobs": [replace(job, next_run=None) for job in settings["cron_jobs"]],  # arq notes the next run there
            "on_startup": None,
            "on_shutdown": None,
        }
        self._arq = worker = WokenWorker(**settings | own, slots=self.runner.slots)
        working, stop = asyncio.create_task(worker.async_run()), asyncio.create_task(stopping.wait())
        await asyncio.wait({working, stop}, return_when=asyncio.FIRST_COMPLETED)
        if working.done() and not stopping.is_set():
            log.warning("the queue was lost; connecting again", error=repr(working.exception()))
            await _wait(stopping, AWAY_PAUSE_S)
        self._arq = None
        worker.stop()
        await asyncio.wait({working}, timeout=FINISH_S)
        await _cancel(working, stop)
        if stopping.is_set():
            await self.runner.drain(self._settings.shutdown_grace_s)
            if worker.tasks:
                await asyncio.wait(worker.tasks.values(), timeout=FINISH_S)
        await _cancel(*worker.tasks.values())  # runs of tasks go on without them
        await client.close()

    async def stop(self) -> None:
        """Lets what runs end within the grace time, gives the rest back, and closes all connections."""
        await self.runner.drain(self._settings.shutdown_grace_s)
        await _cancel(*self._background)
        await self._opened.aclose()
        log.info("worker stopped")


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
