"""Groups over the API: formed, nested, given work, dissolved; under races and with bad input."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.agents import service as agents
from app.agents.spec import parse_agent
from app.auth.roles import Role
from app.events.log import SYSTEM
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

SAVE = """mutation ($i: SaveGroupInput!) { result: saveGroup(input: $i) {
    __typename
    ... on GroupPayload { group { id slug requiredSkills coordinator { slug } parent { slug }
        agents(orderBy: {field: SLUG}) { nodes { slug } } subgroups { nodes { slug } } } }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path } }
    ... on CycleDetected { chain }
} }"""
DISSOLVE = "mutation ($i: ID!) { result: dissolveGroup(input: {groupId: $i}) { __typename ... on Refusal { code } } }"
DELEGATE = """mutation ($i: DelegateTaskInput!) { result: delegateTask(input: $i) {
    __typename
    ... on TaskPayload { task { assignee { slug } pickedBecause group { slug } } }
    ... on Refusal { code message }
    ... on AgentUnavailable { reason }
} }"""


@pytest.fixture
async def ids(parley: Parley) -> dict[str, str]:
    """Agents by slug: kyra and luke, and four who can do something in particular. Delegation is on."""
    skills = {"ada": "PostgreSQL databases", "ben": "French translation", "cyd": "Tax law", "dan": "Web design"}
    made = {"kyra": parley.home.kyra.id, "luke": parley.home.luke.id}
    async with parley.transaction() as session:
        for slug, skill in skills.items():
            spec = parse_agent({"slug": slug, "name": slug.title(), "skills": [{"name": skill}]})
            made[slug] = (await agents.create(session, team_id=parley.home.id, spec=spec, actor=SYSTEM)).id
    flag = "mutation { setFeatureFlags(input: {flags: [{flag: TASK_DELEGATION, enabled: true}]}) { __typename } }"
    await parley.run(flag)
    return {slug: to_global(Prefix.AGENT, one) for slug, one in made.items()}


async def save(parley: Parley, slug: str, role: Role = Role.ADMIN, **more: Any) -> Any:
    given = {"slug": slug, "name": slug.title(), **more}
    return (await parley.run(SAVE, {"i": given}, role=role))["result"]


async def delegate(parley: Parley, creator: str, group: str, instructions: str = "Do it.", **more: Any) -> Any:
    given = {"type": "RESEARCH", "title": "Work", "instructions": instructions, "creatorId": creator, "groupId": group}
    return (await parley.run(DELEGATE, {"i": given | more}))["result"]


async def test_groups_are_formed_nested_given_work_and_dissolved(parley: Parley, ids: dict[str, str]) -> None:
    office = (await save(parley, "office", agentIds=[ids["cyd"]], coordinatorId=ids["luke"]))["group"]
    crew = (await save(parley, "crew", parentId=office["id"], requiredSkills=["postgresql databases", "Web design"]))[
        "group"
    ]
    assert [one["slug"] for one in crew["agents"]["nodes"]] == ["ada", "dan"]
    assert (crew["parent"]["slug"], crew["coordinator"]) == ("office", None)
    again = await save(parley, "crew", parentId=office["id"], agentIds=[ids["ada"], ids["ben"], ids["dan"]])
    assert again["group"]["id"] == crew["id"]
    assert again["group"]["requiredSkills"] == []

    led = await delegate(parley, ids["kyra"], office["id"])
    matched = await delegate(parley, ids["kyra"], crew["id"], "Tune our PostgreSQL databases.")
    french = await delegate(parley, ids["kyra"], crew["id"], "Please write a French translation of this letter.")
    own = await delegate(parley, ids["luke"], office["id"], "A question on tax law.")
    why = "Luke coordinates the group 'office'."
    assert led["task"] == {"assignee": {"slug": "luke"}, "pickedBecause": why, "group": {"slug": "office"}}
    assert [one["task"]["assignee"]["slug"] for one in (matched, french, own)] == ["ada", "ben", "cyd"]
    assert "skills match best of 3 free members of the group 'crew'" in matched["task"]["pickedBecause"]
    read = """{ agent(slug: "ada") { groups { nodes { slug } } }
        groups { totalCount nodes { slug tasks { totalCount } } } }"""
    found = await parley.run(read)
    assert found["agent"]["groups"]["nodes"] == [{"slug": "crew"}]
    assert [one["tasks"]["totalCount"] for one in found["groups"]["nodes"]] == [2, 2]
    moved = """mutation ($i: ReassignTaskInput!) { reassignTask(input: $i) {
        ... on TaskPayload { task { pickedBecause group { slug } } } } }"""
    first = to_global(Prefix.TASK, await parley.value("select id from task where picked_because like 'Cyd%'"))
    given = {"taskId": first, "assigneeId": ids["dan"]}
    assert (await parley.run(moved, {"i": given}))["reassignTask"]["task"] == {
        "pickedBecause": "It was reassigned to Dan by admin key.",
        "group": {"slug": "office"},
    }
    allowed = await parley.value("select cardinality(allowed_agents) from task where picked_because like 'Luke%'")
    assert allowed == 5

    by_slug = '{ group(slug: "office") { id coordinator { slug } } }'
    assert (await parley.run(by_slug))["group"] == {"id": office["id"], "coordinator": {"slug": "luke"}}
    assert (await parley.run(DISSOLVE, {"i": office["id"]}))["result"]["__typename"] == "GroupPayload"
    assert (await parley.run(by_slug))["group"] is None
    assert (await parley.run(DISSOLVE, {"i": office["id"]}))["result"]["code"] == "CONFLICT"
    assert (await delegate(parley, ids["kyra"], office["id"]))["code"] == "CONFLICT"
    assert (await parley.run('{ groups(where: {slug: {eq: "crew"}}) { nodes { parentId } } }'))["groups"]["nodes"] == [
        {"parentId": None}
    ]
    assert (await save(parley, "office", agentIds=[ids["cyd"]]))["group"]["id"] != office["id"]


async def test_what_cannot_be_is_refused(parley: Parley, ids: dict[str, str]) -> None:
    outer = (await save(parley, "outer"))["group"]["id"]
    inner = (await save(parley, "inner", parentId=outer))["group"]["id"]
    before = await parley.value("select count(*) from event")

    round_trip = await save(parley, "outer", parentId=inner)
    assert (round_trip["code"], round_trip["chain"]) == ("CYCLE_DETECTED", ["outer", "inner", "outer"])
    assert (await save(parley, "outer", parentId=outer))["chain"] == ["outer", "outer"]
    assert (await save(parley, "No Slug"))["problems"] == [{"path": "slug"}]
    assert (await save(parley, "x", requiredSkills=["flying"]))["problems"] == [{"path": "requiredSkills"}]
    both = await save(parley, "x", requiredSkills=["Tax law"], agentIds=[ids["ada"]])
    assert both["problems"] == [{"path": "requiredSkills"}]
    assert (await save(parley, "x", Role.OPERATOR))["code"] == "FORBIDDEN"
    assert (await delegate(parley, ids["kyra"], outer))["code"] == "CONFLICT"
    assert (await delegate(parley, ids["kyra"], outer, assigneeId=ids["ada"]))["code"] == "INVALID_INPUT"
    assert await parley.value("select count(*) from event") == before
    assert (await save(parley, "inner", parentId=outer))["group"]["id"] == inner
    assert await parley.value("select count(*) from event") == before


async def test_at_once(parley: Parley, ids: dict[str, str]) -> None:
    """Two who would nest groups in each other: one is refused. Twelve tasks: ten find a place, evenly."""
    first, second = [(await save(parley, slug))["group"]["id"] for slug in ("first", "second")]
    nested = await asyncio.gather(save(parley, "first", parentId=second), save(parley, "second", parentId=first))
    assert sorted(one["__typename"] for one in nested) == ["CycleDetected", "GroupPayload"]

    pair = (await save(parley, "pair", agentIds=[ids["ada"], ids["ben"]]))["group"]["id"]
    done = await asyncio.gather(*(delegate(parley, ids["kyra"], pair, f"Number {one}.") for one in range(12)))
    assert sorted(one.get("reason", "") for one in done) == ["", *[""] * 9, "AT_CAPACITY", "AT_CAPACITY"]
    taken = [one["task"]["assignee"]["slug"] for one in done if "task" in one]
    assert (taken.count("ada"), taken.count("ben")) == (5, 5)
