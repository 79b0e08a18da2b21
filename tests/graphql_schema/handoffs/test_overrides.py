"""People decide otherwise: another agent answers or takes over, with a reason, and routing learns from it."""

from __future__ import annotations

import asyncio
from typing import Any

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley
from tests.graphql_schema.handoffs.test_conversations import HAND, SAY, START

OVERRIDE = """
mutation ($input: OverrideRoutingInput!) {
  overrideRouting(input: $input) {
    __typename
    ... on RoutingDecisionPayload {
      routingDecision { outcome rating overrides { nodes { reason overriddenBy agent { slug } } } }
    }
    ... on Refusal { code }
  }
}
"""
REDIRECT = """
mutation ($input: RedirectHandoffInput!) {
  redirectHandoff(input: $input) {
    __typename
    ... on HandoffPayload { handoff { reason summary returnPolicy fromAgent { slug } toAgent { slug } } }
    ... on Refusal { code }
  }
}
"""
READ = """
query ($id: ID!) {
  node(id: $id) {
    ... on Conversation {
      primaryAgent { slug }
      handoffs { nodes { outcome outcomeReason } }
      replies { nodes { status routingDecision { id } contributions { nodes { status agent { slug } } } } }
    }
  }
}
"""


async def start(parley: Parley) -> str:
    return str((await parley.run(START))["startConversation"]["conversation"]["id"])


async def override(parley: Parley, role: Role = Role.OPERATOR, **given: Any) -> Any:
    return (await parley.run(OVERRIDE, {"input": {"reason": "She knows it.", **given}}, role=role))["overrideRouting"]


async def stars(parley: Parley) -> dict[str, int]:
    rows = await parley.database.fetch(
        "select agent.slug, stars from routing_rating join agent on agent.id = agent_id where agent.team_id = $1",
        parley.home.id,
    )
    return {row["slug"]: row["stars"] for row in rows}


async def test_another_agent_answers_than_was_selected(parley: Parley) -> None:
    conversation = await start(parley)
    await parley.run(SAY, {"id": conversation, "text": "Where do ferries go?"})
    before = (await parley.run(READ, {"id": conversation}))["node"]
    decision = before["replies"]["nodes"][0]["routingDecision"]["id"]
    luke = {"routingDecisionId": decision, "agentId": parley.home.agent_id}

    ends = await asyncio.gather(*(override(parley, person=name, **luke) for name in ("Mina", "Omar")))
    after = (await parley.run(READ, {"id": conversation}))["node"]
    await parley.settled()
    told = await parley.run(
        "{ events(where: {kind: {eq: ROUTING_OVERRIDDEN}}) { nodes { actor changes agent { slug } } } }"
    )

    won = next(end for end in ends if end["__typename"] == "RoutingDecisionPayload")
    (made,) = won["routingDecision"]["overrides"]["nodes"]
    assert before["primaryAgent"]["slug"] == "kyra"
    assert sorted(end.get("code", "") for end in ends) == ["", "CONFLICT"]
    assert (won["routingDecision"]["outcome"], made["agent"]["slug"], made["reason"]) == (
        "REDIRECTED", "luke", "She knows it.",
    )  # fmt: skip
    assert after["primaryAgent"]["slug"] == "luke"
    assert [(one["status"], one["contributions"]["nodes"]) for one in after["replies"]["nodes"]] == [
        ("CANCELLED", [{"status": "CANCELLED", "agent": {"slug": "kyra"}}]),
        ("PENDING", [{"status": "WAITING", "agent": {"slug": "luke"}}]),
    ]
    assert await stars(parley) == {"kyra": 2, "luke": 4}
    (event,) = told["events"]["nodes"]
    assert (event["actor"], event["changes"]["reason"]) == (made["overriddenBy"], "She knows it.")


