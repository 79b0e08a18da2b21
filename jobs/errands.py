"""Which function does which errand."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.collaborations import transitions as collaborations
from app.config import Settings
from app.consultations import transitions as consultations
from app.conversations.answering import Answering
from app.conversations.handoffs import lapses as handoffs
from app.errands.models import ErrandKind
from app.errands.service import Do
from app.interventions import answering as interventions
from app.reports import transitions as reports
from app.tasks.models import Task, TaskPurpose


def all_deeds(settings: Settings) -> Mapping[ErrandKind, Do]:
    return {**deeds(owners(settings)), **own_deeds(settings)}


def owners(settings: Settings) -> Mapping[TaskPurpose, Do]:
    """Whoever ordered work of a purpose goes on when it has ended: gets the session, the team and the task."""

    async def of_stage(session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        await collaborations.advance(session, team_id=team_id, task_id=task_id, settings=settings)

    async def of_report(session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        await reports.advance(session, team_id=team_id, task_id=task_id, settings=settings)

    async def of_consultation(session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        await consultations.advance(session, team_id=team_id, task_id=task_id)

    return {
        TaskPurpose.REPLY: Answering(settings).task_ended,
        TaskPurpose.STAGE: of_stage,
        TaskPurpose.REPORT: of_report,
        TaskPurpose.CONSULTATION: of_consultation,
    }


def own_deeds(settings: Settings) -> Mapping[ErrandKind, Do]:
    """What is to be done of itself: gets the session, the team and what the errand is about."""
    answering = Answering(settings)
    return {
        ErrandKind.START_REPLY: answering.start,
        ErrandKind.CONTRIBUTION_OVERDUE: answering.overdue,
        ErrandKind.HANDOFF_DUE: handoffs.due,
        ErrandKind.ATTENTION_DUE: interventions.due,
        ErrandKind.AGENT_STOPPED: _agent_stopped,
        ErrandKind.TASK_BEGUN: consultations.begin,
        ErrandKind.CONSULTATION_STOPPED: consultations.stopped,
        ErrandKind.COLLABORATION_DEADLINE: collaborations.deadline_passed,
    }


async def _agent_stopped(session: AsyncSession, team_id: UUID, agent_id: UUID) -> None:
    """While there are conversations to pass on the errand asks for itself again; to ask twice about a consultation
    does no harm."""
    await consultations.agent_stopped(session, team_id, agent_id)
    await handoffs.agent_stopped(session, team_id, agent_id)


def last_resorts(settings: Settings) -> Mapping[ErrandKind, Do]:
    """What is done instead of an errand that has failed too often, so that nothing waits for it any longer."""
    answering, all_owners = Answering(settings), owners(settings)
    return {
        ErrandKind.START_REPLY: answering.abandon,
        ErrandKind.CONTRIBUTION_OVERDUE: answering.abandon_contribution,
        **deeds({**all_owners, TaskPurpose.REPLY: answering.abandon_task}),
    }


def deeds(of_purpose: Mapping[TaskPurpose, Do]) -> Mapping[ErrandKind, Do]:
    async def task_ended(session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        purpose = await session.scalar(select(Task.purpose).where(Task.team_id == team_id, Task.id == task_id))
        if purpose is not None:
            await of_purpose[purpose](session, team_id, task_id)

    return {ErrandKind.TASK_ENDED: task_ended}
