"""Keeps every tool call of a run, in order, and the task that a call created."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict, text
from app.errors import NotFound
from app.events.kinds import EventKind
from app.events.log import Actor
from app.ids import new_id
from app.tasks.errors import AuthorityExceeded
from app.tasks.failures import over_limit
from app.tasks.locks import held
from app.tasks.models import Task, ToolCall
from app.tasks.narration import tell
from app.tasks.redacting import without_secrets
from app.tasks.requeueing import fail_attempt


class ToolCallSpec(Strict):
    name: Annotated[str, text(120, 1)]
    arguments: Annotated[dict[str, Any], Field(default_factory=dict)]
    result: Annotated[str, text(100_000)] | None = None
    error: Annotated[str, text(10_000)] | None = None
    started_at: datetime | None = None


async def record(
    session: AsyncSession,
    *,
    team_id: UUID,
    task_id: UUID,
    claim_token: UUID,
    call: ToolCallSpec,
    actor: Actor,
    created_task_id: UUID | None = None,
    agent_id: UUID | None = None,
    call_id: UUID | None = None,
) -> tuple[Task, ToolCall]:
    """Keep a call that has been made. One more than the task allows is kept too, and fails the task for good.

    `call_id`: the caller's own, so that whoever does not know whether this was committed may say it again.
    """
    task, attempt, at = await held(
        session, team_id=team_id, task_id=task_id, claim_token=claim_token, agent_id=agent_id
    )
    known = await session.get(ToolCall, call_id) if call_id else None
    if known is not None:
        return task, known
    if task.allowed_tools is not None and call.name not in task.allowed_tools:
        raise AuthorityExceeded([f"the tool '{call.name}'"])
    if created_task_id is not None:
        mine = (Task.team_id == team_id) & (Task.id == created_task_id) & (Task.parent_id == task.id)
        if await session.scalar(select(Task.id).where(mine)) is None:
            raise NotFound("There is no such task below this one.")
    kept = ToolCall(
        id=call_id or new_id(),
        team_id=team_id,
        task_id=task.id,
        attempt_id=attempt.id,
        created_task_id=created_task_id,
        ended_at=at,
        **without_secrets(task, call.model_dump(exclude={"started_at"})),
    )
    kept.started_at = min(call.started_at or at, at)
    session.add(kept)
    await session.flush()
    tell(session, EventKind.TASK_TOOL_CALLED, task, actor, tool=call.name, failed=call.error is not None)
    used = await session.scalar(select(func.count()).where(ToolCall.attempt_id == attempt.id)) or 0
    if used > task.max_tool_calls:
        failure = over_limit(f"{used} of {task.max_tool_calls} tool calls (maxToolCalls)")
        await fail_attempt(session, task, failure, at=at, actor=actor)
    return task, kept
