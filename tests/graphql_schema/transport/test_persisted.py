"""Documents called by their hash: trusted ones, automatic ones, and roles that may run only the trusted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy.dialects.postgresql import insert

from app.auth.roles import Role
from app.dev.redis import EmbeddedValkey
from app.documents.hashes import md5, sha256
from app.documents.models import TrustedDocument
from graphql_schema.transport import persisted
from tests.fixtures.http import Endpoint, Serve

QUERY = "query Trusted { hello }"
OTHER = "query Other { hello }"


async def trust(endpoint: Endpoint, *ids: str, body: str = QUERY) -> None:
    async with endpoint.transaction() as session:
        for document_id in ids:
            await session.execute(insert(TrustedDocument).values(team_id=endpoint.team_id, id=document_id, body=body))


async def restrict(endpoint: Endpoint, *roles: Role) -> None:
    listed = "[" + ",".join(f'"{role.value}"' for role in roles) + "]"
    await endpoint.run_sql("update team set trusted_only_roles = cast(:roles as jsonb)", roles=listed)


async def call(endpoint: Endpoint, secret: str | None = None, **payload: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret}"} if secret else None
    return await endpoint.client.post("/graphql", json=payload, headers=headers)


def code(response: httpx.Response) -> str:
    found: str = response.json()["errors"][0]["extensions"]["code"]
    return found


def apq(query: str) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": sha256(query)}}


@pytest.mark.parametrize(
    "payload",
    [
        {"documentId": f"sha256:{sha256(QUERY)}"},
        {"documentId": sha256(QUERY)},
        {"documentId": sha256(QUERY).upper()},
        {"id": sha256(QUERY)},
        {"doc_id": md5(QUERY)},
        {"extensions": apq(QUERY)},
    ],
)
async def test_a_trusted_document_runs_by_any_of_its_names(endpoint: Endpoint, payload: dict[str, Any]) -> None:
    await trust(endpoint, sha256(QUERY), md5(QUERY))

    first, again = await call(endpoint, **payload), await call(endpoint, **payload)

    assert first.json() == again.json() == {"data": {"hello": "world"}}


async def test_a_trusted_document_runs_by_get(endpoint: Endpoint) -> None:
    await trust(endpoint, sha256(QUERY))

    response = await endpoint.client.get("/graphql", params={"documentId": f"sha256:{sha256(QUERY)}"})

    assert response.json() == {"data": {"hello": "world"}}


async def test_documents_belong_to_a_team(serve: Serve) -> None:
    async with serve() as one, serve() as two:
        await trust(one, sha256(QUERY))
        response = await call(two, documentId=sha256(QUERY))

    assert code(response) == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    "payload",
    [
        {"documentId": "sha256:abc"},
        {"documentId": "x-custom"},
        {"documentId": "md5:" + md5(QUERY)},
        {"documentId": "sha256:" + md5(QUERY)},
        {"documentId": sha256(QUERY), "query": OTHER},
        {"extensions": apq(QUERY), "query": OTHER},
    ],
)
async def test_a_wrong_id_is_400(endpoint: Endpoint, payload: dict[str, Any]) -> None:
    response = await call(endpoint, **payload)

    assert (response.status_code, code(response)) == (400, "BAD_REQUEST")


async def test_apollo_registers_a_query_by_sending_it_once(endpoint: Endpoint) -> None:
    unknown = await call(endpoint, extensions=apq(QUERY))
    registered = await call(endpoint, extensions=apq(QUERY), query=QUERY)
    known = await call(endpoint, extensions=apq(QUERY))

    assert unknown.status_code == 200
    assert unknown.json()["errors"] == [
        {"message": "PersistedQueryNotFound", "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND"}}
    ]
    assert registered.json() == known.json() == {"data": {"hello": "world"}}


async def test_an_automatic_query_is_known_to_other_processes_for_a_day(endpoint: Endpoint) -> None:
    await call(endpoint, extensions=apq(QUERY), query=QUERY)
    endpoint.persisted._automatic = persisted._texts()  # as a process that never saw it

    response = await call(endpoint, extensions=apq(QUERY))

    assert response.json() == {"data": {"hello": "world"}}
    (name,) = await endpoint.redis.client.keys("document:*")
    assert 0 < await endpoint.redis.client.ttl(name) <= 24 * 3600


async def test_without_redis_automatic_queries_still_work(serve: Serve, own_valkey: EmbeddedValkey) -> None:
    async with serve(REDIS_URL=own_valkey.url()) as endpoint:
        own_valkey.stop()
        unknown = await call(endpoint, extensions=apq(QUERY))
        await call(endpoint, extensions=apq(QUERY), query=QUERY)
        known = await call(endpoint, extensions=apq(QUERY))

    assert code(unknown) == "PERSISTED_QUERY_NOT_FOUND"
    assert known.json() == {"data": {"hello": "world"}}


async def test_a_restricted_role_runs_trusted_documents_only(endpoint: Endpoint) -> None:
    await trust(endpoint, sha256(QUERY))
    await restrict(endpoint, Role.ANALYST)
    analyst, _ = await endpoint.key(Role.ANALYST)

    by_id = await call(endpoint, analyst, documentId=sha256(QUERY))
    by_text = await call(endpoint, analyst, query=QUERY)
    again = await call(endpoint, analyst, query=QUERY)
    refused = [
        await call(endpoint, analyst, query=OTHER),
        await call(endpoint, analyst, query=OTHER, extensions=apq(OTHER)),
        await call(endpoint, analyst, extensions=apq(OTHER)),
        await call(endpoint, analyst, documentId=sha256(OTHER)),
    ]
    admin = await call(endpoint, query=OTHER)

    assert by_id.json() == by_text.json() == again.json() == {"data": {"hello": "world"}}
    assert [(response.status_code, code(response)) for response in refused] == [(403, "UNTRUSTED_DOCUMENT")] * 4
    assert admin.json() == {"data": {"hello": "world"}}
    assert endpoint.executor.executed == ["Trusted", "Trusted", "Trusted", "Other"]


async def test_an_automatic_query_of_a_free_role_is_not_trusted(endpoint: Endpoint) -> None:
    await restrict(endpoint, Role.ANALYST)
    analyst, _ = await endpoint.key(Role.ANALYST)

    await call(endpoint, query=OTHER, extensions=apq(OTHER))
    response = await call(endpoint, analyst, extensions=apq(OTHER))

    assert code(response) == "UNTRUSTED_DOCUMENT"


async def test_a_restriction_binds_within_seconds_and_lifts_at_once(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, advance: Callable[[float], None]
) -> None:
    analyst, _ = await endpoint.key(Role.ANALYST)
    assert (await call(endpoint, analyst, query=OTHER)).status_code == 200

    await restrict(endpoint, Role.ANALYST)
    advance(persisted.FREE_S)
    bound = await call(endpoint, analyst, query=OTHER)
    await restrict(endpoint)
    lifted = await call(endpoint, analyst, query=OTHER)

    assert (bound.status_code, lifted.status_code) == (403, 200)


@pytest.fixture
def advance(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the clock that `persisted` reads."""
    ahead = [0.0]

    class Shifted:
        @staticmethod
        def monotonic() -> float:
            return time.monotonic() + ahead[0]

    monkeypatch.setattr(persisted, "time", Shifted)

    def move(seconds: float) -> None:
        ahead[0] += seconds

    return move
