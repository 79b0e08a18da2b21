"""A team file is applied whole or not at all, and only what differs is changed."""

from __future__ import annotations

import asyncio

import pytest

from app.agents import service as agents
from app.agents.models import AgentStatus
from app.agents.spec import AgentSpec
from app.db.transaction import Transactions
from app.errors import Conflict, InvalidInput
from app.events.log import Actor
from app.team_files.queries import agents_by_slug
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from app.teams.models import Team
from tests.app.conftest import Kinds
from tests.app.team_files.conftest import Apply, Export


async def test_a_file_makes_the_whole_team(apply_file: Apply, export_file: Export, kinds: Kinds, pair: str) -> None:
    result = await apply_file(pair)

    assert result.created == ("writer", "reviewer")
    assert result.changed_team_fields == ("context_variables", "default_agent")
    assert [rule.to_agent for rule in result.rule_changes.added] == ["reviewer"]
    assert await kinds() == ["agent.created", "agent.created", "team.updated", "team.handoff_rules_changed"]
    assert "default_agent: writer" in await export_file()


async def test_applying_again_changes_nothing_and_tells_nobody(apply_file: Apply, kinds: Kinds, pair: str) -> None:
    await apply_file(pair)
    before = await kinds()

    result = await apply_file(pair)

    assert not result.changed
    assert result.unchanged == ("writer", "reviewer")
    assert await kinds() == before


async def test_only_what_differs_is_changed(apply_file: Apply, kinds: Kinds, pair: str) -> None:
    await apply_file(pair)
    before = await kinds()

    result = await apply_file(pair.replace("role: Writes", "role: Writes well").replace('}}"}', '}}", priority: 7}'))

    assert (result.updated, result.unchanged, result.created) == (("writer",), ("reviewer",), ())
    assert result.changed_fields == {"writer": ("role",)}
    assert [rule.priority for rule in result.rule_changes.reprioritised] == [7]
    assert (await kinds())[len(before) :] == ["agent.updated", "team.handoff_rules_changed"]


async def test_a_variable_that_changes_from_one_to_true_has_changed(apply_file: Apply, export_file: Export) -> None:
    await apply_file("name: Writers\ncontext_variables: {strict: 1}")

    result = await apply_file("name: Writers\ncontext_variables: {strict: true}")

    assert result.changed_team_fields == ("context_variables",)
    assert "strict: true" in await export_file()


async def test_sections_that_are_not_mentioned_stay(apply_file: Apply, export_file: Export, pair: str) -> None:
    await apply_file(pair + "feature_flags: {expert_gate: true}\n")
    before = await export_file()

    result = await apply_file("name: Writers\nagents: [{name: publisher}]")

    assert result.created == ("publisher",)
    after = await export_file()
    assert before.split("agents:")[0] == after.split("agents:")[0]
    assert before.split("handoffs:")[1] == after.split("handoffs:")[1]


async def test_a_mentioned_section_is_taken_whole(
    apply_file: Apply, transaction: Transactions, team: Team, actor: Actor, pair: str
) -> None:
    await apply_file(pair)
    async with transaction() as session:
        await teams.set_flags(session, team_id=team.id, changes={FeatureFlag.ENSEMBLE_MODE: True}, actor=actor)

    result = await apply_file("name: Writers\nhandoffs: []\ncontext_variables: {}\nfeature_flags: {expert_gate: false}")

    assert len(result.rule_changes.removed) == 1
    assert result.changed_team_fields == ("context_variables", "feature_flags")
    async with transaction() as session:
        assert (await teams.lock(session, team.id)).flags == {"expert_gate": False}


async def test_budgets_are_set_stay_when_left_out_and_go_back(
    apply_file: Apply, export_file: Export, kinds: Kinds, pair: str
) -> None:
    await apply_file(pair)
    before = await kinds()

    results = [await apply_file(pair + more) for more in ("budgets: {day_usd: 1.5}\n", "", "budgets: {}\n")]

    assert [result.changed_team_fields for result in results] == [("budgets",), (), ("budgets",)]
    assert (await kinds())[len(before) :] == ["team.budgets_changed", "team.budgets_changed"]
    assert "budgets" not in await export_file()


async def test_agents_that_the_file_does_not_name_are_left_alone(apply_file: Apply, pair: str) -> None:
    await apply_file(pair)

    result = await apply_file("name: Writers\nagents: [{name: publisher}]")

    assert (result.created, result.archived) == (("publisher",), ())


async def test_prune_archives_them_with_their_rules(apply_file: Apply, kinds: Kinds, pair: str) -> None:
    await apply_file(pair)
    before = await kinds()

    result = await apply_file("name: Writers\nagents: [{name: writer, role: Writes}]", prune=True)

    assert result.archived == ("reviewer",)
    assert len(result.rule_changes.removed) == 1
    assert (await kinds())[len(before) :] == ["agent.updated", "team.handoff_rules_changed", "agent.archived"]


