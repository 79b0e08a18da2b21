"""Runs the due tasks of managed agents, a bounded number at a time.

The bell wakes it at once, a slow poll covers for lost bells. What is due and who has it stands in Postgres: this
process can be killed at any moment.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import UUID, uuid4

import structlog

from app.clock import now
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import Unavailable
from app.events.log import SYSTEM
from app.ids import Prefix, to_global
from app.observability import metrics
from app.tasks import leases, queries
from app.tasks.claiming import claim_managed
from app.tasks.errors import ClaimLost, PutAside
from app.tasks.failures import Failure
from app.tasks.models import Task, TaskStatus
from app.tasks.run import LEASE_S, Made, Run, RunFailed
from app.tasks.sweeper import sweep
from jobs.completions import Completions
from jobs.repeat import repeat

log = structlog.get_logger(__name__)
POLL_S = 1.0
SWEEP_EVERY_S = 2.0
EXTEND_EVERY_S = LEASE_S / 4
_RELEASE_S = 3.0
Execute = Callable[[Run], Awaitable[Made]]


class TaskPool:
    def __init__(self, database: Database, transaction: Transactions, execute: Execute, *, slots: int) -> None:
        self._database = database
        self._transaction = transaction
        self._execute = execute
        self._completions = Completions(transaction)
        self._free, self._more = slots, False
        self._due, self._stopped = asyncio.Event(), asyncio.Event()
        self._claiming: asyncio.Task[int] | None = None
        self._running: dict[UUID, tuple[Run, asyncio.Task[None]]] = {}

    def wake(self) -> None:
        """Something became due, or a claim counts no more."""
        self._due.set()
        self._stopped.set()

    async def run(self) -> None:
        """Until cancelled. What it has started goes on: see `drain`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(self._fill, self._due, POLL_S))
            group.create_task(repeat(self._sweep, asyncio.Event(), SWEEP_EVERY_S))
            group.create_task(self._watch())

    async def _watch(self) -> None:
        """Keep the claims of what runs alive, and stop what has lost its own."""
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(self._stop_lost, self._stopped, POLL_S))
            group.create_task(repeat(self._extend, asyncio.Event(), EXTEND_EVERY_S))

    async def drain(self, grace_s: float) -> None:
        """After `run` was cancelled: let what runs end within the grace time; what is left then is pending again at
        once."""
        watching = asyncio.create_task(self._watch())
        if self._claiming is not None:
            await asyncio.wait({self._claiming})
        if self._running:
            log.info("waiting for running tasks", count=len(self._running), seconds=grace_s)
            await asyncio.wait([running for _, running in self._running.values()], timeout=grace_s)
        watching.cancel()
        left = list(self._running.values())
        for _, running in left:
            running.cancel()
        await asyncio.gather(watching, *(running for _, running in left), return_exceptions=True)
        await self._release([run for run, _ in left])

    async def _release(self, runs: list[Run]) -> None:
        """One after the other: there are fewer connections than runs."""
        given_back = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_RELEASE_S):
                for run in runs:
                    with suppress(ClaimLost):
                        await run.release()
                    given_back += 1
        if runs:
            log.info("running tasks given back; the leases of others run out", count=given_back, of=len(runs))

    async def _fill(self, rung: bool) -> None:
        """Without a ring a look comes first, which costs far less than to claim nothing."""
        if not rung and not await queries.any_due(self._database):
            return
        self._more = True
        while (wanted := self._free) > 0:
            # Not to be cut off between the commit and the start: nobody would know of the claims.
            self._claiming = asyncio.create_task(self._claim(wanted))
            if await asyncio.shield(self._claiming) < wanted:
                self._more = False
                return

    async def _claim(self, wanted: int) -> int:
        async with self._transaction.of_one_statement() as statement:
            claimed = await claim_managed(statement, limit=wanted, lease_s=LEASE_S, actor=SYSTEM)
        for task in claimed:
            self._start(task)
        return len(claimed)

    def _go_on(self) -> None:
        """A place is free. Whether anything is left to be done was seen at the last look; what came since has rung."""
        self._free += 1
        if self._more:
            self._due.set()

    def _start(self, task: Task) -> None:
        run, key = Run(task, self._transaction, SYSTEM, self._resting), uuid4()
        self._free -= 1
        metrics.TASKS_RUNNING.inc()
        metrics.TASK_WAIT.observe(max((now() - task.ready_at).total_seconds(), 0.0))
        running = asyncio.create_task(self._carry_out(run))
        self._running[key] = (run, running)
        running.add_done_callback(lambda ended: self._ended(key, ended))

    def _ended(self, key: UUID, ended: asyncio.Task[None]) -> None:
        run, _ = self._running.pop(key)
        if not ended.cancelled() and (error := ended.exception()) is not None:
            log.error("a run's outcome could not be written; its lease runs out", task=str(run.task.id), exc_info=error)
        metrics.TASKS_RUNNING.dec()
        self._go_on()

    @asynccontextmanager
    async def _resting(self) -> AsyncIterator[None]:
        """A run that only waits for others lends them its place, so that waiting tasks never hold up what they wait
        for. Coming back it does not queue: for a moment there may be more runs than places."""
        self._go_on()
        try:
            yield
        finally:
            self._free -= 1

    async def _carry_out(self, run: Run) -> None:
        started, outcome = time.monotonic(), "stopped"
        try:
            outcome = await self._outcome(run)
        except PutAside:
            outcome = "put aside"
        except ClaimLost:  # cancelled, reassigned or taken for dead: whatever we would say counts no more
            outcome = "lost"
        finally:
            seconds = round(time.monotonic() - started, 3)
            log.info("a run ended", task=to_global(Prefix.TASK, run.task.id), outcome=outcome, seconds=seconds)

    async def _outcome(self, run: Run) -> str:
        try:
            async with asyncio.timeout(run.task.timeout_s) as time_given:
                made = await self._execute(run)
            return (await self._completions.write(run, made)).value
        except ClaimLost:
            raise
        except Unavailable as error:  # no fault of the attempt, which costs none
            failure = Failure(error.code, error.message, may_pass=True, wait=timedelta(0))
        except RunFailed as error:
            failure = error.failure
        except Exception as error:
            if isinstance(error, TimeoutError) and time_given.expired():
                await run.time_out()
                return TaskStatus.TIMED_OUT.value
            incident = uuid4().hex
            log.exception("a run failed by a fault of ours", task=str(run.task.id), error_id=incident)
            message = f"Something went wrong inside Parley. The log has it under {incident}."
            failure = Failure("INTERNAL", message, may_pass=True)
        await run.fail(failure)
        return f"failed: {failure.code}"

    async def _stop_lost(self, rung: bool) -> None:
        """Stop what was cancelled, reassigned or taken for dead meanwhile: at once, in the middle of a model's call."""
        mine = {run.token: running for run, running in self._running.values() if not run.ending}
        if not mine:
            return
        counting = await leases.held(self._database, mine.keys())
        for token in mine.keys() - counting:
            mine[token].cancel()

    async def _sweep(self, rung: bool) -> None:
        """Not by way of Redis, which may be away for as long as it likes."""
        ended = await sweep(self._transaction)
        if ended:
            log.info("overdue tasks ended", count=ended)

    async def _extend(self, rung: bool) -> None:
        if claims := [run.token for run, _ in self._running.values()]:
            async with self._transaction() as session:
                await leases.extend(session, claims, LEASE_S)
