"""How a session ends, once: what still runs is stopped, what was made is kept, and the rest of its budget goes back."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.budgets import service as budgets
from app.collaborations.held import Held
from app.collaborations.models import CollaborationStatus, ParticipantStatus
from app.collaborations.narration import tell
from app.collaborations.outcomes import absorb
from app.events.kinds import EventKind
from app.events.log import Actor
from app.tasks.ending import NO_COST
from app.tasks.ending import end as end_task
from app.tasks.failures import Failure
from app.tasks.locks import lock_all
from app.tasks.models import OPEN, TaskStatus
from app.tasks.retry_policy import FailureCode

_EVENT = {
    CollaborationStatus.COMPLETED: EventKind.COLLABORATION_COMPLETED,
    CollaborationStatus.FAILED: EventKind.COLLABORATION_FAILED,
    CollaborationStatus.TIMED_OUT: EventKind.COLLABORATION_TIMED_OUT,
    CollaborationStatus.CANCELLED: EventKind.COLLABORATION_CANCELLED,
}


async def end(
    session: AsyncSession,
    held: Held,
    status: CollaborationStatus,
    actor: Actor,
    *,
    code: str | None = None,
    reason: str | None = None,
    result: str | None = None,
) -> None:
    """End a held open session. No account has been touched in this transaction yet, or no task is open any more."""
    await _stop_tasks(session, held, actor, reason or "The session has ended.")
    await absorb(session, held, actor)
    row = held.row
    await attention.withdraw_of_collaboration(session, row.id, actor=actor)
    row.status, row.finished_at = status, held.at
    row.error_code, row.error_message = code, reason
    row.result, row.current_stage = result, None
    for seat in held.seats:
        if seat.status is ParticipantStatus.WORKING:
            seat.status = ParticipantStatus.FAILED
    await session.flush()
    await budgets.settle(session, {row.budget_id: NO_COST})
    told = {"result": result} if code is None else {"errorCode": code, "error": reason, "result": result}
    tell(session, _EVENT[status], row, actor, **told, agreement=row.agreement, converged=row.converged)


async def _stop_tasks(session: AsyncSession, held: Held, actor: Actor, reason: str) -> None:
    """All are locked before the first ends: ends settle accounts, and nobody waits for a task while holding one."""
    ids = [stage.task_id for stage in held.working() if stage.task_id is not None]
    failure = Failure(FailureCode.CANCELLED, reason)
    for task in await lock_all(session, ids):
        if task.status in OPEN:
            await end_task(session, task, TaskStatus.CANCELLED, at=held.at, actor=actor, failure=failure)
    await session.flush()
