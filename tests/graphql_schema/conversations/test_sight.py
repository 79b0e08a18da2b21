"""A person sees what the agent's model is told, word for word; memories of others are in neither."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from app.auth.roles import Role
from app.conversations.context import MOST_OF_ONE
from app.db.engine import Database
from app.db.transaction import Transactions
from app.dispatch import Dispatcher
from app.embeddings.static import StaticEmbedder
from app.inference.providers import Providers
from app.inference.sizes import tokens_of
from app.managed.execution import Execution
from app.memories import service as memories
from app.memories.library import Library
from app.memories.models import MemoryKind
from app.memories.service import Source
from app.redis import Redis
from tests.fixtures.desk import ACTOR
from tests.fixtures.openai_server import OpenAIServer, openai_server, says
from tests.fixtures.parley import Parley
from tests.fixtures.workers import running_worker
from tests.graphql_schema.conversations.conftest import Talk

SEEN = """query ($slug: String!, $id: ID!) { agent(slug: $slug) { contextFor(conversationId: $id) {
    instructions prompt memories condensed question { text name number } history { name author text length }
    tokens { memories history question instructions prompt total }
} } }"""
Worker = Callable[[OpenAIServer], AbstractAsyncContextManager[None]]


@pytest.fixture
def worker_on_provider(parley: Parley) -> Worker:
    """As the worker of the installation, with a language model that the test plays."""

    @asynccontextmanager
    async def run(server: OpenAIServer) -> Any:
        model = "openai:gpt-4o-mini"
        settings = parley.settings.model_copy(update={f"model_tier_{tier}": model for tier in range(3)})
        database, redis = Database(settings), Redis(settings)
        dispatcher = Dispatcher(settings, database, redis)
        library = Library(database, Transactions(database, dispatcher), StaticEmbedder(), redis)
        providers = Providers(settings, {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-test"})
        async with running_worker(settings, Execution(settings, database, providers, library)):
            yield
        for part in (providers, dispatcher, redis, database):
            await part.close()

    return run


async def seen_by(talk: Talk, slug: str) -> Any:
    return (await talk.parley.run(SEEN, {"slug": slug, "id": talk.id}))["agent"]["contextFor"]


async def remember(parley: Parley, kind: MemoryKind, text: str, **more: Any) -> None:
    async with parley.transaction() as session:
        await memories.remember(session, team_id=parley.home.id, kind=kind, text=text, actor=ACTOR, **more)


async def test_a_person_sees_what_the_agents_model_is_told(
    parley: Parley, talk: Talk, worker_on_provider: Worker
) -> None:
    assert await seen_by(talk, "kyra") is None
    home = parley.home
    conversation = Source(conversation_id=await parley.value("select id from conversation"))
    await remember(parley, MemoryKind.SHARED, "The deploy script lives in ops/deploy.sh.")
    await remember(parley, MemoryKind.EPISODIC, "Luke handed the deploy over to Kyra.", source=conversation)
    await remember(parley, MemoryKind.PROCEDURAL, "Always run the deploy in dry mode first.")
    await remember(parley, MemoryKind.USER_PROFILE, "Mia deploys on Fridays.", subject="u-1")
    await remember(parley, MemoryKind.USER_PROFILE, "Another Mia deploys at night.", subject="Mia")
    await remember(parley, MemoryKind.PRIVATE, "I broke the deploy once.", agent_id=home.kyra.id)
    await remember(parley, MemoryKind.PRIVATE, "I dislike the deploy.", agent_id=home.luke.id)
    await talk.say("Here is the log: " + "x" * 2 * MOST_OF_ONE, whileAnswering="QUEUE")
    async with openai_server() as server:
        server.script(says("Noted."), says("Run ops/deploy.sh."))
        async with worker_on_provider(server):
            async with asyncio.timeout(30):
                while await parley.value("select count(*) from message") < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        await talk.say("How do I deploy?")

        seen, of_luke = await seen_by(talk, "kyra"), await seen_by(talk, "luke")
        async with worker_on_provider(server):
            async with asyncio.timeout(30):
                while await parley.value("select count(*) from message") < 4:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    told = {message["role"]: message["content"] for message in server.asked[1]["messages"]}
    assert (seen["instructions"], seen["prompt"]) == (told["system"], told["user"])
    assert seen["question"] == {"text": "How do I deploy?", "name": "Mia", "number": 3}
    assert [(one["name"], one["author"]) for one in seen["history"]] == [("Mia", "USER"), ("Kyra", "AGENT")]
    assert seen["history"][0]["length"] > 2 * MOST_OF_ONE > len(seen["history"][0]["text"])
    known = {"Always run the deploy in dry mode first.", "Luke handed the deploy over to Kyra."}
    known |= {"The deploy script lives in ops/deploy.sh.", "Mia deploys on Fridays."}
    assert set(seen["memories"]) == known | {"I broke the deploy once."}
    known.discard("Luke handed the deploy over to Kyra.")  # Luke takes no part in that conversation
    assert set(of_luke["memories"]) == known | {"I dislike the deploy."}
    assert seen["tokens"] == {
        "memories": sum(map(tokens_of, seen["memories"])),
        "history": seen["tokens"]["history"],
        "question": 4,
        "instructions": tokens_of(told["system"]),
        "prompt": tokens_of(told["user"]),
        "total": tokens_of(told["system"]) + tokens_of(told["user"]),
    }


async def test_an_agents_key_looks_only_through_its_own_eyes(parley: Parley, talk: Talk) -> None:
    await talk.say("Hello?")
    variables = {"slug": "luke", "id": talk.id}
    stranger = (await parley.post(SEEN, variables, role=Role.AGENT)).json()
    assert stranger["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    await talk.agents(add=[talk.luke])
    assert (await parley.run(SEEN, variables, role=Role.AGENT))["agent"]["contextFor"]["question"]["text"] == "Hello?"

    refused = (await parley.post(SEEN, variables | {"slug": "kyra"}, role=Role.AGENT)).json()
    assert refused["errors"][0]["extensions"]["code"] == "FORBIDDEN"
    other = (await parley.post(SEEN, variables, secret=parley.other.secrets[Role.ADMIN])).json()
    assert other["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_users_are_told_apart_by_their_id_and_profiles_are_for_whom_one_speaks_with(
    parley: Parley, talk: Talk
) -> None:
    """Two users of one integrator, both shown under the key's name; a third without an id."""
    first = talk.id
    await remember(parley, MemoryKind.USER_PROFILE, "Has a secret illness.", subject="u-1")
    await remember(parley, MemoryKind.USER_PROFILE, "Is in good health.", subject="admin key")
    profiles = """query ($s: String) { recallMemories(query: "illness", subject: $s) { memory { text } }
        memories(where: {kind: {eq: USER_PROFILE}}) { nodes { subject } } }"""
    known = {
        "recallMemories": [{"memory": {"text": "Has a secret illness."}}],
        "memories": {"nodes": [{"subject": "u-1"}]},
    }
    tell = """mutation { remember(input: {text: "Is ill.", kind: USER_PROFILE, subject: "u-1"}) {
        __typename ... on Refusal { code } } }"""

    async def forbidden() -> bool:
        answer = (await parley.post(profiles, {"s": "u-1"}, role=Role.AGENT)).json()
        told = (await parley.run(tell, role=Role.AGENT))["remember"]
        unnamed = await parley.run(profiles, role=Role.AGENT)
        assert unnamed == {"recallMemories": [], "memories": {"nodes": []}}
        return answer["errors"][0]["extensions"]["code"] == told["code"] == "FORBIDDEN"

    assert await forbidden()
    await talk.agents(add=[talk.luke])
    assert await parley.run(profiles, {"s": "u-1"}, role=Role.AGENT) == known
    assert (await parley.run(tell, role=Role.AGENT))["remember"]["__typename"] == "RememberPayload"
    await talk.close()
    assert await forbidden()

    for user in ("u-2", None):
        await talk.start(userName=None, userId=user)
        await talk.say("How is my illness?")
        assert (await seen_by(talk, "kyra"))["memories"] == []
        assert await talk.read("userId userName") == {"userId": user, "userName": "admin key"}
    assert (await talk.start(userId=""))["code"] == (await talk.start(userId="x" * 201))["code"] == "INVALID_INPUT"
    mine = 'query { conversations(where: {userId: {eq: "u-1"}}) { nodes { id } } }'
    assert (await parley.run(mine))["conversations"]["nodes"] == [{"id": first}]
