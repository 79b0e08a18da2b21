"""Sessions, who takes part in them, their stages and their votes."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, Float, ForeignKey, Index, SmallInteger, String, Text, Uuid, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.budgets.models import USD
from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum


class CollaborationPattern(StrEnum):
    SUPERVISOR_WORKER = "supervisor_worker"
    PIPELINE = "pipeline"
    PEER_REVIEW = "peer_review"
    BRAINSTORM = "brainstorm"
    CONSENSUS = "consensus"
    DELEGATION = "delegation"


class CollaborationTemplate(StrEnum):
    """A pattern with its stages laid down."""

    ARCHITECT_DEVELOPER_REVIEWER = "architect_developer_reviewer"


class CollaborationStatus(StrEnum):
    PLANNING = "planning"
    ACTIVE = "active"
    SYNTHESIZING = "synthesizing"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


OPEN = frozenset({CollaborationStatus.PLANNING, CollaborationStatus.ACTIVE, CollaborationStatus.SYNTHESIZING})


class ParticipantRole(StrEnum):
    LEAD = "lead"
    WORKER = "worker"
    REVIEWER = "reviewer"
    CONTRIBUTOR = "contributor"


class ParticipantStatus(StrEnum):
    WAITING = "waiting"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"


class StageKind(StrEnum):
    PLAN = "plan"
    WORK = "work"
    STEP = "step"
    CONTRIBUTION = "contribution"
    REVIEW = "review"
    REVISION = "revision"
    VOTE = "vote"
    SYNTHESIS = "synthesis"
    REPORT = "report"
    DECISION = "decision"


class StageStatus(StrEnum):
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class OnFailure(StrEnum):
    """What a failed stage means for its session."""

    ASK = "ask"
    ABORT = "abort"


class FailureDecision(StrEnum):
    RETRY = "retry"
    REASSIGN = "reassign"
    ABORT = "abort"


class Collaboration(Identified, Timestamped, Base):
    """One session. `team_template` is the slug of the team's template that it was started from. `deadline` and
    `max_cost` may be moved while it is open; `error_code` says why it did not complete.

    `agreement` and `converged` are what a consensus came to, as of its last round. `allowed_tools` and `allowed_agents`
    are those of the task from which it was started, `origin_task_id`; none means no limit.
    """

    __tablename__ = "collaboration"
    __table_args__ = (
        team_key(),
        team_link("lead_id", "agent"),
        team_link("budget_id", "budget_account"),
        team_link("conversation_id", "conversation"),
        team_link("origin_task_id", "task", use_alter=True, name="fk_collaboration_team_id_origin_task_id"),
        CheckConstraint(
            "(status in ('completed', 'failed', 'timed_out', 'cancelled')) = (finished_at is not null)", name="finished"
        ),
        CheckConstraint("max_rounds >= 1 and round between 0 and max_rounds", name="rounds"),
        CheckConstraint("work_timeout_s >= 1", name="work_time"),
        CheckConstraint("review_timeout_s >= 1", name="review_time"),
        Index("ix_collaboration_team", "team_id", "id"),
        Index("ix_collaboration_lead", "lead_id", "id"),
        Index("ix_collaboration_origin", "origin_task_id", postgresql_where=text("origin_task_id is not null")),
        Index(
            "ix_collaboration_conversation",
            "conversation_id",
            "id",
            postgresql_where=text("conversation_id is not null"),
        ),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    pattern: Mapped[CollaborationPattern] = mapped_column(text_enum(CollaborationPattern))
    template: Mapped[CollaborationTemplate | None] = mapped_column(text_enum(CollaborationTemplate))
    team_template: Mapped[str | None] = mapped_column(String(63))
    goal: Mapped[str] = mapped_column(Text)
    context: Mapped[str] = mapped_column(Text, server_default="")
    options: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    threshold: Mapped[float] = mapped_column(Float)
    on_failure: Mapped[OnFailure] = mapped_column(text_enum(OnFailure))
    lead_id: Mapped[UUID | None]
    conversation_id: Mapped[UUID | None]
    origin_task_id: Mapped[UUID | None]
    obeys_directives: Mapped[bool] = mapped_column(server_default="false", default=False)
    on_behalf_of: Mapped[str] = mapped_column(String(120))
    allowed_tools: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    allowed_agents: Mapped[list[UUID] | None] = mapped_column(ARRAY(Uuid()))
    budget_id: Mapped[UUID]
    max_cost: Mapped[Decimal] = mapped_column(USD)
    max_duration_s: Mapped[int]
    max_rounds: Mapped[int] = mapped_column(SmallInteger)
    work_timeout_s: Mapped[int | None]
    review_timeout_s: Mapped[int | None]
    status: Mapped[CollaborationStatus] = mapped_column(text_enum(CollaborationStatus))
    round: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    current_stage: Mapped[str | None] = mapped_column(String(120))
    stages_completed: Mapped[int] = mapped_column(server_default="0")
    agreement: Mapped[float | None] = mapped_column(Float)
    converged: Mapped[bool | None]
    result: Mapped[str | None] = mapped_column(Text)
    error_code: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)
    deadline: Mapped[datetime]
    finished_at: Mapped[datetime | None]


class CollaborationParticipant(Identified, Base):
    """A seat in a session. Another agent may get it, when the one that had it failed. A seat that was a group's says
    why this agent of it was picked."""

    __tablename__ = "collaboration_participant"
    __table_args__ = (
        team_key(),
        team_link("collaboration_id", "collaboration"),
        team_link("agent_id", "agent"),
        team_link("group_id", "agent_group"),
        CheckConstraint("(group_id is null) = (picked_because is null)", name="group"),
        Index("uq_collaboration_participant_slot", "collaboration_id", "slot", unique=True),
        Index("ix_collaboration_participant_agent", "agent_id", "id"),
    )

    team_id: Mapped[UUID]
    collaboration_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    slot: Mapped[int] = mapped_column(SmallInteger)
    role: Mapped[ParticipantRole] = mapped_column(text_enum(ParticipantRole))
    stage: Mapped[str | None] = mapped_column(String(120))
    instructions: Mapped[str] = mapped_column(Text, server_default="")
    status: Mapped[ParticipantStatus] = mapped_column(
        text_enum(ParticipantStatus), server_default=ParticipantStatus.WAITING.value
    )
    group_id: Mapped[UUID | None]
    picked_because: Mapped[str | None] = mapped_column(String(500))


class CollaborationStage(Identified, Base):
    """One step of a session: who does what, in which round, and what came of it.

    `part` tells apart what happens side by side. A stage that failed and is tried again stays, `superseded`.
    """

    __tablename__ = "collaboration_stage"
    __table_args__ = (
        team_key(),
        team_link("collaboration_id", "collaboration"),
        team_link("agent_id", "agent"),
        team_link("task_id", "task"),
        CheckConstraint("(status = 'working') = (ended_at is null)", name="ended"),
        Index("uq_collaboration_stage_key", "collaboration_id", "kind", "round", "part", "attempt", unique=True),
        Index("uq_collaboration_stage_position", "collaboration_id", "position", unique=True),
        Index("ix_collaboration_stage_task", "task_id"),
        Index("ix_collaboration_stage_agent", "agent_id", "id"),
    )

    team_id: Mapped[UUID]
    collaboration_id: Mapped[UUID]
    kind: Mapped[StageKind] = mapped_column(text_enum(StageKind))
    name: Mapped[str] = mapped_column(String(120))
    round: Mapped[int] = mapped_column(SmallInteger)
    part: Mapped[int] = mapped_column(SmallInteger)
    attempt: Mapped[int] = mapped_column(SmallInteger)
    position: Mapped[int]
    slot: Mapped[int] = mapped_column(SmallInteger)
    agent_id: Mapped[UUID]
    task_id: Mapped[UUID | None]
    status: Mapped[StageStatus] = mapped_column(text_enum(StageStatus))
    superseded: Mapped[bool] = mapped_column(server_default="false")
    output: Mapped[str] = mapped_column(Text, server_default="")
    data: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    error_code: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)
    tokens_used: Mapped[int] = mapped_column(server_default="0")
    cost: Mapped[Decimal] = mapped_column(USD, server_default="0")
    duration_s: Mapped[float] = mapped_column(Float, server_default="0")
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ended_at: Mapped[datetime | None]


class CollaborationVote(Identified, Base):
    """What one participant chose in one round, and why."""

    __tablename__ = "collaboration_vote"
    __table_args__ = (
        team_key(),
        team_link("collaboration_id", "collaboration"),
        team_link("stage_id", "collaboration_stage"),
        team_link("agent_id", "agent"),
        Index("uq_collaboration_vote_stage", "stage_id", unique=True),
        Index("ix_collaboration_vote_session", "collaboration_id", "id"),
    )

    team_id: Mapped[UUID]
    collaboration_id: Mapped[UUID]
    stage_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    round: Mapped[int] = mapped_column(SmallInteger)
    choice: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
