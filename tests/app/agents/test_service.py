"""Agents are made and changed one winner at a time, and each change is told once."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from app.agents import service
from app.agents.models import AgentStatus
from app.agents.spec import SkillSpec
from app.db.transaction import Transactions
from app.errors import Conflict, InvalidInput, NotFound
from app.events.log import Actor
from app.ids import new_id
from app.teams import service as teams
from app.teams.models import Team
from tests.app.agents.conftest import ChangeStatus, Make
from tests.app.conftest import Kinds

ACTIVE, PAUSED, ARCHIVED = AgentStatus.ACTIVE, AgentStatus.PAUSED, AgentStatus.ARCHIVED


async def test_the_first_agent_becomes_the_default(make_agent: Make, transaction: Transactions, team: Team) -> None:
    first = await make_agent("kyra")
    await make_agent("luke")

    async with transaction() as session:
        assert (await teams.lock(session, team.id)).default_agent_id == first.id


async def test_a_taken_slug_is_refused_and_nothing_changes(make_agent: Make, kinds: Kinds) -> None:
    await make_agent("kyra")

    with pytest.raises(Conflict, match="already has an agent 'kyra'"):
        await make_agent("kyra", name="Another")

    assert await kinds() == ["agent.created"]


async def test_a_slug_is_free_in_another_team(make_agent: Make, transaction: Transactions, actor: Actor) -> None:
    kyra = await make_agent("kyra")

    async with transaction() as session:
        other = await teams.create(session, slug="others", name="Others", actor=actor)
        spec = await service.spec_of(session, kyra)
        assert (await service.create(session, team_id=other.id, spec=spec, actor=actor)).id != kyra.id


async def test_of_twenty_creations_at_once_one_wins(make_agent: Make, kinds: Kinds) -> None:
    outcomes = await asyncio.gather(*(make_agent("kyra") for _ in range(20)), return_exceptions=True)

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 19
    assert await kinds() == ["agent.created"]


async def test_twenty_different_first_agents_at_once_give_one_default(
    make_agent: Make, transaction: Transactions, team: Team
) -> None:
    made = await asyncio.gather(*(make_agent(f"agent-{number}") for number in range(20)))

    async with transaction() as session:
        assert (await teams.lock(session, team.id)).default_agent_id in {agent.id for agent in made}


async def test_of_twenty_pauses_at_once_one_wins(make_agent: Make, change_status: ChangeStatus, kinds: Kinds) -> None:
    kyra = await make_agent("kyra")

    outcomes = await asyncio.gather(*(change_status(kyra, PAUSED) for _ in range(20)), return_exceptions=True)

    refusals = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert len(refusals) == 19
    assert {refusal.message for refusal in refusals} == {"Kyra is already paused."}
    assert await kinds() == ["agent.created", "agent.paused"]


@pytest.mark.parametrize(
    ("path", "wanted", "refusal"),
    [
        ([], ACTIVE, "is already active"),
        ([PAUSED, ACTIVE], PAUSED, None),
        ([PAUSED], ARCHIVED, None),
        ([ARCHIVED], ACTIVE, "is archived; only an agent that is paused can become active"),
        ([ARCHIVED], PAUSED, "is archived; only an agent that is active can become paused"),
        ([ARCHIVED], ARCHIVED, "is already archived"),
    ],
)
async def test_status_changes(
    make_agent: Make,
    change_status: ChangeStatus,
    path: list[AgentStatus],
    wanted: AgentStatus,
    refusal: str | None,
) -> None:
    await make_agent("default")
    agent = await make_agent("luke")
    for status in path:
        await change_status(agent, status)

    if refusal is None:
        assert (await change_status(agent, wanted)).status is wanted
    else:
        with pytest.raises(Conflict, match=refusal):
            await change_status(agent, wanted)


async def test_the_default_agent_cannot_be_archived(make_agent: Make, change_status: ChangeStatus) -> None:
    kyra = await make_agent("kyra")

    with pytest.raises(Conflict, match="default agent"):
        await change_status(kyra, ARCHIVED)


async def test_an_agent_of_another_team_is_not_found(
    make_agent: Make, transaction: Transactions, actor: Actor, kinds: Kinds
) -> None:
    kyra = await make_agent("kyra")
    async with transaction() as session:
        other = await teams.create(session, slug="others", name="Others", actor=actor)

    with pytest.raises(NotFound):
        async with transaction() as session:
            await service.change_status(session, team_id=other.id, agent_id=kyra.id, wanted=PAUSED, actor=actor)
    with pytest.raises(NotFound):
        async with transaction() as session:
            await service.update_fields(
                session, team_id=other.id, agent_id=kyra.id, fields={"name": "Mine"}, actor=actor
            )
    assert await kinds() == ["agent.created"]


async def test_an_update_changes_the_given_fields_and_raises_the_version(
    make_agent: Make, transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    kyra = await make_agent("kyra", role="Helps", skills=(SkillSpec(name="Planning"),))

    async with transaction() as session:
        fields = {"tagline": "Hello", "skills": [{"name": "SQL", "description": "Writes queries"}]}
        await service.update_fields(session, team_id=team.id, agent_id=kyra.id, fields=fields, actor=actor)

    async with transaction() as session:
        found = await service.update_fields(session, team_id=team.id, agent_id=kyra.id, fields={}, actor=actor)
        spec = await service.spec_of(session, found)
    assert (spec.tagline, spec.role, [skill.name for skill in spec.skills]) == ("Hello", "Helps", ["SQL"])
    assert found.version == 2
    assert await kinds() == ["agent.created", "agent.updated"]


async def test_of_ten_updates_of_one_version_at_once_one_wins(
    make_agent: Make, transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    kyra = await make_agent("kyra")

    async def rename(name: str) -> None:
        async with transaction() as session:
            await service.update_fields(
                session, team_id=team.id, agent_id=kyra.id, fields={"name": name}, actor=actor, expected_version=1
            )

    outcomes = await asyncio.gather(*(rename(f"Kyra {n}") for n in range(10)), return_exceptions=True)

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 9
    assert await kinds() == ["agent.created", "agent.updated"]


async def test_a_bad_update_changes_nothing(
    make_agent: Make, transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    kyra = await make_agent("kyra")

    with pytest.raises(InvalidInput):
        async with transaction() as session:
            await service.update_fields(
                session, team_id=team.id, agent_id=kyra.id, fields={"name": "", "tagline": "x"}, actor=actor
            )

    assert await kinds() == ["agent.created"]


async def test_an_unknown_agent_is_not_found(transaction: Transactions, team: Team, actor: Actor) -> None:
    missing: UUID = new_id()

    with pytest.raises(NotFound):
        async with transaction() as session:
            await service.change_status(session, team_id=team.id, agent_id=missing, wanted=PAUSED, actor=actor)
