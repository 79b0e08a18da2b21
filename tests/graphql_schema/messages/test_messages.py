"""Messages over GraphQL: who gets one and who does not, what expires, what is refused, and that inboxes are bounded."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.agents.models import AgentStatus
from app.auth.roles import Role
from app.ids import Prefix, new_id, to_global
from app.messages.channels import parse_channel
from tests.fixtures.parley import Parley
from tests.graphql_schema.messages.conftest import INBOX_LIMIT, SEND, PostOffice, task_channel

EVERYTHING = """query ($id: ID!) {
  node(id: $id) { ... on AgentMessage { body entries { totalCount } } }
  agentMessages { nodes { body } totalCount }
  agents { nodes { slug inbox { nodes { message { body } } } sentMessages { nodes { body } } } }
  tasks { nodes { messages { nodes { body } } } }
}"""
SET_POLICY = """mutation ($policy: MessagePolicy!) { setMessagePolicy(input: {policy: $policy}) {
  __typename ... on TeamPayload { team { messagePolicy } } ... on Refusal { code } } }"""
NEWEST_FIRST = """query ($where: InboxEntryFilter) { agent(slug: "luke") { inbox(
  first: 3, where: $where, orderBy: [{field: UNREAD, direction: DESC}, {field: RECEIVED_AT, direction: DESC}]
) { nodes { unread message { body } } totalCount } } }"""


async def test_a_direct_message_reaches_its_recipient_and_nobody_else(office: PostOffice, parley: Parley) -> None:
    await office.desk.agent("ada")
    about = await office.desk.delegate("kyra", "luke")
    sent = await office.send(
        "kyra", "luke", "The keys are under the mat.", subject="Keys", type="INFO_RESPONSE",
        taskId=to_global(Prefix.TASK, about.id),
    )  # fmt: skip
    message = sent["agentMessage"]
    answered = await office.send("luke", "kyra", "Thank you.", replyToId=message["id"])

    assert message | {"id": ""} == {
        "id": "", "channel": "direct", "type": "INFO_RESPONSE", "subject": "Keys", "recipientCount": 1,
        "expired": False,
    }  # fmt: skip
    (entry,) = (await office.inbox("luke"))["inbox"]["nodes"]
    assert (entry["unread"], entry["readAt"], entry["sender"]) == (True, None, {"slug": "kyra"})
    assert await office.bodies("kyra") == ["Thank you."]
    seen = await parley.run(EVERYTHING, {"id": message["id"]}, role=Role.ANALYST)
    assert seen["node"] == {"body": "The keys are under the mat.", "entries": {"totalCount": 1}}
    assert seen["agentMessages"]["totalCount"] == 2
    assert seen["tasks"]["nodes"] == [{"messages": {"nodes": [{"body": "The keys are under the mat."}]}}]
    outside = await parley.run(EVERYTHING, {"id": message["id"]}, secret=await office.key("ada"))
    assert (outside["node"], outside["agentMessages"]) == (None, {"nodes": [], "totalCount": 0})
    assert all(agent["inbox"]["nodes"] == agent["sentMessages"]["nodes"] == [] for agent in outside["agents"]["nodes"])
    assert outside["tasks"]["nodes"] == [{"messages": {"nodes": []}}]
    stranger = await office.send("ada", "luke", "I know, too.", replyToId=answered["agentMessage"]["id"])
    assert stranger["code"] == "NOT_FOUND"


async def test_channels_reach_exactly_those_who_are_in_them(office: PostOffice) -> None:
    desk = office.desk
    for slug in ("ada", "zara", "max", "gone"):
        await desk.agent(slug)
    top = await desk.working("kyra", "luke")
    below = await desk.delegate(None, "ada", parent=top, claim_token=top.claim_token)
    beside = await desk.delegate(None, "zara", parent=top, claim_token=top.claim_token)
    await desk.set_status("gone", AgentStatus.ARCHIVED)
    await desk.set_status("max", AgentStatus.PAUSED)

    in_task = await office.send("ada", channel=task_channel(below), body="to those above")
    outsider = await office.send("zara", channel=task_channel(below), body="let me in")
    upward = await office.send("ada", channel=task_channel(top), body="not my task")
    to_all = await office.broadcast("zara", "to all")
    same = await office.send("max", channel="team", body="from one who rests")
    directly = await office.send("kyra", "max", "for later")

    assert (in_task["agentMessage"]["channel"], in_task["agentMessage"]["recipientCount"]) == (task_channel(below), 2)
    assert (outsider["code"], upward["code"]) == ("NOT_IN_CHANNEL", "NOT_IN_CHANNEL")
    assert (to_all["agentMessage"]["channel"], to_all["agentMessage"]["recipientCount"]) == ("team", 3)
    assert same["code"] == "FORBIDDEN"  # a paused agent's key cannot write
    assert directly["__typename"] == "AgentMessagePayload"
    assert await office.bodies("kyra") == ["to those above", "to all"]
    assert await office.bodies("luke") == ["to those above", "to all"]
    assert await office.bodies("ada") == ["to all"]
    assert await office.bodies("zara") == []
    assert await office.bodies("max") == ["for later"]
    assert await office.count("gone") == 0
    assert (await office.send("kyra", channel=task_channel(beside)))["agentMessage"]["recipientCount"] == 2


async def test_hub_and_spoke_leaves_only_the_channels_of_shared_work(office: PostOffice, parley: Parley) -> None:
    task = await office.desk.delegate("kyra", "luke")
    by_agent = await parley.run(SET_POLICY, {"policy": "HUB_AND_SPOKE"}, role=Role.AGENT)
    changed = await parley.run(SET_POLICY, {"policy": "HUB_AND_SPOKE"})

    direct, to_all = await office.send("kyra", "luke"), await office.broadcast("kyra")
    in_task = await office.send("kyra", channel=task_channel(task), body="by task")
    await parley.run(SET_POLICY, {"policy": "OPEN"})
    again = await office.send("kyra", "luke", "open again")

    assert by_agent["setMessagePolicy"]["code"] == "FORBIDDEN"
    assert changed["setMessagePolicy"]["team"] == {"messagePolicy": "HUB_AND_SPOKE"}
    assert direct["__typename"] == to_all["__typename"] == "NoDirectMessages"
    assert "setMessagePolicy" in direct["message"]
    assert in_task["__typename"] == again["__typename"] == "AgentMessagePayload"
    assert await office.bodies("luke") == ["by task", "open again"]


async def test_each_key_speaks_and_reads_in_its_own_name(office: PostOffice, parley: Parley) -> None:
    kyra, luke = await office.id("kyra"), await office.id("luke")
    as_other = await office.send("luke", "kyra", fromAgentId=kyra)
    nameless = await parley.run(SEND, {"input": {"toAgentId": luke, "body": "x"}}, role=Role.INTEGRATOR)
    named = await parley.run(
        SEND, {"input": {"toAgentId": luke, "fromAgentId": kyra, "body": "named"}}, role=Role.INTEGRATOR
    )
    refused = [
        (await parley.run(SEND, {"input": {"toAgentId": luke, "fromAgentId": kyra, "body": "x"}}, role=role))["result"]
        for role in (Role.ANALYST, Role.OPERATOR)
    ]
    for_other = await office.acknowledge("kyra", agentId=luke, messageIds=[named["result"]["agentMessage"]["id"]])

    assert (as_other["code"], for_other["code"]) == ("FORBIDDEN", "FORBIDDEN")
    assert nameless["result"]["problems"][0]["path"] == "fromAgentId"
    assert named["result"]["__typename"] == "AgentMessagePayload"
    assert [one["permission"] for one in refused] == ["MESSAGE_AGENTS", "MESSAGE_AGENTS"]
    assert await office.bodies("luke") == ["named"]
    assert (await office.inbox("luke"))["unreadCount"] == 1


async def test_what_expires_frees_its_place_and_stays_readable(office: PostOffice) -> None:
    soon = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    await office.send("kyra", "luke", "short-lived", expiresAt=soon)
    await office.send("kyra", "luke", "lasting")
    assert (await office.inbox("luke"))["unreadCount"] == 2

    await office.desk.sql("update inbox_entry set expires_at = now() where expires_at is not null")
    await office.desk.sql("update agent_message set expires_at = now() where expires_at is not null")

    inbox = await office.inbox("luke")
    assert inbox["unreadCount"] == 1
    assert [(one["message"]["body"], one["expired"], one["unread"]) for one in inbox["inbox"]["nodes"]] == [
        ("short-lived", True, True), ("lasting", False, True),
    ]  # fmt: skip


async def test_unread_first_then_newest_and_single_messages_can_be_acknowledged(
    office: PostOffice, parley: Parley
) -> None:
    ids = [(await office.send("kyra", "luke", f"m{number}"))["agentMessage"]["id"] for number in range(4)]
    done = await office.acknowledge("luke", messageIds=[ids[3], ids[3], ids[1]])
    again = await office.acknowledge("luke", messageIds=[ids[1]])
    await parley.settled()

    page = (await parley.run(NEWEST_FIRST, secret=await office.key("luke")))["agent"]["inbox"]
    unread = await parley.run(NEWEST_FIRST, {"where": {"unread": {"eq": True}}}, secret=await office.key("luke"))

    assert (done["acknowledged"], done["unreadCount"], again["acknowledged"]) == (2, 2, 0)
    assert done["agent"] == {"slug": "luke", "unreadCount": 2}
    assert [(one["message"]["body"], one["unread"]) for one in page["nodes"]] == [
        ("m2", True), ("m0", True), ("m3", False),
    ]  # fmt: skip
    assert unread["agent"]["inbox"]["totalCount"] == 2
    kinds = await parley.value("select count(*) from event where kind = 'inbox.acknowledged'")
    assert kinds == 1


async def test_acknowledgements_at_once_count_every_message_once_and_nothing_that_came_later(
    office: PostOffice, parley: Parley
) -> None:
    for number in range(20):
        await office.send("kyra", "luke", f"m{number}")
    entries = (await office.inbox("luke"))["inbox"]["nodes"]
    ids = [entry["message"]["id"] for entry in entries]
    through = [{"through": entries[at]["cursor"]} for at in (4, 9, 14, 9)]
    single = [{"messageIds": ids[at : at + 8]} for at in (0, 3, 6)]

    done, late = await asyncio.gather(
        asyncio.gather(*(office.acknowledge("luke", **one) for one in [*through, *single])),
        asyncio.gather(*(office.send("kyra", "luke", f"late {number}") for number in range(5))),
    )

    assert {one["__typename"] for one in late} == {"AgentMessagePayload"}
    assert sum(one["acknowledged"] for one in done) == 15
    inbox = await office.inbox("luke")
    assert inbox["unreadCount"] == 10
    assert [entry["unread"] for entry in inbox["inbox"]["nodes"]] == [False] * 15 + [True] * 10
    wrong = [
        await office.acknowledge("luke", **given)
        for given in (
            {},
            {"through": "x"},
            {"messageIds": []},
            {"messageIds": [to_global(Prefix.AGENT_MESSAGE, new_id())]},
        )
    ]
    assert [one["code"] for one in wrong] == ["INVALID_INPUT", "INVALID_INPUT", "INVALID_INPUT", "NOT_FOUND"]


async def test_an_inbox_never_holds_one_too_many_however_many_send_at_once(office: PostOffice) -> None:
    senders = ["kyra", "ada"]
    for slug in senders:
        await office.key(slug)

    tried = await asyncio.gather(*(office.send(senders[number % 2], "luke") for number in range(INBOX_LIMIT + 10)))
    to_all = await office.broadcast("ada")

    refused = [one for one in tried if one["__typename"] == "InboxFull"]
    assert len(refused) == 10
    assert (refused[0]["agents"], refused[0]["limit"]) == (["luke"], INBOX_LIMIT)
    assert await office.count("luke") == INBOX_LIMIT
    assert (to_all["__typename"], to_all["agents"]) == ("InboxFull", ["luke"])
    assert await office.count("kyra") == 0  # all or nobody

    last = (await office.inbox("luke"))["inbox"]["nodes"][0]
    await office.acknowledge("luke", through=last["cursor"])
    freed = await asyncio.gather(*(office.send("kyra", "luke", "again") for _ in range(3)))
    assert sorted(one["__typename"] for one in freed) == ["AgentMessagePayload", "InboxFull", "InboxFull"]


NOBODY = {"toAgentId": None}
ZEROS = "0" * 32
HOSTILE: list[tuple[dict[str, Any], str, str | None]] = [
    ({"body": ""}, "INVALID_INPUT", "body"),
    ({"body": " \n "}, "INVALID_INPUT", "body"),
    ({"body": "x" * 20_001}, "INVALID_INPUT", "body"),
    ({"body": "a\0b"}, "INVALID_INPUT", "body"),
    ({"subject": "s" * 201}, "INVALID_INPUT", "subject"),
    ({"channel": "team"}, "INVALID_INPUT", "toAgentId"),
    (NOBODY, "INVALID_INPUT", "toAgentId"),
    (NOBODY | {"channel": "everybody"}, "INVALID_INPUT", "channel"),
    (NOBODY | {"channel": "team:x"}, "INVALID_INPUT", "channel"),
    (NOBODY | {"channel": "task:" + "0" * 5_000}, "INVALID_INPUT", "channel"),
    (NOBODY | {"channel": "task:task_" + ZEROS}, "NOT_FOUND", None),
    (NOBODY | {"channel": "collab:x"}, "INVALID_INPUT", "channel"),
    (NOBODY | {"channel": "collab:collab_" + ZEROS}, "CHANNEL_CLOSED", None),
    ({"toAgentId": "agent_" + ZEROS}, "NOT_FOUND", None),
    ({"toAgentId": "task_" + ZEROS}, "INVALID_INPUT", "toAgentId"),
    ({"taskId": "task_" + ZEROS}, "NOT_FOUND", None),
    ({"replyToId": "amsg_" + ZEROS}, "NOT_FOUND", None),
    ({"replyToId": "x"}, "INVALID_INPUT", "replyToId"),
    ({"expiresAt": "2020-01-01T00:00:00Z"}, "INVALID_INPUT", "expiresAt"),
    ({"expiresAt": "2999-01-01T00:00:00Z"}, "INVALID_INPUT", "expiresAt"),
]


@pytest.mark.parametrize("name", ["team", "task:task_" + "a" * 32, "collab:collab_" + "b" * 32])
def test_a_channel_is_called_by_one_name(name: str) -> None:
    assert parse_channel(f" {name} ").name == name


async def test_what_cannot_be_sent_is_refused_and_leaves_nothing(office: PostOffice, parley: Parley) -> None:
    await office.desk.agent("ada")
    await office.desk.set_status("ada", AgentStatus.ARCHIVED)
    usual, secret = {"toAgentId": await office.id("luke"), "body": "Hello"}, await office.key("kyra")
    before = await parley.value("select count(*) from event")

    for given, code, path in HOSTILE:
        wanted = {name: value for name, value in (usual | given).items() if value is not None}
        refused = await office.do(SEND, secret, **wanted)
        assert refused["code"] == code, (given, refused)
        assert [problem["path"] for problem in refused.get("problems", [])] == ([path] if path else []), given
    itself, gone = await office.send("kyra", "kyra"), await office.send("kyra", "ada")

    assert (itself["code"], itself["problems"][0]["path"]) == ("INVALID_INPUT", "toAgentId")
    assert (gone["__typename"], gone["reason"]) == ("AgentUnavailable", "ARCHIVED")
    assert await parley.value("select count(*) from agent_message") == 0
    assert await parley.value("select count(*) from event") == before
