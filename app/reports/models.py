"""Reports and their sections."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, SmallInteger, String, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base, Identified, Timestamped, team_key, team_link, text_enum

MAX_TITLE = 200
MAX_NAME = 80
MAX_SECTIONS = 20
KEPT_SECTIONS = 50  # of what was written, however many there are


class ReportType(StrEnum):
    CODE_REVIEW = "code_review"
    SECURITY_AUDIT = "security_audit"
    RESEARCH_SUMMARY = "research_summary"
    DATA_ANALYSIS = "data_analysis"
    RISK_ASSESSMENT = "risk_assessment"
    PERFORMANCE_REPORT = "performance_report"
    COMPARISON = "comparison"
    ACTION_PLAN = "action_plan"


class ReportFormat(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"
    BULLET_POINTS = "bullet_points"


class ReportStatus(StrEnum):
    WORKING = "working"
    REPAIRING = "repairing"
    VALID = "valid"
    INVALID = "invalid"
    FAILED = "failed"


OPEN = frozenset({ReportStatus.WORKING, ReportStatus.REPAIRING})


class SectionKind(StrEnum):
    REQUIRED = "required"
    OPTIONAL = "optional"
    ADDITIONAL = "additional"


class Report(Identified, Timestamped, Base):
    """One request, and what came of it. `sections` are what must be there; `problems` say why it is not valid.

    `memory_id` is no link: what is remembered may be forgotten. `conversation_id` and `consultation_id` are what it was
    asked in; agents that take no part there do not read it.
    """

    __tablename__ = "report"
    __table_args__ = (
        team_key(),
        team_link("assignee_id", "agent"),
        team_link("requester_id", "agent"),
        team_link("task_id", "task"),
        team_link("repair_task_id", "task"),
        team_link("decision_id", "routing_decision"),
        team_link("conversation_id", "conversation"),
        team_link("consultation_id", "consultation"),
        CheckConstraint("(status in ('valid', 'invalid', 'failed')) = (finished_at is not null)", name="finished"),
        CheckConstraint(f"max_sections between 1 and {MAX_SECTIONS}", name="max_sections"),
        CheckConstraint("status <> 'repairing' or repair_task_id is not null", name="repair"),
        Index("ix_report_team", "team_id", "id"),
        Index("ix_report_assignee", "assignee_id", "id"),
        Index("ix_report_requester", "requester_id", "id"),
        Index("uq_report_task", "task_id", unique=True),
        Index("uq_report_repair_task", "repair_task_id", unique=True),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    type: Mapped[ReportType] = mapped_column(text_enum(ReportType))
    title: Mapped[str] = mapped_column(String(MAX_TITLE))
    parameters: Mapped[dict[str, Any]]
    required_sections: Mapped[list[str]] = mapped_column(ARRAY(Text))
    max_sections: Mapped[int] = mapped_column(SmallInteger)
    format: Mapped[ReportFormat] = mapped_column(text_enum(ReportFormat))
    assignee_id: Mapped[UUID]
    requester_id: Mapped[UUID | None]
    on_behalf_of: Mapped[str] = mapped_column(String(120))
    task_id: Mapped[UUID]
    repair_task_id: Mapped[UUID | None]
    decision_id: Mapped[UUID | None]
    memory_id: Mapped[UUID | None]
    conversation_id: Mapped[UUID | None]
    consultation_id: Mapped[UUID | None]
    status: Mapped[ReportStatus] = mapped_column(text_enum(ReportStatus))
    missing_sections: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    problems: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    finished_at: Mapped[datetime | None]


class ReportSection(Identified, Base):
    """One part of what was written, in the order of the report."""

    __tablename__ = "report_section"
    __table_args__ = (
        team_key(),
        team_link("report_id", "report"),
        Index("uq_report_section_position", "report_id", "position", unique=True),
    )

    team_id: Mapped[UUID]
    report_id: Mapped[UUID]
    position: Mapped[int] = mapped_column(SmallInteger)
    name: Mapped[str] = mapped_column(String(MAX_NAME))
    title: Mapped[str] = mapped_column(String(MAX_TITLE))
    kind: Mapped[SectionKind] = mapped_column(text_enum(SectionKind))
    content: Mapped[str] = mapped_column(Text)
