"""Takes over what became of stages whose tasks have ended: what was made, what it took, and the votes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations.held import Held
from app.collaborations.models import CollaborationStage, CollaborationVote, ParticipantStatus, StageKind, StageStatus
from app.collaborations.narration import end_of, tell_stage
from app.collaborations.wording import WORK_KINDS
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.tasks.models import OPEN, Task, TaskStatus

_STATUS = {
    TaskStatus.COMPLETED: StageStatus.COMPLETED,
    TaskStatus.FAILED: StageStatus.FAILED,
    TaskStatus.TIMED_OUT: StageStatus.TIMED_OUT,
    TaskStatus.CANCELLED: StageStatus.CANCELLED,
}


async def absorb(session: AsyncSession, held: Held, actor: Actor) -> list[CollaborationStage]:
    """Close every open stage whose task has ended, each once: the session's row is held. Answers those."""
    waiting = {stage.task_id: stage for stage in held.working() if stage.task_id is not None}
    if not waiting:
        return []
    ended = select(Task).where(Task.id.in_(waiting), Task.status.not_in(OPEN)).order_by(Task.finished_at, Task.id)
    tasks = list(await session.scalars(ended.execution_options(populate_existing=True)))
    used = await _used(session, [task.id for task in tasks])
    for task in tasks:
        _close(session, held, waiting[task.id], task, *used[task.id], actor)
    return [waiting[task.id] for task in tasks]


async def _used(session: AsyncSession, tasks: list[UUID]) -> dict[UUID, tuple[int, Decimal]]:
    """Tokens and cost of each task and of everything below it."""
    below = select(Task.root_id, func.sum(Task.tokens_used), func.sum(Task.cost)).where(Task.root_id.in_(tasks))
    return {root: (int(tokens), cost) for root, tokens, cost in await session.execute(below.group_by(Task.root_id))}


def _close(
    session: AsyncSession, held: Held, stage: CollaborationStage, task: Task, tokens: int, cost: Decimal, actor: Actor
) -> None:
    assert task.finished_at is not None
    stage.status, stage.ended_at = _STATUS[task.status], task.finished_at
    stage.output, stage.data = task.result or task.progress, task.output
    stage.tokens_used, stage.cost = tokens, cost
    stage.duration_s = (task.finished_at - (task.started_at or task.finished_at)).total_seconds()
    if _counts_as_partial(held, stage):
        stage.status = StageStatus.COMPLETED
        stage.data = _partial(stage.output) if held.row.template else None
    elif stage.status is not StageStatus.COMPLETED:
        stage.error_code, stage.error_message = task.error_code, task.error_message
    done = stage.status is StageStatus.COMPLETED
    held.row.stages_completed += done
    held.seat(stage.slot).status = ParticipantStatus.COMPLETED if done else ParticipantStatus.FAILED
    if done and stage.kind is StageKind.VOTE:
        _count(session, held, stage)
    kind = EventKind.COLLABORATION_STAGE_COMPLETED if done else EventKind.COLLABORATION_STAGE_FAILED
    tell_stage(session, kind, held.row, stage, actor, **end_of(stage))


def _counts_as_partial(held: Held, stage: CollaborationStage) -> bool:
    """Who works under a time of its own, as developers of the template do, hands over what it has when that is over."""
    timed = held.row.template is not None or held.row.work_timeout_s is not None
    return timed and stage.kind in WORK_KINDS and stage.status is StageStatus.TIMED_OUT and bool(stage.output.strip())


def _partial(said: str) -> dict[str, Any]:
    nothing: dict[str, list[str]] = {"files_created": [], "files_modified": [], "files_deleted": []}
    return {"status": "partial", "changes": nothing, "summary": said[:20_000], "blockers": ["The time ran out."]}


def _count(session: AsyncSession, held: Held, stage: CollaborationStage) -> None:
    vote = stage.data or {}
    session.add(
        CollaborationVote(
            id=new_id(),
            team_id=stage.team_id,
            collaboration_id=held.row.id,
            stage_id=stage.id,
            agent_id=stage.agent_id,
            round=stage.round,
            choice=str(vote.get("choice", "")),
            reason=str(vote.get("reason", "")),
        )
    )
