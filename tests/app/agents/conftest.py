"""Builders of agents' tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.agents import service
from app.agents.models import Agent, AgentStatus
from app.agents.spec import AgentSpec
from app.db.transaction import Transactions
from app.events.log import Actor
from app.teams.models import Team

Make = Callable[..., Awaitable[Agent]]
ChangeStatus = Callable[[Agent, AgentStatus], Awaitable[Agent]]


@pytest.fixture
def make_agent(transaction: Transactions, team: Team, actor: Actor) -> Make:
    async def make(slug: str, **fields: Any) -> Agent:
        spec = AgentSpec(slug=slug, name=fields.pop("name", slug.title()), **fields)
        async with transaction() as session:
            return await service.create(session, team_id=team.id, spec=spec, actor=actor)

    return make


@pytest.fixture
def change_status(transaction: Transactions, team: Team, actor: Actor) -> ChangeStatus:
    async def change(agent: Agent, wanted: AgentStatus) -> Agent:
        async with transaction() as session:
            return await service.change_status(session, team_id=team.id, agent_id=agent.id, wanted=wanted, actor=actor)

    return change
