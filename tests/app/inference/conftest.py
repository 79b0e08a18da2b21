"""What tests of runs share: a listener, a request to fill in, and no way to a model that is not this test's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest
import pytest_asyncio
from pydantic_ai import models

from app.config import load_settings
from app.inference.prompt import Assignment
from app.inference.providers import Providers
from app.inference.request import Limits, Request, Tool, ToolRefused, Used
from tests.fixtures.openai_server import OpenAIServer, openai_server

KEY = "sk-test-0123456789abcdef"
TASK = Assignment("research", "Caches", "Compare the caches.", context="Valkey is a fork of Redis. It is fast.")


@dataclass
class Listener:
    texts: list[str] = field(default_factory=list)
    totals: list[Used] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    on_text: Callable[[], None] = lambda: None

    async def text(self, partial: str) -> None:
        self.texts.append(partial)
        self.heard.set()
        self.on_text()

    def counted(self, used: Used) -> None:
        self.totals.append(used)

    async def used(self, used: Used) -> None:
        self.totals.append(used)


@dataclass
class Notebook:
    """A tool that keeps what it was called with, and refuses `no`."""

    noted: list[str] = field(default_factory=list)

    @property
    def tool(self) -> Tool:
        parameters = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return Tool("note", "Keeps a text.", {**parameters, "additionalProperties": False}, self._call)

    async def _call(self, arguments: dict[str, Any]) -> str:
        self.noted.append(arguments["text"])
        if arguments["text"] == "no":
            raise ToolRefused("This may not be noted.")
        return f"noted {arguments['text']}"


@pytest.fixture(autouse=True)
def _no_model_requests() -> Iterator[None]:
    with models.override_allow_model_requests(False):
        yield


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


@pytest.fixture
def ask() -> Callable[..., Request]:
    """A request with generous limits; each part, also one of the limits, can be given otherwise."""

    def build(model: str = "openai:gpt-4o-mini", task: Assignment = TASK, **given: Any) -> Request:
        limits = Limits(max_tokens=4_000, max_tool_calls=10, max_cost_usd=Decimal("0.50"))
        own = {name: given.pop(name) for name in list(given) if hasattr(limits, name)}
        return Request(model, "You are Ada.", "Compare.", replace(limits, **own), task, **given)

    return build


Script = Callable[..., None]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[OpenAIServer]:
    """One for the module, with its connections: starting and stopping takes longer than most tests."""
    async with openai_server() as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def providers(server: OpenAIServer) -> AsyncIterator[Providers]:
    made = Providers(load_settings(), environment(server.url))
    yield made
    await made.close()


def environment(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url, "OLLAMA_BASE_URL": url}


@pytest.fixture
def scripted(server: OpenAIServer) -> Iterator[Script]:
    """`scripted(reply, …)`: what the server says next. It is the only model that may be called."""
    with models.override_allow_model_requests(True):
        yield server.script
