"""Handoff rules, as the graph shows them."""

from __future__ import annotations

import strawberry

from app.handoffs import models
from app.ids import Prefix
from graphql_schema.node import Node
from graphql_schema.planner.connections import publish_connection
from graphql_schema.planner.mapping import column, mapped, one
from graphql_schema.scalars import DateTime


@mapped(models.HandoffRule.__table__, prefix=Prefix.HANDOFF_RULE)
@strawberry.type(description="One version of a rule: when a conversation passes from one agent to another.")
class HandoffRule(Node):
    version: int = column("Counts the versions of the rule, from 1.", filter=True, order=True)
    condition: str = column(
        "When the rule fires, in comparisons and plain language: 1 to 2,000 characters.", filter=True
    )
    priority: int = column("Higher fires first, 1 to 1,000.", filter=True, order=True, group=True)
    trusts_text: bool = column(
        "Whether its comparisons may use values that were only read in the text of a reply.", filter=True, group=True
    )
    created_at: DateTime = column("When this version was saved.", filter=True, order=True)
    retired_at: DateTime | None = column(
        "When a newer version took its place or the rule was deleted; null while it decides.", filter=True, order=True
    )
    from_agent = one(
        "Agent", "graphql_schema.agents.types", "Whose replies the rule looks at; null: any agent's.", nullable=True,
        on=lambda rule, agent: agent.id == rule.from_agent_id,
    )  # fmt: skip
    to_agent = one(
        "Agent", "graphql_schema.agents.types", "Who takes over; null: the previous agent, or one of `toGroup`.",
        nullable=True, on=lambda rule, agent: agent.id == rule.to_agent_id,
    )  # fmt: skip
    to_group = one(
        "Group", "graphql_schema.groups.types", "The group of which somebody takes over; null: the rule names no "
        "group.", nullable=True, on=lambda rule, group: group.id == rule.to_group_id,
    )  # fmt: skip


publish_connection(HandoffRule)
