"""Idempotency keys: each mutation sent fifty times at once under one key has one effect and one answer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from app.auth.roles import Role
from app.config import Flags
from app.ids import Prefix, to_global
from graphql_schema.schema import schema
from tests.fixtures.desk import Desk
from tests.fixtures.parley import Parley, make_team
from tests.fixtures.sessions import Sessions

AT_ONCE = 50
A_SERVER = 8  # mutations that share one, each with a team of its own
ANSWER = {
    "AgentPayload": "agent { id slug status }",
    "TeamPayload": "team { id }",
    "ApiKeyPayload": "apiKey { id live }",
    "CreateApiKeyPayload": "apiKey { id live } secret",
    "ApplyTeamPayload": "changed created",
    "RegisterDocumentsPayload": "registered",
    "ContractPayload": "contract { id name version retiredAt }",
    "HandoffPayload": "handoff { id outcome }",
    "HandoffRulePayload": "rule { id version retiredAt }",
    "RoutingDecisionPayload": "routingDecision { id outcome rating }",
    "RoutingPolicyPayload": "policy { id version threshold }",
    "RememberPayload": "memory { id kind } merged",
    "ForgetPayload": "memoryId",
    "GroupPayload": "group { id slug dissolvedAt }",
    "AgentMessagePayload": "agentMessage { id channel }",
    "AcknowledgeInboxPayload": "acknowledged unreadCount",
    "TaskPayload": "task { id status }",
    "ClaimTaskPayload": "claimToken task { id }",
    "ToolCallPayload": "toolCall { id }",
    "CollaborationPayload": "collaboration { id status maxDurationSeconds }",
    "ReportPayload": "report { id status }",
    "ConsultationPayload": "consultation { id status exchangeCount rating }",
    "StageOutputPayload": "stage { id } task { id status }",
    "ConversationPayload": "conversation { id status messageCount }",
    "ReplyPayload": "reply { id status }",
    "SendMessagePayload": "sent { id number } reply { id }",
    "AskPersonPayload": "attentionItem { id status } task { id }",
    "AttentionPayload": "attentionItem { id status assignee option }",
    "DeadLetterPayload": "deadLetter { id status } replay: task { id }",
}


RULE = {"condition": "draft complete and handoff_count < 3"}


def inputs(parley: Parley) -> dict[str, dict[str, Any]]:
    """An input for every mutation that changes something."""
    agent = {"agentId": parley.home.agent_id}
    said = {"fromAgentId": to_global(Prefix.AGENT, parley.home.kyra.id), "body": "Hello"}
    return {
        "createAgent": {"slug": "ada", "name": "Ada"},
        "updateAgent": {**agent, "tagline": "changed"},
        "pauseAgent": agent,
        "resumeAgent": agent,
        "archiveAgent": agent,
        "setFeatureFlags": {"flags": [{"flag": "EXPERT_GATE", "enabled": True}]},
        "createApiKey": {"name": "new", "role": "ANALYST"},
        "revokeApiKey": {"apiKeyId": parley.home.key_id(Role.ANALYST)},
        "applyTeam": {"file": f"name: {parley.home.slug.title()}\nagents:\n  - slug: zara\n    name: Zara\n"},
        "registerDocuments": {"documents": [{"id": "md5", "body": "{ team { id } }"}]},
        "limitRolesToTrustedDocuments": {"roles": ["ANALYST"]},
        "setTeamBudgets": {"dayUsd": 7, "monthUsd": 70},
        "setAgentAllowance": {"agentId": parley.home.agent_id, "dayUsd": 3},
        "saveContract": {"name": "report", "outputSchema": {"type": "object"}},
        "deleteContract": {"name": "report"},
        "saveHandoffRule": {**RULE, "toAgentId": parley.home.agent_id},
        "routeMessage": {"text": "Let us go talking"},
        "setRoutingPolicy": {"threshold": 0.5},
        "saveGroup": {"slug": "all", "name": "All", "agentIds": [parley.home.agent_id]},
        "startConversation": {"title": "A talk"},
        "remember": {"text": "The server stands in Frankfurt."},
        "sendAgentMessage": {**said, "toAgentId": parley.home.agent_id},
        "broadcastAgentMessage": said,
        "askPerson": {"question": "May I?"},
        "setMessagePolicy": {"policy": "HUB_AND_SPOKE"},
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
    if name == "correctTaskCost":
        return {**which, "costUsd": 0.2, "reason": "the invoice"}
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
    which = {"routingDecisionId": routed["result"]["routingDecision"]["id"]}
    return {**which, "stars": 4} if name == "rateResponse" else {**which, "outcome": "ANSWERED", "responseSeconds": 7}


async def saved_rule(parley: Parley, name: str) -> dict[str, Any]:
    saved = await parley.run(document("saveHandoffRule"), {"input": inputs(parley)["saveHandoffRule"]})
    return {"ruleId": saved["result"]["rule"]["id"]}


# How many events a mutation of a session leaves: of the session, of its stages, and of their tasks.
SESSION_EVENTS = {
    "startCollaboration": 3, "cancelCollaboration": 3, "extendCollaboration": 1, "decideSubtaskFailure": 4,
    "submitStageOutput": 2,
}  # fmt: skip


# Of a consultation: the decision and its task; the task taken up and done, and what is remembered; what routing learns,
# and what is remembered instead.
CONSULTATION_EVENTS = {
    "requestConsultation": 3, "answerConsultation": 4, "clarifyConsultation": 2, "rateConsultation": 3,
}  # fmt: skip


async def session_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of a session in which luke, somebody's own program, has one stage."""
    home = parley.home
    settings = parley.settings.model_copy(update={"flags": Flags(collaboration=True)})
    desk = Desk(parley.transaction, settings, home.id, {"kyra": home.kyra, "luke": home.luke})
    await desk.sql("""update team set flags = '{"collaboration": true}'""")
    await desk.sql("update agent set runtime = 'external'")
    if name == "startCollaboration":
        luke = {"agentId": home.agent_id, "role": "WORKER"}
        return {"pattern": "DELEGATION", "goal": "Look it up.", "participants": [luke]}
    sessions = Sessions(desk)
    made = await sessions.start("delegation", "worker:luke")
    which = {"collaborationId": to_global(Prefix.COLLABORATION, made.id)}
    if name == "decideSubtaskFailure":
        await sessions.fail("luke")
        return {"stageId": to_global(Prefix.STAGE, (await sessions.stages(made))[0].id), "decision": "RETRY"}
    more = {"extendCollaboration": {"seconds": 60}, "submitStageOutput": {"agentId": home.agent_id, "result": "Done."}}
    return {**which, **more.get(name, {})}


