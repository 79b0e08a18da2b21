"""Conversations over the API, without a worker: who takes part, what is said, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

from app.auth.roles import Role
from tests.fixtures.follow_ups import run_follow_ups
from tests.graphql_schema.conversations.conftest import Talk

PARTICIPANTS = "participants { nodes { role leftAt agent { slug } } }"


async def test_a_conversation_with_one_agent_works_with_every_flag_off(talk: Talk) -> None:
    sent = await talk.say(
        "What is Valkey?",
        parts=[{"data": {"urgent": True}}, {"reference": "https://example.org/a"}],
        artifacts=["file:notes.md"],
    )
    again = await talk.say("And Redis?", inReplyToId=sent["sent"]["id"])
    spoken = await talk.read(
        "status messageCount userName createdBy primaryAgent { slug } messages { nodes { number stepId author "
        "authorName text parts artifacts cost handoffTriggered handoffTarget { slug } inReplyTo { number } task { id } "
        "routingDecision { mode reason selectedAgent { slug } conversation { id } message { id } } reply { status "
        "strategy number answer { id } contributions { nodes { place status agent { slug } text use task { id } } "
        "} } } } replies { totalCount }"
    )

    assert (sent["reply"]["status"], sent["reply"]["strategy"]) == ("PENDING", "TOP_1")
    assert (spoken["messageCount"], spoken["userName"], spoken["createdBy"]) == (2, "Mia", "admin key")
    first, second = spoken["messages"]["nodes"]
    assert (first["number"], first["stepId"], first["author"], first["authorName"]) == (1, "step-1", "USER", "Mia")
    assert first["parts"] == [
        {"type": "TEXT", "text": "What is Valkey?"},
        {"type": "DATA", "data": {"urgent": True}},
        {"type": "REFERENCE", "reference": "https://example.org/a"},
    ]
    assert first["text"] == 'What is Valkey?\n\n{"urgent": true}\n\nhttps://example.org/a'
    assert first["artifacts"] == ["file:notes.md"]
    assert first["routingDecision"]["mode"] == "DIRECT"
    assert first["routingDecision"]["selectedAgent"] == {"slug": "kyra"}
    assert first["routingDecision"]["conversation"] == {"id": talk.id}
    assert first["routingDecision"]["message"] == {"id": sent["sent"]["id"]}
    assert [one["agent"]["slug"] for one in first["reply"]["contributions"]["nodes"]] == ["kyra"]
    assert second["inReplyTo"] == {"number": 1}
    assert again["reply"]["status"] == "PENDING"


async def test_an_agents_key_sees_a_conversation_while_it_takes_part(talk: Talk) -> None:
    await talk.say("My secret illness.")
    await run_follow_ups(talk.parley.transaction, talk.parley.settings)
    seen = (
        "{ conversations { nodes { messages { nodes { text routingDecision { query } reply { contributions { "
        "totalCount } } } } participants { totalCount } tasks { totalCount } } } tasks { nodes { instructions } } }"
    )

    hidden = await talk.parley.run(seen, role=Role.AGENT)
    await talk.agents(add=[talk.luke])
    shown = await talk.parley.run(seen, role=Role.AGENT)
    await talk.agents(remove=[talk.luke])
    hidden_again = await talk.parley.run(seen, role=Role.AGENT)

    assert hidden == hidden_again == {"conversations": {"nodes": []}, "tasks": {"nodes": []}}
    said = {"text": "My secret illness.", "routingDecision": {"query": "My secret illness."}}
    assert shown["conversations"]["nodes"] == [
        {
            "messages": {"nodes": [said | {"reply": {"contributions": {"totalCount": 1}}}]},
            "participants": {"totalCount": 2},
            "tasks": {"totalCount": 1},
        }
    ]
    assert shown["tasks"]["nodes"] == [{"instructions": "My secret illness."}]


async def test_agents_join_leave_and_come_back_in_one_row(talk: Talk) -> None:
    await talk.agents(add=[talk.luke])
    await talk.agents(remove=[talk.luke])
    gone = await talk.read(PARTICIPANTS)
    refused = await talk.say("May I?", Role.AGENT)
    await talk.agents(add=[talk.luke, talk.kyra])
    back = await talk.read(PARTICIPANTS)
    own = await talk.say("I am back.", Role.AGENT)
    primary = await talk.agents(remove=[talk.kyra])
    await talk.parley.settled()
    seen = await talk.read(
        "messages { nodes { author authorName agent { slug } } } "
        "events { nodes { kind agent { slug } message { text } } }"
    )

    assert [(one["role"], one["agent"]["slug"]) for one in gone["participants"]["nodes"]] == [
        ("PRIMARY", "kyra"),
        ("INVITED", "luke"),
    ]
    assert gone["participants"]["nodes"][1]["leftAt"] is not None
    assert refused["code"] == "FORBIDDEN"
    assert [one["leftAt"] for one in back["participants"]["nodes"]] == [None, None]
    assert own["reply"] is None
    assert primary["code"] == "CONFLICT"
    assert seen["messages"]["nodes"] == [{"author": "AGENT", "authorName": "Luke", "agent": {"slug": "luke"}}]
    assert [(one["kind"], one["agent"]["slug"]) for one in seen["events"]["nodes"]] == [
        ("CONVERSATION_STARTED", "kyra"),
        ("CONVERSATION_AGENT_JOINED", "luke"),
        ("CONVERSATION_AGENT_LEFT", "luke"),
        ("CONVERSATION_AGENT_JOINED", "luke"),
        ("MESSAGE_ADDED", "luke"),
    ]
    assert [one["message"] for one in seen["events"]["nodes"]] == [None] * 4 + [{"text": "I am back."}]


UNSPEAKABLE: list[tuple[dict[str, Any], str]] = [
    ({"text": "x" * 900_000}, "INVALID_INPUT"),
    ({"text": ""}, "INVALID_INPUT"),
    ({"text": None}, "INVALID_INPUT"),
    ({"text": "a\x00b"}, "INVALID_INPUT"),
    ({"text": "hi", "parts": [{"data": {"a": "\x00"}}]}, "INVALID_INPUT"),
    ({"text": "hi", "parts": [{}]}, "INVALID_INPUT"),
    ({"text": "hi", "parts": [{"text": "a", "reference": "file:a"}]}, "INVALID_INPUT"),
    ({"text": "hi", "parts": [{"reference": "anywhere"}]}, "INVALID_INPUT"),
    ({"text": "hi", "artifacts": ["nowhere"]}, "INVALID_INPUT"),
    ({"text": "hi", "artifacts": ["artifact:x\n"]}, "INVALID_INPUT"),
    ({"text": "hi", "idempotencyKey": "a\x00"}, "INVALID_INPUT"),
    ({"text": "hi", "parts": [{"text": "a"}] * 50}, "INVALID_INPUT"),
    ({"text": "hi", "timeoutSeconds": 0}, "INVALID_INPUT"),
    ({"text": "hi", "k": 0}, "INVALID_INPUT"),
    ({"text": "hi", "agentId": "agent_" + "0" * 32}, "NOT_FOUND"),
    ({"text": "hi", "inReplyToId": "message_" + "0" * 32}, "NOT_FOUND"),
    ({"text": "hi", "conversationId": "conversation_" + "0" * 32}, "NOT_FOUND"),
]


async def test_what_cannot_be_said_leaves_nothing(talk: Talk) -> None:
    for input, code in UNSPEAKABLE:
        refused = await talk.say(**input)

        assert refused["code"] == code, (input, refused)
    assert (await talk.read("messageCount messages { totalCount } replies { totalCount }")) == {
        "messageCount": 0,
        "messages": {"totalCount": 0},
        "replies": {"totalCount": 0},
    }


async def test_an_agents_own_word_takes_no_wish_how_it_is_answered(talk: Talk) -> None:
    await talk.agents(add=[talk.luke])
    wishes = {"agentId": talk.kyra, "strategy": "ENSEMBLE", "whileAnswering": "INTERRUPT", "k": 2, "timeoutSeconds": 9}
    for path, wish in wishes.items():
        refused = await talk.say("Kyra, answer!", Role.AGENT, **{path: wish})
        assert (refused["code"], refused["message"].partition(" ")[0]) == ("INVALID_INPUT", f"{path}:"), path
    said = await talk.say("As I said.", Role.AGENT, whileAnswering="QUEUE", parts=[{"data": {"a": "\\u0000"}}])

    assert said["sent"]["number"] == 1
    (message,) = (await talk.read("messages { nodes { parts } }"))["messages"]["nodes"]
    assert message["parts"][1] == {"type": "DATA", "data": {"a": "\\u0000"}}, "six characters are not a null character"


async def test_a_retry_gets_the_first_answer_whatever_happened_since(talk: Talk) -> None:
    """Also when the same would now be refused: what was sent was sent."""
    first = await talk.say("Hello", idempotencyKey="k")
    await talk.close()

    assert await talk.say("Hello", idempotencyKey="k") == first | {"reply": first["reply"] | {"status": "CANCELLED"}}
    assert (await talk.say("Hello", idempotencyKey="another"))["code"] == "CONFLICT"
    assert (await talk.say("Goodbye", idempotencyKey="k"))["code"] == "IDEMPOTENCY_CONFLICT"
    assert (await talk.read("messageCount"))["messageCount"] == 1


async def test_unavailable_agents_and_closed_conversations_are_refused(talk: Talk) -> None:
    archive = "mutation ($id: ID!) { archiveAgent(input: {agentId: $id}) { __typename } }"
    await talk.parley.run(archive, {"id": talk.luke})
    other = Talk(talk.parley)

    assert (await other.start(agentId=talk.luke))["code"] == "AGENT_UNAVAILABLE"
    assert (await other.start(agentId=None))["__typename"] == "ConversationPayload", "the team's default agent has it"
    assert (await talk.agents(add=[talk.luke]))["code"] == "AGENT_UNAVAILABLE"
    assert (await talk.agents(add=[talk.kyra], remove=[talk.kyra]))["code"] == "INVALID_INPUT"
    assert (await talk.agents(remove=[talk.luke]))["code"] == "NOT_FOUND"
    assert (await talk.say("Hi", agentId=talk.luke))["code"] == "AGENT_UNAVAILABLE"
    waiting = await talk.say("Hi")
    assert (await talk.close())["conversation"]["status"] == "CLOSED"
    assert (await talk.say("Hi"))["code"] == "CONFLICT"
    assert (await talk.close())["code"] == "CONFLICT"
    assert (await talk.agents(add=[talk.kyra]))["code"] == "CONFLICT"
    assert waiting["reply"]["status"] == "PENDING"
    (reply,) = (await talk.read("replies { nodes { status error } }"))["replies"]["nodes"]
    assert reply == {"status": "CANCELLED", "error": "The conversation was closed."}


async def test_of_many_who_speak_at_once_each_has_a_number_and_all_see_one_order(talk: Talk) -> None:
    sent = await asyncio.gather(*(talk.say(f"Message {number}") for number in range(40)))

    by_number = {one["sent"]["number"]: one["sent"]["id"] for one in sent}
    assert sorted(by_number) == list(range(1, 41))
    nodes = (await talk.read("messages(first: 100) { nodes { id number } }"))["messages"]["nodes"]
    assert [one["number"] for one in nodes] == list(range(1, 41))
    assert all(by_number[one["number"]] == one["id"] for one in nodes)
    await talk.parley.settled()
    events = await talk.read("events(first: 100, where: {kind: {eq: MESSAGE_ADDED}}) { nodes { message { number } } }")
    told = [one["message"]["number"] for one in events["events"]["nodes"]]
    assert sorted(told) == list(range(1, 41)), "the log has each once; who was quicker to begin may stand first there"
