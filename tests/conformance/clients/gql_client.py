"""Python's gql: queries and mutations over HTTP, the stream over a WebSocket. Plays the story of story.mjs."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator
from typing import Any

from gql import Client, GraphQLRequest
from gql.transport.exceptions import TransportClosed, TransportConnectionFailed
from gql.transport.httpx import HTTPXAsyncTransport
from gql.transport.websockets import WebsocketsTransport

AGENTS = "query Agents { agents(first: 2, orderBy: [{ field: SLUG }]) { nodes { id slug } totalCount } }"
CREATE_AGENT = """mutation CreateAgent($slug: String!) {
  createAgent(input: { slug: $slug, name: $slug }) {
    __typename
    ... on AgentPayload { eventCursor agent { id slug } }
    ... on InvalidInput { problems { path message } }
    ... on Refusal { code message }
  }
}"""
TEAM_EVENTS = """subscription TeamEvents($after: Cursor) {
  teamEvents(kinds: [AGENT_CREATED], after: $after) {
    __typename
    ... on Event { id cursor agent { slug } }
    ... on CaughtUp { cursor }
    ... on Gap { cursor message }
  }
}"""
SLUG = os.environ["PARLEY_SLUG"]
URL = os.environ["PARLEY_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['PARLEY_KEY']}"}


def http() -> Client:
    """Reads the schema first, and checks every document against it before sending it."""
    return Client(transport=HTTPXAsyncTransport(URL, headers=HEADERS), fetch_schema_from_transport=True)


def websocket() -> Client:
    return Client(transport=WebsocketsTransport(URL.replace("http", "ws", 1), init_payload=HEADERS))


async def follow(after: str) -> AsyncIterator[dict[str, Any]]:
    """The team's events behind a cursor. Whatever breaks the connection, it goes on behind the last item."""
    while True:
        try:
            async with websocket() as session:
                request = GraphQLRequest(TEAM_EVENTS, variable_values={"after": after})
                async for result in session.subscribe(request):
                    after = result["teamEvents"]["cursor"]
                    yield result["teamEvents"]
        except (TransportClosed, TransportConnectionFailed, OSError):
            await asyncio.sleep(random.uniform(0, 0.5))


async def create_agent(session: Any, slug: str) -> dict[str, Any]:
    result = await session.execute(GraphQLRequest(CREATE_AGENT, variable_values={"slug": slug}))
    return result["createAgent"]


def say(step: str, seen: Any) -> None:
    print(json.dumps({"step": step, "seen": seen}), flush=True)  # noqa: T201


async def main() -> None:
    async with http() as session:
        say("query", (await session.execute(GraphQLRequest(AGENTS)))["agents"])
        created = await create_agent(session, SLUG)
        say("mutation", created)
        say("conflict", await create_agent(session, SLUG))
        say("invalid", await create_agent(session, "No Slug"))
    async with websocket() as session:
        say("over_websocket", (await session.execute(GraphQLRequest(AGENTS)))["agents"]["totalCount"])
    async for item in follow(created["eventCursor"]):
        say("item", item)
        if (item.get("agent") or {}).get("slug") == "the-end":
            break
    say("end", None)


asyncio.run(main())
