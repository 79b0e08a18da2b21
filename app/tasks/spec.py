"""What a task says: its fields, their limits, and the row that is made of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints, ValidationError

from app.agents.spec import MAX_TOOLS, Strict, Word, problems_of, text
from app.errors import InvalidInput
from app.tasks.models import Task, TaskPriority, TaskPurpose, TaskStatus, TaskType
from app.tasks.retry_policy import ATTEMPTS

MAX_ARTIFACTS = 50
MAX_DEPENDENCIES = 50
MAX_INSTRUCTIONS = 100_000
MAX_TITLE = 200
REFERENCE = r"^((artifact|memory|file|task):|https?://)[^\s\x00]+$"
Reference = Annotated[str, StringConstraints(max_length=2_000, pattern=REFERENCE)]


class TaskSpec(Strict):
    type: TaskType
    title: Annotated[str, text(MAX_TITLE, 1)]
    instructions: Annotated[str, text(MAX_INSTRUCTIONS, 1)]
    context: Annotated[str, text(MAX_INSTRUCTIONS)] = ""
    expected_output: Annotated[str, text(10_000)] = ""
    input_artifacts: Annotated[tuple[Reference, ...], Field(max_length=MAX_ARTIFACTS)] = ()
    priority: TaskPriority = TaskPriority.NORMAL
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 4_000
    max_tool_calls: Annotated[int, Field(ge=0, le=10_000)] = 10
    timeout_seconds: Annotated[int, Field(ge=1, le=86_400)] = 120
    model_tier: Annotated[int, Field(ge=0, le=2)] | None = None
    budget_usd: Annotated[Decimal, Field(gt=0, le=1_000_000, decimal_places=6)] | None = None
    tools: Annotated[tuple[Word, ...], Field(max_length=MAX_TOOLS)] | None = None


def parse_task(fields: dict[str, Any]) -> TaskSpec:
    """Raises InvalidInput that names every wrong field."""
    try:
        return TaskSpec.model_validate(fields)
    except ValidationError as error:
        problems = problems_of(error)
        for problem in problems:
            if REFERENCE in problem["message"]:
                problem["message"] = "must be a reference: artifact:…, memory:…, file:…, task:…, http://… or https://…"
        raise InvalidInput("; ".join(f"{found['path']}: {found['message']}" for found in problems), problems) from None


def row_of(spec: TaskSpec, task_id: UUID, team_id: UUID) -> Task:
    """A pending task with what the spec says of it; its place in a tree is still to be filled in."""
    return Task(
        id=task_id,
        team_id=team_id,
        type=spec.type,
        title=spec.title,
        instructions=spec.instructions,
        context=spec.context,
        expected_output=spec.expected_output,
        input_artifacts=list(spec.input_artifacts),
        priority=spec.priority,
        max_tokens=spec.max_tokens,
        max_tool_calls=spec.max_tool_calls,
        timeout_s=spec.timeout_seconds,
        model_tier=spec.model_tier,
        status=TaskStatus.PENDING,
        purpose=TaskPurpose.DELEGATION,
        attempts_allowed=ATTEMPTS,
    )
