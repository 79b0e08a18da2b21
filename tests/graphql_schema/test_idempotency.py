"""Idempotency keys: each mutation sent fifty times at once under one key has one effect and one answer."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from app.auth.roles import Role
from app.config import Flags
from app.ids import Prefix, to_global
from graphql_schema.schema import schema
from tests.fixtures.desk import Desk
from tests.fixtures.parley import Parley

AT_ONCE = 50
ANSWER = {
    "AgentPayload": "agent { id slug status }",
    "TeamPayload": "team { id }",
    "ApiKeyPayload": "apiKey { id live }",
    "CreateApiKeyPayload": "apiKey { id live } secret",
    "ApplyTeamPayload": "changed created",
    "RegisterDocumentsPayload": "registered",
    "ContractPayload": "contract { id name version retiredAt }",
    "RoutingDecisionPayload": "decision { id outcome rating }",
    "RoutingPolicyPayload": "policy { id version threshold }",
    "TaskPayload": "task { id status }",
    "ClaimTaskPayload": "claimToken task { id }",
    "ToolCallPayload": "toolCall { id }",
    "DeadLetterPayload": "deadLetter { id state } replay: task { id }",
}


def inputs(parley: Parley) -> dict[str, dict[str, Any]]:
    """An input for every mutation that changes something."""
    agent = {"agentId": parley.home.agent_id}
    return {
        "createAgent": {"slug": "ada", "name": "Ada"},
        "updateAgent": {**agent, "tagline": "changed"},
        "pauseAgent": agent,
        "resumeAgent": agent,
        "archiveAgent": agent,
        "setFeatureFlags": {"flags": [{"flag": "EXPERT_GATE", "enabled": True}]},
        "createApiKey": {"name": "new", "role": "ANALYST"},
        "revokeApiKey": {"apiKeyId": parley.home.key_id(Role.ANALYST)},
        "applyTeam": {"file": "name: Home\nagents:\n  - slug: zara\n    name: Zara\n"},
        "registerDocuments": {"documents": [{"id": "md5", "body": "{ team { id } }"}]},
        "limitRolesToTrustedDocuments": {"roles": ["ANALYST"]},
        "setTeamBudgets": {"dayUsd": 7, "monthUsd": 70},
        "saveContract": {"name": "report", "outputSchema": {"type": "object"}},
        "deleteContract": {"name": "report"},
        "routeMessage": {"text": "Let us go talking"},
        "setRoutingPolicy": {"threshold": 0.5},
    }


async def task_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of tasks, with everything that it needs in place: kyra has asked luke."""
    home = parley.home
    settings = parley.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    desk = Desk(parley.transaction, settings, home.id, {"kyra": home.kyra, "luke": home.luke})
    await desk.sql("""update team set flags = '{"task_delegation": true}'""")
    await desk.sql("update agent set runtime = 'external'")
    if name == "delegateTask":
        named = {"creatorId": to_global(Prefix.AGENT, home.kyra.id), "assigneeId": home.agent_id}
        return {**named, "type": "PLAN", "title": "Plan it", "instructions": "All of it."}
    task = await desk.delegate("kyra", "luke")
    if name == "claimTask":
        return {"agentId": home.agent_id}
    which = {"taskId": to_global(Prefix.TASK, task.id)}
    if name == "cancelTask":
        return which
    if name == "reassignTask":
        return {**which, "assigneeId": to_global(Prefix.AGENT, (await desk.agent("ada")).id)}
    held = await desk.claim("luke")
    assert held is not None
    if name in {"retryTask", "replayDeadLetter", "discardDeadLetter"}:
        await desk.fail(held, may_pass=False)
        letter = {"deadLetterId": to_global(Prefix.DEAD_LETTER, (await desk.letters())[0].id)}
        return which if name == "retryTask" else letter
    more = {"completeTask": {"result": "Done."}, "failTask": {"message": "No."}, "recordToolCall": {"name": "search"}}
    return {**which, "claimToken": str(held.claim_token), **more.get(name, {"progress": "halfway"})}


