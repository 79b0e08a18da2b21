"""A post office: every agent of the team by slug, with a key of its own, and every verb in one line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.auth import service as auth
from app.auth.roles import Role
from app.auth.tokens import new_secret
from app.config import Flags, Settings, load_settings
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.ids import Prefix, to_global
from app.redis import Redis
from app.tasks.models import Task
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.parley import Parley

INBOX_LIMIT = 25
REFUSED = """... on Refusal { code message } ... on InvalidInput { problems { path message } }
... on Forbidden { permission roles }"""
SENT = f"""{{ __typename
  ... on AgentMessagePayload {{ eventCursor agentMessage {{ id channel type subject recipientCount expired }} }}
  {REFUSED} ... on InboxFull {{ agents limit }} ... on AgentUnavailable {{ reason }} }}"""
SEND = f"mutation ($input: SendAgentMessageInput!) {{ result: sendAgentMessage(input: $input) {SENT} }}"
BROADCAST = f"mutation ($input: BroadcastAgentMessageInput!) {{ result: broadcastAgentMessage(input: $input) {SENT} }}"
ACKNOWLEDGE = f"""mutation ($input: AcknowledgeInboxInput!) {{ result: acknowledgeInbox(input: $input) {{ __typename
  ... on AcknowledgeInboxPayload {{ eventCursor acknowledged unreadCount agent {{ slug unreadCount }} }}
  {REFUSED} }} }}"""
INBOX = """query ($slug: String!) { agent(slug: $slug) { unreadCount inbox(first: 100) { nodes {
  unread readAt expired cursor sender { slug } message { id body } } } } }"""


@pytest.fixture
def parley_settings(database_url: str, redis_url: str) -> Settings:
    """Polls so rarely that only wake-ups explain what arrives; small inboxes."""
    return load_settings(
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        port=0,
        log_level="error",
        event_poll_s=30,
        shutdown_grace_s=2,
        inbox_limit=INBOX_LIMIT,
    )


@dataclass
class PostOffice:
    parley: Parley
    desk: Desk
    secrets: dict[str, str] = field(default_factory=dict)

    async def id(self, slug: str) -> str:
        return to_global(Prefix.AGENT, (await self.desk.agent(slug)).id)

    async def key(self, slug: str) -> str:
        """The secret of the agent's own key."""
        agent = await self.desk.agent(slug)
        if slug not in self.secrets:
            self.secrets[slug] = new_secret()
            async with self.desk.transaction() as session:
                await auth.issue(
                    session,
                    team_id=self.desk.team_id,
                    name=f"key of {slug}",
                    role=Role.AGENT,
                    secret=self.secrets[slug],
                    actor=ACTOR,
                    agent_id=agent.id,
                )
        return self.secrets[slug]

    async def send(self, sender: str, to: str | None = None, body: str = "Hello", **given: Any) -> Any:
        """In the sender's name, by its own key."""
        if to is not None:
            given["toAgentId"] = await self.id(to)
        return await self.do(SEND, await self.key(sender), body=body, **given)

    async def broadcast(self, sender: str, body: str = "Hello all", **given: Any) -> Any:
        return await self.do(BROADCAST, await self.key(sender), body=body, **given)

    async def acknowledge(self, slug: str, **given: Any) -> Any:
        return await self.do(ACKNOWLEDGE, await self.key(slug), **given)

    async def do(self, document: str, secret: str, **given: Any) -> Any:
        return (await self.parley.run(document, {"input": given}, secret=secret))["result"]

    async def inbox(self, slug: str, secret: str | None = None) -> Any:
        """The agent's inbox, as its own key sees it."""
        await self.parley.settled()
        return (await self.parley.run(INBOX, {"slug": slug}, secret=secret or await self.key(slug)))["agent"]

    async def bodies(self, slug: str, secret: str | None = None) -> list[str]:
        return [entry["message"]["body"] for entry in (await self.inbox(slug, secret))["inbox"]["nodes"]]

    async def count(self, slug: str) -> Any:
        sql = "select count(*) from inbox_entry where agent_id = $1"
        return await self.parley.value(sql, (await self.desk.agent(slug)).id)


def task_channel(task: Task) -> str:
    return f"task:{to_global(Prefix.TASK, task.id)}"


@pytest.fixture
async def office(parley: Parley) -> AsyncIterator[PostOffice]:
    redis = Redis(parley.settings)
    dispatcher = Dispatcher(parley.settings, parley.database, redis)
    settings = parley.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    home = parley.home
    desk = Desk(Transactions(parley.database, dispatcher), settings, home.id, {"kyra": home.kyra, "luke": home.luke})
    await desk.sql("""update team set flags = '{"task_delegation": true}'""")
    yield PostOffice(parley, desk)
    await dispatcher.close()
    await redis.close()
