"""Consultations, as the graph shows them. An agent's key sees those in which its agent asks or answers."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, and_, or_, select

from app.consultations import models
from app.consultations.models import MAX_ANSWER, MAX_LESSONS, MAX_QUESTION
from app.ids import Prefix
from graphql_schema.consultations import enums as _enums  # noqa: F401 - published before a field uses them
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import Caller, column, mapped, one
from graphql_schema.scalars import JSON, DateTime, Usd

_HERE = "graphql_schema.consultations.types"
_AGENTS = "graphql_schema.agents.types"
_TASKS = "graphql_schema.tasks.types"


def _readable(row: Any) -> ColumnElement[bool]:
    own = or_(Caller.agent_id.is_(None), row.requester_id == Caller.agent_id, row.specialist_id == Caller.agent_id)
    return and_(row.team_id == Caller.team_id, own)


def _readable_part(row: Any) -> ColumnElement[bool]:
    whole = models.Consultation.__table__.alias()
    taking_part = or_(whole.c.requester_id == Caller.agent_id, whole.c.specialist_id == Caller.agent_id)
    mine = select(whole.c.id).where(whole.c.id == row.consultation_id, taking_part)
    own = or_(Caller.agent_id.is_(None), mine.correlate_except(whole).exists())
    return and_(row.team_id == Caller.team_id, own)


@mapped(models.Consultation.__table__, prefix=Prefix.CONSULTATION, scope=_readable)
@strawberry.type(
    description="One agent asks, another answers. What is kept of it has no secrets: keys, tokens, passwords, "
    "connection strings, private keys and, by setting, e-mail addresses are replaced by `[redacted:…]`."
)
class Consultation(Node):
    question: str = column(f"What was asked, 1 to {MAX_QUESTION:,} characters.", filter=True)
    reason: models.ConsultationReason = column("What kind of help was asked for.", filter=True, group=True)
    urgency: models.Urgency = column("How soon an answer is needed.", filter=True, group=True)
    context: JSON = column("The context as the requester gave it.", name="given")
    status: models.ConsultationStatus = column("Where it stands.", filter=True, group=True)
    chosen_because: str = column(
        "Why this specialist, and why a suggestion was or was not followed; up to 1,000 characters."
    )
    suggestion_followed: bool | None = column(
        "Whether the suggested agent was asked; null: none was suggested.", filter=True, group=True, aggregate=True
    )
    escalation_reason: str | None = column("Why a person is or was needed; null: none was.", filter=True)
    loop_detected: bool = column(
        "Whether a loop was found in it; its mean is the loop rate.", filter=True, group=True, aggregate=True
    )
    depth: int = column("How many consultations wait for each other up to this one, 1 to 3.", filter=True)
    exchange_count: int = column("How many exchanges it has.", filter=True, order=True, aggregate=True)
    tokens_used: int = column(
        "Tokens of all phases of all exchanges.", name="tokens", filter=True, order=True, aggregate=True
    )
    cost: Usd = column("What it cost, all phases together.", filter=True, order=True, aggregate=True)
    response_seconds: float | None = column(
        "Seconds from the question to the first answer; null before.", filter=True, order=True, aggregate=True
    )
    outcome: models.ConsultationOutcome | None = column("What came of it; null before.", filter=True, group=True)
    successful: bool | None = column(
        "Whether the specialist answered; its mean is the success rate. Null before the end.",
        filter=True, group=True, aggregate=True,
    )  # fmt: skip
    summary: str | None = column(
        "The beginning of the last answer, or why it was closed; up to 500 characters. Null before."
    )
    rating: int | None = column(
        "How much the answer helped, 1 to 5, by the agent that asked; null: not rated.",
        filter=True, order=True, group=True, aggregate=True,
    )  # fmt: skip
    lessons: str | None = column(
        f"What the agent that asked learned, up to {MAX_LESSONS:,} characters; null: nothing said.", filter=True
    )
    on_behalf_of: str = column("Who asked: the key's name, or the task's from which it was asked.", filter=True)
    created_at: DateTime = column("When it was asked.", filter=True, order=True, group=True, aggregate=True)
    ended_at: DateTime | None = column(
        "When it was answered or closed; null before.", name="finished_at", filter=True, order=True, aggregate=True
    )
    requester_id: strawberry.ID = column("Who asked.", prefix=Prefix.AGENT, filter=True, group=True)
    requester = one("Agent", _AGENTS, "Who asked.", on=lambda row, agent: agent.id == row.requester_id)
    specialist_id: strawberry.ID | None = column(
        "Who was chosen to answer; null: nobody suited.", prefix=Prefix.AGENT, filter=True, group=True
    )
    specialist = one(
        "Agent", _AGENTS, "Who was chosen to answer; null: nobody suited.", nullable=True,
        on=lambda row, agent: agent.id == row.specialist_id,
    )  # fmt: skip
    suggested_agent_id: strawberry.ID | None = column(
        "Whom the requester suggested; null: nobody.", prefix=Prefix.AGENT, filter=True, group=True
    )
    suggested_agent = one(
        "Agent", _AGENTS, "Whom the requester suggested; null: nobody.", nullable=True,
        on=lambda row, agent: agent.id == row.suggested_agent_id,
    )  # fmt: skip
    task = one(
        "Task", _TASKS, "The specialist's newest task; null: nobody was asked.", nullable=True,
        on=lambda row, task: task.id == row.task_id,
    )  # fmt: skip
    asking_task = one(
        "Task", _TASKS, "The task from which it was asked; null: none.", nullable=True,
        on=lambda row, task: task.id == row.asking_task_id,
    )  # fmt: skip
    routing_decision = one(
        "RoutingDecision", "graphql_schema.routing.types", "How the agents were scored for the question.",
        nullable=True, on=lambda row, decision: decision.id == row.decision_id,
    )  # fmt: skip
    memory = one(
        "Memory", "graphql_schema.memories.types",
        "What the team remembers of it, of the kind PROCEDURAL; null before it is answered, or once it is forgotten.",
        nullable=True, on=lambda row, memory: memory.id == row.memory_id,
    )  # fmt: skip
    exchanges = many(
        "ConsultationExchange", _HERE, "What was said, the first exchange first.",
        on=lambda row, exchange: exchange.consultation_id == row.id,
    )  # fmt: skip
    uses = many(
        "ConsultationUse", _HERE, "What each phase of each exchange took.",
        on=lambda row, use: use.consultation_id == row.id,
    )  # fmt: skip
    loops = many(
        "ConsultationLoop", _HERE, "The loops that were found in it, with their evidence.",
        on=lambda row, loop: loop.consultation_id == row.id,
    )  # fmt: skip


@mapped(models.ConsultationExchange.__table__, prefix=Prefix.EXCHANGE, scope=_readable_part)
@strawberry.type(description="One thing that was said in a consultation.")
class ConsultationExchange(Node):
    number: int = column("Its place in the consultation, from 1.", filter=True, order=True)
    kind: models.ExchangeKind = column("What it is.", filter=True, group=True)
    author: str = column("Who said it: an agent's or a person's name.", filter=True, group=True)
    content: str = column(f"What was said, up to {MAX_ANSWER:,} characters.", filter=True)
    additional_context: str = column("Of an answer: what else belongs to it; may be empty.")
    references: list[str] = column("Of an answer: where to look, such as `models/user.py:15`; at most 20.")
    suggested_next_steps: list[str] = column("Of an answer: what to do next; at most 20.", name="next_steps")
    context_package: JSON | None = column(
        "The curated context that the specialist was given with it; null for answers.", name="package"
    )
    created_at: DateTime = column("When it was said.", filter=True, order=True, group=True, aggregate=True)
    from_agent_id: strawberry.ID | None = column(
        "The agent that said it; null: a person.", prefix=Prefix.AGENT, filter=True, group=True
    )
    from_agent = one(
        "Agent", _AGENTS, "The agent that said it; null: a person.", nullable=True,
        on=lambda exchange, agent: agent.id == exchange.from_agent_id,
    )  # fmt: skip
    to_agent_id: strawberry.ID | None = column(
        "The agent that it was said to; null: a person.", prefix=Prefix.AGENT, filter=True, group=True
    )
    to_agent = one(
        "Agent", _AGENTS, "The agent that it was said to; null: a person.", nullable=True,
        on=lambda exchange, agent: agent.id == exchange.to_agent_id,
    )  # fmt: skip
    task = one(
        "Task", _TASKS, "The specialist's task for it; null: none.", nullable=True,
        on=lambda exchange, task: task.id == exchange.task_id,
    )  # fmt: skip
    consultation = one(
        "Consultation", _HERE, "The consultation.", on=lambda exchange, row: row.id == exchange.consultation_id
    )
    uses = many(
        "ConsultationUse", _HERE, "What its phases took.", on=lambda exchange, use: use.exchange_id == exchange.id
    )


@mapped(models.ConsultationUse.__table__, prefix=Prefix.CONSULTATION_USE, scope=_readable_part)
@strawberry.type(description="What one phase of an exchange took.")
class ConsultationUse(Node):
    phase: models.ConsultationPhase = column("Which phase.", filter=True, group=True)
    tokens_used: int = column(
        "Tokens; see the phase for how they are counted.", name="tokens", filter=True, order=True, aggregate=True
    )
    cost: Usd = column("What it cost.", filter=True, order=True, aggregate=True)
    at: DateTime = column("When.", filter=True, order=True, group=True, aggregate=True)


@mapped(models.ConsultationLoop.__table__, prefix=Prefix.LOOP, scope=_readable_part)
@strawberry.type(description="A loop that was found in a consultation.")
class ConsultationLoop(Node):
    kind: models.LoopKind = column("How it was seen.", filter=True, group=True)
    description: str = column("In words, up to 1,000 characters.")
    evidence: JSON = column("What it was found by: texts with their likeness, the circle of agents, or counts.")
    resolution: models.LoopResolution = column("What became of it.", filter=True, group=True)
    note: str = column("What the person said who decided; may be empty.", name="notes")
    detected_at: DateTime = column("When it was found.", filter=True, order=True, group=True, aggregate=True)
    consultation = one("Consultation", _HERE, "The consultation.", on=lambda loop, row: row.id == loop.consultation_id)


publish_connection(Consultation)
publish_connection(ConsultationExchange)
publish_connection(ConsultationUse)
publish_connection(ConsultationLoop)
