"""Agents over GraphQL: created, changed, paused, resumed, archived, and every refusal on the way."""

from __future__ import annotations

import pytest

from app.auth.roles import Role
from tests.fixtures.parley import Parley

CREATE = """
mutation ($input: CreateAgentInput!) {
  createAgent(input: $input) {
    __typename
    ... on AgentPayload {
      eventCursor
      agent { id slug name tagline status type customType tools modelTier runtime version skills { name description } }
    }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path message } }
    ... on Forbidden { permission roles }
  }
}
"""
UPDATE = """
mutation ($input: UpdateAgentInput!) {
  updateAgent(input: $input) {
    __typename
    ... on AgentPayload { agent { name tagline version traits { humor formality } skills { name } } }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path message } }
  }
}
"""
STATUS = """
mutation ($id: ID!) {
  result: %s(input: {agentId: $id, reason: "test"}) {
    __typename
    ... on AgentPayload { agent { status archivedAt } }
    ... on Refusal { code message }
  }
}
"""


async def test_created_agent_is_returned_and_can_be_read(parley: Parley) -> None:
    given = {
        "slug": "ada", "name": "Ada", "tagline": "Numbers", "skills": [{"name": "SQL", "description": "Queries"}],
        "type": "CUSTOM", "customType": "analyst", "tools": ["search"], "modelTier": 2, "runtime": "EXTERNAL",
    }  # fmt: skip

    made = (await parley.run(CREATE, {"input": given}))["createAgent"]

    assert made["__typename"] == "AgentPayload"
    assert made["eventCursor"]
    assert made["agent"] | {"id": ""} == {
        "id": "", "slug": "ada", "name": "Ada", "tagline": "Numbers", "status": "ACTIVE", "type": "CUSTOM",
        "customType": "analyst", "tools": ["search"], "modelTier": 2, "runtime": "EXTERNAL", "version": 1,
        "skills": [{"name": "SQL", "description": "Queries"}],
    }  # fmt: skip
    read = await parley.run('{ agent(slug: "ada") { id name team { slug } } }')
    assert read["agent"] == {"id": made["agent"]["id"], "name": "Ada", "team": {"slug": "home"}}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"slug": "Ada!"}, "slug"),
        ({"slug": "a" * 64}, "slug"),
        ({"slug": "team"}, "slug"),
        ({"name": " "}, "name"),
        ({"personality": "x" * 8_001}, "personality"),
        ({"modelTier": 3}, "modelTier"),
        ({"traits": {"humor": 1.5}}, "traits.humor"),
        ({"skills": [{"name": "a"}, {"name": "A"}]}, "skills"),
        ({"skills": [{"name": str(n)} for n in range(51)]}, "skills"),
        ({"type": "CUSTOM"}, "customType"),
        ({"tools": ["a\u0000b"]}, "tools.0"),
        ({"name": "nul\u0000"}, "name"),
    ],
)
async def test_bad_field_is_named_and_nothing_is_created(parley: Parley, change: dict[str, object], path: str) -> None:
    before = await parley.value("select count(*) from agent")

    refused = (await parley.run(CREATE, {"input": {"slug": "ada", "name": "Ada"} | change}))["createAgent"]

    assert refused["__typename"] == "InvalidInput"
    assert [problem["path"] for problem in refused["problems"]] == [path]
    assert await parley.value("select count(*) from agent") == before


async def test_taken_slug_is_a_conflict(parley: Parley) -> None:
    refused = (await parley.run(CREATE, {"input": {"slug": "kyra", "name": "Second"}}))["createAgent"]

    assert refused["__typename"] == "Conflict"
    assert "already has an agent 'kyra'" in refused["message"]


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ANALYST, Role.AGENT])
async def test_wrong_role_is_forbidden_and_nothing_is_created(parley: Parley, role: Role) -> None:
    before = await parley.value("select count(*) from agent")

    refused = (await parley.run(CREATE, {"input": {"slug": "ada", "name": "Ada"}}, role=role))["createAgent"]

    assert refused["__typename"] == "Forbidden"
    assert refused["permission"] == "WRITE_AGENTS"
    assert refused["roles"] == ["ADMIN", "INTEGRATOR"]
    assert await parley.value("select count(*) from agent") == before


async def test_update_changes_only_what_is_given(parley: Parley) -> None:
    given = {"agentId": parley.home.agent_id, "tagline": "new", "traits": {"humor": 0.9}}

    changed = (await parley.run(UPDATE, {"input": given}))["updateAgent"]["agent"]

    assert changed == {
        "name": "Luke", "tagline": "new", "version": 2, "traits": {"humor": 0.9, "formality": 0.5},
        "skills": [{"name": "talking"}],
    }  # fmt: skip


async def test_traits_that_are_absent_stay(parley: Parley) -> None:
    luke = parley.home.agent_id
    await parley.run(UPDATE, {"input": {"agentId": luke, "traits": {"humor": 0.9}}})

    changed = await parley.run(UPDATE, {"input": {"agentId": luke, "traits": {"formality": 0.1}}})

    assert changed["updateAgent"]["agent"]["traits"] == {"humor": 0.9, "formality": 0.1}


