"""GraphQL over HTTP on a real port: statuses, media types, limits and headers."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import httpx
import pytest
from starlette.responses import HTMLResponse

from app.errors import Unavailable
from graphql_schema.answer import refusal
from tests.fixtures.hostile import REFUSED
from tests.fixtures.http import Endpoint, Serve

GRAPHQL = {"accept": "application/graphql-response+json"}
JSON = {"accept": "application/json"}
URQL = "application/graphql-response+json, application/graphql+json, application/json, text/event-stream"


def code(response: httpx.Response) -> str:
    found: str = response.json()["errors"][0]["extensions"]["code"]
    return found


async def test_a_query_is_answered(endpoint: Endpoint) -> None:
    response = await endpoint.post("query Q($t: String!) { echo(text: $t) }", variables={"t": "ä ☃ 𝄞"})

    assert response.status_code == 200
    assert response.json() == {"data": {"echo": "ä ☃ 𝄞"}}
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert int(response.headers["content-length"]) == len(response.content)
    assert response.headers["cache-control"] == "no-store"
    assert re.fullmatch(r'"default";q=60000;w=60', response.headers["ratelimit-policy"])
    assert re.fullmatch(r'"default";r=59999;t=\d+', response.headers["ratelimit"])


@pytest.mark.parametrize(("accept", "status"), [(GRAPHQL, 400), (JSON, 200)])
@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"query": "{"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ nothing }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "query A { hello } query B { hello }"}, "OPERATION_RESOLUTION_FAILED"),
        ({"query": "query A { hello }", "operationName": "C"}, "OPERATION_RESOLUTION_FAILED"),
    ],
)
async def test_a_faulty_document_is_400_or_200_by_media_type(
    endpoint: Endpoint, accept: dict[str, str], status: int, request_: dict[str, Any], expected: str
) -> None:
    response = await endpoint.client.post("/graphql", json=request_, headers=accept)

    assert response.status_code == status
    assert response.headers["content-type"].startswith(accept["accept"])
    assert code(response) == expected
    assert "data" not in response.json()


@pytest.mark.parametrize("accept", [GRAPHQL, JSON, {}])
@pytest.mark.parametrize("name", ["fragment bomb", "10,000 aliases", "1 MB of query", "deep nesting", "4,900 numbers"])
async def test_a_hostile_document_is_4xx_for_everybody(endpoint: Endpoint, accept: dict[str, str], name: str) -> None:
    response = await endpoint.post(REFUSED[name], accept)

    assert response.status_code == 422
    error = response.json()["errors"][0]
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
    assert error["extensions"]["value"] > error["extensions"]["maximum"]
    assert endpoint.executor.executed == []


@pytest.mark.parametrize("depth", [25, 1_000])
async def test_deep_variables_are_4xx(endpoint: Endpoint, depth: int) -> None:
    body = '{"query": "{ hello }", "variables": {"a": ' + "[" * depth + "]" * depth + "}}"

    response = await endpoint.client.post("/graphql", content=body, headers={"content-type": "application/json"})

    assert response.status_code == 422
    assert response.json()["errors"][0]["extensions"]["limit"] == "variablesDepth"


@pytest.mark.parametrize("body", ["1", '"x"', "[1]", "null", "[" * 100_000, ""])
async def test_a_body_that_is_not_an_object_is_400(endpoint: Endpoint, body: str) -> None:
    response = await endpoint.client.post("/graphql", content=body, headers={"content-type": "application/json"})

    assert response.status_code == 400
    assert code(response) == "BAD_REQUEST"


async def test_a_body_over_the_limit_is_413(serve: Serve) -> None:
    async with serve(max_body_bytes=1_000) as endpoint:
        announced = await endpoint.post("{ hello } #" + "x" * 1_000)

        async def chunks() -> Any:
            for _ in range(20):
                yield b"x" * 100

        chunked = await endpoint.client.post("/graphql", content=chunks(), headers={"content-type": "application/json"})
        after = await endpoint.post("{ hello }")

    assert (announced.status_code, chunked.status_code, after.status_code) == (413, 413, 200)
    assert code(announced) == code(chunked) == "BODY_TOO_LARGE"


async def test_a_body_in_pieces_is_put_together(endpoint: Endpoint) -> None:
    async def chunks() -> Any:
        for piece in (b'{"que', b'ry": "{ he', b"llo", b' }"}'):
            yield piece
            await asyncio.sleep(0.01)

    response = await endpoint.client.post("/graphql", content=chunks(), headers={"content-type": "application/json"})

    assert response.json() == {"data": {"hello": "world"}}


async def test_get_answers_queries_only(endpoint: Endpoint) -> None:
    query = await endpoint.client.get("/graphql", params={"query": "{ hello }"})
    mutation = await endpoint.client.get("/graphql", params={"query": "mutation { double(number: 2) }"})

    assert query.json() == {"data": {"hello": "world"}}
    assert mutation.status_code == 405
    assert mutation.headers["allow"] == "POST"
    assert endpoint.executor.executed == [None]


async def test_a_mutation_by_post(endpoint: Endpoint) -> None:
    response = await endpoint.post("mutation { double(number: 2) }")

    assert response.json() == {"data": {"double": 4}}


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
async def test_other_content_types_are_415(endpoint: Endpoint, content_type: str) -> None:
    response = await endpoint.client.post(
        "/graphql", content='{"query": "{ hello }"}', headers={"content-type": content_type}
    )

    assert response.status_code == 415


async def test_methods(endpoint: Endpoint) -> None:
    put = await endpoint.client.put("/graphql", json={"query": "{ hello }"})
    options = await endpoint.client.options("/graphql")
    head = await endpoint.client.head("/graphql", params={"query": "{ hello }"})

    assert (put.status_code, options.status_code, head.status_code) == (405, 204, 200)
    assert put.headers["allow"] == options.headers["allow"] == "GET, HEAD, POST, OPTIONS"
    assert head.content == b""


async def test_what_cannot_be_produced_is_406(endpoint: Endpoint) -> None:
    response = await endpoint.post("{ hello }", {"accept": "image/png"})

    assert response.status_code == 406
    assert "application/graphql-response+json" in response.json()["errors"][0]["message"]


async def test_urql_gets_json_though_it_also_accepts_events(endpoint: Endpoint) -> None:
    response = await endpoint.post("{ hello }", {"accept": URQL})

    assert response.headers["content-type"].startswith("application/graphql-response+json")


@pytest.mark.parametrize("accept", [GRAPHQL, JSON])
async def test_a_subscription_needs_a_stream(endpoint: Endpoint, accept: dict[str, str]) -> None:
    response = await endpoint.post("subscription { count(to: 1) }", accept)

    assert response.status_code == 400
    assert code(response) == "SUBSCRIPTION_NEEDS_STREAM"
    assert "WebSocket" in response.json()["errors"][0]["message"]


async def test_an_operation_that_takes_too_long_is_given_up(serve: Serve) -> None:
    async with serve(operation_timeout_s=0.1) as endpoint:
        response = await endpoint.post("query Slow { slow(seconds: 30) }")

    assert response.status_code == 504
    assert code(response) == "TIMEOUT"


async def test_statuses_of_the_executor_are_passed_on(endpoint: Endpoint) -> None:
    endpoint.executor.answer = refusal("Away.", "UNAVAILABLE", status=503, retry_after_s=7)

    response = await endpoint.post("{ hello }", JSON)

    assert response.status_code == 503
    assert response.headers["retry-after"] == "7"


async def test_a_refused_cost_is_not_executed(endpoint: Endpoint) -> None:
    endpoint.executor.refuse = Unavailable("Not now.")

    response = await endpoint.post("{ hello }")

    assert response.status_code == 503
    assert response.headers["retry-after"] == "2"
    assert endpoint.executor.executed == []


async def test_a_bug_is_masked_with_an_id(endpoint: Endpoint) -> None:
    endpoint.executor.refuse = ValueError("a secret of the implementation")

    response = await endpoint.post("{ hello }")

    assert response.status_code == 500
    error = response.json()["errors"][0]
    assert error["extensions"]["code"] == "INTERNAL"
    assert error["extensions"]["errorId"] in error["message"]
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("offered", "kept"), [("trace-0123456789", True), ("short", False), ("x" * 200, False), ("a b c d e f g h", False)]
)
async def test_request_id_is_taken_over_when_sane(endpoint: Endpoint, offered: str, kept: bool) -> None:
    response = await endpoint.post("{ hello }", {"x-request-id": offered})

    assert (response.headers["x-request-id"] == offered) is kept
    assert len(response.headers["x-request-id"]) >= 8


async def test_a_browser_gets_graphiql_where_it_is_on(serve: Serve) -> None:
    accept = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    async with serve(graphiql=HTMLResponse("<p>GraphiQL</p>")) as endpoint:
        page = await endpoint.client.get("/graphql", headers=accept | {"authorization": ""})
        result = await endpoint.client.get("/graphql", params={"query": "{ hello }"}, headers=accept)
    async with serve() as endpoint:
        refused = await endpoint.client.get("/graphql", headers=accept)

    assert (page.status_code, page.text) == (200, "<p>GraphiQL</p>")
    assert result.json() == {"data": {"hello": "world"}}
    assert refused.status_code == 406
    assert "PARLEY_GRAPHIQL" in refused.text


async def test_a_client_that_leaves_while_sending_does_no_harm(endpoint: Endpoint) -> None:
    host, port = endpoint.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {endpoint.secret}\r\n"
    writer.write((head + 'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"que').encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()

    assert (await endpoint.post("{ hello }")).status_code == 200


async def test_requests_are_counted(endpoint: Endpoint) -> None:
    await endpoint.post("{ hello }")
    await endpoint.post("{ nothing }")

    text = (await endpoint.client.get("/metrics")).text

    assert 'parley_requests_total{operation="query",outcome="ok",transport="http"}' in text
    assert 'parley_refusals_total{code="GRAPHQL_VALIDATION_FAILED"}' in text
    assert 'parley_request_seconds_bucket{le="0.01",operation="query",transport="http"}' in text


async def test_hostile_requests_cost_little_from_socket_to_socket(endpoint: Endpoint) -> None:
    """The whole server and client on one loop; the client's own work counts against us."""
    await endpoint.post("{ hello }")
    for name in ("fragment bomb", "10,000 aliases", "1 MB of query"):
        spent = []
        for _ in range(5):
            started = time.process_time()
            await endpoint.post(REFUSED[name])
            spent.append(time.process_time() - started)

        assert min(spent) < 0.05, name
