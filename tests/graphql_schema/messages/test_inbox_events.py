"""Following an inbox: each message once, in each sender's order, whatever breaks; and nothing of anybody else's."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from typing import Any

import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.messages import service
from app.messages.channels import TEAM, Channel, direct
from app.messages.errors import InboxFull
from app.messages.service import Outgoing
from app.messages.spec import MessageSpec
from tests.fixtures.desk import ACTOR
from tests.fixtures.streams import Connect, SocketClient
from tests.graphql_schema.messages.conftest import INBOX, INBOX_LIMIT, PostOffice, task_channel

SENDERS = 20
READ_AT_ONCE = 25
EACH = 500 if os.environ.get("PARLEY_SOAK") == "1" else 30
INBOX_EVENTS = """
subscription Inbox($agent: ID!, $after: Cursor) {
  inboxEvents(agentId: $agent, after: $after) {
    __typename
    ... on Event { kind changes cursor inboxEntry { cursor sender { slug } message { body subject } } }
    ... on CaughtUp { cursor }
    ... on Gap { cursor }
  }
}
"""


async def say(office: PostOffice, sender: str, channel: Channel, body: str, limit: int = INBOX_LIMIT) -> None:
    desk = office.desk
    wanted = Outgoing((await desk.agent(sender)).id, channel, MessageSpec(body=body))
    async with desk.transaction() as session:
        await service.send(session, team_id=desk.team_id, wanted=wanted, limit=limit, sender_limit=1_000, actor=ACTOR)


class Reader:
    """Reads an inbox until it has so much, acknowledging as it goes; its line breaks and it comes back."""

    def __init__(self, office: PostOffice, connect: Connect, slug: str) -> None:
        self.office, self.connect, self.slug = office, connect, slug
        self.bodies: list[str] = []
        self.acknowledged = 0
        self.after: str | None = None
        self.has_acknowledged = asyncio.Condition()

    async def read(self, count: int) -> None:
        while len(self.bodies) < count:
            async with self.connect(secret=await self.office.key(self.slug)) as socket:
                agent = await self.office.id(self.slug)
                await socket.subscribe(INBOX_EVENTS, {"agent": agent, "after": self.after})
                await self._read_some(socket, min(count, len(self.bodies) + 3 * READ_AT_ONCE))
                socket.connection.transport.abort()

    async def _read_some(self, socket: SocketClient, until: int) -> None:
        while len(self.bodies) < until:
            item = await socket.item()
            self.after = item["cursor"]
            if item.get("inboxEntry"):
                assert item["inboxEntry"]["cursor"] == item["cursor"]
                self.bodies.append(item["inboxEntry"]["message"]["body"])
                if len(self.bodies) % READ_AT_ONCE == 0:
                    await self._acknowledge()

    async def _acknowledge(self) -> None:
        done = await self.office.acknowledge(self.slug, through=self.after)
        self.acknowledged += done["acknowledged"]
        async with self.has_acknowledged:
            self.has_acknowledged.notify_all()

    async def more_than(self, acknowledged: int) -> None:
        """Wait until it has acknowledged more."""
        async with self.has_acknowledged:
            await self.has_acknowledged.wait_for(lambda: self.acknowledged > acknowledged)


@pytest.mark.timeout(600)
async def test_of_twenty_senders_nothing_is_lost_or_doubled_and_each_ones_order_is_kept(
    office: PostOffice, connect: Connect
) -> None:
    reader = Reader(office, connect, "luke")
    luke = direct((await office.desk.agent("luke")).id)
    for number in range(SENDERS):
        await office.desk.agent(f"sender-{number}")

    async def sending(sender: str) -> None:
        for number in range(EACH):
            while True:
                before = reader.acknowledged
                try:
                    await say(office, sender, luke, f"{sender} {number}", limit=3 * READ_AT_ONCE)
                    break
                except InboxFull:
                    await reader.more_than(before)

    async with connect(role=Role.ANALYST) as socket:
        await socket.subscribe(INBOX_EVENTS, {"agent": await office.id("luke")})
        reader.after = await socket.caught_up()
    async with asyncio.TaskGroup() as group:
        group.create_task(reader.read(SENDERS * EACH))
        for number in range(SENDERS):
            group.create_task(sending(f"sender-{number}"))

    by_sender: defaultdict[str, list[int]] = defaultdict(list)
    for body in reader.bodies:
        sender, number = body.split()
        by_sender[sender].append(int(number))
    assert by_sender == {f"sender-{number}": list(range(EACH)) for number in range(SENDERS)}
    assert reader.acknowledged == SENDERS * EACH == await office.count("luke")
    assert (await office.inbox("luke"))["unreadCount"] == 0


async def test_outsiders_are_told_of_nothing(office: PostOffice, connect: Connect) -> None:
    desk = office.desk
    for slug in ("ada", "zara"):
        await desk.agent(slug)
    task = await desk.delegate("kyra", "luke")
    async with connect(secret=await office.key("ada")) as outsider, connect(secret=await office.key("luke")) as member:
        for slug, socket in (("ada", outsider), ("luke", member)):
            await socket.subscribe(INBOX_EVENTS, {"agent": await office.id(slug)})
            await socket.caught_up()
        await outsider.subscribe(INBOX_EVENTS, {"agent": await office.id("luke")}, id="theirs")
        refused = await outsider.receive("theirs")
        await say(office, "kyra", direct((await desk.agent("luke")).id), "only for luke")
        await office.send("kyra", channel=task_channel(task), body="for those of the task")
        await say(office, "zara", TEAM, "for all")
        seen = [await member.item() for _ in range(3)]
        done = await office.acknowledge("luke", through=seen[-1]["cursor"])
        acknowledged = await member.item()
        first_of_outsider = await outsider.item()

    bodies = [item["inboxEntry"]["message"]["body"] for item in seen]
    assert bodies == ["only for luke", "for those of the task", "for all"]
    assert seen[0]["changes"].keys() == {"messageId", "senderId", "channel", "type", "subject"}
    assert seen[1]["changes"]["channel"] == task_channel(task)
    assert (acknowledged["kind"], acknowledged["changes"]) == (
        "INBOX_ACKNOWLEDGED",
        {"acknowledged": 3, "unreadCount": 0},
    )
    assert done["acknowledged"] == 3
    assert first_of_outsider["inboxEntry"]["message"]["body"] == "for all"
    assert refused["payload"][0]["extensions"]["code"] == "FORBIDDEN"


async def test_a_sender_sees_when_it_was_read_and_nothing_else_of_the_inbox(office: PostOffice) -> None:
    await office.send("kyra", "luke", "from kyra")
    await office.send("ada", "luke", "from ada")
    before = await office.inbox("luke", await office.key("kyra"))

    await office.acknowledge("luke", through=(await office.inbox("luke"))["inbox"]["nodes"][-1]["cursor"])

    after: Any = await office.inbox("luke", await office.key("kyra"))
    assert [entry["message"]["body"] for entry in before["inbox"]["nodes"]] == ["from kyra"]
    assert [entry["readAt"] is None for entry in (*before["inbox"]["nodes"], *after["inbox"]["nodes"])] == [True, False]


async def test_nothing_comes_in_before_what_could_be_acknowledged(office: PostOffice) -> None:
    """A transaction that began before another may commit after it: until then neither can be read."""
    desk = office.desk
    luke, kyra = await desk.agent("luke"), await desk.agent("kyra")
    async with desk.transaction() as session:
        await session.execute(text("select pg_current_xact_id()"))
        await office.send("ada", "luke", "second")
        between = (await office.parley.run(INBOX, {"slug": "luke"}, secret=await office.key("luke")))["agent"]
        wanted = Outgoing(kyra.id, direct(luke.id), MessageSpec(body="first"))
        await service.send(
            session, team_id=desk.team_id, wanted=wanted, limit=INBOX_LIMIT, sender_limit=1_000, actor=ACTOR
        )

    inbox = await office.inbox("luke")
    done = await office.acknowledge("luke", through=inbox["inbox"]["nodes"][0]["cursor"])

    assert (between["unreadCount"], between["inbox"]["nodes"]) == (1, [])
    assert [entry["message"]["body"] for entry in inbox["inbox"]["nodes"]] == ["first", "second"]
    assert (done["acknowledged"], done["unreadCount"]) == (1, 1)
