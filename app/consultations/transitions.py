"""Every change of a consultation after it was asked: taken up, answered, failed, stopped. Each under its row lock, and
once, however often it is asked for."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.agents import service as agents
from app.agents.models import Agent, AgentStatus
from app.config import Settings
from app.consultations import outcomes, queries
from app.consultations.errors import NotConsulted
from app.consultations.models import ACTIVE, Consultation, ConsultationStatus
from app.consultations.narration import tell
from app.consultations.record import escalate
from app.consultations.spec import Answer
from app.errors import Conflict
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.tasks import transitions as tasks
from app.tasks.assignment import call_off
from app.tasks.failures import Usage
from app.tasks.locks import locked
from app.tasks.models import OPEN, Task, TaskStatus
from app.tasks.narration import excerpt
from app.tasks.retry_policy import FailureCode
from app.teams import service as teams
from app.teams.flags import FeatureFlag, require


async def begin(session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
    """Its specialist has taken the task up."""
    consultation_id = await queries.of_task(session, team_id=team_id, task_id=task_id)
    if consultation_id is None:
        return
    row = await queries.find(session, team_id=team_id, consultation_id=consultation_id, lock=True)
    if row.status is ConsultationStatus.PENDING and row.task_id == task_id:
        row.status = ConsultationStatus.IN_PROGRESS
        tell(session, EventKind.CONSULTATION_BEGUN, row, SYSTEM)


async def advance(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> None:
    """The specialist's task has ended: its answer is delivered; what failed for good is for a person."""
    consultation_id = await queries.of_task(session, team_id=team_id, task_id=task_id)
    if consultation_id is None:
        return
    await teams.share(session, team_id)
    row = await queries.find(session, team_id=team_id, consultation_id=consultation_id, lock=True)
    task = await session.get_one(Task, task_id, populate_existing=True)
    if row.task_id != task_id or row.status not in ACTIVE or task.status in OPEN:
        return
    if task.status is TaskStatus.COMPLETED:
        await _deliver(session, row, task)
    elif task.status is TaskStatus.CANCELLED and task.error_code == FailureCode.CANCELLED:
        await outcomes.closed(session, row, excerpt(task.error_message or "Its task was cancelled."), SYSTEM)
    else:
        told = excerpt(task.error_message or "The task did not complete.")
        why = f"The specialist could not answer. {task.error_code or task.status.value.upper()}: {told}"
        await escalate(session, row, why)


async def _deliver(session: AsyncSession, row: Consultation, task: Task) -> None:
    specialist = await session.get_one(Agent, task.assignee_id)
    answer = Answer.model_construct(**{**Answer(answer="-").model_dump(), **(task.output or {"answer": task.result})})
    await outcomes.answered(session, row, answer, author=specialist.name, actor=SYSTEM, task=task)


async def answer(
    session: AsyncSession,
    *,
    team_id: UUID,
    consultation_id: UUID,
    agent_id: UUID | None,
    given: Answer,
    usage: Usage,
    settings: Settings,
    actor: Actor,
) -> Consultation:
    """The specialist answers in one call, whether or not it has taken its task up. Raises NotConsulted for anybody
    else, FeatureDisabled, NotFound or Conflict."""
    team = await teams.share(session, team_id)
    require(FeatureFlag.AGENT_COLLABORATION, settings.flags, team.flags)
    seen = await queries.find(session, team_id=team_id, consultation_id=consultation_id)
    specialist = await agents.lock(session, team_id, seen.specialist_id) if seen.specialist_id else None
    if agent_id is not None and (specialist is None or specialist.id != agent_id):
        raise NotConsulted(specialist.slug if specialist and seen.status in ACTIVE else None)
    if seen.status not in ACTIVE or seen.task_id is None or specialist is None:
        raise Conflict(f"This consultation is {seen.status.value}; it takes no answer of an agent now.")
    task = await tasks.submit(
        session,
        team_id=team_id,
        task_id=seen.task_id,
        result=given.answer,
        output=given.model_dump(mode="json"),
        usage=usage,
        actor=actor,
    )
    row = await queries.find(session, team_id=team_id, consultation_id=consultation_id, lock=True)
    if row.task_id == task.id and row.status in ACTIVE and task.status is TaskStatus.COMPLETED:
        await outcomes.answered(session, row, given, author=specialist.name, actor=actor, task=task)
    return row


async def agent_stopped(session: AsyncSession, team_id: UUID, agent_id: UUID) -> None:
    """A specialist was paused or archived: a person decides on what it was asked. Each consultation gets
    a follow-up job of its own."""
    agent = await agents.lock(session, team_id, agent_id)
    if agent.status is AgentStatus.ACTIVE:
        return
    for consultation_id in await queries.open_of_specialist(session, team_id, agent_id):
        follow_ups.schedule(session, FollowUpKind.SPECIALIST_STOPPED, team_id=team_id, subject_id=consultation_id)


async def stopped(session: AsyncSession, team_id: UUID, consultation_id: UUID) -> None:
    """Unless its specialist works again, or has answered."""
    await teams.share(session, team_id)
    seen = await queries.find(session, team_id=team_id, consultation_id=consultation_id)
    if seen.specialist_id is None or seen.task_id is None or seen.status not in ACTIVE:
        return
    specialist = await agents.lock(session, team_id, seen.specialist_id)
    task, _ = await locked(session, team_id=team_id, task_id=seen.task_id)
    row = await queries.find(session, team_id=team_id, consultation_id=consultation_id, lock=True)
    changed = row.task_id != task.id or row.status not in ACTIVE
    if changed or specialist.status is AgentStatus.ACTIVE or task.status not in OPEN:
        return
    why = f"{specialist.name} was asked and is {specialist.status.value}."
    await escalate(session, row, why)
    await call_off(session, team_id=team_id, task_ids=[task.id], reason=why, actor=SYSTEM)
