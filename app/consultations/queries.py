"""Reads of consultations: rows under lock, what was said in the last hour, and who waits for whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.consultations.loop_detector import WINDOW, Said
from app.consultations.models import ACTIVE, Consultation, ConsultationExchange, ConsultationStatus
from app.db.engine import Database
from app.errors import Forbidden, NotFound
from app.tasks.models import Task

MOST_HISTORY = 60  # exchanges of one agent within the window, the newest


async def find(session: AsyncSession, *, team_id: UUID, consultation_id: UUID, lock: bool = False) -> Consultation:
    """Raises NotFound."""
    mine = select(Consultation).where(Consultation.team_id == team_id, Consultation.id == consultation_id)
    statement = mine.with_for_update(key_share=True) if lock else mine
    found = await session.scalar(statement.execution_options(populate_existing=True))
    if found is None:
        raise NotFound("There is no such consultation in this team.")
    return found


async def of_task(session: AsyncSession, *, team_id: UUID, task_id: UUID) -> UUID | None:
    mine = (Consultation.team_id == team_id) & (Consultation.task_id == task_id)
    return await session.scalar(select(Consultation.id).where(mine))


async def exchanges(session: AsyncSession, consultation_id: UUID) -> list[ConsultationExchange]:
    mine = select(ConsultationExchange).where(ConsultationExchange.consultation_id == consultation_id)
    return list(await session.scalars(mine.order_by(ConsultationExchange.number)))


async def history(session: AsyncSession, requester_id: UUID, at: datetime) -> list[Said]:
    """What this agent asked and was answered within the window, the newest last."""
    rows = await session.execute(
        select(ConsultationExchange, Consultation.question)
        .join(Consultation, Consultation.id == ConsultationExchange.consultation_id)
        .where(Consultation.requester_id == requester_id, ConsultationExchange.created_at > at - WINDOW)
        .order_by(ConsultationExchange.created_at.desc(), ConsultationExchange.number.desc())
        .limit(MOST_HISTORY)
    )
    found = [said_of(row.ConsultationExchange, row.question) for row in rows]
    return found[::-1]


def said_of(exchange: ConsultationExchange, first: str) -> Said:
    return Said(exchange.consultation_id, exchange.number, exchange.kind, exchange.content, exchange.created_at, first)


async def texts_of_hour(database: Database, team_id: UUID, requester_id: UUID) -> list[str]:
    """The same, without a transaction: texts to embed beforehand."""
    rows = await database.fetch(
        """
        select exchange.content from consultation_exchange as exchange
        join consultation on consultation.id = exchange.consultation_id
        where consultation.team_id = $1 and consultation.requester_id = $2
            and exchange.created_at > now() - $3::interval
        order by exchange.created_at desc, exchange.number desc limit $4
        """,
        team_id,
        requester_id,
        WINDOW,
        MOST_HISTORY,
    )
    return [row["content"] for row in rows]


async def count_of(session: AsyncSession, requester_id: UUID, *statuses: ConsultationStatus) -> int:
    """Its row is held, so of many that ask at once each counts those before."""
    mine = select(func.count()).where(
        Consultation.requester_id == requester_id, Consultation.status.in_(statuses or ACTIVE)
    )
    return await session.scalar(mine) or 0


async def remembered_as(database: Database, team_id: UUID, memory_ids: Sequence[UUID]) -> set[UUID]:
    """Which of these memories are of consultations."""
    rows = await database.fetch(
        "select memory_id from consultation where team_id = $1 and memory_id = any($2)", team_id, list(memory_ids)
    )
    return {row["memory_id"] for row in rows}


async def asked_from(session: AsyncSession, team_id: UUID, task_root_id: UUID) -> Consultation | None:
    """The consultation that is answered in this tree of tasks, if one is."""
    mine = (Consultation.team_id == team_id) & (Consultation.task_id == task_root_id)
    return await session.scalar(select(Consultation).where(mine))


async def answered_by(session: AsyncSession, team_id: UUID, task_id: UUID) -> UUID | None:
    """The consultation for which this task is done, directly or as a subtask."""
    root_id = select(Task.root_id).where(Task.team_id == team_id, Task.id == task_id).scalar_subquery()
    return await session.scalar(
        select(Consultation.id).where(Consultation.team_id == team_id, Consultation.task_id == root_id)
    )


async def open_of_specialist(session: AsyncSession, team_id: UUID, agent_id: UUID) -> list[UUID]:
    mine = select(Consultation.id).where(
        Consultation.team_id == team_id, Consultation.specialist_id == agent_id, Consultation.status.in_(ACTIVE)
    )
    return list(await session.scalars(mine.order_by(Consultation.id)))


async def require(database: Database, *, team_id: UUID, consultation_id: UUID) -> Any:
    """Its two agents; raises NotFound."""
    row = await database.fetchrow(
        "select requester_id, specialist_id from consultation where team_id = $1 and id = $2", team_id, consultation_id
    )
    if row is None:
        raise NotFound("There is no such consultation in this team.")
    return row


def require_requester(row: Consultation, agent_id: UUID | None) -> None:
    if agent_id is not None and agent_id != row.requester_id:
        raise Forbidden("Only the agent that asked may do this.", permission="CONSULT_AGENTS", roles=[])
