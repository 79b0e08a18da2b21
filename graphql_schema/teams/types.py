"""The team, as the graph shows it."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import ColumnElement, func, select

from app.auth.roles import Permission, Role
from app.budgets.models import AccountKind
from app.ids import Prefix
from app.teams import models
from app.teams.flags import FeatureFlag, is_on
from graphql_schema.budgets.types import of_today
from graphql_schema.context import Info
from graphql_schema.node import Node
from graphql_schema.planner.connections import many
from graphql_schema.planner.mapping import Caller, column, expression, mapped, one, python
from graphql_schema.planner.sql import json_list
from graphql_schema.scalars import JSON, DateTime, Usd


@strawberry.type(description="A feature flag as it stands for a team.")
class FeatureFlagState:
    flag: FeatureFlag = strawberry.field(description="Which flag.")
    enabled: bool = strawberry.field(description="Whether it is on for this team.")
    overridden: bool = strawberry.field(
        description="Whether the team has set it; false: the installation's value counts."
    )


def _upper_list(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A JSON list of enum values as a list of their names."""
    item = func.jsonb_array_elements_text(column).column_valued()
    return select(json_list(func.upper(item))).scalar_subquery()


@mapped(models.Team.__table__, prefix=Prefix.TEAM, scope=lambda row: row.id == Caller.team_id)
@strawberry.type(description="A team of agents. It owns everything else; nothing crosses teams.")
class Team(Node):
    slug: str = column("Unique in the installation.")
    name: str = column("The name to show.")
    description: str = column("What the team is for; may be empty.")
    after_work: models.AfterWork = column("What happens after an agent's reply when no handoff rule fires.")
    message_policy: models.MessagePolicy = column("Whether the agents may write to each other.")
    context_variables: JSON = column("Values that handoff rules compare with, by name; at most 200.")
    runtime_variables: JSON = column(
        "Variables that agents' replies set in a conversation: `number`, `text` or `boolean` by name; at most 200."
    )
    input_variables: JSON = column(
        "Variables that callers give a conversation: `number`, `text` or `boolean` by name; at most 200."
    )
    roles_limited_to_trusted_documents: list[Role] = expression(
        "Roles whose keys may run trusted documents only.", lambda team: _upper_list(team.trusted_only_roles)
    )
    created_at: DateTime = column("When the team was created.")
    updated_at: DateTime = column("When the team itself was last changed.")
    default_agent = one(
        "Agent",
        "graphql_schema.agents.types",
        "The agent that answers when no better one is found; null while the team has no agent.",
        nullable=True,
        on=lambda team, agent: agent.id == team.default_agent_id,
    )
    agents = many("Agent", "graphql_schema.agents.types", "The team's agents, archived ones included.")
    handoff_rules = many(
        "HandoffRule",
        "graphql_schema.handoffs.types",
        "When conversations pass between agents, in all versions; `retiredAt` is null in those that decide.",
    )
    groups = many("Group", "graphql_schema.groups.types", "The team's groups, dissolved ones included.")
    api_keys = many(
        "ApiKey",
        "graphql_schema.auth.types",
        "The team's API keys, revoked ones included.",
        needs=Permission.MANAGE_KEYS,
    )
    events = many(
        "Event", "graphql_schema.events.types", "What happened in the team, as far back as retention goes.",
        needs=Permission.READ_EVENTS,
    )  # fmt: skip

    day_budget_usd: Usd | None = column("The team's own cap for a UTC day; null: the installation's setting counts.")
    month_budget_usd: Usd | None = column(
        "The team's own cap for a UTC month; null: the installation's setting counts."
    )
    day_budget = one(
        "Budget",
        "graphql_schema.budgets.types",
        "What the team's tasks may cost in the present UTC day; null until the first task of the day reserves.",
        nullable=True,
        on=lambda team, budget: of_today(budget, AccountKind.TEAM_DAY, "day"),
    )
    month_budget = one(
        "Budget",
        "graphql_schema.budgets.types",
        "What the team's tasks may cost in the present UTC month; null until the first task of the month reserves.",
        nullable=True,
        on=lambda team, budget: of_today(budget, AccountKind.TEAM_MONTH, "month"),
    )

    @python("Every feature flag and whether it is on for this team.", requires=("flags",))
    def feature_flags(self: Any, info: Info) -> list[FeatureFlagState]:
        team, installation = self["$flags"], info.context.services.settings.flags
        return [
            FeatureFlagState(flag=flag, enabled=is_on(flag, installation, team), overridden=flag.value in team)
            for flag in FeatureFlag
        ]
