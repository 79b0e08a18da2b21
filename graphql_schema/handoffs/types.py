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
@strawberry.type(description="When a conversation passes from one agent to another.")
class HandoffRule(Node):
    condition: str = column("When the rule fires, in plain language and comparisons.", filter=True)
    priority: int = column("Higher fires first.", filter=True, order=True, group=True)
    created_at: DateTime = column("When the rule was made.", filter=True, order=True)
    from_agent = one(
        "Agent", "graphql_schema.agents.types", "Whose replies the rule looks at; null: any agent's.", nullable=True,
        on=lambda rule, agent: agent.id == rule.from_agent_id,
    )  # fmt: skip
    to_agent = one(
        "Agent", "graphql_schema.agents.types", "Who takes over; null: the previous agent.", nullable=True,
        on=lambda rule, agent: agent.id == rule.to_agent_id,
    )  # fmt: skip


publish_connection(HandoffRule)
