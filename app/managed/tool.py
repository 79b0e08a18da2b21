"""A tool of managed agents: what it does and the record of the call are one transaction, fenced by the claim."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import now
from app.config import Settings
from app.db.engine import Database
from app.errors import AppError, Unavailable
from app.ids import new_id
from app.inference.request import Tool, ToolRefused
from app.tasks import tool_calls
from app.tasks.errors import ClaimLost
from app.tasks.models import Task, ToolCall
from app.tasks.run import Run
from app.tasks.tool_calls import ToolCallSpec

Arguments = TypeVar("Arguments", bound=BaseModel)
MAX_RESULT, MAX_ERROR = 20_000, 10_000


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a tool is used: the run that calls it, and what it may reach."""

    run: Run
    settings: Settings
    database: Database


@dataclass(frozen=True, slots=True)
class Done:
    """What the model is told, and the task that the call created, if any."""

    text: str
    created_task_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class AgentTool(Generic[Arguments]):
    """`act` works inside the transaction that records the call; `wait` comes before it and holds none open.

    The same rules as for the API hold because the same services are called. A refusal is told to the model.
    """

    name: str
    description: str
    arguments: type[Arguments]
    act: Callable[[AsyncSession, Desk, Arguments], Awaitable[Done]]
    wait: Callable[[Desk, Arguments], Awaitable[None]] | None = None
    offered: Callable[[Task], bool] = lambda task: True

    def bound(self, desk: Desk) -> Tool:
        async def call(given: dict[str, Any]) -> str:
            return await _call(self, desk, given)

        async def misused(given: dict[str, Any], problem: str) -> None:
            await _keep_refusal(self, desk.run, given, f"INVALID_INPUT: {problem}", new_id(), now())

        return Tool(self.name, self.description, self.arguments.model_json_schema(), call, misused)


async def _call(tool: AgentTool[Any], desk: Desk, given: dict[str, Any]) -> str:
    call_id, started_at = new_id(), now()
    run = desk.run

    async def act_and_record(session: AsyncSession, **claim: Any) -> str:
        known = await session.get(ToolCall, call_id)
        if known is not None:  # committed by a first try that nobody answered
            return known.result or ""
        done = await tool.act(session, desk, arguments)
        text = done.text[:MAX_RESULT]
        spec = ToolCallSpec(name=tool.name, arguments=given, result=text, started_at=started_at)
        await tool_calls.record(session, **claim, call=spec, created_task_id=done.created_task_id, call_id=call_id)
        return text

    try:
        arguments = tool.arguments.model_validate(given)
        if tool.wait is not None:
            await tool.wait(desk, arguments)
        return await run.write(act_and_record)
    except (ClaimLost, Unavailable):
        raise
    except (AppError, ValidationError) as refusal:
        message = f"{getattr(refusal, 'code', 'INVALID_INPUT')}: {refusal}"
        await _keep_refusal(tool, run, given, message, call_id, started_at)
        raise ToolRefused(message) from None


async def _keep_refusal(
    tool: AgentTool[Any], run: Run, given: dict[str, Any], message: str, call_id: UUID, started_at: datetime
) -> None:
    spec = ToolCallSpec(name=tool.name, arguments=given, error=message[:MAX_ERROR], started_at=started_at)
    await run.write(tool_calls.record, call=spec, call_id=call_id)
