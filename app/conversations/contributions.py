"""What each chosen agent contributes to a reply: the task that was given to it, and what that came to."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.agents.models import Skill as SkillRow
from app.conversations.models import Contribution, ContributionStatus, Reply
from app.routing.models import RoutingCandidate
from app.tasks.models import Task, TaskStatus

_STATUS = {
    TaskStatus.COMPLETED: ContributionStatus.COMPLETED,
    TaskStatus.FAILED: ContributionStatus.FAILED,
    TaskStatus.TIMED_OUT: ContributionStatus.TIMED_OUT,
    TaskStatus.CANCELLED: ContributionStatus.CANCELLED,
}


async def find(session: AsyncSession, team_id: UUID, which: ColumnElement[bool]) -> Contribution | None:
    return await session.scalar(select(Contribution).where(Contribution.team_id == team_id, which))


async def task_of(session: AsyncSession, one: Contribution) -> Task:
    mine = select(Task).where(Task.id == one.task_id).execution_options(populate_existing=True)
    return (await session.scalars(mine)).one()


def settle(one: Contribution, task: Task, called_off: ContributionStatus = ContributionStatus.CANCELLED) -> None:
    """Write down what an ended task came to."""
    one.status, one.text, one.error = _STATUS[task.status], task.result, task.error_message
    if one.status is ContributionStatus.CANCELLED:
        one.status = called_off
    if one.status is ContributionStatus.COMPLETED and not (task.result or "").strip():
        one.status, one.error = ContributionStatus.FAILED, "It replied without a word."


async def said(session: AsyncSession, reply: Reply, one: Contribution) -> tuple[str, str, str]:
    """An agent's name and skill, and what it replied."""
    name = await session.scalar(select(Agent.name).where(Agent.id == one.agent_id))
    return name or "", await _skill(session, reply, one), one.text or ""


async def _skill(session: AsyncSession, reply: Reply, one: Contribution) -> str:
    """What the agent was chosen for, or else what it does first of all."""
    matching = await session.scalar(
        select(RoutingCandidate.matching_skills).where(
            RoutingCandidate.decision_id == reply.decision_id, RoutingCandidate.agent_id == one.agent_id
        )
    )
    if matching:
        return matching[0]
    first = select(SkillRow.name).where(SkillRow.agent_id == one.agent_id).order_by(SkillRow.position).limit(1)
    return await session.scalar(first) or ""
