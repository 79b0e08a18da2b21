"""The tools with which managed agents delegate tasks and learn what became of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated
from uuid import UUID

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.agents.spec import Strict
from app.errors import InvalidInput, NotFound
from app.groups import delegation as groups_delegation
from app.groups import service as groups
from app.groups.delegation import NOBODY
from app.ids import Prefix, from_global, to_global
from app.managed.tool import AgentTool, Desk, Done
from app.managed.waiting import wait_while
from app.tasks import service
from app.tasks.models import MAX_DEPTH, OPEN, Task, TaskPriority, TaskType
from app.tasks.service import Delegation
from app.tasks.spec import parse_task

MOST_WAIT_S = 300
_STATUS = """
select status from task where team_id = $1 and id = $2
    and (parent_id = $3 or parent_id in (select id from task where team_id = $1 and parent_id = $3))
"""


class DelegateTask(Strict):
    agent: Annotated[str, Field(description="The colleague's slug, such as luke; empty where a group is named.")] = ""
    group: Annotated[str, Field(description="Instead of an agent: the slug of a group, which picks one.")] = ""
    type: Annotated[TaskType, Field(description="The kind of work.")] = TaskType.RESEARCH
    title: Annotated[str, Field(description="A short name for the task.", max_length=200)]
    instructions: Annotated[str, Field(description="Everything the colleague needs to know to do it.")]
    context: Annotated[str, Field(description="Background that may help.")] = ""
    expected_output: Annotated[str, Field(description="What the result is to look like.")] = ""
    priority: Annotated[TaskPriority, Field(description="How soon it is needed.")] = TaskPriority.NORMAL
    budget_usd: Annotated[
        Decimal | None, Field(description="US dollars of your own budget that it may spend; usually left out.", gt=0)
    ] = None


class CheckTaskStatus(Strict):
    task_id: Annotated[str, Field(description="The id that delegate_task answered.")]
    wait_seconds: Annotated[
        int, Field(description="Wait up to this long for the task to end.", ge=0, le=MOST_WAIT_S)
    ] = 0


async def _delegate(session: AsyncSession, desk: Desk, asked: DelegateTask) -> Done:
    run = desk.run
    if asked.group:
        return await _delegate_to_group(session, desk, asked)
    colleague = await find_colleague(session, run.task, asked.agent)
    wanted = _wanted(desk, asked, colleague.id)
    task = await service.delegate(
        session, team_id=run.task.team_id, wanted=wanted, settings=desk.settings, actor=run.actor
    )
    name = to_global(Prefix.TASK, task.id)
    return Done(f"Delegated to {colleague.slug} as {name}. Ask check_task_status for the result.", task.id)


async def _delegate_to_group(session: AsyncSession, desk: Desk, asked: DelegateTask) -> Done:
    run = desk.run
    if asked.agent:
        raise InvalidInput.of("group", "goes without an agent: the group picks one")
    task = await groups_delegation.delegate(
        session,
        team_id=run.task.team_id,
        group_id=await find_group(session, run.task, asked.group),
        wanted=_wanted(desk, asked, NOBODY),
        settings=desk.settings,
        actor=run.actor,
    )
    name = to_global(Prefix.TASK, task.id)
    return Done(f"{task.picked_because} It is {name}. Ask check_task_status for the result.", task.id)


def _wanted(desk: Desk, asked: DelegateTask, assignee_id: UUID) -> Delegation:
    return Delegation(
        spec=parse_task(asked.model_dump(exclude={"agent", "group"}, exclude_none=True)),
        assignee_id=assignee_id,
        parent_id=desk.run.task.id,
        claim_token=desk.run.token,
    )


async def find_group(session: AsyncSession, task: Task, called: str) -> UUID:
    """Raises NotFound, which says which there are."""
    slug, known = called.strip().casefold(), await groups.ids_by_slug(session, task.team_id)
    if slug not in known:
        there = ", ".join(sorted(known)[:50]) or "none"
        raise NotFound(f"There is no group '{called[:80]}' in this team. There are: {there}")
    return known[slug]


async def find_colleague(session: AsyncSession, task: Task, called: str) -> Agent:
    """Raises NotFound, which says who there is."""
    colleague = await _colleague(session, task, called.removeprefix("@").strip().casefold())
    if colleague is None:
        raise NotFound(f"There is no agent '{called[:80]}' in this team. {await _colleagues(session, task)}")
    return colleague


async def _colleague(session: AsyncSession, task: Task, called: str) -> Agent | None:
    """By slug or, where one agent alone has it, by name: models write either."""
    named = await session.scalars(
        select(Agent).where(Agent.team_id == task.team_id, (Agent.slug == called) | (func.lower(Agent.name) == called))
    )
    found = list(named)
    exact = [agent for agent in found if agent.slug == called]
    return next(iter(exact or found), None) if exact or len(found) == 1 else None


async def _colleagues(session: AsyncSession, task: Task) -> str:
    slugs = await session.scalars(
        select(Agent.slug)
        .where(Agent.team_id == task.team_id, Agent.status == AgentStatus.ACTIVE, Agent.id != task.assignee_id)
        .order_by(Agent.slug)
        .limit(50)
    )
    return "There are: " + ", ".join(slugs)


async def _wait(desk: Desk, asked: CheckTaskStatus) -> None:
    which = from_global(Prefix.TASK, asked.task_id, path="task_id")
    await wait_while(desk, OPEN, _STATUS, which, desk.run.task.id, seconds=asked.wait_seconds)


async def _status(session: AsyncSession, desk: Desk, asked: CheckTaskStatus) -> Done:
    """Only of work below the own task: a task is no window into those of others."""
    mine = desk.run.task
    own = select(Task.id).where(Task.team_id == mine.team_id, Task.parent_id == mine.id)
    task = await session.scalar(
        select(Task).where(
            Task.team_id == mine.team_id,
            Task.id == from_global(Prefix.TASK, asked.task_id, path="task_id"),
            (Task.parent_id == mine.id) | Task.parent_id.in_(own),
        )
    )
    if task is None:
        raise NotFound("There is no such task below yours.")
    said = task.result if task.result is not None else task.error_message or task.progress
    return Done(f"{task.status.value.upper()}: {said}" if said else task.status.value.upper())


TASK_TOOLS = (
    AgentTool(
        name="delegate_task",
        description="Give a task to a colleague. It is paid from your own budget. Answers the task's id at once; "
        "the colleague works while you go on. What is still open when you end is cancelled.",
        arguments=DelegateTask,
        act=_delegate,
        offered=lambda task: task.depth < MAX_DEPTH,
    ),
    AgentTool(
        name="check_task_status",
        description="The status of a task that you delegated, and its result when it has ended; can wait for that.",
        arguments=CheckTaskStatus,
        act=_status,
        wait=_wait,
        offered=lambda task: task.depth < MAX_DEPTH,
    ),
)
