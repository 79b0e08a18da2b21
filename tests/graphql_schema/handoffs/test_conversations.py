"""Handoffs over GraphQL: handed over, shown as a stack, asked back by the user, refused by type."""

from __future__ import annotations

from typing import Any

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

START = "mutation { startConversation(input: {}) { ... on ConversationPayload { conversation { id } } } }"
HAND = """
mutation ($input: HandoffConversationInput!) {
  handoffConversation(input: $input) {
    __typename
    ... on HandoffPayload {
      handoff {
        id number reason summary returnPolicy outcome deadline fromAgent { slug } toAgent { slug } requestedBy
        conversation { primaryAgent { slug } }
      }
    }
    ... on Refusal { code }
  }
}
"""
RETURN = """
mutation ($id: ID!) {
  returnConversation(input: {conversationId: $id, result: "Done."}) {
    __typename ... on HandoffPayload { handoff { outcome outcomeReason returnedTo { slug } } } ... on Refusal { code }
  }
}
"""
SAY = """
mutation ($id: ID!, $text: String!) {
  sendMessage(input: {conversationId: $id, text: $text}) {
    ... on SendMessagePayload { reply { contributions { nodes { agent { slug } } } } }
    ... on Refusal { code message }
  }
}
"""
READ = """
query ($id: ID!) {
  node(id: $id) {
    ... on Conversation {
      primaryAgent { slug }
      handoffStack { reason toAgent { slug } }
      handoffs { totalCount nodes { outcome rule { condition } message { number } } }
      variables { nodes { name value source setBy message { number } } }
      messages { nodes { author text nextStep { decidedBy } } }
    }
  }
}
"""
SET = """
mutation ($input: SetContextVariablesInput!) {
  setContextVariables(input: $input) { __typename ... on Refusal { code } ... on InvalidInput { problems { path } } }
}
"""


async def started(parley: Parley) -> str:
    found: str = (await parley.run(START))["startConversation"]["conversation"]["id"]
    return found


async def test_a_conversation_is_handed_over_shown_and_asked_back(parley: Parley) -> None:
    conversation = await started(parley)
    given = {
        "conversationId": conversation,
        "toAgentId": parley.home.agent_id,
        "reason": "a bug",
        "summary": "Linking fails.",
        "reply": False,
    }

    made = (await parley.run(HAND, {"input": given}, role=Role.OPERATOR))["handoffConversation"]["handoff"]
    away = (await parley.run(READ, {"id": conversation}))["node"]
    assert (made["fromAgent"], made["toAgent"], made["outcome"]) == ({"slug": "kyra"}, {"slug": "luke"}, None)
    assert made["conversation"] == {"primaryAgent": {"slug": "luke"}}
    assert made["deadline"] is not None
    assert away["handoffStack"] == [{"reason": "a bug", "toAgent": {"slug": "luke"}}]

    said = (await parley.run(SAY, {"id": conversation, "text": "Thanks. Go back to Kyra, please."}))["sendMessage"]
    assert said["reply"]["contributions"]["nodes"] == [{"agent": {"slug": "kyra"}}]
    back = (await parley.run(READ, {"id": conversation}))["node"]
    assert (back["primaryAgent"], back["handoffStack"]) == ({"slug": "kyra"}, [])
    assert back["handoffs"]["nodes"] == [{"outcome": "RETURNED", "rule": None, "message": None}]
    assert [message["text"] for message in back["messages"]["nodes"]] == [
        "Kyra handed the conversation over to Luke.\n\nLinking fails.",
        "Thanks. Go back to Kyra, please.",
        "The conversation is back with Kyra.",
    ]
    remembered = await parley.value("select text from memory where team_id = $1 and kind = 'episodic'", parley.home.id)
    assert remembered == "Kyra handed a conversation over to Luke: a bug\n\nLinking fails."
    assert (await parley.run(RETURN, {"id": conversation}))["returnConversation"]["code"] == "CONFLICT"

    await parley.run(HAND, {"input": {**given, "returnPolicy": "NONE"}})
    stays = (await parley.run(READ, {"id": conversation}))["node"]
    assert stays["handoffStack"] == away["handoffStack"], "it need not come back, and can"
    assert "handoff" in (await parley.run(RETURN, {"id": conversation}))["returnConversation"]


