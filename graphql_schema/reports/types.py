"""Reports, as the graph shows them."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, and_, or_

from app.ids import Prefix
from app.reports import models
from app.reports.models import KEPT_SECTIONS, MAX_SECTIONS
from app.reports.queries import readable_by
from graphql_schema.node import Node
from graphql_schema.planner.connections import publish_connection
from graphql_schema.planner.mapping import Caller, column, listing, mapped, one
from graphql_schema.reports import enums as _enums  # noqa: F401 - published before a field uses them
from graphql_schema.scalars import JSON, DateTime

_AGENTS = "graphql_schema.agents.types"
_TASKS = "graphql_schema.tasks.types"


def _readable(row: Any) -> ColumnElement[bool]:
    by_agent = readable_by(row, team_id=Caller.team_id, agent_id=Caller.agent_id)
    return and_(row.team_id == Caller.team_id, or_(Caller.agent_id.is_(None), by_agent))


@mapped(models.Report.__table__, prefix=Prefix.REPORT, scope=_readable)
@strawberry.type(
    description="A report that was asked for, and what came of it. At `/reports/{id}.md`, `.html` and `.json` it can "
    "be downloaded with the same key. An agent's key reads one that was asked in a conversation or consultation where "
    "its agent takes part there, or asks for the report or writes it."
)
class Report(Node):
    type: models.ReportType = column("Which template it follows.", filter=True, group=True)
    title: str = column("What it is called, 1 to 200 characters.", filter=True, order=True)
    parameters: JSON = column("What it is about, by the template's parameters; at most 50,000 bytes.")
    format: models.ReportFormat = column("How it is written.", filter=True, group=True)
    max_sections: int = column(f"How many sections it may have, 1 to {MAX_SECTIONS}.", filter=True)
    required_sections: list[str] = column("The names of the sections that must be there, in the template's order.")
    status: models.ReportStatus = column("Where it stands.", filter=True, group=True)
    missing_sections: list[str] = column(
        "The names of required sections that are not there, or say nothing, in the newest version."
    )
    problems: list[str] = column("Why the newest version is not valid, or why there is none; none when it is valid.")
    on_behalf_of: str = column("Who asked: the key's name, or the task's from which it was asked for.", filter=True)
    created_at: DateTime = column("When it was asked for.", filter=True, order=True, group=True, aggregate=True)
    ended_at: DateTime | None = column(
        "When it became valid, invalid or failed; null before.",
        name="finished_at",
        filter=True,
        order=True,
        aggregate=True,
    )
    assignee_id: strawberry.ID = column("Who writes it.", prefix=Prefix.AGENT, filter=True, group=True)
    assignee = one("Agent", _AGENTS, "Who writes it.", on=lambda report, agent: agent.id == report.assignee_id)
    requester_id: strawberry.ID | None = column(
        "The agent that asked for it; null: a person or a program.", prefix=Prefix.AGENT, filter=True, group=True
    )
    requester = one(
        "Agent", _AGENTS, "The agent that asked for it; null: a person or a program.", nullable=True,
        on=lambda report, agent: agent.id == report.requester_id,
    )  # fmt: skip
    sections = listing(
        "ReportSection", "graphql_schema.reports.types",
        f"What the newest version says, in its order; at most {KEPT_SECTIONS}. None before it was written.",
        most=KEPT_SECTIONS, order="position", on=lambda report, section: section.report_id == report.id,
    )  # fmt: skip
    task = one("Task", _TASKS, "The task of the first version.", on=lambda report, task: task.id == report.task_id)
    repair_task = one(
        "Task", _TASKS, "The task of the repair; null: there was none.", nullable=True,
        on=lambda report, task: task.id == report.repair_task_id,
    )  # fmt: skip
    routing_decision = one(
        "RoutingDecision", "graphql_schema.routing.types",
        "Why this agent writes it; null where the request named the agent.", nullable=True,
        on=lambda report, decision: decision.id == report.decision_id,
    )  # fmt: skip
    memory = one(
        "Memory", "graphql_schema.memories.types",
        "What the team remembers of it, of the kind PROCEDURAL; null while it is not valid, or once it is forgotten.",
        nullable=True, on=lambda report, memory: memory.id == report.memory_id,
    )  # fmt: skip
    conversation = one(
        "Conversation", "graphql_schema.conversations.types",
        "The conversation that it was asked for in; null: none, or the key may not read it.", nullable=True,
        on=lambda report, conversation: conversation.id == report.conversation_id,
    )  # fmt: skip
    consultation = one(
        "Consultation", "graphql_schema.consultations.types",
        "The consultation that it was asked for in; null: none, or the key may not read it.", nullable=True,
        on=lambda report, consultation: consultation.id == report.consultation_id,
    )  # fmt: skip


@mapped(models.ReportSection.__table__)
@strawberry.type(description="One part of a report.")
class ReportSection:
    position: int = column("Its place in the report, from 1.")
    name: str = column("Its name in the template's manner, such as `severity_breakdown`; up to 80 characters.")
    title: str = column("Its heading as it was written, up to 200 characters.")
    kind: models.SectionKind = column("What it is to the template.")
    content: str = column("What it says, as the agent wrote it; may hold any text.")


publish_connection(Report)
