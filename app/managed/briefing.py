"""Reads what a managed agent has to know before it starts: who it is, its task, what it builds on, what it may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.budgets import service as budgets
from app.config import Settings
from app.contracts import service as contracts
from app.conversations import reading
from app.conversations.sight import Sight, identity_with, room_for_memories
from app.inference.offline.script import entries_of
from app.inference.prompt import Assignment, Identity, Outline, Source
from app.inference.request import Limits
from app.memories.library import texts_of
from app.memories.recall import Recalled
from app.messages import inbox
from app.reports import queries as reports
from app.tasks import questions
from app.tasks.models import Task, TaskDependency, TaskPurpose, TaskType
from app.teams.flags import FeatureFlag, is_on
from app.teams.models import Team

MAX_SOURCE = 20_000


@dataclass(frozen=True, slots=True)
class Briefing:
    identity: Identity
    assignment: Assignment
    limits: Limits
    tier: int
    may_delegate: bool
    may_collaborate: bool
    may_consult: bool = False
    output_schema: dict[str, Any] | None = None
    reply_id: UUID | None = None
    unread: int = 0  # messages in the agent's inbox; a reply is told what `Sight` shows and no more


async def read(
    session: AsyncSession,
    task: Task,
    settings: Settings,
    memories: Sequence[Recalled] = (),
    seen: Sight | None = None,
    reply_id: UUID | None = None,
) -> Briefing:
    """`memories` are what the task calls to mind, best first; as many are told as have room. A reply is told what the
    agent sees of the conversation instead."""
    team = (await session.scalars(select(Team).where(Team.id == task.team_id))).one()
    tier = await session.scalar(select(Agent.model_tier).where(Agent.id == task.assignee_id)) or 0
    contract = await contracts.by_id(session, task.contract_id) if task.contract_id else None
    known, assignment = (seen.identity, seen.assignment) if seen else await _read_task(session, task, memories)
    if settings.offline_directives:
        script = entries_of(settings.offline_script, await _slug(session, task), known.name)
        assignment = replace(assignment, obeys_directives=task.obeys_directives, script=script)
    return Briefing(
        identity=known,
        assignment=assignment,
        limits=Limits(
            max_tokens=task.max_tokens,
            max_tool_calls=task.max_tool_calls,
            max_cost_usd=await budgets.left(session, task.budget_id),
        ),
        tier=tier if task.model_tier is None else task.model_tier,
        may_delegate=is_on(FeatureFlag.TASK_DELEGATION, settings.flags, team.flags),
        may_collaborate=is_on(FeatureFlag.COLLABORATION, settings.flags, team.flags),
        may_consult=is_on(FeatureFlag.AGENT_COLLABORATION, settings.flags, team.flags),
        output_schema=contract.output_schema if contract else task.output_schema,
        reply_id=reply_id,
        unread=0 if seen else await inbox.count_unread(session, team_id=task.team_id, agent_id=task.assignee_id),
    )


async def _slug(session: AsyncSession, task: Task) -> str:
    return await session.scalar(select(Agent.slug).where(Agent.id == task.assignee_id)) or ""


async def _read_task(session: AsyncSession, task: Task, memories: Sequence[Recalled]) -> tuple[Identity, Assignment]:
    creator = await session.scalar(select(Agent.name).where(Agent.id == task.creator_id))
    given = Assignment(
        type=task.type.value,
        title=task.title,
        instructions=task.instructions,
        context=task.context,
        expected_output=task.expected_output,
        sources=await _sources(session, task),
        given=task.contract_input,
        requested_by=creator or "",
        outline=await _outline(session, task),
        options=_options(task),
    )
    told = texts_of(memories, most_characters=room_for_memories(task.max_tokens))
    return identity_with(await reading.identity_of(session, task.assignee_id), told), given


def _options(task: Task) -> tuple[str, ...]:
    """What a vote chooses among."""
    choice = ((task.output_schema or {}).get("properties") or {}).get("choice") or {}
    is_vote = task.purpose is TaskPurpose.STAGE and task.type is TaskType.VALIDATE
    return tuple(choice.get("enum", ())) if is_vote else ()


async def _outline(session: AsyncSession, task: Task) -> Outline | None:
    if task.purpose is not TaskPurpose.REPORT:
        return None
    report = await reports.of_task(session, team_id=task.team_id, task_id=task.id)
    return Outline(tuple(report.required_sections), report.format.value) if report else None


def recalled_by(task: Task) -> str:
    """The text by which an agent remembers when it takes a task up."""
    return "\n".join(filter(None, (task.title, task.instructions, task.context)))


async def _sources(session: AsyncSession, task: Task) -> list[Source]:
    """The results of the tasks that it depended on, what people answered it, then the references it was given."""
    needed = await session.scalars(
        select(Task)
        .join(TaskDependency, TaskDependency.needs_id == Task.id)
        .where(TaskDependency.task_id == task.id)
        .order_by(Task.id)
    )
    results = [Source(f"the task '{one.title}'", (one.result or "")[:MAX_SOURCE]) for one in needed]
    told = [
        Source(f"a person's answer to '{item.title}'", questions.in_words(item)[:MAX_SOURCE])
        for item in await questions.answered(session, task.id)
    ]
    return [*results, *told, *(Source("a reference", reference) for reference in task.input_artifacts)]
