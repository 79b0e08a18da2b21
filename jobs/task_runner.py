"""Runs attempts of tasks: claims each in Postgres, executes it, writes its outcome, and keeps its claim alive.

Claims and outcomes of concurrent jobs are written together. The process can be killed at any moment: when the lease
of a claim expires, another worker gets the task.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
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
from app.tasks import leases
from app.tasks.claiming import JobClaim, claim_for_jobs
from app.tasks.completion import Completion, complete_all
from app.tasks.errors import ClaimLost, PutAside
from app.tasks.failures import Failure
from app.tasks.models import Task, TaskStatus
from app.tasks.run import LEASE_S, Made, Run, RunFailed
from jobs.batch import Batch
from jobs.repeat import repeat
from jobs.slots import Slots

log = structlog.get_logger(__name__)
POLL_S = 1.0
EXTEND_EVERY_S = LEASE_S / 4
CLAIM_LINGER_S = 0.005
COMPLETION_LINGER_S = 0.02
_RELEASE_S = 3.0
Execute = Callable[[Run], Awaitable[Made]]


class TaskRunner:
    def __init__(self, database: Database, transaction: Transactions, execute: Execute, *, slots: int) -> None:
        self._database = database
        self._transaction = transaction
        self._execute = execute
        self._claims = Batch(self._claim_all, linger_s=CLAIM_LINGER_S)
        self._completions = Batch(self._complete_all, linger_s=COMPLETION_LINGER_S)
        self._check_claims = asyncio.Event()
        self._attempts: set[asyncio.Task[None]] = set()
        self._claiming = 0
        self._running: dict[UUID, tuple[Run, asyncio.Task[None]]] = {}  # by claim token
        self._closing = False
        self.slots = Slots(slots)

    def wake(self) -> None:
        """Some claim may have been lost: look now."""
        self._check_claims.set()

    async def run(self, claim: JobClaim) -> None:
        """Runs one attempt to its end, if its task is due and nobody else has claimed it. The run goes on when the
        caller is cancelled, as arq's jobs are when Redis is lost; `drain` ends it."""
        attempt = asyncio.create_task(self._run(claim))
        self._attempts.add(attempt)
        attempt.add_done_callback(self._attempts.discard)
        await asyncio.wait({attempt})
        attempt.result()

    async def _run(self, claim: JobClaim) -> None:
        async with self.slots.occupy(claim.job_id):
            task = await self._claim(claim)
            if task is None:
                return
            run = Run(task, self._transaction, SYSTEM, self.slots.rest)
            running = asyncio.create_task(self._carry_out(run))
            self._running[run.token] = (run, running)
            metrics.TASK_WAIT.observe(max((now() - task.ready_at).total_seconds(), 0.0))
            with metrics.TASKS_RUNNING.track_inprogress():
                await asyncio.wait({running})
            del self._running[run.token]
            if not running.cancelled() and (error := running.exception()) is not None:
                log.error("could not write a run's outcome; its lease will expire", task=str(task.id), exc_info=error)

    async def _claim(self, claim: JobClaim) -> Task | None:
        if self._closing:
            return None
        self._claiming += 1
        try:
            return await self._claims.add(claim)
        finally:
            self._claiming -= 1

    async def _claim_all(self, claims: Sequence[JobClaim]) -> Sequence[Task | None]:
        async with self._transaction.of_one_statement() as statement:
            tasks = await claim_for_jobs(statement, claims, lease_s=LEASE_S, actor=SYSTEM)
        return [tasks.get(claim.task_id) for claim in claims]

    async def _carry_out(self, run: Run) -> None:
        started, outcome = time.monotonic(), "stopped"
        try:
            outcome = await self._outcome(run)
        except PutAside:
            outcome = "put aside"
        except ClaimLost:  # cancelled, reassigned or taken for dead: nothing that the run says counts any more
            outcome = "lost"
        finally:
            seconds = round(time.monotonic() - started, 3)
            log.info("run ended", task=to_global(Prefix.TASK, run.task.id), outcome=outcome, seconds=seconds)

    async def _outcome(self, run: Run) -> str:
        try:
            async with asyncio.timeout(run.task.timeout_s) as time_given:
                made = await self._execute(run)
            async with self.slots.rest():  # the next task need not wait until this one's result is written
                return (await self._complete(run, made)).value
        except ClaimLost:
            raise
        except Unavailable as error:  # no fault of the attempt, so it does not count
            failure = Failure(error.code, error.message, may_pass=True, wait=timedelta(0))
        except RunFailed as error:
            failure = error.failure
        except Exception as error:
            if isinstance(error, TimeoutError) and time_given.expired():
                await run.time_out()
                return TaskStatus.TIMED_OUT.value
            failure = _internal_failure(run)
        await run.fail(failure)
        return f"failed: {failure.code}"

    async def _complete(self, run: Run, made: Made) -> TaskStatus:
        """Returns what the task has become; raises ClaimLost. What cannot be written with others is written alone."""
        if run.at_completion:
            return await run.complete(made)
        run.ending = True
        checked = await run.check_output(made.output)
        completion = Completion(run.token, run.actor, made.result, made.output, usage=run.usage, checked=checked)
        with suppress(Unavailable):
            task = await self._completions.add(completion)
            if task is not None:
                return task.status
        return await run.complete(made)

    async def _complete_all(self, completions: Sequence[Completion]) -> Sequence[Task | None]:
        try:
            async with self._transaction() as session:
                tasks = await complete_all(session, completions)
        except Unavailable:
            raise
        except Exception:
            if len(completions) > 1:
                log.exception("completing tasks together failed; completing them one by one", count=len(completions))
            return [None] * len(completions)
        return [tasks.get(completion.claim_token) for completion in completions]

    async def keep_claims(self) -> None:
        """Until cancelled: extends the leases of what runs, and stops runs whose claim was lost."""
        async with asyncio.TaskGroup() as group:
            group.create_task(repeat(self._stop_lost, self._check_claims, lambda: POLL_S))
            group.create_task(repeat(self._extend, asyncio.Event(), lambda: EXTEND_EVERY_S))

    async def _stop_lost(self) -> None:
        """Stops what was cancelled, reassigned or taken for dead, in the middle of a model's call if need be."""
        running = {run.token: task for run, task in self._running.values() if not run.ending}
        if not running:
            return
        valid = await leases.valid_claims(self._database, running.keys())
        for token in running.keys() - valid:
            running[token].cancel()

    async def _extend(self) -> None:
        if tokens := [run.token for run, _ in self._running.values()]:
            async with self._transaction() as session:
                await leases.extend(session, tokens, LEASE_S)

    async def drain(self, grace_s: float) -> None:
        """Starts nothing more, lets what runs end within the grace time, and gives the rest back: pending at once."""
        self._closing = True
        keeping = asyncio.create_task(self.keep_claims())
        while self._claiming:  # noqa: ASYNC110 - a claim takes milliseconds, and what it claims has to be given back
            await asyncio.sleep(0.001)
        if self._running:
            log.info("waiting for running tasks", count=len(self._running), seconds=grace_s)
            await asyncio.wait([running for _, running in self._running.values()], timeout=grace_s)
        keeping.cancel()
        left = list(self._running.values())
        for _, running in left:
            running.cancel()
        await asyncio.gather(keeping, *(running for _, running in left), return_exceptions=True)
        for attempt in self._attempts:
            attempt.cancel()  # those that still wait for a slot
        await asyncio.gather(*self._attempts, return_exceptions=True)
        await self._release([run for run, _ in left])

    async def _release(self, runs: Sequence[Run]) -> None:
        """One after the other: there are fewer connections than runs."""
        released = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_RELEASE_S):
                for run in runs:
                    with suppress(ClaimLost):
                        await run.release()
                    released += 1
        if runs:
            log.info("running tasks given back; the leases of the others will expire", count=released, of=len(runs))


def _internal_failure(run: Run) -> Failure:
    incident = uuid4().hex
    log.exception("run failed by a fault of Parley's own", task=str(run.task.id), error_id=incident)
    return Failure("INTERNAL", f"Something went wrong inside Parley. Look for {incident} in the log.", may_pass=True)
