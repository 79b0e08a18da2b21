"""Asks people what becomes of stages that failed, where no managed lead decides."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionItem, AttentionKind
from app.attention.service import Subject
from app.collaborations.held import Held
from app.collaborations.models import CollaborationStage, FailureDecision, StageKind, StageStatus
from app.events.log import SYSTEM

OPTIONS = (FailureDecision.RETRY.value, FailureDecision.ABORT.value)


async def ask_people(session: AsyncSession, held: Held) -> None:
    """One item for each failed stage of an open session, opened once."""
    if not held.is_open:
        return
    await session.flush()
    waiting = [stage for stage in held.failed() if not _lead_decides(held, stage)]
    of_them = AttentionItem.stage_id.in_([stage.id for stage in waiting])
    known = set(await session.scalars(select(AttentionItem.stage_id).where(of_them))) if waiting else set()
    for stage in waiting:
        if stage.id not in known:
            _open(session, held, stage)


def _lead_decides(held: Held, stage: CollaborationStage) -> bool:
    decision = held.find((StageKind.DECISION, stage.round, stage.position))
    return decision is not None and decision.status in (StageStatus.WORKING, StageStatus.COMPLETED)


def _open(session: AsyncSession, held: Held, stage: CollaborationStage) -> None:
    agent = held.agents[stage.agent_id]
    attention.open_item(
        session,
        AttentionKind.FAILED_SUBTASK,
        team_id=stage.team_id,
        title=f"The stage '{stage.name}' failed",
        detail=f"{agent.name}, attempt {stage.attempt}: {stage.error_message or stage.status.value}\n\n{held.row.goal}",
        options=OPTIONS,
        subject=Subject(task_id=stage.task_id, collaboration_id=stage.collaboration_id, stage_id=stage.id),
        actor=SYSTEM,
    )
