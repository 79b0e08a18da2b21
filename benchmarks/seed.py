"""Seeds the database that all contenders read: one team, 1,000 agents with three skills each, 500 handoff rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import insert, text

from app.agents.models import Agent, AgentStatus, AgentType, Skill
from app.auth.roles import Role
from app.auth.service import issue
from app.auth.tokens import new_secret
from app.config import load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.events.log import SYSTEM
from app.handoffs.models import HandoffRule
from app.ids import new_id
from app.teams import service as teams

AGENTS, SKILLS, RULES = 1_000, 3, 500
_STATUSES = (AgentStatus.ACTIVE, AgentStatus.ACTIVE, AgentStatus.PAUSED)
_TYPES = [agent_type for agent_type in AgentType if agent_type is not AgentType.CUSTOM]


@dataclass(frozen=True)
class Seed:
    team_id: UUID
    secret: str


def create_seed(database_url: str, redis_url: str) -> Seed:
    return asyncio.run(_create_seed(database_url, redis_url))


async def _create_seed(database_url: str, redis_url: str) -> Seed:
    database = Database(load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url))
    secret = new_secret()
    try:
        async with Transactions(database, skip_wake_ups)() as session:
            team = await teams.create(session, slug="bench", name="Bench", actor=SYSTEM)
            agents = [_agent(team.id, number) for number in range(AGENTS)]
            await session.execute(insert(Agent), agents)
            await session.execute(insert(Skill), [skill for agent in agents for skill in _skills(team.id, agent["id"])])
            await session.execute(insert(HandoffRule), [_rule(team.id, agents, number) for number in range(RULES)])
            await issue(session, team_id=team.id, name="bench", role=Role.ADMIN, secret=secret, actor=SYSTEM)
        async with database.engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("vacuum analyze"))
    finally:
        await database.close()
    return Seed(team.id, secret)


def slug(number: int) -> str:
    return f"agent-{number:04}"


def _agent(team_id: UUID, number: int) -> dict[str, object]:
    return {
        "id": new_id(),
        "team_id": team_id,
        "slug": slug(number),
        "name": f"Agent {number}",
        "tagline": f"Knows everything about subject {number}",
        "role": "Answers questions",
        "status": _STATUSES[number % len(_STATUSES)],
        "type": _TYPES[number * 7 % len(_TYPES)],
        "model_tier": number % 3,
    }


def _skills(team_id: UUID, agent_id: object) -> list[dict[str, object]]:
    return [
        {"team_id": team_id, "agent_id": agent_id, "position": number, "name": f"Skill {number}",
         "description": f"What skill {number} is good for, in a sentence of ordinary length."}
        for number in range(SKILLS)
    ]  # fmt: skip


def _rule(team_id: UUID, agents: list[dict[str, object]], number: int) -> dict[str, object]:
    return {
        "id": new_id(),
        "team_id": team_id,
        "from_agent_id": agents[number]["id"],
        "to_agent_id": agents[-1 - number]["id"],
        "condition": f"The customer asks about subject {number}",
        "priority": number % 10,
    }


async def skip_wake_ups(wake_ups: list[Any]) -> None:
    """Sends nothing: no server runs while data is seeded."""
