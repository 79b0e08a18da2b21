"""Tasks, their dependencies, attempts, tool calls and dead letters."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, SmallInteger, String, Text, Uuid, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from app.budgets.models import USD
from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum
from app.redaction import Redaction

MAX_DEPTH = 3


class TaskStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


OPEN = frozenset({TaskStatus.PENDING, TaskStatus.IN_PROGRESS})


class TaskType(StrEnum):
    RESEARCH = "research"
    REVIEW = "review"
    ANALYZE = "analyze"
    GENERATE = "generate"
    SUMMARIZE = "summarize"
    VALIDATE = "validate"
    PLAN = "plan"
    EXECUTE = "execute"


class TaskPurpose(StrEnum):
    """What a task is for. All but a delegation is an agent's own work: Parley ordered it, and goes on when it ends."""

    DELEGATION = "delegation"
    REPLY = "reply"
    STAGE = "stage"
    REPORT = "report"
    CONSULTATION = "consultation"


class TaskPriority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class AttemptOutcome(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"
    RELEASED = "released"


class DeadLetterState(StrEnum):
    OPEN = "open"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


class Task(Identified, Timestamped, Base):
    """Claimable when pending, waiting for nothing and ready; in the order of `due_at`, where priority is a head start.

    No `allowed_tools` or `allowed_agents` means no limit beyond the assignee's own. An agent's own work has depth 0 and
    no creator; what is delegated from it counts from there.

    `origin_id` is the task that an agent worked on when it started this own work: it asked for a consultation, a report
    or a session. `chain_root_id` is then the first task of the whole chain, and of everything below this one.
    """

    __tablename__ = "task"
    __table_args__ = (
        team_key(),
        team_link("creator_id", "agent"),
        team_link("assignee_id", "agent"),
        team_link("parent_id", "task"),
        team_link("grandparent_id", "task"),
        team_link("origin_id", "task"),
        team_link("chain_root_id", "task"),
        team_link("root_id", "task", deferrable=True, initially="DEFERRED"),
        team_link("budget_id", "budget_account"),
        team_link("contract_id", "contract"),
        team_link("collaboration_id", "collaboration"),
        team_link("group_id", "agent_group"),
        CheckConstraint("(group_id is null) = (picked_because is null)", name="group"),
        team_link("conversation_id", "conversation"),
        CheckConstraint("creator_id <> assignee_id", name="no_self_delegation"),
        CheckConstraint(f"depth between 0 and {MAX_DEPTH}", name="depth"),
        CheckConstraint("(depth = 0 and parent_id is null) or depth = 1 or parent_id is not null", name="parent"),
        CheckConstraint("(purpose = 'delegation') = (depth > 0)", name="purpose"),
        CheckConstraint("(purpose = 'delegation') = (creator_id is not null)", name="creator"),
        CheckConstraint("(status = 'in_progress') = (claim_token is not null)", name="claim"),
        CheckConstraint(
            "(status in ('completed', 'failed', 'timed_out', 'cancelled')) = (finished_at is not null)", name="finished"
        ),
        CheckConstraint("(claim_token is null) = (lease_until is null)", name="lease"),
        CheckConstraint("contract_input is null or contract_id is not null", name="contract"),
        CheckConstraint("waiting_for >= 0", name="waiting_for"),
        CheckConstraint("status <> 'in_progress' or waiting_for = 0", name="started"),
        Index("ix_task_assignee_open", "assignee_id", postgresql_where=text("status in ('pending', 'in_progress')")),
        Index(
            "ix_task_due",
            "assignee_id",
            "due_at",
            "id",
            postgresql_where=text("status = 'pending' and waiting_for = 0"),
        ),
        Index("ix_task_next", "due_at", "id", postgresql_where=text("status = 'pending' and waiting_for = 0")),
        Index(
            "ix_task_team_next", "team_id", "due_at", postgresql_where=text("status = 'pending' and waiting_for = 0")
        ),
        Index("uq_task_claim_token", "claim_token", unique=True, postgresql_where=text("claim_token is not null")),
        Index(
            "ix_task_lease",
            text("least(lease_until, deadline)"),
            postgresql_where=text("status = 'in_progress'"),
        ),
        Index("ix_task_team_parent", "team_id", "parent_id", "id"),
        Index("ix_task_team_root", "team_id", "root_id", "id"),
        Index("ix_task_team_assignee", "team_id", "assignee_id", "id"),
        Index("ix_task_team_creator", "team_id", "creator_id", "id"),
        Index(
            "ix_task_finished",
            "team_id",
            "assignee_id",
            "finished_at",
            postgresql_where=text("finished_at is not null"),
        ),
        Index(
            "ix_task_collaboration",
            "collaboration_id",
            "id",
            postgresql_where=text("collaboration_id is not null"),
        ),
        Index(
            "ix_task_creator_first",
            "creator_id",
            postgresql_where=text("parent_id is null and status in ('pending', 'in_progress')"),
        ),
        Index("ix_task_origin", "origin_id", "id", postgresql_where=text("origin_id is not null")),
        Index("ix_task_chain_root", "chain_root_id", "id", postgresql_where=text("chain_root_id is not null")),
        Index("ix_task_contract", "contract_id", "id", postgresql_where=text("contract_id is not null")),
        Index("ix_task_conversation", "conversation_id", "id", postgresql_where=text("conversation_id is not null")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    purpose: Mapped[TaskPurpose] = mapped_column(text_enum(TaskPurpose), server_default=TaskPurpose.DELEGATION.value)
    creator_id: Mapped[UUID | None]
    assignee_id: Mapped[UUID]
    on_behalf_of: Mapped[str] = mapped_column(String(120))
    parent_id: Mapped[UUID | None]
    grandparent_id: Mapped[UUID | None]
    root_id: Mapped[UUID]
    origin_id: Mapped[UUID | None]
    chain_root_id: Mapped[UUID | None]
    depth: Mapped[int] = mapped_column(SmallInteger)
    type: Mapped[TaskType] = mapped_column(text_enum(TaskType))
    title: Mapped[str] = mapped_column(String(200))
    instructions: Mapped[str] = mapped_column(Text)
    context: Mapped[str] = mapped_column(Text, server_default="")
    expected_output: Mapped[str] = mapped_column(Text, server_default="")
    conversation_id: Mapped[UUID | None]
    contract_id: Mapped[UUID | None]
    group_id: Mapped[UUID | None]
    picked_because: Mapped[str | None] = mapped_column(String(500))
    contract_input: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    # What its output must fit, where no contract says so.
    output_schema: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    collaboration_id: Mapped[UUID | None]
    input_artifacts: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    priority: Mapped[TaskPriority] = mapped_column(text_enum(TaskPriority), server_default=TaskPriority.NORMAL.value)
    max_tokens: Mapped[int] = mapped_column(server_default="4000")
    max_tool_calls: Mapped[int] = mapped_column(server_default="10")
    timeout_s: Mapped[int] = mapped_column(server_default="120")
    model_tier: Mapped[int | None] = mapped_column(SmallInteger)
    # What is taken out of all that its work says, before that is kept; none: nothing.
    redacts: Mapped[Redaction | None] = mapped_column(text_enum(Redaction))
    # Whether the offline model obeys directives in its instructions: they were written by an admin or an integrator.
    obeys_directives: Mapped[bool] = mapped_column(server_default="false", default=False)
    # Of what it was given, to know it again; none for a task of a version that kept none.
    input_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    allowed_tools: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    allowed_agents: Mapped[list[UUID] | None] = mapped_column(ARRAY(Uuid()))
    budget_id: Mapped[UUID]
    status: Mapped[TaskStatus] = mapped_column(text_enum(TaskStatus), server_default=TaskStatus.PENDING.value)
    waiting_for: Mapped[int] = mapped_column(server_default="0")
    due_at: Mapped[datetime]
    ready_at: Mapped[datetime] = mapped_column(server_default=func.now())
    attempts_made: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    attempts_allowed: Mapped[int] = mapped_column(SmallInteger)
    waits: Mapped[int] = mapped_column(SmallInteger, server_default="0")
    claim_token: Mapped[UUID | None]
    lease_until: Mapped[datetime | None]
    deadline: Mapped[datetime | None]
    progress: Mapped[str] = mapped_column(Text, server_default="")
    result: Mapped[str | None] = mapped_column(Text)
    output: Mapped[dict[str, Any] | None]
    result_artifacts: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    error_code: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)
    tokens_used: Mapped[int] = mapped_column(server_default="0")
    cost: Mapped[Decimal] = mapped_column(USD, server_default="0")
    # Reported by its agent beyond its budget, and not booked: a person decides.
    claimed_cost: Mapped[Decimal] = mapped_column(USD, server_default="0", default=Decimal(0))
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class TaskDependency(Base):
    """`task_id` starts when `needs_id` has completed."""

    __tablename__ = "task_dependency"
    __table_args__ = (
        team_link("task_id", "task"),
        team_link("needs_id", "task"),
        CheckConstraint("task_id <> needs_id", name="not_itself"),
        Index("ix_task_dependency_needs", "needs_id"),
    )

    team_id: Mapped[UUID]
    task_id: Mapped[UUID] = mapped_column(primary_key=True)
    needs_id: Mapped[UUID] = mapped_column(primary_key=True)


class TaskAttempt(Identified, Base):
    """One run of a task, under one claim."""

    __tablename__ = "task_attempt"
    __table_args__ = (
        team_key(),
        team_link("task_id", "task"),
        team_link("agent_id", "agent"),
        CheckConstraint("(outcome = 'running') = (ended_at is null)", name="ended"),
        Index("uq_task_attempt_number", "task_id", "number", unique=True),
        Index("ix_task_attempt_agent", "team_id", "agent_id", "started_at"),
    )

    team_id: Mapped[UUID]
    task_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    number: Mapped[int] = mapped_column(SmallInteger)
    # The arq job that ran it; none for an external agent's attempt and for one that ran while Redis was away.
    job_id: Mapped[str | None] = mapped_column(String(64))
    outcome: Mapped[AttemptOutcome] = mapped_column(
        text_enum(AttemptOutcome), server_default=AttemptOutcome.RUNNING.value
    )
    error_code: Mapped[str | None] = mapped_column(String(64))
    error_message: Mapped[str | None] = mapped_column(Text)
    model: Mapped[str | None] = mapped_column(String(120))
    metadata_: Mapped[dict[str, Any] | None] = mapped_column("metadata", JSONB(none_as_null=True))
    tokens_used: Mapped[int] = mapped_column(server_default="0")
    cost: Mapped[Decimal] = mapped_column(USD, server_default="0")
    claimed_cost: Mapped[Decimal] = mapped_column(USD, server_default="0", default=Decimal(0))
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ended_at: Mapped[datetime | None]


class ToolCall(Identified, Base):
    """A call that an agent made while it worked on a task."""

    __tablename__ = "tool_call"
    __table_args__ = (
        team_key(),
        team_link("task_id", "task"),
        team_link("attempt_id", "task_attempt"),
        team_link("created_task_id", "task"),
        Index("ix_tool_call_task", "task_id", "id"),
        Index("ix_tool_call_attempt", "attempt_id", "id"),
    )

    team_id: Mapped[UUID]
    task_id: Mapped[UUID]
    attempt_id: Mapped[UUID]
    name: Mapped[str] = mapped_column(String(120))
    arguments: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    result: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)
    created_task_id: Mapped[UUID | None]
    started_at: Mapped[datetime] = mapped_column(server_default=func.now())
    ended_at: Mapped[datetime | None]


class DeadLetter(Identified, Base):
    """A task that failed for good and waits for a person."""

    __tablename__ = "dead_letter"
    __table_args__ = (
        team_key(),
        team_link("task_id", "task"),
        team_link("replay_id", "task"),
        CheckConstraint("(state = 'open') = (resolved_at is null)", name="resolved"),
        CheckConstraint("(state = 'replayed') = (replay_id is not null)", name="replayed"),
        Index("ix_dead_letter_team_state", "team_id", "state", "id"),
        Index("uq_dead_letter_open", "task_id", unique=True, postgresql_where=text("state = 'open'")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    task_id: Mapped[UUID]
    reason: Mapped[str] = mapped_column(Text)
    state: Mapped[DeadLetterState] = mapped_column(
        text_enum(DeadLetterState), server_default=DeadLetterState.OPEN.value
    )
    resolved_by: Mapped[str | None] = mapped_column(String(120))
    note: Mapped[str | None] = mapped_column(Text)
    replay_id: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    resolved_at: Mapped[datetime | None]
