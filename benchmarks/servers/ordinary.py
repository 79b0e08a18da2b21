"""An ordinary, well-built Strawberry server: SQLAlchemy ORM, DataLoaders, parser and validation caches. No limits."""

from __future__ import annotations

import os
from collections import defaultdict
from enum import Enum
from typing import Any
from uuid import UUID

import strawberry
import uvicorn
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from strawberry.asgi import GraphQL
from strawberry.dataloader import DataLoader
from strawberry.extensions import ParserCache, ValidationCache

from app.agents import models as agents
from app.db.engine import sqlalchemy_url
from app.handoffs import models as handoffs
from app.ids import Prefix, to_global
from app.teams import models as teams

TEAM = UUID(os.environ["TEAM_ID"])
engine = create_async_engine(
    sqlalchemy_url(os.environ["DATABASE_URL"]),
    pool_size=10,
    max_overflow=0,
    connect_args={"server_settings": {"jit": "off"}},
)
sessions = async_sessionmaker(engine, expire_on_commit=False)
AgentStatus = strawberry.enum(agents.AgentStatus)
AgentType = strawberry.enum(agents.AgentType)
Info = strawberry.Info[dict[str, Any], None]


@strawberry.type
class Skill:
    name: str
    description: str


@strawberry.type
class Agent:
    key: strawberry.Private[UUID]
    slug: str
    name: str
    tagline: str
    role: str
    status: AgentStatus
    type: AgentType
    model_tier: int

    @strawberry.field
    def id(self) -> strawberry.ID:
        return strawberry.ID(to_global(Prefix.AGENT, self.key))

    @strawberry.field
    async def skills(self, info: Info) -> list[Skill]:
        return await info.context["skills"].load(self.key)


@strawberry.type
class HandoffRule:
    row: strawberry.Private[handoffs.HandoffRule]
    condition: str
    priority: int

    @strawberry.field
    def id(self) -> strawberry.ID:
        return strawberry.ID(to_global(Prefix.HANDOFF_RULE, self.row.id))

    @strawberry.field
    async def from_agent(self, info: Info) -> Agent | None:
        return await info.context["agents"].load(self.row.from_agent_id)

    @strawberry.field
    async def to_agent(self, info: Info) -> Agent | None:
        return await info.context["agents"].load(self.row.to_agent_id)


@strawberry.type
class PageInfo:
    has_next_page: bool


@strawberry.type
class HandoffRulePage:
    nodes: list[HandoffRule]
    page_info: PageInfo


@strawberry.type
class Team:
    key: strawberry.Private[UUID]
    name: str

    @strawberry.field
    def id(self) -> strawberry.ID:
        return strawberry.ID(to_global(Prefix.TEAM, self.key))

    @strawberry.field
    async def handoff_rules(self, first: int) -> HandoffRulePage:
        rule = handoffs.HandoffRule
        async with sessions() as session:
            query = select(rule).where(rule.team_id == self.key).order_by(rule.id).limit(first + 1)
            rows = list(await session.scalars(query))
        nodes = [HandoffRule(row=row, condition=row.condition, priority=row.priority) for row in rows[:first]]
        return HandoffRulePage(nodes=nodes, page_info=PageInfo(has_next_page=len(rows) > first))


@strawberry.enum
class GroupBy(Enum):
    STATUS = "status"
    TYPE = "type"


@strawberry.type
class GroupKey:
    status: AgentStatus | None
    type: AgentType | None


@strawberry.type
class Figures:
    mean: float
    max: float


@strawberry.type
class Group:
    key: GroupKey
    count: int
    model_tier: Figures


@strawberry.type
class AgentConnection:
    @strawberry.field
    async def grouped_aggregates(self, group_by: list[GroupBy], first: int) -> list[Group]:
        columns = [getattr(agents.Agent, by.value) for by in group_by]
        tier = agents.Agent.model_tier
        statement = (
            select(*columns, func.count().label("size"), func.avg(tier), func.max(tier))
            .where(agents.Agent.team_id == TEAM)
            .group_by(*columns)
            .order_by(func.count().desc())
            .limit(first)
        )
        async with sessions() as session:
            rows = (await session.execute(statement)).all()
        names = [by.value for by in group_by]
        return [_group(names, row) for row in rows]


def _group(names: list[str], row: Any) -> Group:
    values = dict(zip(names, row, strict=False))
    count, mean, maximum = row[-3:]
    key = GroupKey(status=values.get("status"), type=values.get("type"))
    return Group(key=key, count=count, model_tier=Figures(mean=float(mean), max=maximum))


@strawberry.type
class Query:
    @strawberry.field
    async def agent(self, slug: str) -> Agent | None:
        async with sessions() as session:
            row = await session.scalar(
                select(agents.Agent).where(agents.Agent.team_id == TEAM, agents.Agent.slug == slug)
            )
        return _agent(row) if row else None

    @strawberry.field
    async def team(self) -> Team:
        async with sessions() as session:
            row = await session.get_one(teams.Team, TEAM)
        return Team(key=row.id, name=row.name)

    @strawberry.field
    def agents(self) -> AgentConnection:
        return AgentConnection()


def _agent(row: agents.Agent) -> Agent:
    return Agent(
        key=row.id,
        slug=row.slug,
        name=row.name,
        tagline=row.tagline,
        role=row.role,
        status=row.status,
        type=row.type,
        model_tier=row.model_tier,
    )


async def load_agents(keys: list[UUID]) -> list[Agent | None]:
    async with sessions() as session:
        rows = await session.scalars(select(agents.Agent).where(agents.Agent.id.in_(keys)))
        by_key = {row.id: _agent(row) for row in rows}
    return [by_key.get(key) for key in keys]


async def load_skills(keys: list[UUID]) -> list[list[Skill]]:
    by_agent: defaultdict[UUID, list[Skill]] = defaultdict(list)
    async with sessions() as session:
        skill = agents.Skill
        for row in await session.scalars(select(skill).where(skill.agent_id.in_(keys)).order_by(skill.position)):
            by_agent[row.agent_id].append(Skill(name=row.name, description=row.description))
    return [by_agent[key] for key in keys]


class Endpoint(GraphQL[dict[str, Any], None]):
    async def get_context(self, request: Request, response: Response) -> dict[str, Any]:  # type: ignore[override]
        return {"agents": DataLoader(load_agents), "skills": DataLoader(load_skills)}


schema = strawberry.Schema(Query, extensions=[lambda: ParserCache(maxsize=100), lambda: ValidationCache(maxsize=100)])

if __name__ == "__main__":
    app = Starlette(routes=[Route("/graphql", Endpoint(schema))])
    uvicorn.run(app, port=int(os.environ["PORT"]), loop="uvloop", http="httptools", access_log=False)
