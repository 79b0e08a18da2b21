"""Consultations: what was asked, each exchange with what it cost, and the loops that were found."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, SmallInteger, String, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.budgets.models import USD
from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum

MAX_QUESTION, MAX_ANSWER, MAX_LESSONS, MAX_WHY = 4_000, 20_000, 2_000, 1_000
MAX_DEPTH = 3  # consultations that wait for each other
STARS = range(1, 6)


class ConsultationReason(StrEnum):
    """What kind of help is asked for."""

    DATA_STRUCTURE = "data_structure"
    SECURITY_REVIEW = "security_review"
    API_CONTRACT = "api_contract"
    BUG_DEBUGGING = "bug_debugging"
    REQUIREMENTS = "requirements"
    INFRASTRUCTURE = "infrastructure"
    OTHER = "other"


class Urgency(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class ConsultationStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    ESCALATED = "escalated"
    CLOSED = "closed"


ACTIVE = frozenset({ConsultationStatus.PENDING, ConsultationStatus.IN_PROGRESS})


class ConsultationOutcome(StrEnum):
    """What came of it: the specialist answered, a person did, a person had to because of a loop, or nobody did."""

    SUCCESSFUL = "successful"
    ESCALATED = "escalated"
    LOOP_DETECTED = "loop_detected"
    CLOSED = "closed"


class ExchangeKind(StrEnum):
    QUESTION = "question"
    RESPONSE = "response"
    CLARIFICATION = "clarification"


class ConsultationPhase(StrEnum):
    REQUEST = "request"
    ROUTING = "routing"
    ANSWER = "answer"
    DELIVERY = "delivery"


class LoopKind(StrEnum):
    IDENTICAL = "identical"
    CIRCULAR = "circular"
    STALL = "stall"
    TOO_MANY = "too_many"


class LoopResolution(StrEnum):
    """What became of a loop: it waits for a person, who answered, had the asking go on elsewhere, or closed it."""

    ESCALATED = "escalated"
    RESOLVED = "resolved"
    CONTINUED = "continued"
    CLOSED = "closed"


class Consultation(Identified, Timestamped, Base):
    """One matter on which one agent asks. `task_id` is the specialist's newest task, `asking_task_id` the one from
    which it was asked. `given` is the context as the requester gave it, without secrets.

    `memory_id` is no link: what is remembered may be forgotten.
    """

    __tablename__ = "consultation"
    __table_args__ = (
        team_key(),
        team_link("requester_id", "agent"),
        team_link("specialist_id", "agent"),
        team_link("suggested_agent_id", "agent"),
        team_link("task_id", "task"),
        team_link("asking_task_id", "task"),
        team_link("decision_id", "routing_decision"),
        CheckConstraint("specialist_id <> requester_id", name="two_agents"),
        CheckConstraint("(status in ('completed', 'closed')) = (finished_at is not null)", name="finished"),
        CheckConstraint("(outcome is null) = (finished_at is null)", name="outcome"),
        CheckConstraint(
            "status not in ('pending', 'in_progress') or (specialist_id is not null and task_id is not null)",
            name="asked",
        ),
        CheckConstraint(f"rating between {STARS[0]} and {STARS[-1]}", name="rating"),
        CheckConstraint(f"depth between 1 and {MAX_DEPTH}", name="depth"),
        Index("ix_consultation_team", "team_id", "id"),
        Index("ix_consultation_requester", "requester_id", "created_at"),
        Index("ix_consultation_specialist", "specialist_id", "id"),
        Index("ix_consultation_memory", "memory_id", postgresql_where=text("memory_id is not null")),
        Index("uq_consultation_task", "task_id", unique=True),
        # Who waits for whom: few of the many that a team has had.
        Index("ix_consultation_active", "team_id", postgresql_where=text("status in ('pending', 'in_progress')")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    requester_id: Mapped[UUID]
    specialist_id: Mapped[UUID | None]
    suggested_agent_id: Mapped[UUID | None]
    suggestion_followed: Mapped[bool | None]
    chosen_because: Mapped[str] = mapped_column(String(MAX_WHY))
    reason: Mapped[ConsultationReason] = mapped_column(text_enum(ConsultationReason))
    urgency: Mapped[Urgency] = mapped_column(text_enum(Urgency))
    question: Mapped[str] = mapped_column(Text)
    given: Mapped[dict[str, Any]]
    on_behalf_of: Mapped[str] = mapped_column(String(120))
    depth: Mapped[int] = mapped_column(SmallInteger)
    task_id: Mapped[UUID | None]
    asking_task_id: Mapped[UUID | None]
    decision_id: Mapped[UUID | None]
    memory_id: Mapped[UUID | None]
    status: Mapped[ConsultationStatus] = mapped_column(text_enum(ConsultationStatus))
    escalation_reason: Mapped[str | None] = mapped_column(String(MAX_WHY))
    loop_detected: Mapped[bool] = mapped_column(server_default="false", default=False)
    exchange_count: Mapped[int] = mapped_column(SmallInteger, server_default="0", default=0)
    tokens: Mapped[int] = mapped_column(server_default="0", default=0)
    cost: Mapped[Decimal] = mapped_column(USD, server_default="0", default=Decimal(0))
    response_seconds: Mapped[float | None]
    outcome: Mapped[ConsultationOutcome | None] = mapped_column(text_enum(ConsultationOutcome))
    successful: Mapped[bool | None]
    summary: Mapped[str | None] = mapped_column(Text)
    rating: Mapped[int | None] = mapped_column(SmallInteger)
    lessons: Mapped[str | None] = mapped_column(String(MAX_LESSONS))
    finished_at: Mapped[datetime | None]


class ConsultationExchange(Identified, Base):
    """One thing that was said. Without an agent it was a person. `package` is the context that went with it."""

    __tablename__ = "consultation_exchange"
    __table_args__ = (
        team_key(),
        team_link("consultation_id", "consultation"),
        team_link("from_agent_id", "agent"),
        team_link("to_agent_id", "agent"),
        team_link("task_id", "task"),
        Index("uq_consultation_exchange_number", "consultation_id", "number", unique=True),
        Index("ix_consultation_exchange_team", "team_id", "id"),
    )

    team_id: Mapped[UUID]
    consultation_id: Mapped[UUID]
    number: Mapped[int] = mapped_column(SmallInteger)
    kind: Mapped[ExchangeKind] = mapped_column(text_enum(ExchangeKind))
    author: Mapped[str] = mapped_column(String(120))
    from_agent_id: Mapped[UUID | None]
    to_agent_id: Mapped[UUID | None]
    task_id: Mapped[UUID | None]
    content: Mapped[str] = mapped_column(Text)
    additional_context: Mapped[str] = mapped_column(Text, server_default="", default="")
    references: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}", default=list)
    next_steps: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}", default=list)
    package: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    created_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class ConsultationUse(Identified, Base):
    """What one phase of an exchange took."""

    __tablename__ = "consultation_use"
    __table_args__ = (
        team_key(),
        team_link("consultation_id", "consultation"),
        team_link("exchange_id", "consultation_exchange"),
        Index("uq_consultation_use_phase", "exchange_id", "phase", unique=True),
        Index("ix_consultation_use_consultation", "consultation_id", "id"),
    )

    team_id: Mapped[UUID]
    consultation_id: Mapped[UUID]
    exchange_id: Mapped[UUID]
    phase: Mapped[ConsultationPhase] = mapped_column(text_enum(ConsultationPhase))
    tokens: Mapped[int]
    cost: Mapped[Decimal] = mapped_column(USD)
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class ConsultationLoop(Identified, Base):
    """A loop that was found, with what it was found by."""

    __tablename__ = "consultation_loop"
    __table_args__ = (
        team_key(),
        team_link("consultation_id", "consultation"),
        Index("ix_consultation_loop_consultation", "consultation_id", "id"),
        Index("ix_consultation_loop_team", "team_id", "id"),
    )

    team_id: Mapped[UUID]
    consultation_id: Mapped[UUID]
    kind: Mapped[LoopKind] = mapped_column(text_enum(LoopKind))
    description: Mapped[str] = mapped_column(String(MAX_WHY))
    evidence: Mapped[dict[str, Any]]
    resolution: Mapped[LoopResolution] = mapped_column(
        text_enum(LoopResolution), server_default=LoopResolution.ESCALATED.value, default=LoopResolution.ESCALATED
    )
    notes: Mapped[str] = mapped_column(Text, server_default="", default="")
    detected_at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
