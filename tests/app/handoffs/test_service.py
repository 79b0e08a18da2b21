"""A team's handoff rules are saved in versions, and replaced by difference, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from app.agents import service as agents
from app.agents.models import AgentStatus
from app.agents.spec import AgentSpec
from app.clock import now
from app.db.transaction import Transactions
from app.errors import Conflict, InvalidInput, NotFound
from app.events.log import Actor
from app.handoffs import service
from app.handoffs.changes import RuleChanges
from app.handoffs.errors import InvalidCondition
from app.handoffs.models import HandoffRule
from app.handoffs.service import RuleDraft
from app.handoffs.spec import HandoffRuleSpec
from app.team_files.queries import agents_by_slug
from app.teams import service as teams
from app.teams.models import Team
from tests.app.conftest import Kinds

Replace = Callable[..., Awaitable[RuleChanges]]
DRAFTED = HandoffRuleSpec(from_agent="writer", to_agent="reviewer", condition="draft complete")
REJECTED = HandoffRuleSpec(from_agent="reviewer", to_agent="previous_agent", condition="revisions needed")
FAILED = HandoffRuleSpec(from_agent="any_agent", to_agent="writer", condition="error detected", priority=10)


@pytest.fixture
async def replace(transaction: Transactions, team: Team, actor: Actor) -> Replace:
    """Replaces the rules of a team with the agents writer, reviewer and publisher."""
    async with transaction() as session:
        for slug in ("writer", "reviewer", "publisher"):
            await agents.create(session, team_id=team.id, spec=AgentSpec(slug=slug, name=slug), actor=actor)

    async def run(*rules: HandoffRuleSpec) -> RuleChanges:
        async with transaction() as session:
            locked = await teams.lock(session, team.id)
            return await service.replace(session, team=locked, rules=rules, actor=actor)

    return run


async def test_rules_are_read_back_by_priority_then_age(
    replace: Replace, transaction: Transactions, team: Team
) -> None:
    await replace(DRAFTED, REJECTED, FAILED)

    async with transaction() as session:
        assert list((await service.rules_of(session, team.id)).values()) == [FAILED, DRAFTED, REJECTED]


async def test_only_what_differs_is_touched(
    replace: Replace, transaction: Transactions, team: Team, kinds: Kinds
) -> None:
    await replace(DRAFTED, REJECTED)
    async with transaction() as session:
        before = await service.rules_of(session, team.id)
    urgent = DRAFTED.model_copy(update={"priority": 5})

    changes = await replace(urgent, FAILED)

    assert changes == RuleChanges(added=(FAILED,), removed=(REJECTED,), reprioritised=(urgent,))
    async with transaction() as session:
        after = await service.rules_of(session, team.id)
        first = next(rule_id for rule_id, rule in before.items() if rule == DRAFTED)
        second = await session.get_one(HandoffRule, next(rule_id for rule_id, rule in after.items() if rule == urgent))
    assert (second.first_id, second.version) == (first, 2)
    assert (await kinds())[3:] == ["team.handoff_rules_changed"] * 2


async def test_the_same_rules_again_are_no_event(replace: Replace, kinds: Kinds) -> None:
    await replace(DRAFTED, FAILED)

    assert not await replace(FAILED, DRAFTED)
    assert (await kinds())[3:] == ["team.handoff_rules_changed"]


async def test_bad_rules_change_nothing_and_are_all_named(replace: Replace, kinds: Kinds) -> None:
    await replace(DRAFTED)
    unknown = HandoffRuleSpec(from_agent="nobody", to_agent="writer", condition="n > 1")

    with pytest.raises(InvalidInput) as caught:
        await replace(FAILED, unknown, FAILED)

    assert [problem["path"] for problem in caught.value.problems] == [
        "handoffs.1.from_agent",
        "handoffs.1.condition",
        "handoffs.2",
    ]
    assert (await kinds())[3:] == ["team.handoff_rules_changed"]


async def test_a_rule_of_an_archived_agent_is_out_of_play(
    replace: Replace, transaction: Transactions, team: Team, actor: Actor
) -> None:
    await replace(DRAFTED, FAILED)
    async with transaction() as session:
        reviewer = (await agents_by_slug(session, team.id))["reviewer"]
        await agents.change_status(
            session, team_id=team.id, agent_id=reviewer.id, wanted=AgentStatus.ARCHIVED, actor=actor
        )

    assert not await replace(FAILED)
    with pytest.raises(InvalidInput, match="do not fit"):
        await replace(FAILED, DRAFTED)


Save = Callable[..., Awaitable[HandoffRule]]


@pytest.fixture
def save(replace: Replace, transaction: Transactions, team: Team, actor: Actor) -> Save:
    """Saves a rule between agents that are named by slug."""

    async def run(
        condition: str,
        *,
        rule_id: UUID | None = None,
        source: str = "writer",
        target: str = "reviewer",
        priority: int = 1,
    ) -> HandoffRule:
        async with transaction() as session:
            ids = {slug: agent.id for slug, agent in (await agents_by_slug(session, team.id)).items()}
            draft = RuleDraft(ids.get(source), ids.get(target), condition, priority)
            return await service.save(session, team_id=team.id, rule_id=rule_id, draft=draft, actor=actor)

    return run


async def test_a_rule_is_saved_in_versions_and_work_under_way_keeps_the_older(
    save: Save, transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    first = await save("draft complete")
    began = now()
    second = await save("draft complete and approved", rule_id=first.id)
    same = await save("draft complete and approved", rule_id=first.id)
    third = await save("draft complete and approved", rule_id=second.id, priority=7)

    assert (second.version, second.first_id, same.id) == (2, first.id, second.id)
    assert (third.version, third.first_id) == (3, first.id)
    async with transaction() as session:
        assert list(await service.rules_of(session, team.id)) == [third.id]
        assert list(await service.rules_of(session, team.id, at=began)) == [first.id]
        await service.delete(session, team_id=team.id, rule_id=first.id, actor=actor)
    async with transaction() as session:
        assert await service.rules_of(session, team.id) == {}
        with pytest.raises(NotFound):
            await service.delete(session, team_id=team.id, rule_id=first.id, actor=actor)
    assert (await kinds())[3:] == ["team.handoff_rules_changed"] * 4


async def test_a_rule_that_cannot_be_saved_is_refused_with_its_place(save: Save, kinds: Kinds) -> None:
    await save("draft complete")

    with pytest.raises(InvalidCondition, match="line 1, column 15: there is no variable 'many'"):
        await save("step_count >= many")
    with pytest.raises(InvalidCondition, match="did you mean 'writer_load'"):
        await save("wirter_load < 3")
    with pytest.raises(Conflict, match="already"):
        await save("draft complete", priority=3)
    with pytest.raises(InvalidInput, match="cannot be taken"):
        await save("approved", source="writer", target="writer")
    with pytest.raises(InvalidInput, match="cannot be taken"):
        await save("approved", priority=0)
    with pytest.raises(NotFound):
        await save("approved", rule_id=UUID(int=0))
    assert (await kinds())[3:] == ["team.handoff_rules_changed"]


async def test_versions_saved_at_once_take_turns(save: Save, transaction: Transactions, team: Team) -> None:
    first = await save("draft complete")

    made = await asyncio.gather(*(save(f"draft {number} complete", rule_id=first.id) for number in range(5)))

    assert sorted(rule.version for rule in made) == [2, 3, 4, 5, 6]
    async with transaction() as session:
        assert len(await service.rules_of(session, team.id)) == 1
