"""A team's handoff rules are replaced by difference, all or none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from app.agents import service as agents
from app.agents.models import AgentStatus
from app.agents.spec import AgentSpec
from app.db.transaction import Transactions
from app.errors import InvalidInput
from app.events.log import Actor
from app.handoffs import service
from app.handoffs.changes import RuleChanges
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
    kept = next(rule_id for rule_id, rule in before.items() if rule == DRAFTED)
    assert after[kept] == urgent
    assert (await kinds())[3:] == ["team.handoff_rules_changed"] * 2


async def test_the_same_rules_again_are_no_event(replace: Replace, kinds: Kinds) -> None:
    await replace(DRAFTED, FAILED)

    assert not await replace(FAILED, DRAFTED)
    assert (await kinds())[3:] == ["team.handoff_rules_changed"]


async def test_bad_rules_change_nothing_and_are_all_named(replace: Replace, kinds: Kinds) -> None:
    await replace(DRAFTED)
    unknown = HandoffRuleSpec(from_agent="nobody", to_agent="writer", condition="n > {{ limit }}")

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
