"""GraphiQL reaches a browser from this server alone, and only there where a browser asks for it."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

import pytest
from graphql import parse, validate
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.errors import ConfigurationError
from graphql_schema.graphiql import routes as graphiql
from graphql_schema.schema import schema

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.fixture
def client() -> AsyncClient:
    async def endpoint(request: Request) -> Response:
        return graphiql.page() if graphiql.wants_page(request) else JSONResponse({"data": None})

    app = Starlette(routes=[*graphiql.routes(), Route("/graphql", endpoint, methods=["GET", "POST"])])
    return AsyncClient(transport=ASGITransport(app), base_url="http://parley")


@pytest.fixture
def page() -> str:
    return bytes(graphiql.page().body).decode()


async def test_browser_gets_the_page_under_a_strict_policy(client: AsyncClient) -> None:
    answer = await client.get("/graphql", headers=BROWSER)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"


@pytest.mark.parametrize(
    ("method", "address", "accept"),
    [
        ("GET", "/graphql", "application/json"),
        ("GET", "/graphql", "*/*"),
        ("GET", "/graphql?query={__typename}", BROWSER["Accept"]),
        ("GET", "/graphql?documentId=abc", BROWSER["Accept"]),
        ("POST", "/graphql", BROWSER["Accept"]),
    ],
)
async def test_a_graphql_request_never_gets_the_page(
    client: AsyncClient, method: str, address: str, accept: str
) -> None:
    answer = await client.request(method, address, headers={"Accept": accept})

    assert answer.json() == {"data": None}


async def test_every_asset_of_the_page_is_served_here_with_the_bytes_that_the_page_demands(
    client: AsyncClient, page: str
) -> None:
    assets = re.findall(r'(?:href|src)="(graphiql/[^"]+)" integrity="([^"]+)"', page)

    assert len(assets) == len(graphiql.INTEGRITY) + len(graphiql.OWN_FILES)
    for address, integrity in assets:
        answer = await client.get(f"/{address}")
        assert answer.status_code == 200
        assert "sha384-" + b64encode(hashlib.sha384(answer.content).digest()).decode() == integrity
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"].split(";")[0] in {"text/css", "text/javascript"}


def test_nothing_in_the_page_or_our_own_files_points_to_another_host(page: str) -> None:
    own = [(graphiql.STATIC / name).read_text(encoding="utf-8") for name in graphiql.OWN_FILES]

    for text in [page, *own]:
        assert re.findall(r"(?:https?|wss?)://|(?:href|src)=\"//", text) == []
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=", page) == []


async def test_stylesheets_of_the_wheel_load_nothing_from_another_host(client: AsyncClient) -> None:
    sheet = (await client.get("/graphiql/graphiql.min.css")).text

    assert re.findall(r"url\(\s*[\"']?(?!data:|#)[^)]*\)|@import", sheet) == []


@pytest.mark.parametrize("name", ["unknown.js", "page.html", "welcome.graphql", "..%2froutes.py", "fetch.umd.js"])
async def test_only_the_listed_assets_are_served(client: AsyncClient, name: str) -> None:
    answer = await client.get(f"/graphiql/{name}")

    assert answer.status_code == 404


def test_missing_wheel_is_named_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphiql, "WHEEL", "parley-no-such-wheel")

    with pytest.raises(ConfigurationError, match="parley-no-such-wheel is not installed"):
        graphiql.routes()


def test_example_query_is_valid() -> None:
    example = parse((graphiql.STATIC / "welcome.graphql").read_text(encoding="utf-8"))

    assert validate(schema._schema, example) == []