async def test_what_cannot_be_handed_over_is_refused_by_type(parley: Parley) -> None:
    conversation = await started(parley)
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)

    async def refused(role: Role = Role.ADMIN, **more: Any) -> str:
        given = {"conversationId": conversation, "toAgentId": parley.home.agent_id, "reason": "a bug", **more}
        found: str = (await parley.run(HAND, {"input": given}, role=role))["handoffConversation"]["__typename"]
        return found

    assert await refused(toAgentId=kyra) == "Conflict"
    assert await refused(toAgentId=to_global(Prefix.AGENT, parley.other.luke.id)) == "NotFound"
    assert await refused(reason="") == "InvalidInput"
    assert await refused(timeoutSeconds=86_401) == "InvalidInput"
    assert await refused(Role.ANALYST) == "Forbidden"
    assert await refused(Role.AGENT) == "Forbidden"
    assert await refused(reply=False) == "HandoffPayload"
    assert await refused(toAgentId=kyra) == "CycleDetected"
    done = (await parley.run(RETURN, {"id": conversation}, role=Role.AGENT))["returnConversation"]["handoff"]
    assert done == {"outcome": "RETURNED", "outcomeReason": "Done.", "returnedTo": {"slug": "kyra"}}
    close = "mutation ($id: ID!) { closeConversation(input: {conversationId: $id}) { __typename } }"
    await parley.run(close, {"id": conversation})
    assert await refused() == "Conflict"


async def test_variables_are_set_with_their_history(parley: Parley) -> None:
    conversation = await started(parley)
    apply = 'mutation { applyTeam(input: {file: "name: Home\\ninput_variables: {topic: text}"}) { __typename } }'
    await parley.run(apply)

    async def given(variables: Any) -> Any:
        found = await parley.run(SET, {"input": {"conversationId": conversation, "variables": variables}})
        return found["setContextVariables"]

    assert (await given({"topic": "ferries"}))["__typename"] == "ConversationPayload"
    assert (await given({"topic": "trains"}))["__typename"] == "ConversationPayload"
    assert (await given({"topc": "x"}))["problems"] == [{"path": "variables.topc"}]
    shown = (await parley.run(READ, {"id": conversation}))["node"]["variables"]["nodes"]
    assert [(one["name"], one["value"], one["source"], one["message"]) for one in shown] == [
        ("topic", "ferries", "INPUT", None),
        ("topic", "trains", "INPUT", None),
    ]


async def test_a_group_takes_a_conversation_over(parley: Parley) -> None:
    """Kyra coordinates the group, but has the conversation: luke takes it, and then nobody is left."""
    kyra, luke = to_global(Prefix.AGENT, parley.home.kyra.id), parley.home.agent_id
    save = "mutation ($i: SaveGroupInput!) { saveGroup(input: $i) { ... on GroupPayload { group { id } } } }"
    desk = {"slug": "desk", "name": "Desk", "agentIds": [kyra, luke], "coordinatorId": kyra}
    group = (await parley.run(save, {"i": desk}))["saveGroup"]["group"]["id"]
    conversation = (await parley.run(START))["startConversation"]["conversation"]["id"]
    wanted = {"conversationId": conversation, "toGroupId": group, "reason": "Talking", "summary": "So far, so good."}

    both = await parley.run(HAND, {"input": {**wanted, "toAgentId": luke}})
    done = (await parley.run(HAND, {"input": wanted}))["handoffConversation"]["handoff"]
    nobody = await parley.run(HAND, {"input": {**wanted, "reason": "Again"}})

    assert both["handoffConversation"]["code"] == "INVALID_INPUT"
    assert (done["fromAgent"]["slug"], done["toAgent"]["slug"]) == ("kyra", "luke")
    assert done["summary"].startswith(
        "So far, so good.\n\nLuke's skills match best of 1 free member of the group 'desk'"
    )
    assert nobody["handoffConversation"]["code"] == "CONFLICT"
