"""Orders the answering of a consultation: a task of the specialist, with the curated context and an answer's shape."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.config import Settings
from app.consultations import wording
from app.consultations.models import (
    Consultation,
    ConsultationExchange,
    ConsultationReason,
    ConsultationStatus,
    Urgency,
)
from app.consultations.spec import ANSWER_SCHEMA, what_to_redact
from app.events.log import Actor
from app.tasks.assignment import Assignment, assign
from app.tasks.models import Task, TaskPriority, TaskPurpose, TaskType
from app.tasks.spec import MAX_INSTRUCTIONS, TaskSpec

MOST_TOKENS = 16_000
MOST_SECONDS = 300
PRIORITY = {
    Urgency.LOW: TaskPriority.LOW,
    Urgency.NORMAL: TaskPriority.NORMAL,
    Urgency.HIGH: TaskPriority.HIGH,
    Urgency.CRITICAL: TaskPriority.URGENT,
}


async def order(
    session: AsyncSession,
    row: Consultation,
    *,
    specialist: Agent,
    requester: Agent,
    question: str,
    package: dict[str, Any],
    settings: Settings,
    actor: Actor,
    budget_usd: Decimal | None = None,
    before: Sequence[ConsultationExchange] = (),
    origin: Task | None = None,
    granted_to: Agent | None = None,
    is_redirected: bool = False,
) -> None:
    """The rows of both agents are locked, and so is `origin`, the task that asks: its budget pays and its limits bind.
    What a person redirects keeps the limits, and the team pays. Raises AgentUnavailable, BudgetExhausted or
    AllowanceExceeded."""
    told = wording.instructions(question, requester=requester.name, reason=row.reason.value, clarifies=bool(before))
    wanted = TaskSpec(
        type=TaskType.REVIEW if row.reason is ConsultationReason.SECURITY_REVIEW else TaskType.ANALYZE,
        title=f"Consultation for {requester.name}: {question}"[:200],
        instructions=told,
        context=wording.context(package, before)[:MAX_INSTRUCTIONS],
        expected_output="The answer; where there is something to say, additional context, references and next steps.",
        priority=PRIORITY[row.urgency],
        max_tokens=MOST_TOKENS,
        timeout_seconds=MOST_SECONDS,
        budget_usd=budget_usd,
        tools=None if origin is None or origin.allowed_tools is None else tuple(origin.allowed_tools),
    )
    assignment = Assignment(
        TaskPurpose.CONSULTATION,
        wanted,
        specialist.id,
        row.on_behalf_of,
        output_schema=ANSWER_SCHEMA,
        redacts=what_to_redact(settings.redact_emails),
        budget_id=origin.budget_id if origin is not None and not is_redirected else None,
        agents=origin.allowed_agents if origin else None,
        origin=origin,
        granted_to=granted_to,
    )
    task = await assign(session, team_id=row.team_id, wanted=assignment, settings=settings, actor=actor)
    row.specialist_id, row.task_id, row.status = specialist.id, task.id, ConsultationStatus.PENDING


def reopen(row: Consultation) -> None:
    row.outcome = row.finished_at = row.successful = row.summary = None
    row.status = ConsultationStatus.PENDING