async def report_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a report that luke is to write."""
    desk = Desk(parley.transaction, parley.settings, parley.home.id)
    await desk.sql("""update team set flags = '{"task_delegation": true}'""")
    given = {"type": "CODE_REVIEW", "title": "The login", "parameters": {"files": ["auth.py"]}}
    return {**given, "assigneeId": parley.home.agent_id}


async def consultation_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a question that kyra asks and luke, who talks, answers."""
    home = parley.home
    desk = Desk(parley.transaction, parley.settings, home.id)
    await desk.sql("""update team set flags = '{"agent_collaboration": true}'""")
    asked = {"requesterId": to_global(Prefix.AGENT, home.kyra.id), "question": "Who is good at talking?"}
    if name == "requestConsultation":
        return asked
    made = await parley.run(document("requestConsultation"), {"input": asked})
    which = {"consultationId": made["result"]["consultation"]["id"]}
    answer = {**which, "answer": "I am."}
    if name == "answerConsultation":
        return answer
    await parley.run(document("answerConsultation"), {"input": answer})
    return {**which, "rating": 4} if name == "rateConsultation" else {**which, "text": "And at listening?"}


async def message_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of something that was sent."""
    assert name == "acknowledgeInbox"
    sent = await parley.run(document("sendAgentMessage"), {"input": inputs(parley)["sendAgentMessage"]})
    return {"agentId": parley.home.agent_id, "messageIds": [sent["result"]["agentMessage"]["id"]]}


async def conversation_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of a conversation that kyra has."""
    started = await parley.run(document("startConversation"), {"input": inputs(parley)["startConversation"]})
    which = {"conversationId": started["result"]["conversation"]["id"]}
    more: dict[str, dict[str, Any]] = {
        "sendMessage": {"text": "Hello"},
        "updateConversationAgents": {"add": [parley.home.agent_id]},
        "handoffConversation": {"toAgentId": parley.home.agent_id, "reason": "a bug"},
        "setContextVariables": {"variables": {"topic": "ferries"}},
    }
    if name == "setContextVariables":
        await parley.run(document("applyTeam"), {"input": {"file": "name: Home\ninput_variables: {topic: text}\n"}})
    if name == "returnConversation":
        given = {**which, **more["handoffConversation"], "reply": False}
        await parley.run(document("handoffConversation"), {"input": given})
    return {**which, **more.get(name, {})}


