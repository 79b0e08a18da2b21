"""Memories, as the graph shows them."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, and_, func, or_

from app.ids import Prefix
from app.memories import models
from app.memories.audience import readable_of_team
from app.memories.recall import Recalled
from graphql_schema.conversations.reach import spoken_with
from graphql_schema.memories import enums as _enums  # noqa: F401 - published before a field uses them
from graphql_schema.node import Node
from graphql_schema.planner.connections import publish_connection
from graphql_schema.planner.mapping import Caller, column, entity, mapped, one
from graphql_schema.scalars import DateTime

_AGENTS = "graphql_schema.agents.types"


def _readable(row: Any) -> ColumnElement[bool]:
    """Of the caller's team, not expired; to an agent's key its own and those of the team whose audience it belongs to,
    profiles of whom it speaks with."""
    of_team = and_(
        row.agent_id.is_(None),
        or_(row.subject.is_(None), row.subject.in_(spoken_with())),
        readable_of_team(row, team_id=Caller.team_id, agent_id=Caller.agent_id),
    )
    own = or_(Caller.agent_id.is_(None), row.agent_id == Caller.agent_id, of_team)
    return and_(row.team_id == Caller.team_id, own, or_(row.expires_at.is_(None), row.expires_at > func.now()))


@mapped(models.Memory.__table__, prefix=Prefix.MEMORY, scope=_readable)
@strawberry.type(
    description="Something that an agent, or the whole team, remembers. An agent's key sees that agent's own and the "
    "team's, and a user's profile only while it takes part in an open conversation with that user. What was made in a "
    "conversation or consultation, and is not SHARED, is for the agents that take part in it. Expired ones are gone "
    "for everybody."
)
class Memory(Node):
    kind: models.MemoryKind = column("What kind of memory it is.", filter=True, group=True)
    text: str = column(f"What is remembered, 1 to {models.MAX_TEXT:,} characters.", filter=True)
    subject: str | None = column(
        "The id of the user whose profile it belongs to, as in `Conversation.userId`; null for other kinds.",
        filter=True, group=True,
    )  # fmt: skip
    importance: float = column("0 trivial, 1 vital.", filter=True, order=True, aggregate=True)
    confidence: float | None = column(
        "How sure the classification is of the kind, 0 to 1; null where the kind was given.", filter=True, order=True
    )
    reason: str | None = column("Why it was taken for that kind; null where the kind was given.")
    times_told: int = column("How often the same was told, from 1.", filter=True, order=True, aggregate=True)
    created_at: DateTime = column("When it was first told.", filter=True, order=True, group=True, aggregate=True)
    updated_at: DateTime = column("When it was last told.", filter=True, order=True)
    expires_at: DateTime | None = column("When it will be forgotten by itself; null: never.", filter=True, order=True)
    agent_id: strawberry.ID | None = column(
        "Whose it is; null: the team's.", prefix=Prefix.AGENT, filter=True, group=True
    )
    agent = one(
        "Agent", _AGENTS, "Whose it is; null: the team's.", nullable=True,
        on=lambda memory, agent: agent.id == memory.agent_id,
    )  # fmt: skip
    learned_by = one(
        "Agent", _AGENTS, "Who learned it first; null: a person or Parley told it.", nullable=True,
        on=lambda memory, agent: agent.id == memory.learned_by_id,
    )  # fmt: skip
    task = one(
        "Task", "graphql_schema.tasks.types", "The task in which it was learned; null: in none.", nullable=True,
        on=lambda memory, task: task.id == memory.task_id,
    )  # fmt: skip
    conversation = one(
        "Conversation", "graphql_schema.conversations.types",
        "The conversation in which it was learned; null: in none.", nullable=True,
        on=lambda memory, conversation: conversation.id == memory.conversation_id,
    )  # fmt: skip
    consultation = one(
        "Consultation", "graphql_schema.consultations.types",
        "The consultation in which it was learned; null: in none.", nullable=True,
        on=lambda memory, consultation: consultation.id == memory.consultation_id,
    )  # fmt: skip


publish_connection(Memory)


@strawberry.type(description="A memory that a text calls to mind.")
class RecalledMemory:
    memory: Memory | None = entity("The memory, as it is now; null when it was forgotten this very moment.")
    score: float = strawberry.field(
        description="0 to 1: four fifths how near it is to the text by meaning, one fifth how important it is."
    )

    @classmethod
    def of(cls, found: Recalled) -> RecalledMemory:
        return cls(memory=found.id, score=found.score)  # type: ignore[arg-type]
