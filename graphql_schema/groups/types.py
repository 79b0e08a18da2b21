"""Groups, as the graph shows them."""

from __future__ import annotations

import strawberry
from sqlalchemy import and_

from app.groups import models
from app.groups.spec import MAX_DEPTH, MAX_SKILLS
from app.ids import Prefix
from graphql_schema.groups.membership import is_member
from graphql_schema.node import Node
from graphql_schema.planner.connections import many, publish_connection
from graphql_schema.planner.mapping import column, mapped, one
from graphql_schema.scalars import DateTime

_HERE, _AGENTS = "graphql_schema.groups.types", "graphql_schema.agents.types"


@mapped(models.AgentGroup.__table__, prefix=Prefix.GROUP)
@strawberry.type(description="Agents of the team that take work up together, for a time or for good.")
class Group(Node):
    slug: str = column("Short name, unique among the team's groups that are not dissolved.", filter=True, order=True)
    name: str = column("The name to show.", filter=True, order=True)
    purpose: str = column("What the group is for; may be empty.", filter=True)
    required_skills: list[str] = column(
        f"The skills from which it was formed, at most {MAX_SKILLS}; empty where its agents were named."
    )
    created_at: DateTime = column("When the group was formed.", filter=True, order=True, group=True, aggregate=True)
    updated_at: DateTime = column("When the group was last changed.", filter=True, order=True)
    dissolved_at: DateTime | None = column("When the group was dissolved; null before.", filter=True, order=True)
    coordinator_id: strawberry.ID | None = column(
        "Who takes up what is given to the group; null: whose skills match best.", prefix=Prefix.AGENT, filter=True
    )
    parent_id: strawberry.ID | None = column("The group that it lies in; null: none.", prefix=Prefix.GROUP, filter=True)
    coordinator = one(
        "Agent", _AGENTS, "Who takes up what is given to the group; null: whose skills match best.", nullable=True,
        on=lambda group, agent: agent.id == group.coordinator_id,
    )  # fmt: skip
    parent = one(
        "Group", _HERE, f"The group that it lies in; null: none. Groups lie in each other up to {MAX_DEPTH} deep.",
        nullable=True, on=lambda group, parent: parent.id == group.parent_id,
    )  # fmt: skip
    subgroups = many(
        "Group", _HERE, "The groups that lie in it.",
        on=lambda group, inner: and_(inner.parent_id == group.id, inner.dissolved_at.is_(None)),
    )  # fmt: skip
    agents = many("Agent", _AGENTS, "The agents in it, without those of its subgroups.", on=is_member)
    tasks = many(
        "Task", "graphql_schema.tasks.types", "The tasks that were given to it.",
        on=lambda group, task: task.group_id == group.id,
    )  # fmt: skip


publish_connection(Group)