async def routing_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of something that was decided."""
    routed = await parley.run(document("routeMessage"), {"input": inputs(parley)["routeMessage"]})
    which = {"decisionId": routed["result"]["decision"]["id"]}
    return {**which, "stars": 4} if name == "rateResponse" else {**which, "outcome": "ANSWERED", "responseMs": 7}


def document(name: str) -> str:
    field = schema._schema.mutation_type.fields[name]  # type: ignore[union-attr]
    members = {member.name for member in field.type.types}  # type: ignore[attr-defined]
    payload = next(iter(members & set(ANSWER)))
    selection = f"__typename ... on {payload} {{ eventCursor {ANSWER[payload]} }} ... on Refusal {{ code message }}"
    return f"mutation ($input: {field.args['input'].type}) {{ result: {name}(input: $input) {{ {selection} }} }}"


def test_every_mutation_is_tried() -> None:
    assert set(MUTATIONS) == set(schema._schema.mutation_type.fields)  # type: ignore[union-attr]


MUTATIONS = [
    "createAgent", "updateAgent", "pauseAgent", "resumeAgent", "archiveAgent", "setFeatureFlags", "createApiKey",
    "revokeApiKey", "applyTeam", "registerDocuments", "limitRolesToTrustedDocuments", "delegateTask", "cancelTask",
    "retryTask", "reassignTask", "replayDeadLetter", "discardDeadLetter", "claimTask", "heartbeatTask",
    "recordToolCall", "completeTask", "failTask", "setTeamBudgets", "saveContract", "deleteContract",
    "routeMessage", "rateResponse", "recordRoutingOutcome", "setRoutingPolicy",
]  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
async def test_fifty_at_once_have_one_effect(parley: Parley, name: str) -> None:
    more = routing_inputs if name in {"rateResponse", "recordRoutingOutcome"} else task_inputs
    given = inputs(parley).get(name) or await more(parley, name)
    if name == "resumeAgent":
        await parley.run(
            "mutation ($i: ID!) { pauseAgent(input: {agentId: $i}) { __typename } }", {"i": parley.home.agent_id}
        )
    if name == "deleteContract":
        await parley.run(document("saveContract"), {"input": inputs(parley)["saveContract"]})
    if name == "registerDocuments":
        given["documents"][0]["id"] = hashlib.md5(given["documents"][0]["body"].encode()).hexdigest()
    before = await parley.value("select count(*) from event where team_id = $1", parley.home.id)
    variables = {"input": {**given, "idempotencyKey": "one"}}

    answers = await asyncio.gather(*(parley.run(document(name), variables) for _ in range(AT_ONCE)))

    assert answers[0]["result"]["__typename"].endswith("Payload"), answers[0]
    assert all(answer == answers[0] for answer in answers)
    effects = await parley.value("select count(*) from event where team_id = $1", parley.home.id) - before
    # With the agent goes its key; a replay is a new task, and what became of the letter.
    assert effects == (2 if name in {"archiveAgent", "replayDeadLetter"} else 1)


async def test_other_input_under_the_same_key_is_a_conflict(parley: Parley) -> None:
    first = {"slug": "ada", "name": "Ada", "idempotencyKey": "k"}
    await parley.run(document("createAgent"), {"input": first})

    refused = (await parley.run(document("createAgent"), {"input": first | {"name": "Other"}}))["result"]
    other_mutation = (
        await parley.run(document("pauseAgent"), {"input": {"agentId": parley.home.agent_id, "idempotencyKey": "k"}})
    )["result"]

    assert refused["__typename"] == other_mutation["__typename"] == "IdempotencyConflict"
    assert (await parley.run('{ agent(slug: "luke") { status } }'))["agent"]["status"] == "ACTIVE"


async def test_keys_of_two_callers_are_apart(parley: Parley) -> None:
    given = {"agentId": parley.home.agent_id, "idempotencyKey": "k"}
    await parley.run(document("pauseAgent"), {"input": given}, role=Role.ADMIN)

    second = await parley.run(document("pauseAgent"), {"input": given}, role=Role.OPERATOR)

    assert second["result"]["code"] == "CONFLICT"


async def test_refusal_is_not_remembered(parley: Parley) -> None:
    given = {"agentId": parley.home.agent_id, "idempotencyKey": "k"}
    refused = await parley.run(document("resumeAgent"), {"input": given})
    await parley.run(document("pauseAgent"), {"input": {"agentId": parley.home.agent_id}})

    again = await parley.run(document("resumeAgent"), {"input": given})

    assert refused["result"]["code"] == "CONFLICT"
    assert again["result"]["__typename"] == "AgentPayload"


async def test_secret_of_a_retried_key_works_and_is_not_stored(parley: Parley) -> None:
    variables = {"input": {"name": "new", "role": "ANALYST", "idempotencyKey": "k"}}
    first = (await parley.run(document("createApiKey"), variables))["result"]
    second = (await parley.run(document("createApiKey"), variables))["result"]

    assert first["secret"] == second["secret"]
    assert (await parley.run("{ viewer { role } }", secret=second["secret"]))["viewer"]["role"] == "ANALYST"
    stored = await parley.value("select string_agg(outcome::text, '') from idempotency_record")
    assert first["secret"] not in stored


@pytest.mark.parametrize("key", ["", "x" * 201])
async def test_key_of_bad_length_is_named(parley: Parley, key: str) -> None:
    refused = await parley.run(
        document("pauseAgent"), {"input": {"agentId": parley.home.agent_id, "idempotencyKey": key}}
    )

    assert refused["result"]["code"] == "INVALID_INPUT"
