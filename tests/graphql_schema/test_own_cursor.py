"""The cursor of a mutation's own write: behind it comes everything that the mutation did not see."""

from __future__ import annotations

import asyncpg

from app.events.cursor import decode
from tests.fixtures.parley import Parley

PAUSE = """mutation ($id: ID!) { pauseAgent(input: {agentId: $id}) { ... on AgentPayload { eventCursor } } }"""
EVENTS = "{ events(orderBy: [{field: AT}]) { nodes { kind cursor } } }"


async def test_it_never_lies_behind_the_own_event(parley: Parley) -> None:
    before = (await parley.run(EVENTS))["events"]["nodes"]
    cursor = (await parley.run(PAUSE, {"id": parley.home.agent_id}))["pauseAgent"]["eventCursor"]
    await parley.settled()

    events = (await parley.run(EVENTS))["events"]["nodes"]

    own = next(event["cursor"] for event in events if event["kind"] == "AGENT_PAUSED")
    assert decode(before[-1]["cursor"], parley.home.id) <= decode(cursor, parley.home.id) <= decode(own, parley.home.id)


async def test_while_an_older_write_is_under_way_it_lies_before_both(parley: Parley) -> None:
    before = (await parley.run(EVENTS))["events"]["nodes"]
    older = await asyncpg.connect(parley.settings.database_url)
    transaction = older.transaction()
    await transaction.start()
    await older.execute("select pg_current_xact_id()")

    cursor = (await parley.run(PAUSE, {"id": parley.home.agent_id}))["pauseAgent"]["eventCursor"]
    meanwhile = (await parley.run(EVENTS))["events"]["nodes"]
    await transaction.rollback()
    await older.close()
    await parley.settled()
    after = (await parley.run(EVENTS))["events"]["nodes"]

    own = next(event["cursor"] for event in after if event["kind"] == "AGENT_PAUSED")
    assert meanwhile == before
    assert decode(before[-1]["cursor"], parley.home.id) <= decode(cursor, parley.home.id) < decode(own, parley.home.id)