async def reply_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of a reply that waits to begin."""
    sent = await parley.run(document("sendMessage"), {"input": await conversation_inputs(parley, "sendMessage")})
    return {"replyId": sent["result"]["reply"]["id"]}


async def memory_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of something that is remembered."""
    told = await parley.run(document("remember"), {"input": inputs(parley)["remember"]})
    return {"memoryId": told["result"]["memory"]["id"]}


async def group_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of a group that is there."""
    saved = await parley.run(document("saveGroup"), {"input": inputs(parley)["saveGroup"]})
    return {"groupId": saved["result"]["group"]["id"]}


async def attention_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a mutation of something that needs a person."""
    asked = await parley.run(document("askPerson"), {"input": inputs(parley)["askPerson"]})
    which = {"attentionId": asked["result"]["attentionItem"]["id"]}
    return {**which, "text": "Yes."} if name == "answerAttention" else {**which, "assignee": "Mina"}


async def override_inputs(parley: Parley, name: str) -> dict[str, Any]:
    """An input for a person who decides otherwise: luke instead of kyra, or the other way round."""
    if name == "overrideRouting":
        routed = {"text": "Let us go talking", "agentId": to_global(Prefix.AGENT, parley.home.kyra.id)}
        made = await parley.run(document("routeMessage"), {"input": routed})
        return {
            "routingDecisionId": made["result"]["routingDecision"]["id"],
            "agentId": parley.home.agent_id,
            "reason": "a bug",
        }
    await parley.run(document("createAgent"), {"input": {"slug": "ada", "name": "Ada"}})
    given = {**await conversation_inputs(parley, "handoffConversation"), "reply": False}
    made = await parley.run(document("handoffConversation"), {"input": given})
    ada = (await parley.run('{ agent(slug: "ada") { id } }'))["agent"]["id"]
    return {"handoffId": made["result"]["handoff"]["id"], "toAgentId": ada, "reason": "a bug"}


