"""Keys open the door, guesses are slowed and logged, and nothing here needs Redis to be right."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.auth.roles import Role
from app.auth.tokens import new_secret
from app.clock import now
from app.dev.redis import EmbeddedValkey
from app.errors import RateLimited, Unauthenticated, Unavailable
from graphql_schema.answer import refusal
from graphql_schema.transport.authentication import Authenticator, network_of
from tests.fixtures.http import Endpoint, Serve
from tests.fixtures.logs import logged


async def with_key(endpoint: Endpoint, authorization: str | None) -> httpx.Response:
    headers = {"authorization": authorization} if authorization is not None else {}
    async with httpx.AsyncClient(base_url=endpoint.url, timeout=30) as client:
        return await client.post("/graphql", json={"query": "{ hello }"}, headers=headers)


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Basic YTpi", "parley_x"])
async def test_without_a_key_the_answer_is_401_and_says_how(endpoint: Endpoint, authorization: str | None) -> None:
    response = await with_key(endpoint, authorization)

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == 'Bearer realm="parley"'
    assert "Authorization: Bearer" in response.json()["errors"][0]["message"]


async def test_a_wrong_key_is_401(endpoint: Endpoint) -> None:
    response = await with_key(endpoint, f"Bearer {new_secret()}")

    assert response.status_code == 401
    assert response.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert endpoint.executor.executed == []


async def test_the_scheme_may_be_spelt_in_any_case(endpoint: Endpoint) -> None:
    assert (await with_key(endpoint, f"bearer   {endpoint.secret}")).status_code == 200


async def test_an_expired_or_revoked_key_is_401_from_its_first_use(endpoint: Endpoint) -> None:
    expired, _ = await endpoint.key(expires_at=now() - timedelta(seconds=1))
    revoked, _ = await endpoint.key(revoked_at=now())

    for secret in (expired, revoked):
        response = await with_key(endpoint, f"Bearer {secret}")
        assert response.status_code == 401
        assert "revoked or has expired" in response.json()["errors"][0]["message"]


async def test_a_key_that_the_executor_found_dead_is_forgotten(endpoint: Endpoint) -> None:
    await endpoint.post("{ hello }")
    header = f"Bearer {endpoint.secret}"
    assert endpoint.authenticator.known(header) is not None
    endpoint.executor.answer = refusal("Dead.", "UNAUTHENTICATED", status=401)

    response = await endpoint.post("{ hello }")

    assert response.status_code == 401
    assert endpoint.authenticator.known(header) is None


async def test_facts_of_a_key(endpoint: Endpoint) -> None:
    secret, key = await endpoint.key(Role.OPERATOR)

    principal = await endpoint.authenticator.principal(f"Bearer {secret}", "192.0.2.1")

    assert (principal.key_id, principal.team_id, principal.role) == (key.id, endpoint.team_id, Role.OPERATOR)
    assert secret not in repr(principal)


async def guess(authenticator: Authenticator, address: str) -> str:
    try:
        await authenticator.principal(f"Bearer {new_secret()}", address)
    except Unauthenticated:
        return "wrong"
    except RateLimited as error:
        return "blocked" if 1 <= error.details["retry_after_s"] <= 60 else "blocked for too long"
    raise AssertionError


async def test_guesses_are_counted_across_processes_and_blocked(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    async with serve(auth_failures_per_minute=5) as one, serve(auth_failures_per_minute=5) as two:
        found = [await guess(process.authenticator, "192.0.2.7") for process in (one, two) * 4]
        elsewhere = await guess(one.authenticator, "192.0.2.8")
        monkeypatch.setattr("time.time", lambda: 1_800_000_060.0)
        later = await guess(one.authenticator, "192.0.2.7")

    assert found == ["wrong"] * 5 + ["blocked"] * 3
    assert (elsewhere, later) == ("wrong", "wrong")


async def test_a_blocked_address_does_not_reach_the_database(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(auth_failures_per_minute=1) as endpoint:
        await guess(endpoint.authenticator, "192.0.2.7")

        async def unexpected(*_: Any) -> None:
            raise AssertionError("the database was asked")

        monkeypatch.setattr(endpoint.database, "fetchrow", unexpected)
        assert await guess(endpoint.authenticator, "192.0.2.7") == "blocked"


async def test_a_known_key_works_from_a_blocked_address(serve: Serve) -> None:
    async with serve(auth_failures_per_minute=2) as endpoint:
        before = await endpoint.post("{ hello }")
        wrong = [(await with_key(endpoint, f"Bearer {new_secret()}")).status_code for _ in range(4)]
        after = await endpoint.post("{ hello }")

    assert (before.status_code, after.status_code) == (200, 200)
    assert wrong == [401, 401, 429, 429]


async def test_many_guesses_at_once_slip_through_only_by_the_few_that_look_up(serve: Serve) -> None:
    async with serve(auth_failures_per_minute=5) as endpoint:
        found = await asyncio.gather(*(guess(endpoint.authenticator, "192.0.2.9") for _ in range(100)))

    assert 5 <= found.count("wrong") <= 5 + 8


async def test_without_redis_guesses_are_counted_by_each_process(serve: Serve, own_valkey: EmbeddedValkey) -> None:
    async with serve(auth_failures_per_minute=3, REDIS_URL=own_valkey.url()) as endpoint:
        own_valkey.stop()
        found = [await guess(endpoint.authenticator, "192.0.2.7") for _ in range(5)]
        response = await endpoint.post("{ hello }")

    assert found == ["wrong"] * 3 + ["blocked"] * 2
    assert response.status_code == 200


async def test_while_the_database_is_away_a_new_key_is_503_and_no_guess(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, _ = await endpoint.key()

    async def away(*_: Any) -> None:
        raise Unavailable("The database does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(endpoint.database, "fetchrow", away)
        refused = await with_key(endpoint, f"Bearer {secret}")
    after = await with_key(endpoint, f"Bearer {secret}")

    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert await endpoint.authenticator._failures.count("127.0.0.1") == 0
    assert after.status_code == 200


async def test_a_failure_is_logged_without_the_secret(endpoint: Endpoint) -> None:
    secret = new_secret()

    with logged() as lines, pytest.raises(Unauthenticated):
        await endpoint.authenticator.principal(f"Bearer {secret}", "192.0.2.1")

    (line,) = lines
    assert line["event"] == "authentication failed"
    assert (line["address"], line["key"], line["failures"]) == ("192.0.2.1", secret[:13], 1)
    assert secret not in str(line)


@pytest.mark.parametrize("secret", ["parley_short", "correct horse battery staple and more", "x" * 300])
async def test_what_is_no_key_of_ours_is_not_logged_at_all(endpoint: Endpoint, secret: str) -> None:
    with logged() as lines, pytest.raises(Unauthenticated):
        await endpoint.authenticator.principal(f"Bearer {secret}", "192.0.2.1")

    assert lines[0]["key"] == "(not shown)"


async def test_one_key_used_a_hundred_times_at_once_is_looked_up_once(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, _ = await endpoint.key()
    asked = []
    fetchrow = endpoint.database.fetchrow

    async def counted(*arguments: Any) -> Any:
        asked.append(arguments)
        return await fetchrow(*arguments)

    monkeypatch.setattr(endpoint.database, "fetchrow", counted)
    principals = await asyncio.gather(
        *(endpoint.authenticator.principal(f"Bearer {secret}", "192.0.2.1") for _ in range(100))
    )

    assert len({principal.key_id for principal in principals}) == 1
    assert len(asked) <= 8


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("unknown", "unknown"),
    ],
)
def test_an_address_stands_for_its_network(address: str, network: str) -> None:
    assert network_of(address) == network
