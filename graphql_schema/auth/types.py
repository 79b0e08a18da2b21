"""API keys and the caller, as the graph shows them. A key's secret or hash is never in the graph."""

from __future__ import annotations

from typing import Any

import strawberry
from sqlalchemy import case, func

from app.auth import models
from app.auth.roles import PERMISSIONS, Permission, Role
from app.ids import Prefix
from graphql_schema.context import Info
from graphql_schema.node import Node
from graphql_schema.planner.connections import publish_connection
from graphql_schema.planner.mapping import Caller, column, expression, mapped, one, python
from graphql_schema.scalars import DateTime


@mapped(models.ApiKey.__table__, prefix=Prefix.API_KEY, needs=Permission.MANAGE_KEYS)
@strawberry.type(description="An API key. Its secret is shown once, when it is created.")
class ApiKey(Node):
    name: str = column("What the key is for.", filter=True, order=True)
    role: Role = column("What the key may do.", filter=True, group=True)
    prefix: str = column("The first characters of the secret, to tell keys apart.", filter=True)
    created_at: DateTime = column("When the key was created.", filter=True, order=True, group=True, aggregate=True)
    expires_at: DateTime | None = column("When the key stops working; null: never.", filter=True, order=True)
    revoked_at: DateTime | None = column("When the key was revoked; null: not revoked.", filter=True, order=True)
    live: bool = expression(
        "Whether the key works now: neither revoked nor expired.",
        lambda row: row.revoked_at.is_(None) & func.coalesce(row.expires_at > func.now(), True),
    )
    agent = one(
        "Agent", "graphql_schema.agents.types", "The agent that the key acts as; null for other roles.", nullable=True,
        on=lambda key, agent: agent.id == key.agent_id,
    )  # fmt: skip


publish_connection(ApiKey)


@mapped(models.ApiKey.__table__, scope=lambda row: row.id == Caller.key_id)
@strawberry.type(description="Who is asking: the facts of the API key in use.")
class Viewer:
    name: str = column("The key's name.")
    role: Role = column("What the key may do.")
    expires_at: DateTime | None = column("When the key stops working; null: never.")
    expires_soon: bool = expression(
        "Whether the key stops working within seven days.",
        lambda row: case(
            (row.expires_at.is_(None), False), else_=row.expires_at < func.now() + func.make_interval(0, 0, 0, 7)
        ),
    )
    team = one(
        "Team", "graphql_schema.teams.types", "The team that the key belongs to.",
        on=lambda key, team: team.id == key.team_id,
    )  # fmt: skip
    agent = one(
        "Agent", "graphql_schema.agents.types", "The agent that the key acts as; null for other roles.", nullable=True,
        on=lambda key, agent: agent.id == key.agent_id,
    )  # fmt: skip

    @python("What the role allows, so that a page offers nothing that would be refused.", requires=("role",), cost=0)
    def permissions(self: Any, info: Info) -> list[Permission]:
        held = PERMISSIONS[Role(self["$role"])]
        return [permission for permission in Permission if permission in held]