MORE = {
    "answerAttention": attention_inputs,
    "assignAttention": attention_inputs,
    "overrideRouting": override_inputs,
    "redirectHandoff": override_inputs,
    "rateResponse": routing_inputs,
    "recordRoutingOutcome": routing_inputs,
    "forget": memory_inputs,
    "dissolveGroup": group_inputs,
    "sendMessage": conversation_inputs,
    "updateConversationAgents": conversation_inputs,
    "closeConversation": conversation_inputs,
    "cancelReply": reply_inputs,
    "handoffConversation": conversation_inputs,
    "returnConversation": conversation_inputs,
    "setContextVariables": conversation_inputs,
    "deleteHandoffRule": saved_rule,
    "acknowledgeInbox": message_inputs,
    "requestReport": report_inputs,
    **dict.fromkeys(CONSULTATION_EVENTS, consultation_inputs),
    **dict.fromkeys(SESSION_EVENTS, session_inputs),
}
# What follows from it: with the agent goes its key; a replay is a new task, and what became of the letter; with a dead
# letter or a failed stage goes what asked a person about it; a handoff is announced, joined, remembered and told; a
# return is announced and told, a redirected handoff is both; with a message it is decided who answers; a report
# has its task.
EFFECTS = {
    "archiveAgent": 2, "retryTask": 2, "replayDeadLetter": 3, "discardDeadLetter": 2, "sendMessage": 2,
    "handoffConversation": 4, "returnConversation": 2, "redirectHandoff": 7, "cancelReply": 2, "requestReport": 2,
    **CONSULTATION_EVENTS,
    **SESSION_EVENTS,
}  # fmt: skip


def document(name: str) -> str:
    field = schema._schema.mutation_type.fields[name]  # type: ignore[union-attr]
    members = {member.name for member in field.type.types}  # type: ignore[attr-defined]
    payload = next(iter(members & set(ANSWER)))
    selection = f"__typename ... on {payload} {{ eventCursor {ANSWER[payload]} }} ... on Refusal {{ code message }}"
    return f"mutation ($input: {field.args['input'].type}) {{ result: {name}(input: $input) {{ {selection} }} }}"


def batched(names: Sequence[str], size: int) -> list[list[str]]:
    return [list(names[start : start + size]) for start in range(0, len(names), size)]


def test_every_mutation_is_tried() -> None:
    assert set(MUTATIONS) == set(schema._schema.mutation_type.fields)  # type: ignore[union-attr]


MUTATIONS = [
    "createAgent", "updateAgent", "pauseAgent", "resumeAgent", "archiveAgent", "setFeatureFlags", "createApiKey",
    "revokeApiKey", "applyTeam", "registerDocuments", "limitRolesToTrustedDocuments", "delegateTask", "cancelTask",
    "retryTask", "reassignTask", "replayDeadLetter", "discardDeadLetter", "claimTask", "heartbeatTask",
    "recordToolCall", "completeTask", "failTask", "correctTaskCost", "setAgentAllowance", "setTeamBudgets",
    "saveContract", "deleteContract",
    "routeMessage", "rateResponse", "recordRoutingOutcome", "setRoutingPolicy", "startConversation", "sendMessage",
    "updateConversationAgents", "closeConversation", "cancelReply", "remember", "forget",
    "saveGroup", "dissolveGroup", "saveHandoffRule", "deleteHandoffRule", "handoffConversation", "returnConversation",
    "setContextVariables", "askPerson", "answerAttention", "assignAttention", "overrideRouting", "redirectHandoff",
    "sendAgentMessage", "broadcastAgentMessage", "acknowledgeInbox", "setMessagePolicy",
    "requestReport",
    *CONSULTATION_EVENTS,
    *SESSION_EVENTS,
]  # fmt: skip


@pytest.mark.parametrize("names", batched(MUTATIONS, A_SERVER), ids=lambda names: names[0])
async def test_fifty_at_once_have_one_effect(parley: Parley, names: list[str]) -> None:
    for name in names:
        home = await make_team(parley.transaction, f"{name.lower()}-team")
        await fifty_at_once_have_one_effect(replace(parley, home=home), name)


async def fifty_at_once_have_one_effect(parley: Parley, name: str) -> None:
    more = MORE.get(name, task_inputs)
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

    assert answers[0]["result"]["__typename"].endswith("Payload"), (name, answers[0])
    assert all(answer == answers[0] for answer in answers), name
    effects = await parley.value("select count(*) from event where team_id = $1", parley.home.id) - before
    assert effects == EFFECTS.get(name, 1), name


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
