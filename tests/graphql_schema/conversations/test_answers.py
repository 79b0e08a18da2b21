"""Answers as a client sees them: by a worker on the offline model, live, with what is being said in between."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update

from app.auth.roles import Role
from app.conversations.partials import CHANNEL, Speaker, Speech
from app.ids import Prefix, from_global, new_id, to_global
from app.redis import Redis
from app.teams.models import Team
from tests.fixtures.streams import Connect, SocketClient
from tests.graphql_schema.conversations.conftest import Talk

EVENTS = """subscription ($id: ID!, $after: Cursor) { conversationEvents(conversationId: $id, after: $after) {
  __typename
  ... on Event { kind message { number text author task { id } } }
  ... on CaughtUp { cursor }
  ... on PartialText { replyId agentId taskId text delta offset }
} }"""
FLAGS = """mutation ($flags: [FeatureFlagInput!]!) { setFeatureFlags(input: {flags: $flags}) { __typename } }"""
QUIET = """subscription ($id: ID!) { conversationEvents(conversationId: $id) { __typename ... on Event { kind } } }"""


async def until(client: SocketClient, kind: str) -> list[dict[str, Any]]:
    """Items up to the first event of a kind."""
    found: list[dict[str, Any]] = []
    while not found or found[-1].get("kind") != kind:
        found.append(await client.item())
    return found


@pytest.mark.parametrize("script", [[{"agent": "kyra", "wait_s": 0.7}]])
@pytest.mark.usefixtures("worker")
async def test_a_client_follows_from_message_to_message(talk: Talk, connect: Connect) -> None:
    async with connect() as client, connect() as other:
        await client.subscribe(EVENTS, {"id": talk.id})
        await client.caught_up()
        await other.subscribe(QUIET, {"id": talk.id})
        await other.caught_up()
        sent = await talk.say("What about talking?")
        seen = await until(client, "REPLY_COMPLETED")
        quiet = await until(other, "REPLY_COMPLETED")

    pieces = [item for item in seen if item["__typename"] == "PartialText"]
    events = [item for item in seen if item["__typename"] == "Event"]
    (answer,) = [one["message"] for one in events if one["message"] and one["message"]["author"] == "AGENT"]
    assert [one["kind"] for one in events] == [
        "MESSAGE_ADDED",
        "ROUTING_DECIDED",
        "REPLY_STARTED",
        *["TASK_CREATED", "TASK_CLAIMED", "TASK_PROGRESSED", "TASK_COMPLETED"],
        *["MESSAGE_ADDED", "REPLY_COMPLETED"],
    ]
    assert pieces[0]["text"] == pieces[0]["delta"] == "You ask: What about talking?\n"
    assert (pieces[0]["offset"], pieces[0]["replyId"]) == (0, sent["reply"]["id"])
    assert (pieces[0]["agentId"], pieces[0]["taskId"]) == (talk.kyra, answer["task"]["id"])
    assert all(answer["text"].startswith(one["text"]) for one in pieces)
    assert seen.index(pieces[-1]) < next(at for at, one in enumerate(seen) if one.get("kind") == "TASK_COMPLETED")
    assert {one["__typename"] for one in quiet} == {"Event"}, "who selects nothing of it gets none of it"


async def test_who_joins_late_gets_the_text_so_far(talk: Talk, connect: Connect) -> None:
    conversation_id = from_global(Prefix.CONVERSATION, talk.id)
    home = talk.parley.home
    speech = Speech(home.id, conversation_id, new_id(), home.kyra.id, new_id())
    elsewhere = Speech(home.id, UUID(int=0), new_id(), home.kyra.id, new_id())
    redis = Redis(talk.parley.settings)
    speaker = Speaker(redis)
    async with connect() as client:
        await client.subscribe(EVENTS, {"id": talk.id})
        await client.caught_up()
        speaker.say(speech, "One ")
        first = await client.item()
        async with connect() as late:
            await late.subscribe(EVENTS, {"id": talk.id})
            await late.caught_up()
            speaker.say(elsewhere, "Not for these ears.")
            for body in ("nonsense", "{}", '{"speech": {"team_id": "x"}}', "[]", ""):
                await redis.run(lambda raw, body=body: raw.publish(CHANNEL, body))  # type: ignore[misc]
            speaker.say(speech, "One two ")
            second, same = await client.item(), await late.item()
            speaker.end(speech)
            speaker.say(speech, "Anew")
            third = await late.item()
    await speaker.close()
    await redis.close()

    assert (first["text"], first["delta"], first["offset"]) == ("One ", "One ", 0)
    assert second == same
    assert (second["text"], second["delta"], second["offset"]) == ("One two ", "two ", 4)
    assert (third["text"], third["delta"], third["offset"]) == ("Anew", "Anew", 0)
    assert third["replyId"] == to_global(Prefix.REPLY, speech.reply_id)


async def test_an_agents_key_follows_only_where_it_takes_part(talk: Talk, connect: Connect) -> None:
    async with connect(role=Role.AGENT) as client:
        await client.subscribe(EVENTS, {"id": talk.id})
        refused = await client.receive("1")
        await talk.agents(add=[talk.luke])
        await client.subscribe(EVENTS, {"id": talk.id}, id="2")
        await client.caught_up("2")
        async with connect() as person:
            await person.subscribe(EVENTS, {"id": talk.id})
            await person.caught_up()
            await talk.say("Hello")
            await talk.agents(remove=[talk.luke])
            await talk.say("A secret")
            await until(person, "CONVERSATION_AGENT_LEFT")
            last = (await until(person, "MESSAGE_ADDED"))[-1]
        heard = []
        while (got := await client.receive("2"))["type"] == "next":
            heard.append(got["payload"]["data"]["conversationEvents"]["message"])
        await client.subscribe(EVENTS, {"id": talk.id}, id="3")
        again = await client.receive("3")

    assert last["message"]["text"] == "A secret"
    assert "A secret" not in str(heard)
    for end in (got, again):
        assert (end["type"], end["payload"][0]["extensions"]["code"]) == ("error", "FORBIDDEN")
    assert (refused["type"], refused["payload"][0]["extensions"]["code"]) == ("error", "FORBIDDEN")


async def test_who_was_removed_is_not_chosen_again_unless_asked_for(talk: Talk) -> None:
    on = [{"flag": flag, "enabled": True} for flag in ("AGENT_COLLABORATION", "EXPERT_GATE", "ENSEMBLE_MODE")]
    await talk.parley.run(FLAGS, {"flags": on})
    asked = {"strategy": "ENSEMBLE", "threshold": 0.0}
    await talk.agents(add=[talk.luke])
    await talk.agents(remove=[talk.luke])
    busy = "availability { activeConversations }"
    agents = f'{{ gone: agent(slug: "luke") {{ {busy} }} here: agent(slug: "kyra") {{ {busy} }} }}'
    idle = await talk.parley.run(agents)
    await talk.say("Let us go talking", **asked)
    await talk.say("@luke, let us go talking", **asked)
    chosen = await talk.read("messages { nodes { routingDecision { selectedAgents { slug } } } }")
    mine = (
        "query ($agent: ID!) { conversations(where: {participants: {some: {agentId: {eq: $agent}}}}) { totalCount } }"
    )

    assert (idle["gone"]["availability"], idle["here"]["availability"]) == (
        {"activeConversations": 0},
        {"activeConversations": 1},
    )
    slugs = [[one["slug"] for one in node["routingDecision"]["selectedAgents"]] for node in chosen["messages"]["nodes"]]
    assert slugs == [["kyra"], ["luke"]]
    assert (await talk.parley.run(agents))["gone"]["availability"] == {"activeConversations": 1}
    assert (await talk.parley.run(mine, {"agent": talk.luke}))["conversations"]["totalCount"] == 1


async def test_default_agent_that_was_removed_does_not_step_in(talk: Talk) -> None:
    on = [{"flag": flag, "enabled": True} for flag in ("AGENT_COLLABORATION", "EXPERT_GATE")]
    await talk.parley.run(FLAGS, {"flags": on})
    async with talk.parley.transaction() as session:
        await session.execute(
            update(Team)
            .where(Team.id == talk.parley.home.id)
            .values(default_agent_id=from_global(Prefix.AGENT, talk.luke))
        )
    await talk.agents(add=[talk.luke])
    await talk.agents(remove=[talk.luke])

    await talk.say("Whales in the Pacific")
    read = await talk.read("messages { nodes { routingDecision { selectedAgents { slug } warning explanation } } }")

    [message] = read["messages"]["nodes"]
    said = "No agent matches this well enough and the default agent is left out, so the current agent answers."
    assert message["routingDecision"]["selectedAgents"] == [{"slug": "kyra"}]
    assert message["routingDecision"]["warning"] == said
    assert message["routingDecision"]["explanation"].startswith(f"Kyra answers. Luke was left out. {said}")


@pytest.mark.usefixtures("worker")
async def test_an_ensemble_needs_its_flag_and_comes_from_both(talk: Talk, connect: Connect) -> None:
    gate = [{"flag": flag, "enabled": True} for flag in ("AGENT_COLLABORATION", "EXPERT_GATE")]
    asked = {"strategy": "ENSEMBLE", "threshold": 0.0}
    await talk.parley.run(FLAGS, {"flags": gate})
    async with connect() as client:
        await client.subscribe(EVENTS, {"id": talk.id})
        await client.caught_up()
        downgraded = await talk.say("Let us go talking", **asked)
        await until(client, "REPLY_COMPLETED")
        await talk.parley.run(FLAGS, {"flags": [{"flag": "ENSEMBLE_MODE", "enabled": True}]})
        together = await talk.say("Let us go talking", **asked)
        await until(client, "REPLY_COMPLETED")
    read = await talk.read(
        "messages { nodes { author routingDecision { askedStrategy warning outcome actualCost } reply { status "
        "strategy answer { text } contributions { nodes { status text use agent { slug } task { purpose conversation "
        "{ id } } } } } } } participants { nodes { role agent { slug } } }"
    )

    assert (downgraded["reply"]["strategy"], together["reply"]["strategy"]) == ("TOP_1", "ENSEMBLE")
    first, _, second, _ = read["messages"]["nodes"]
    assert first["routingDecision"]["askedStrategy"] == "ENSEMBLE"
    assert "ensemble_mode is off" in first["routingDecision"]["warning"]
    assert (first["routingDecision"]["outcome"], second["reply"]["status"]) == ("ANSWERED", "COMPLETED")
    voices = second["reply"]["contributions"]["nodes"]
    assert {one["agent"]["slug"] for one in voices} == {"kyra", "luke"}
    assert all(one["task"]["conversation"] == {"id": talk.id} for one in voices)
    assert {(one["status"], one["task"]["purpose"]) for one in voices} == {("COMPLETED", "REPLY")}
    assert all(one["text"] for one in voices)
    assert {one["agent"]["slug"] for one in read["participants"]["nodes"]} == {"kyra", "luke"}
