"""Conversations as a client has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from app.auth.roles import Role
from app.config import ScriptedReply
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley
from tests.fixtures.workers import running_worker

REFUSED = "... on Refusal { code message }"


@dataclass
class Talk:
    """One conversation of the home team's user, with kyra as its primary agent unless said otherwise."""

    parley: Parley
    id: str = ""

    @property
    def kyra(self) -> str:
        return to_global(Prefix.AGENT, self.parley.home.kyra.id)

    @property
    def luke(self) -> str:
        return self.parley.home.agent_id

    async def change(self, field: str, selection: str, input: dict[str, Any], role: Role = Role.ADMIN) -> Any:
        kind = field[0].upper() + field[1:] + "Input"
        document = f"mutation ($input: {kind}!) {{ {field}(input: $input) {{ __typename {selection} {REFUSED} }} }}"
        return (await self.parley.run(document, {"input": input}, role=role))[field]

    async def start(self, **input: Any) -> Any:
        asked = {"agentId": self.kyra, "userName": "Mia", "userId": "u-1", **input}
        selection = "... on ConversationPayload { eventCursor conversation { id } }"
        made = await self.change("startConversation", selection, asked)
        self.id = made.get("conversation", {}).get("id", self.id)
        return made

    async def say(self, text: str | None, role: Role = Role.ADMIN, **input: Any) -> Any:
        selection = "... on SendMessagePayload { eventCursor sent { id number } reply { id status strategy } }"
        return await self.change("sendMessage", selection, {"conversationId": self.id, "text": text, **input}, role)

    async def agents(self, **input: Any) -> Any:
        selection = "... on ConversationPayload { conversation { id } }"
        return await self.change("updateConversationAgents", selection, {"conversationId": self.id, **input})

    async def close(self) -> Any:
        selection = "... on ConversationPayload { conversation { status } }"
        return await self.change("closeConversation", selection, {"conversationId": self.id})

    async def read(self, selection: str) -> Any:
        document = f"query ($id: ID!) {{ conversation(id: $id) {{ {selection} }} }}"
        return (await self.parley.run(document, {"id": self.id}))["conversation"]


@pytest.fixture
async def talk(parley: Parley) -> Talk:
    made = Talk(parley)
    assert (await made.start())["__typename"] == "ConversationPayload"
    await parley.settled()  # or a stream that starts now would begin with the beginning
    return made


@pytest.fixture
def script() -> list[dict[str, Any]]:
    """What the offline model says; tests override it."""
    return []


@pytest.fixture
async def worker(parley: Parley, script: list[dict[str, Any]]) -> AsyncIterator[None]:
    """A worker beside the API: runs managed agents on the offline model, and follow-up jobs."""
    replies = tuple(ScriptedReply(**entry) for entry in script)
    async with running_worker(parley.settings.model_copy(update={"worker_slots": 5, "offline_script": replies})):
        yield
