"""Writes the parts of a consultation: exchanges, what they took, loops, and what needs a person. Rows that it changes
are held by whoever calls it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.attention import service as attention
from app.attention.models import AttentionItem, AttentionKind
from app.attention.service import Subject
from app.consultations import queries, wording
from app.consultations.loop_detector import Verdict
from app.consultations.models import (
    MAX_WHY,
    Consultation,
    ConsultationExchange,
    ConsultationLoop,
    ConsultationPhase,
    ConsultationStatus,
    ConsultationUse,
)
from app.consultations.narration import tell
from app.events.kinds import EventKind
from app.events.log import SYSTEM
from app.ids import new_id

Uses = Mapping[ConsultationPhase, tuple[int, Decimal]]
FREE = Decimal(0)
ANSWER, REDIRECT, CLOSE = "answer", "redirect", "close"


async def add_exchange(
    session: AsyncSession, consultation: Consultation, *, uses: Uses, **fields: Any
) -> ConsultationExchange:
    """The next thing that was said; what it took counts for the consultation."""
    consultation.exchange_count += 1
    exchange = ConsultationExchange(
        id=new_id(),
        team_id=consultation.team_id,
        consultation_id=consultation.id,
        number=consultation.exchange_count,
        **fields,
    )
    session.add(exchange)
    await session.flush()
    add_uses(session, consultation, exchange, uses)
    return exchange


def add_uses(session: AsyncSession, consultation: Consultation, exchange: ConsultationExchange, uses: Uses) -> None:
    for phase, (tokens, cost) in uses.items():
        consultation.tokens += tokens
        consultation.cost += cost
        session.add(
            ConsultationUse(
                team_id=consultation.team_id,
                consultation_id=consultation.id,
                exchange_id=exchange.id,
                phase=phase,
                tokens=tokens,
                cost=cost,
            )
        )


async def escalate(
    session: AsyncSession, consultation: Consultation, why: str, *, loop: Verdict | None = None
) -> AttentionItem:
    """A person decides: answers, has another agent asked, or closes it. Until then nobody works on it."""
    consultation.status, consultation.escalation_reason = ConsultationStatus.ESCALATED, why[:MAX_WHY]
    if loop is not None and loop.kind is not None:
        consultation.loop_detected = True
        session.add(
            ConsultationLoop(
                team_id=consultation.team_id,
                consultation_id=consultation.id,
                kind=loop.kind,
                description=loop.description[:MAX_WHY],
                evidence=loop.evidence,
            )
        )
    await session.flush()
    if loop is not None and loop.kind is not None:
        told = {"loop": loop.kind, "description": loop.description}
        tell(session, EventKind.CONSULTATION_LOOP_DETECTED, consultation, SYSTEM, **told)
    said = await queries.exchanges(session, consultation.id)
    item = attention.open_item(
        session,
        AttentionKind.ESCALATION,
        team_id=consultation.team_id,
        title=f"Consultation: {consultation.question}",
        detail=wording.history(consultation, said, why),
        options=(ANSWER, REDIRECT, CLOSE),
        subject=Subject(consultation_id=consultation.id, task_id=consultation.asking_task_id),
        agent_id=consultation.requester_id,
        actor=SYSTEM,
    )
    await session.flush()
    tell(session, EventKind.CONSULTATION_ESCALATED, consultation, SYSTEM, reason=why)
    return item
