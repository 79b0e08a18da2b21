"""An export while it runs: bounded memory, the client's pace, an end when nobody reads, a failure that shows."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from sqlalchemy import text

from app.auth.roles import Role
from graphql_schema.exports.download import Download
from graphql_schema.exports.export import Row
from graphql_schema.exports.formats import Ndjson
from graphql_schema.transport.exchange import Exchange
from tests.fixtures.installation import SOAK
from tests.fixtures.parley import Parley
from tests.graphql_schema.exports.conftest import Exports

PATIENCE_S = 30
ROWS = 1_000_000 if SOAK else 20_000
ROW_BYTES = 1_000
MOST_BYTES = 8_000_000  # of 21 MB in all, or a gigabyte; the stretch, its copy on the way, and the client's own
NUMBERS = '{ events(where: { actor: { eq: "writer" } }) { nodes { changes } } }'
HELD_UP = "select count(*) from pg_stat_activity where query like '%$cursor%' and wait_event_type = 'Lock'"


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def at_rest(count: Callable[[], float]) -> float:
    """The count when it has not moved for a while."""
    before, quiet = count(), 0
    while quiet < 30:
        await asyncio.sleep(0.01)
        quiet = quiet + 1 if count() == before else 0
        before = count()
    return before


async def test_many_rows_in_bounded_memory(exports: Exports) -> None:
    await exports.write(ROWS, pad=ROW_BYTES)
    lines = size = 0
    await exports.rows("{ agents { nodes { id } } }")  # what is made once is made

    tracemalloc.start()
    async with exports.stream(NUMBERS, wait_s=120) as answer:  # it may wait for its key's next points
        async for chunk in answer.aiter_raw():
            lines, size = lines + chunk.count(b"\n"), size + len(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert lines == ROWS
    assert size > ROWS * ROW_BYTES
    assert peak < MOST_BYTES


@pytest.mark.parametrize("parley_settings", [{"max_exports_per_key": 1}], indirect=True)
async def test_a_client_that_does_not_read_holds_the_reading_up(parley: Parley, exports: Exports) -> None:
    rows, before = 4_000, exports.sent()
    await exports.write(rows, pad=10_000)

    async with exports.stream(NUMBERS, Role.ADMIN) as answer:
        assert 0 < await at_rest(exports.sent) - before < rows
        assert exports.running() == 1
        assert await exports.refusal(NUMBERS, role=Role.ADMIN) == (429, "RATE_LIMITED")
        await answer.aclose()
        await until(lambda: exports.running() == 0)
    assert exports.sent() - before < rows
    assert [row["changes"]["n"] for row in await exports.rows(NUMBERS)] == list(range(1, rows + 1))

    async with exports.stream(NUMBERS) as answer:
        await at_rest(exports.sent)
        async with parley.transaction() as session:
            await session.execute(text("update api_key set revoked_at = now() where role = 'analyst'"))
        lines = [line async for line in answer.aiter_lines()]
    assert len(lines) < rows
    assert json.loads(lines[-1])["error"]["extensions"]["code"] == "UNAUTHENTICATED"


@pytest.mark.parametrize("parley_settings", [{"read_timeout_ms": 600_000}], indirect=True)
async def test_a_client_that_leaves_ends_the_statement(parley: Parley, exports: Exports) -> None:
    async with parley.transaction() as session:
        await session.execute(text("lock table agent in access exclusive mode"))
        asking = asyncio.create_task(exports.post("{ agents { nodes { id } } }"))
        async with asyncio.timeout(PATIENCE_S):
            while not await parley.value(HELD_UP):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

        asking.cancel()

        async with asyncio.timeout(PATIENCE_S):
            while await parley.value(HELD_UP):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await until(lambda: exports.running() == 0)
    assert len(await exports.rows("{ agents { nodes { id } } }")) == 2


@pytest.mark.parametrize("parley_settings", [{"max_export_rows": 1_000}], indirect=True)
async def test_an_end_before_the_end_shows(exports: Exports) -> None:
    await exports.write(1_300)

    *rows, last = await exports.rows(NUMBERS)
    assert len(rows) == 1_000
    assert last["error"]["extensions"]["code"] == "EXPORT_LIMIT"
    again = NUMBERS.replace("(where", f'(after: "{last["error"]["extensions"]["after"]}", where')
    assert [row["changes"]["n"] for row in rows + await exports.rows(again)] == list(range(1, 1_301))

    with pytest.raises(httpx.RemoteProtocolError):
        await exports.post(NUMBERS, accept="text/csv")
    exact = NUMBERS.replace("(where", "(first: 1000, where")
    assert (await exports.post(exact, accept="text/csv")).text.count("\r\n") == 1_001


@pytest.mark.parametrize("parley_settings", [{"rate_limit_points": 100, "rate_limit_window_s": 1}], indirect=True)
async def test_a_long_export_keeps_the_rate_limit_by_waiting(exports: Exports) -> None:
    """2,500 rows cost 250 points, more than two windows have; of the nested rows one costs more than a window has."""
    await exports.write(2_500)
    started = time.monotonic()

    assert len(await exports.rows(NUMBERS)) == 2_500
    assert time.monotonic() - started > 1
    nested = "{ agents { nodes { tasks(first: 50) { nodes { subtasks(first: 20) { nodes { id } } } } } } }"
    answer = await exports.post(nested)
    assert (answer.status_code, answer.headers["retry-after"] > "0") == (429, True)


async def test_a_server_that_stops_says_where_to_go_on() -> None:
    messages: list[dict[str, object]] = []
    closing = asyncio.Event()

    async def stretches() -> AsyncIterator[list[Row]]:
        yield [("one", b'{"n" : 1}'), ("two", b'{"n" : [2, \n 3]}')]
        closing.set()
        await asyncio.Event().wait()

    async def send(message: object) -> None:
        assert isinstance(message, dict)
        messages.append(message)

    scope = {"method": "POST", "headers": []}
    exchange = Exchange(scope, asyncio.Event().wait, send, None)  # type: ignore[arg-type]
    await Download(exchange, Ndjson(), [], closing).run(stretches())

    *_, rows, last = (message.get("body") for message in messages)
    assert rows == b'{"n" : 1}\n{"n" : [2,  3]}\n'
    assert isinstance(last, bytes)
    assert json.loads(last)["error"]["extensions"] == {"code": "UNAVAILABLE", "retryAfterSeconds": 2, "after": "two"}
    assert "more_body" not in messages[-1]
