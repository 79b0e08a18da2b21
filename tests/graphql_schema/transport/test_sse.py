"""Server-sent events in graphql-sse's distinct connections mode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from app.errors import Unauthenticated, Unavailable
from graphql_schema.transport import sse
from tests.fixtures.http import Endpoint, Serve

EVENTS = {"accept": "text/event-stream"}
COMPLETE = "event: complete\ndata:\n\n"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110  what is waited for has no event
            await asyncio.sleep(0.01)


def subscribe(endpoint: Endpoint, query: str, method: str = "POST") -> Any:
    if method == "GET":
        return endpoint.client.stream("GET", "/graphql", params={"query": query}, headers=EVENTS)
    return endpoint.client.stream("POST", "/graphql", json={"query": query}, headers=EVENTS)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_subscription_is_streamed_and_completed(endpoint: Endpoint, method: str) -> None:
    async with subscribe(endpoint, "subscription { count(to: 2) }", method) as response:
        text = "".join([piece async for piece in response.aiter_text()])

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert text == (
        ':\n\nevent: next\ndata: {"data":{"count":1}}\n\nevent: next\ndata: {"data":{"count":2}}\n\n' + COMPLETE
    )
    assert endpoint.executor.open_streams == 0


@pytest.mark.parametrize(
    ("query", "data"), [("{ hello }", '{"hello":"world"}'), ("mutation { double(number: 3) }", '{"double":6}')]
)
async def test_queries_and_mutations_run_over_sse_too(endpoint: Endpoint, query: str, data: str) -> None:
    response = await endpoint.post(query, EVENTS)

    assert response.status_code == 200
    assert response.text == f'event: next\ndata: {{"data":{data}}}\n\n{COMPLETE}'


async def test_a_faulty_document_is_told_in_the_stream(endpoint: Endpoint) -> None:
    response = await endpoint.post("subscription { nothing }", EVENTS)

    assert response.status_code == 200
    assert response.text.startswith('event: next\ndata: {"errors":[{"message":"Cannot query field \'nothing\'')
    assert response.text.endswith(COMPLETE)


async def test_a_missing_key_is_401_before_any_stream(endpoint: Endpoint) -> None:
    response = await endpoint.post("subscription { count(to: 1) }", EVENTS | {"authorization": "Bearer wrong"})

    assert response.status_code == 401
    assert response.headers["content-type"].startswith("application/json")


async def test_a_refusal_before_the_first_event_has_its_status(endpoint: Endpoint) -> None:
    response = await endpoint.post("subscription Forbidden { count(to: 1) }", EVENTS)

    assert response.status_code == 403


async def test_a_key_that_dies_is_told_and_the_stream_completed(endpoint: Endpoint) -> None:
    endpoint.executor.end_stream = Unauthenticated("This API key was revoked.")

    async with subscribe(endpoint, "subscription { count(to: 5) }") as response:
        text = "".join([piece async for piece in response.aiter_text()])

    assert text.count("event: next") == 2
    assert '"message":"This API key was revoked."' in text
    assert text.endswith(COMPLETE)


@pytest.mark.parametrize("error", [Unavailable("The database is away."), ValueError("a bug")])
async def test_a_stream_that_breaks_is_not_completed_so_that_the_client_returns(
    endpoint: Endpoint, error: Exception
) -> None:
    endpoint.executor.end_stream = error

    async with subscribe(endpoint, "subscription { count(to: 5) }") as response:
        text = "".join([piece async for piece in response.aiter_text()])

    assert text == ':\n\nevent: next\ndata: {"data":{"count":1}}\n\n'
    assert endpoint.executor.open_streams == 0


async def test_a_client_that_leaves_ends_its_subscription(endpoint: Endpoint) -> None:
    async with subscribe(endpoint, "subscription { silence }") as response:
        await anext(response.aiter_text())
        assert endpoint.executor.open_streams == 1

    await until(lambda: endpoint.executor.open_streams == 0)


async def test_closing_ends_streams_without_completing_them(endpoint: Endpoint) -> None:
    async with subscribe(endpoint, "subscription { silence }") as response:
        pieces = response.aiter_text()
        first = await anext(pieces)
        endpoint.closing.set()
        rest = [piece async for piece in pieces]

    assert (first, rest) == (":\n\n", [])
    assert endpoint.executor.open_streams == 0


async def test_silence_is_broken_by_comments(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse.EventStream.__init__, "__kwdefaults__", {"keep_alive_s": 0.05})

    async with subscribe(endpoint, "subscription { silence }") as response:
        pieces = response.aiter_text()
        found = [await anext(pieces) for _ in range(4)]

    assert "".join(found).replace(":\n\n", "") == ""


async def test_a_key_holds_only_so_many_streams(serve: Serve) -> None:
    async with serve(max_sockets_per_key=2) as endpoint:
        async with (
            subscribe(endpoint, "subscription { silence }") as first,
            subscribe(endpoint, "subscription { silence }") as second,
        ):
            refused = await endpoint.post("subscription { silence }", EVENTS)
        await until(lambda: endpoint.executor.open_streams == 0)
        async with subscribe(endpoint, "subscription { silence }") as again:
            pass

    assert (first.status_code, second.status_code, refused.status_code, again.status_code) == (200, 200, 429, 200)
    assert refused.headers["retry-after"] == "10"


async def test_a_thousand_events_arrive_in_order(endpoint: Endpoint) -> None:
    async with subscribe(endpoint, "subscription { count(to: 1000) }") as response:
        text = "".join([piece async for piece in response.aiter_text()])

    assert (
        text
        == ":\n\n" + "".join(f'event: next\ndata: {{"data":{{"count":{n}}}}}\n\n' for n in range(1, 1001)) + COMPLETE
    )
