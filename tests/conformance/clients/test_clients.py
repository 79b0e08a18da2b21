"""Real clients, unchanged, against a real server: queries, mutations, streams, and streams over broken connections."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

import pytest

from tests.conformance.clients.stage import Script, Stage

Start = Callable[[str], Awaitable[Script]]
CLIENTS = [
    "apollo",
    "urql_ws",
    "urql_sse",
    "relay",
    "relay_md5",
    "relay_sha256",
    "graphql_ws",
    "graphql_sse",
    "gql",
]
PERSISTED = ["relay_md5", "relay_sha256"]
GRACE_S = 10.0  # PARLEY_SHUTDOWN_GRACE_S by default
pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("client", CLIENTS)
async def test_client_asks_changes_follows_and_resumes(client: str, start: Start, stage: Stage) -> None:
    await stage.create_agents("ada", "bo", "cy")

    script = await start(client)
    await script.until_caught_up()
    await stage.create_agents("live-1", "live-2")
    await script.until(lambda: len(script.events) == 2)
    async with stage.proxy.down():
        await stage.create_agents("away-1", "away-2", "away-3")
    await script.until(lambda: len(script.events) == 5)
    stage.proxy.cut_next_after(900, 1_300, 1_700, 2_100)  # in the middle of messages, while much is replayed
    stage.proxy.cut()
    await stage.create_agents(*(f"burst-{number}" for number in range(20)), "the-end")
    await script.until_end()

    assert script.told["query"]["totalCount"] == 3
    assert [node["slug"] for node in script.told["query"]["nodes"]] == ["ada", "bo"]
    created = script.told["mutation"]
    assert (created["__typename"], created["agent"]["slug"]) == ("AgentPayload", script.name)
    conflict = script.told["conflict"]
    assert (conflict["__typename"], conflict["code"]) == ("Conflict", "CONFLICT")
    invalid = script.told["invalid"]
    assert (invalid["__typename"], invalid["code"]) == ("InvalidInput", "INVALID_INPUT")
    assert [problem["path"] for problem in invalid["problems"]] == ["slug"]
    assert stage.proxy.cuts >= 5
    assert script.events == await stage.events_behind(script.name)
    assert len(script.events) == 26


async def test_apollo_sends_a_persisted_query_once(start: Start, stage: Stage) -> None:
    script = await start("apollo")
    await script.until(lambda: "persisted" in script.told)

    by_hash, whole, answer, by_hash_again, other_answer = script.told["persisted"]
    assert by_hash[:2] == ["GET", False]
    assert whole == ["POST", True, 200]
    assert by_hash_again == ["GET", False, 200]
    assert (answer, other_answer) == ("apollo", None)


async def test_relay_appends_page_to_page(start: Start, stage: Stage) -> None:
    await stage.create_agents("ada", "bo", "cy", "di")

    script = await start("relay")
    await script.until(lambda: "pages" in script.told)

    assert script.told["pages"] == {"lengths": [2, 4, 5], "slugs": ["ada", "bo", "cy", "di", "relay"]}


async def test_no_client_loses_or_doubles_an_event_when_the_server_restarts(start: Start, stage: Stage) -> None:
    scripts = [await start(client) for client in CLIENTS if client not in PERSISTED]
    await asyncio.gather(*(script.until_caught_up() for script in scripts))

    await stage.create_agents("before-deploy")
    stopped_in_s = await asyncio.to_thread(stage.server.end, signal.SIGTERM)
    await asyncio.to_thread(stage.server.start)
    await stage.create_agents("before-crash")
    await asyncio.to_thread(stage.server.end, signal.SIGKILL)
    await asyncio.to_thread(stage.server.start)
    await stage.create_agents("the-end")
    await asyncio.gather(*(script.until_end() for script in scripts))

    assert stopped_in_s < GRACE_S / 2  # no stream holds it up
    for script in scripts:
        assert script.events == await stage.events_behind(script.name), script.name
