"""One run of a claimed task: how it tells of itself. Every word to the database is fenced by the claim."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.db.transaction import Transactions
from app.errors import Unavailable
from app.events.log import Actor
from app.tasks import outputs, requeueing, transitions
from app.tasks.failures import NOTHING, Failure, Usage
from app.tasks.models import Task, TaskStatus
from app.tasks.outputs import Checked

T = TypeVar("T")
LEASE_S = 8
MAX_PROGRESS = 10_000
_AWAY_PAUSE_S = 0.3
_TELL_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class Made:
    """What a run came to."""

    result: str
    output: dict[str, Any] | None = None


class RunFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(slots=True)
class Run:
    """`usage` is what the attempt has used so far, in all. `resting()` lends its place to others while it waits.
    `ending`: there is nothing left to stop, only an outcome to write down. `at_completion` is done in the transaction
    that completes the task, with the assignee's row held; of an attempt that does not complete, nothing is."""

    task: Task
    transaction: Transactions
    actor: Actor
    resting: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    usage: Usage = NOTHING
    ending: bool = False
    at_completion: list[Callable[[AsyncSession], Awaitable[None]]] = field(default_factory=list)
    _progress: str = ""
    _told: str = ""
    _told_at: float = 0.0

    @property
    def token(self) -> UUID:
        assert self.task.claim_token is not None
        return self.task.claim_token

    async def progressed(self, text: str) -> None:
        """Remember how far the work is; the log is told every other second at most."""
        self._progress = text[-MAX_PROGRESS:]
        moment = asyncio.get_running_loop().time()
        if moment - self._told_at >= _TELL_EVERY_S:
            self._told_at = moment
            await self.tell()

    async def tell(self) -> TaskStatus:
        """Raises ClaimLost. A task past its time or its limits ends by this, as the answer shows."""
        news = self._progress if self._progress != self._told else None
        task = await self.write(transitions.heartbeat, lease_s=LEASE_S, progress=news, usage=self.usage)
        self._told = self._progress
        return task.status

    async def complete(self, made: Made) -> TaskStatus:
        """What the task has become: late, over a limit or against its contract it does not complete."""
        self.ending = True
        change = self._complete if self.at_completion else transitions.complete
        checked = await self.check_output(made.output)
        task = await self.write(change, result=made.result, output=made.output, usage=self.usage, checked=checked)
        return task.status

    async def check_output(self, output: dict[str, Any] | None) -> Checked | None:
        """Checks the output against the task's contract, outside of the transaction that completes the task."""
        task = self.task
        if task.contract_id is None and task.output_schema is None:
            return None
        required = await self._insist(
            partial(outputs.required_by, team_id=task.team_id, task_id=task.id, claim_token=self.token)
        )
        return await outputs.check(required, output) if required else None

    async def _complete(self, session: AsyncSession, **what: Any) -> Task:
        await agents.lock(session, self.task.team_id, self.task.assignee_id)
        task = await transitions.complete(session, **what)
        if task.status is TaskStatus.COMPLETED:
            for deed in self.at_completion:
                await deed(session)
        return task

    async def fail(self, failure: Failure) -> None:
        self.ending = True
        await self.write(transitions.fail, failure=failure, usage=self.usage)

    async def time_out(self) -> None:
        """Our clock says that the time is over; the database's says so a moment later at most."""
        self.ending = True
        while await self.tell() is TaskStatus.IN_PROGRESS:  # noqa: ASYNC110 - nothing rings when time passes
            await asyncio.sleep(0.05)

    async def release(self) -> None:
        await self.write(requeueing.release)

    async def write(self, change: Callable[..., Awaitable[T]], **what: Any) -> T:
        """While the database is away it is tried again: what was done must not be lost. So a change may come twice,
        when nobody can say whether the first was committed; the claim, or an id of its own, makes it count once."""
        task = self.task
        claim = {"team_id": task.team_id, "task_id": task.id, "claim_token": self.token, "actor": self.actor}
        return await self._insist(partial(change, **claim, **what))

    async def _insist(self, deed: Callable[[AsyncSession], Awaitable[T]]) -> T:
        while True:
            try:
                async with self.transaction() as session:
                    return await deed(session)
            except Unavailable:
                await asyncio.sleep(_AWAY_PAUSE_S)
