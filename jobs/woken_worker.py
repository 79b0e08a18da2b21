"""An arq worker that is woken: it starts a job within milliseconds instead of at its next poll.

Measured in one run on two cores, each job one UPDATE: arq at its defaults starts a job 242 ms after it was enqueued and
runs 212 a second; woken, with 20 slots, 1.6 ms and 1,819. arq has no hook for that, so `main` is replaced and calls
`_poll_iteration`, which is arq 0.28.0's own. The version is pinned, and `tests/jobs/test_arq.py` fails when it changes.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from arq import Worker

from app.redis import AWAY
from jobs.functions import function_name, is_task
from jobs.slots import Slots

UNLIMITED = 10_000  # arq's own limit is not used: tasks have slots, follow-ups their own number
FOLLOW_UPS_AT_A_TIME = 5  # short transactions, which must not wait behind long tasks
READ_LIMIT = 100
# How long arq keeps a job of a killed worker from others. That covers milliseconds: once its task is claimed or its
# follow-up committed, the job is off the queue. One that takes longer is started twice and finds its row locked.
IN_PROGRESS_S = 3


class WokenWorker(Worker):
    def __init__(self, *, slots: Slots, **settings: Any) -> None:
        super().__init__(**settings | {"max_jobs": UNLIMITED, "queue_read_limit": READ_LIMIT, "handle_signals": False})
        self.in_progress_timeout_s = IN_PROGRESS_S
        self._slots = slots
        slots.on_free = self.wake
        self._woken = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """A job was enqueued, or a slot became free."""
        self._woken.set()

    def stop(self) -> None:
        """Ends `main` after the poll under way. Cancelling it is not safe: redis-py may turn that into an error that
        arq takes for a race with another worker."""
        self._stopping = True
        self.wake()

    async def main(self) -> None:
        self.ctx["redis"] = self.pool
        while not self._stopping:
            self._woken.clear()
            await self._poll_iteration()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.poll_delay_s):
                    await self._woken.wait()

    async def start_jobs(self, job_ids: list[bytes]) -> None:
        """Starts what there is room for. A job that this version does not know is left to a newer worker."""
        known = [job_id for job_id in job_ids if function_name(job_id.decode()) in self.functions]
        self._read_past(unknown=len(job_ids) - len(known), all_read=len(job_ids) < self.queue_read_limit)
        for encoded in known:
            job_id = encoded.decode()
            if job_id in self.tasks or not self._has_room(job_id):
                continue
            await super().start_jobs([encoded])
            if (job := self.tasks.get(job_id)) is None:  # another worker has it
                self._slots.cancel_reservation(job_id)
            else:
                job.add_done_callback(lambda _, job_id=job_id: self._ended(job_id))  # type: ignore[misc]

    def _read_past(self, *, unknown: int, all_read: bool) -> None:
        """Unknown jobs at the head of the queue must not hide those behind them."""
        self.queue_read_limit = READ_LIMIT + unknown
        if unknown and not all_read:
            self.wake()

    async def finish_job(self, *args: Any, **settings: Any) -> None:
        """Without Redis a job cannot be taken off the queue; when it is run again, it finds its work done."""
        with suppress(*AWAY):
            await super().finish_job(*args, **settings)

    def _has_room(self, job_id: str) -> bool:
        if is_task(job_id):
            return self._slots.reserve(job_id)
        running = sum(not job.done() for other, job in self.tasks.items() if not is_task(other))
        return running < FOLLOW_UPS_AT_A_TIME

    def _ended(self, job_id: str) -> None:
        self._slots.cancel_reservation(job_id)  # of a job whose function was never called
        self.wake()
