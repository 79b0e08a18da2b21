"""A tool of managed agents: what it does and the record of the call are one transaction, fenced by the claim."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import now
from app.config import Settings
from app.consultations.preparation import Consulting
from app.db.engine import Database
from app.errors import AppError, Unavailable
from app.ids import new_id
from app.inference.request import Tool, ToolRefused
from app.tasks import tool_calls
from app.tasks.errors import ClaimLost, PutAside
from app.tasks.models import Task, TaskStatus, ToolCall
from app.tasks.redacting import arguments_without_secrets
from app.tasks.run import Run
from app.tasks.starts import Start
from app.tasks.tool_calls import ToolCallSpec

Arguments = TypeVar("Arguments", bound=BaseModel)
MAX_RESULT, MAX_ERROR = 20_000, 10_000


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a tool is used: the run that calls it, what it may reach, and the mail that the run was shown.
    `prepared` is what the tool's `wait` brought back."""

    run: Run
    settings: Settings
    database: Database
    mail: set[UUID] = field(default_factory=set)
    consulting: Consulting | None = None
    prepared: Any = None

    @property
    def start(self) -> Start:
        """What a tool starts, it starts below the task of its run, under the run's claim."""
        return Start(task_id=self.run.task.id, claim_token=self.run.token)


@dataclass(frozen=True, slots=True)
class Done:
    """What the model is told, and the task that the call created, if any.

    `leave` follows in the same transaction when the call is on record and gives the claim up: the run ends there.
    `then` follows once the call is committed.
    """

    text: str
    created_task_id: UUID | None = None
    leave: Callable[[AsyncSession], Awaitable[None]] | None = None
    then: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class AgentTool(Generic[Arguments]):
    """`act` works inside the transaction that records the call; `wait` comes before it and holds none open. The record
    locks the task at the end: what comes after tasks in the order of locks, `act` locks only when it holds the claim.
    `kept` is what is put on record of what the model gave: its arguments, or these and a refusal, which may quote them.

    The same rules as for the API hold because the same services are called. A refusal is told to the model.
    """

    name: str
    description: str
    arguments: type[Arguments]
    act: Callable[[AsyncSession, Desk, Arguments], Awaitable[Done]]
    wait: Callable[[Desk, Arguments], Awaitable[Any]] | None = None
    offered: Callable[[Task], bool] = lambda task: True
    kept: Callable[[Desk, dict[str, Any]], dict[str, Any]] = lambda desk, given: given

    def bound(self, desk: Desk) -> Tool:
        async def call(given: dict[str, Any]) -> str:
            return await _call(self, desk, given)

        async def misused(given: dict[str, Any], problem: str) -> None:
            await _keep_refusal(self, desk, given, f"INVALID_INPUT: {problem}", new_id(), now())

        return Tool(self.name, self.description, self.arguments.model_json_schema(), call, misused)


async def _call(tool: AgentTool[Any], desk: Desk, given: dict[str, Any]) -> str:
    call_id, started_at = new_id(), now()
    run, left = desk.run, False
    given = arguments_without_secrets(run.task, given)
    prepared: Any = None
    then: Callable[[], None] | None = None

    async def act_and_record(session: AsyncSession, **claim: Any) -> str:
        nonlocal left, then
        known = await session.get(ToolCall, call_id)
        if known is not None:  # committed by a first try that nobody answered
            return known.result or ""
        done = await tool.act(session, replace(desk, prepared=prepared), arguments)
        text, then = done.text[:MAX_RESULT], done.then
        kept = tool.kept(desk, given)
        spec = ToolCallSpec(name=tool.name, arguments=kept, result=text, started_at=started_at)
        task, _ = await tool_calls.record(
            session, **claim, call=spec, created_task_id=done.created_task_id, call_id=call_id
        )
        if done.leave is not None and task.status is TaskStatus.IN_PROGRESS:
            await done.leave(session)
            left = True
        return text

    try:
        arguments = tool.arguments.model_validate(given)
        if tool.wait is not None:
            prepared = await tool.wait(desk, arguments)
        told = await run.write(act_and_record)
        if left:
            raise PutAside
    except (ClaimLost, Unavailable):
        raise
    except (AppError, ValidationError) as refusal:
        message = f"{getattr(refusal, 'code', 'INVALID_INPUT')}: {refusal}"
        await _keep_refusal(tool, desk, given, message, call_id, started_at)
        raise ToolRefused(message) from None
    if then is not None:
        then()
    return told


async def _keep_refusal(
    tool: AgentTool[Any], desk: Desk, given: dict[str, Any], message: str, call_id: UUID, started_at: datetime
) -> None:
    kept = tool.kept(desk, {"arguments": given, "error": message})
    spec = ToolCallSpec(
        name=tool.name, arguments=kept["arguments"], error=kept["error"][:MAX_ERROR], started_at=started_at
    )
    await desk.run.write(tool_calls.record, call=spec, call_id=call_id)