async def test_pausing_counts_as_a_change(parley: Parley) -> None:
    await parley.run(STATUS % "pauseAgent", {"id": parley.home.agent_id})

    for version in (0, 1):
        given = {"agentId": parley.home.agent_id, "name": "Third", "expectedVersion": version}
        assert (await parley.run(UPDATE, {"input": given}))["updateAgent"]["__typename"] == "Conflict"


async def test_reason_that_cannot_be_kept_is_refused(parley: Parley) -> None:
    pause = """mutation ($input: PauseAgentInput!) {
      pauseAgent(input: $input) { __typename ... on InvalidInput { problems { path } } } }"""
    for reason in ("x" * 501, "nul\u0000"):
        refused = await parley.run(pause, {"input": {"agentId": parley.home.agent_id, "reason": reason}})
        assert refused["pauseAgent"] == {"__typename": "InvalidInput", "problems": [{"path": "reason"}]}
    assert (await parley.run('{ agent(slug: "luke") { status } }'))["agent"]["status"] == "ACTIVE"


async def test_keys_of_an_archived_agent_stop_working(parley: Parley) -> None:
    await parley.run(STATUS % "archiveAgent", {"id": parley.home.agent_id})

    assert (await parley.post("{ viewer { role } }", role=Role.AGENT)).status_code == 401


async def test_events_tell_changes_in_the_words_of_the_schema(parley: Parley) -> None:
    given = {"agentId": parley.home.agent_id, "type": "REVIEWER", "modelTier": 2, "traits": {"technicalDepth": 1}}
    await parley.run(UPDATE, {"input": given})

    await parley.settled()
    told = await parley.run("{ events(where: {kind: {eq: AGENT_UPDATED}}) { nodes { changes agent { slug } } } }")

    traits = {"formality": 0.5, "humor": 0.5, "technicalDepth": 1.0}
    assert told["events"]["nodes"] == [
        {"changes": {"type": "REVIEWER", "modelTier": 2, "traits": traits}, "agent": {"slug": "luke"}}
    ]


async def test_update_of_a_version_that_moved_on_is_refused(parley: Parley) -> None:
    await parley.run(UPDATE, {"input": {"agentId": parley.home.agent_id, "name": "Second"}})

    refused = await parley.run(
        UPDATE, {"input": {"agentId": parley.home.agent_id, "name": "Third", "expectedVersion": 1}}
    )

    assert refused["updateAgent"]["__typename"] == "Conflict"
    assert (await parley.run('{ agent(slug: "luke") { name } }'))["agent"]["name"] == "Second"


async def test_status_goes_from_active_to_paused_and_back_and_to_archived(parley: Parley) -> None:
    seen = []
    for verb in ("pauseAgent", "pauseAgent", "resumeAgent", "archiveAgent", "resumeAgent"):
        result = (await parley.run(STATUS % verb, {"id": parley.home.agent_id}))["result"]
        seen.append((verb, result["__typename"], (result.get("agent") or {}).get("status") or result["message"]))

    assert seen == [
        ("pauseAgent", "AgentPayload", "PAUSED"),
        ("pauseAgent", "Conflict", "Luke is already paused."),
        ("resumeAgent", "AgentPayload", "ACTIVE"),
        ("archiveAgent", "AgentPayload", "ARCHIVED"),
        ("resumeAgent", "Conflict", "Luke is archived; only an agent that is paused can become active."),
    ]


async def test_default_agent_cannot_be_archived(parley: Parley) -> None:
    kyra = (await parley.run("{ team { defaultAgent { id } } }"))["team"]["defaultAgent"]["id"]

    result = (await parley.run(STATUS % "archiveAgent", {"id": kyra}))["result"]

    assert result["__typename"] == "Conflict"
    assert "default agent" in result["message"]


async def test_one_failing_mutation_does_not_undo_its_siblings(parley: Parley) -> None:
    answer = await parley.run(
        """mutation ($id: ID!) {
          first: pauseAgent(input: {agentId: $id}) { __typename }
          second: pauseAgent(input: {agentId: $id}) { __typename }
          third: resumeAgent(input: {agentId: $id}) { __typename }
        }""",
        {"id": parley.home.agent_id},
    )

    assert [answer[name]["__typename"] for name in ("first", "second", "third")] == [
        "AgentPayload", "Conflict", "AgentPayload",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        ('{ node(id: "agent_xyz") { id } }', {}, "INVALID_INPUT"),
        ('{ node(id: "banana_00000000000000000000000000000000") { id } }', {}, "INVALID_INPUT"),
        (
            "query ($s: AgentStatus!) { agents(where: {status: {eq: $s}}) { totalCount } }",
            {"s": "SLEEPY"},
            "BAD_VARIABLES",
        ),
        ("{ agents(where: {status: {eq: SLEEPY}}) { totalCount } }", {}, "GRAPHQL_VALIDATION_FAILED"),
        ('{ agents(where: {id: {eq: "team_00000000000000000000000000000000"}}) { totalCount } }', {}, "INVALID_INPUT"),
    ],
)
async def test_bad_argument_has_a_code(parley: Parley, query: str, variables: dict[str, str], code: str) -> None:
    errors = await parley.errors(query, variables)

    assert errors[0]["extensions"]["code"] == code


async def test_unknown_slug_is_null(parley: Parley) -> None:
    assert await parley.run('{ agent(slug: "nobody") { id } }') == {"agent": None}
