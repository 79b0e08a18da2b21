"""A key that is revoked or expires ends what it holds open, whoever revoked it and whatever is away."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from sqlalchemy import text

from app.auth import service as auth
from app.auth.roles import Role
from app.auth.tokens import new_secret
from app.clock import now
from app.db.transaction import Transactions
from app.events.log import SYSTEM
from tests.fixtures.parley import Parley
from tests.fixtures.streams import TEAM_EVENTS, Connect, SocketClient, Writer, event_stream

REVOKE = "mutation ($id: ID!) { revokeApiKey(input: {apiKeyId: $id}) { __typename } }"


async def code_within(socket: SocketClient, seconds: float) -> int:
    async with asyncio.timeout(seconds):
        return await socket.close_code()


async def test_revoked_here(parley: Parley, connect: Connect) -> None:
    """Other keys' sockets stay."""
    async with connect(role=Role.ANALYST) as idle, connect(role=Role.ANALYST) as socket, connect() as other:
        for following in (socket, other):
            await following.subscribe(TEAM_EVENTS)
            await following.caught_up()

        done = await parley.run(REVOKE, {"id": parley.home.key_id(Role.ANALYST)})

        assert done == {"revokeApiKey": {"__typename": "ApiKeyPayload"}}
        assert await code_within(socket, 1.5) == 4403
        assert await code_within(idle, 1.5) == 4403
        assert (await other.item())["kind"].endswith("KEY_REVOKED")


async def test_revoked_by_another_process_that_rings(parley: Parley, connect: Connect, writer: Writer) -> None:
    async with connect(role=Role.OPERATOR) as socket:
        await revoke(writer.transaction, parley, Role.OPERATOR)

        assert await code_within(socket, 1.5) == 4403


async def test_revoked_while_no_bell_rings(parley: Parley, connect: Connect) -> None:
    async with connect(role=Role.OPERATOR) as socket:
        await revoke(parley.transaction, parley, Role.OPERATOR)

        assert await code_within(socket, 3) == 4403


async def test_an_event_stream_ends_with_a_typed_error(parley: Parley, writer: Writer) -> None:
    async with event_stream(parley.client, parley.home.secrets[Role.ANALYST], TEAM_EVENTS) as events:
        assert (await anext(events))[0] == "next"

        await revoke(writer.transaction, parley, Role.ANALYST)
        async with asyncio.timeout(3):
            rest = [event async for event in events]

    assert [name for name, _ in rest[-2:]] == ["next", "complete"]  # the revocation's own event may come before
    assert rest[-2][1]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_expiry_closes_too(parley: Parley, connect: Connect) -> None:
    secret = new_secret()
    async with parley.transaction() as session:
        key = await auth.issue(
            session,
            team_id=parley.home.id,
            name="short",
            role=Role.ANALYST,
            secret=secret,
            actor=SYSTEM,
            expires_at=now() + timedelta(hours=1),
        )
    async with connect(secret=secret) as socket:
        await socket.subscribe(TEAM_EVENTS)
        await socket.caught_up()
        async with parley.transaction() as session:
            await session.execute(
                text("update api_key set expires_at = now() + interval '1 second' where id = :id"), {"id": key.id}
            )
        started = time.monotonic()

        assert await code_within(socket, 5) == 4403
        assert time.monotonic() - started > 0.5


async def test_a_shared_stream_outlives_the_key_that_opened_it(
    parley: Parley, connect: Connect, writer: Writer
) -> None:
    secret = new_secret()
    async with parley.transaction() as session:
        await auth.issue(session, team_id=parley.home.id, name="second", role=Role.ANALYST, secret=secret, actor=SYSTEM)
    start = await writer.say(0)
    async with connect(role=Role.ANALYST) as first, connect(secret=secret) as second:
        for socket in (first, second):
            await socket.subscribe(TEAM_EVENTS, {"after": start, "kinds": ["AGENT_UPDATED"]})
            await socket.caught_up()

        await revoke(writer.transaction, parley, Role.ANALYST)
        assert await code_within(first, 3) == 4403
        await writer.say(1)

        assert await second.numbers(1) == [1]


async def test_a_dead_key_opens_nothing_though_it_was_known(parley: Parley, connect: Connect) -> None:
    async with connect(role=Role.ANALYST):
        pass
    await revoke(parley.transaction, parley, Role.ANALYST)

    async with connect(init=False) as socket:
        secret = parley.home.secrets[Role.ANALYST]
        await socket.send({"type": "connection_init", "payload": {"authorization": f"Bearer {secret}"}})

        assert await socket.close_code() == 4403


async def revoke(transaction: Transactions, parley: Parley, role: Role) -> None:
    async with transaction() as session:
        await auth.revoke(session, team_id=parley.home.id, key_id=parley.home.key_ids[role], actor=SYSTEM)