async def test_prune_may_replace_the_default_agent_by_name_only(apply_file: Apply, kinds: Kinds, pair: str) -> None:
    await apply_file(pair)
    before = await kinds()
    only_reviewer = "name: Writers\nagents: [{name: reviewer, type: reviewer}]\n"

    with pytest.raises(InvalidInput) as caught:
        await apply_file(only_reviewer, prune=True)
    assert caught.value.problems[0]["path"] == "default_agent"
    assert await kinds() == before

    result = await apply_file(only_reviewer + "default_agent: reviewer", prune=True)
    assert result.archived == ("writer",)


async def test_an_archived_agent_keeps_its_slug(apply_file: Apply, kinds: Kinds, pair: str) -> None:
    await apply_file(pair)
    await apply_file("name: Writers\nagents: [{name: writer}]", prune=True)
    before = await kinds()

    with pytest.raises(InvalidInput) as caught:
        await apply_file(pair)

    assert [(problem["line"], problem["path"]) for problem in caught.value.problems] == [(8, "agents.1.slug")]
    assert await kinds() == before


async def test_variables_that_staying_rules_use_cannot_be_taken_away(apply_file: Apply, pair: str) -> None:
    await apply_file(pair)

    with pytest.raises(InvalidInput) as caught:
        await apply_file("name: Writers\ncontext_variables: {strict: true}")

    assert caught.value.problems[0]["line"] == 2
    assert "'min_words'" in caught.value.problems[0]["message"]


async def test_rules_may_use_variables_that_the_team_already_has(apply_file: Apply, pair: str) -> None:
    await apply_file(pair)
    rules = 'handoffs:\n  - {from_agent: a, to_agent: previous_agent, condition: "n > {{ %s }}"}\n'

    result = await apply_file("name: Writers\nagents: [{name: a}]\n" + rules % "min_words")
    with pytest.raises(InvalidInput) as caught:
        await apply_file("name: Writers\nagents: [{name: a}]\n" + rules % "min_wrds")

    assert len(result.rule_changes.added) == 1
    assert [(problem["line"], problem["path"]) for problem in caught.value.problems] == [(4, "handoffs.0.condition")]


async def test_a_bad_file_changes_nothing(apply_file: Apply, export_file: Export, kinds: Kinds, pair: str) -> None:
    await apply_file(pair)
    before = await export_file(), await kinds()

    with pytest.raises(InvalidInput) as caught:
        await apply_file(pair.replace("role: Writes", "role: changed").replace("type: reviewer", "type: revewer"))

    assert [(problem["line"], problem["path"]) for problem in caught.value.problems] == [(9, "agents.1.type")]
    assert (await export_file(), await kinds()) == before


async def test_a_dry_run_tells_but_changes_nothing(
    apply_file: Apply, export_file: Export, kinds: Kinds, pair: str
) -> None:
    before = await export_file()

    result = await apply_file(pair, dry_run=True)

    assert result.created == ("writer", "reviewer")
    assert (await export_file(), await kinds()) == (before, [])
    assert await apply_file(pair) == result


async def test_two_at_once_give_one_result(apply_file: Apply, kinds: Kinds, pair: str) -> None:
    results = await asyncio.gather(*(apply_file(pair) for _ in range(8)))

    assert sorted(len(result.created) for result in results) == [0] * 7 + [2]
    assert await kinds() == ["agent.created", "agent.created", "team.updated", "team.handoff_rules_changed"]


async def test_whoever_holds_the_team_can_make_an_agent_that_another_is_just_making(
    transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    held = asyncio.Event()
    spec = AgentSpec(slug="writer", name="writer")

    async def holder() -> None:
        async with transaction() as session:
            await teams.lock(session, team.id)
            held.set()
            await asyncio.sleep(0.3)  # the other is at the database by now
            await agents.create(session, team_id=team.id, spec=spec, actor=actor)

    async def other() -> None:
        await held.wait()
        async with transaction() as session:
            await agents.create(session, team_id=team.id, spec=spec, actor=actor)

    outcomes = await asyncio.gather(holder(), other(), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [type(None), Conflict]
    assert await kinds() == ["agent.created"]


async def test_status_is_not_the_files_business(
    apply_file: Apply, transaction: Transactions, team: Team, actor: Actor, pair: str
) -> None:
    await apply_file(pair)
    async with transaction() as session:
        writer = (await agents_by_slug(session, team.id))["writer"]
        await agents.change_status(session, team_id=team.id, agent_id=writer.id, wanted=AgentStatus.PAUSED, actor=actor)

    result = await apply_file(pair)

    assert not result.changed