async def test_an_override_needs_a_reason_an_active_agent_and_the_right(parley: Parley) -> None:
    routed = await parley.run(
        'mutation { routeMessage(input: {text: "Hi"}) { ... on RoutingDecisionPayload { routingDecision { id } } } }'
    )
    luke = {"routingDecisionId": routed["routeMessage"]["routingDecision"]["id"], "agentId": parley.home.agent_id}
    foreign = to_global(Prefix.AGENT, parley.other.luke.id)

    codes = [
        (await override(parley, Role.ANALYST, **luke))["code"],
        (await override(parley, Role.AGENT, **luke))["code"],
        (await override(parley, **luke, reason=" "))["code"],
        (await override(parley, **luke, reason="x" * 401))["code"],
        (await override(parley, **(luke | {"agentId": foreign})))["code"],
        (await override(parley, **(luke | {"routingDecisionId": to_global(Prefix.ROUTING_DECISION, parley.home.id)})))[
            "code"
        ],
    ]
    await parley.run("mutation ($i: ID!) { pauseAgent(input: {agentId: $i}) { __typename } }", {"i": luke["agentId"]})
    codes.append((await override(parley, **luke))["code"])

    assert codes == [
        "FORBIDDEN", "FORBIDDEN", "INVALID_INPUT", "INVALID_INPUT", "NOT_FOUND", "NOT_FOUND", "AGENT_UNAVAILABLE",
    ]  # fmt: skip
    assert await stars(parley) == {}


async def test_a_handoff_goes_to_another_agent_under_the_same_policy(parley: Parley) -> None:
    await parley.run('mutation { createAgent(input: {slug: "ada", name: "Ada"}) { __typename } }')
    ada = (await parley.run('{ agent(slug: "ada") { id } }'))["agent"]["id"]
    conversation = await start(parley)
    await parley.run(SAY, {"id": conversation, "text": "Where do ferries go?"})
    given = {
        "conversationId": conversation,
        "toAgentId": parley.home.agent_id,
        "reason": "a bug",
    }
    handed = await parley.run(
        HAND, {"input": {**given, "summary": "Ferries.", "returnPolicy": "ORCHESTRATOR", "reply": False}}
    )
    which = {"handoffId": handed["handoffConversation"]["handoff"]["id"], "reason": "Luke is new."}

    async def redirect(to: str, role: Role = Role.OPERATOR) -> Any:
        asked = {"input": {**which, "toAgentId": to, "person": "Mina"}}
        return (await parley.run(REDIRECT, asked, role=role))["redirectHandoff"]

    refused = [
        (await redirect(parley.home.agent_id))["code"],
        (await redirect(to_global(Prefix.AGENT, parley.home.kyra.id)))["code"],
        (await redirect(ada, Role.AGENT))["code"],
    ]
    made = await redirect(ada)
    again = await redirect(ada)
    after = (await parley.run(READ, {"id": conversation}))["node"]

    assert refused == ["CONFLICT", "CONFLICT", "FORBIDDEN"]
    assert made["handoff"] == {
        "reason": "Mina redirected it to Ada: Luke is new.", "summary": "Ferries.", "returnPolicy": "ORCHESTRATOR",
        "fromAgent": {"slug": "kyra"}, "toAgent": {"slug": "ada"},
    }  # fmt: skip
    assert again["code"] == "CONFLICT"
    assert after["primaryAgent"]["slug"] == "ada"
    assert [one["outcome"] for one in after["handoffs"]["nodes"]] == ["CANCELLED", None]
    assert await stars(parley) == {"luke": 2, "ada": 4}

    further = await parley.run(HAND, {"input": {**given, "reply": False}})
    which["handoffId"] = further["handoffConversation"]["handoff"]["id"]
    assert (await redirect(to_global(Prefix.AGENT, parley.home.kyra.id)))["code"] == "CONFLICT", "kyra waits for ada"
    assert (await parley.run(READ, {"id": conversation}))["node"]["primaryAgent"]["slug"] == "luke"
