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
from app.groups.service import groups_of
from app.team_files.queries import agents_by_slug
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from app.teams.models import Team
from tests.app.conftest import Kinds
from tests.app.team_files.conftest import Apply, Export


async def test_a_file_makes_the_whole_team(apply_file: Apply, export_file: Export, kinds: Kinds, pair: str) -> None:
    result = await apply_file(pair)

    assert result.created == ("writer", "reviewer")
    assert result.changed_team_fields == ("context_variables", "runtime_variables", "default_agent")
    assert [rule.to_agent for rule in result.rule_changes.added] == ["reviewer"]
    assert await kinds() == ["agent.created", "agent.created", "team.updated", "team.handoff_rules_changed"]
    assert "default_agent: writer" in await export_file()


GATE = """
groups:
  - {name: Readers, agents: [reviewer]}
collaboration_templates:
  - name: Gate
    pattern: peer_review
    participants:
      - {agent: writer, role: worker, instructions: Be brief.}
      - {group: Readers, role: reviewer}
    max_rounds: 2
    max_cost_usd: 0.25
    review_timeout_seconds: 60
"""


async def test_rules_and_templates_name_groups_of_the_file(
    apply_file: Apply, export_file: Export, kinds: Kinds, pair: str
) -> None:
    text = pair.replace("to_agent: reviewer", "to_group: readers") + GATE

    result = await apply_file(text)
    written = await export_file()
    before = await kinds()

    assert result.changed_team_fields[-2:] == ("groups", "collaboration_templates")
    assert [rule.to_group for rule in result.rule_changes.added] == ["readers"]
    assert "to_group: readers" in written
    assert "collaboration_templates:\n  - pattern: peer_review\n" in written
    for again in (text, written):
        assert not (await apply_file(again)).changed
    assert await kinds() == before
    assert (await apply_file(text.replace("max_rounds: 2", "max_rounds: 3"))).changed_team_fields == (
        "collaboration_templates",
    )
    for broken, line, path, words in (
        (text.replace("to_group: readers", "to_group: raders"), 12, "handoffs.0.to_group", "did you mean 'readers'?"),
        (text.replace("group: Readers", "group: Raders"), 21, "collaboration_templates.0.participants.1.group",
         "there is no group 'raders'; did you mean 'readers'?"),
        (text.replace("role: worker", "role: reviewer"), 19, "collaboration_templates.0.participants",
         "needs exactly 1 participants with the role worker; there are 0"),
        (text.replace("peer_review", "peer_revew"), 18, "collaboration_templates.0.pattern", "mean peer_review?"),
        (text.replace("agent: writer, role", "agent: writer, group: Readers, role"), 20,
         "collaboration_templates.0.participants.0.agent", "only one of them"),
        (text.replace("max_rounds: 2", "threshold: 0.9"), 17, "collaboration_templates.0.options", "consensus only"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as refused:
            await apply_file(broken)
        assert [(one["line"], one["path"]) for one in refused.value.problems] == [(line, path)], broken
        assert words in refused.value.problems[0]["message"]
    assert await kinds() == [*before, "team.updated"]


async def test_a_template_of_an_archived_agent_is_out_of_play(
    apply_file: Apply, export_file: Export, pair: str
) -> None:
    await apply_file(pair + GATE)
    await apply_file("name: Writers\nagents: [{name: writer}]\nhandoffs: []\ngroups: []", prune=True)

    written = await export_file()

    assert "collaboration_templates" not in written
    assert not (await apply_file(written)).changed


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

    assert [(problem["line"], problem["path"]) for problem in caught.value.problems] == [(9, "agents.1.slug")]
    assert await kinds() == before


async def test_variables_that_staying_rules_use_cannot_be_taken_away(apply_file: Apply, pair: str) -> None:
    await apply_file(pair)

    with pytest.raises(InvalidInput) as caught:
        await apply_file("name: Writers\ncontext_variables: {strict: true}")

    assert caught.value.problems[0]["line"] == 2
    assert "'min_words'" in caught.value.problems[0]["message"]


async def test_rules_may_use_variables_that_the_team_already_has(apply_file: Apply, pair: str) -> None:
    await apply_file(pair)
    rules = 'handoffs:\n  - {from_agent: a, to_agent: previous_agent, condition: "word_count > {{ %s }}"}\n'

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

    assert [(problem["line"], problem["path"]) for problem in caught.value.problems] == [(10, "agents.1.type")]
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


GROUPED = """name: Writers
agents:
  - name: kyra
  - name: luke
  - name: writer_a
groups:
  - name: Front office
    coordinator: kyra
    agents: [writer_a, luke]
  - slug: desk
    name: The desk
    parent: Front office
    agents: [luke]
"""


async def test_groups_come_from_the_file_and_go_with_it(
    transaction: Transactions, team: Team, apply_file: Apply, export_file: Export, kinds: Kinds
) -> None:
    first = await apply_file(GROUPED)
    again = await apply_file(GROUPED)
    async with transaction() as session:
        saved = await groups_of(session, team.id)
    back = await apply_file(await export_file())

    assert first.changed_team_fields[-1] == "groups"
    assert (again.changed, back.changed) == (False, False)
    assert list(saved) == ["front-office", "desk"]
    assert saved["front-office"].agents == ("luke", "writer-a")
    assert saved["desk"].parent == "front-office"
    assert (await apply_file("name: Writers\n")).changed is False
    assert (await apply_file("name: Writers\ngroups: []\n")).changed_team_fields == ("groups",)
    async with transaction() as session:
        assert await groups_of(session, team.id) == {}
    told = await kinds()
    assert (told.count("group.saved"), told.count("group.dissolved")) == (2, 2)


async def test_groups_that_do_not_fit_are_told_with_their_lines(apply_file: Apply, kinds: Kinds) -> None:
    wrong = GROUPED.replace("parent: Front office", "parent: desk").replace("agents: [luke]", "agents: [lucke]")
    with pytest.raises(InvalidInput) as refused:
        await apply_file(wrong)

    assert [(one["line"], one["path"]) for one in refused.value.problems] == [
        (12, "groups.1.parent"),
        (13, "groups.1.agents.0"),
    ]
    assert await kinds() == []
