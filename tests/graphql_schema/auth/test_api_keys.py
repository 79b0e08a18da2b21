"""API keys over GraphQL: made, used, expired, revoked."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.clock import now
from tests.fixtures.parley import Parley

CREATE = """
mutation ($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    __typename
    ... on CreateApiKeyPayload { secret apiKey { id name role prefix live expiresAt agent { slug } } }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path } }
  }
}
"""
REVOKE = """
mutation ($id: ID!) {
  revokeApiKey(input: {apiKeyId: $id}) {
    __typename ... on ApiKeyPayload { apiKey { live revokedAt } } ... on Refusal { code message }
  }
}
"""


async def test_new_key_works_with_its_role(parley: Parley) -> None:
    made = (await parley.run(CREATE, {"input": {"name": "grafana", "role": "ANALYST"}}))["createApiKey"]

    viewer = (await parley.run("{ viewer { name role permissions team { slug } } }", secret=made["secret"]))["viewer"]

    reads = ["READ_TEAM", "READ_EVENTS"]
    assert viewer == {"name": "grafana", "role": "ANALYST", "permissions": reads, "team": {"slug": "home"}}
    assert made["secret"].startswith(made["apiKey"]["prefix"])
    assert made["apiKey"]["live"] is True


async def test_secret_is_kept_only_as_a_hash(parley: Parley) -> None:
    made = (await parley.run(CREATE, {"input": {"name": "x", "role": "ANALYST"}}))["createApiKey"]

    everything = await parley.value("select string_agg(k::text, '') from api_key k")

    assert made["secret"] not in everything
    assert made["secret"] not in await parley.value("select string_agg(e::text, '') from event e")


async def test_agent_key_acts_as_its_agent(parley: Parley) -> None:
    given = {"name": "luke's", "role": "AGENT", "agentId": parley.home.agent_id}
    made = (await parley.run(CREATE, {"input": given}))["createApiKey"]

    viewer = (await parley.run("{ viewer { agent { slug } } }", secret=made["secret"]))["viewer"]

    assert viewer == {"agent": {"slug": "luke"}}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": "", "role": "ANALYST"}, "name"),
        ({"name": "x" * 121, "role": "ANALYST"}, "name"),
        ({"name": "x", "role": "AGENT"}, "agentId"),
        ({"name": "x", "role": "ANALYST", "expiresAt": "2020-01-01T00:00:00Z"}, "expiresAt"),
        ({"name": "x", "role": "AGENT", "agentId": "team_00000000000000000000000000000000"}, "agentId"),
    ],
)
async def test_bad_key_is_refused_and_not_made(parley: Parley, given: dict[str, str], path: str) -> None:
    before = await parley.value("select count(*) from api_key")

    refused = (await parley.run(CREATE, {"input": given}))["createApiKey"]

    assert refused["__typename"] == "InvalidInput"
    assert [problem["path"] for problem in refused["problems"]] == [path]
    assert await parley.value("select count(*) from api_key") == before


async def test_key_for_an_agent_that_does_not_exist_is_not_found(parley: Parley) -> None:
    given = {"name": "x", "role": "AGENT", "agentId": "agent_00000000000000000000000000000000"}

    refused = (await parley.run(CREATE, {"input": given}))["createApiKey"]

    assert refused["code"] == "NOT_FOUND"


async def test_revoked_key_is_refused_at_once(parley: Parley) -> None:
    analyst = parley.home.secrets[Role.ANALYST]
    await parley.run("{ viewer { role } }", secret=analyst)

    revoked = (await parley.run(REVOKE, {"id": parley.home.key_id(Role.ANALYST)}))["revokeApiKey"]
    read = await parley.post("{ viewer { role } }", secret=analyst)
    introspected = await parley.post("{ __schema { queryType { name } } }", secret=analyst)
    again = (await parley.run(REVOKE, {"id": parley.home.key_id(Role.ANALYST)}))["revokeApiKey"]

    assert revoked["apiKey"]["live"] is False
    assert (read.status_code, read.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")
    assert introspected.status_code == 401
    assert again["code"] == "CONFLICT"


async def test_revoked_key_changes_nothing(parley: Parley) -> None:
    secret = parley.home.secrets[Role.INTEGRATOR]
    mutation = 'mutation { createAgent(input: {slug: "ada", name: "Ada"}) { __typename } }'
    await parley.run("{ viewer { role } }", secret=secret)
    await parley.run(REVOKE, {"id": parley.home.key_id(Role.INTEGRATOR)})

    refused = await parley.post(mutation, secret=secret)

    assert refused.json()["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert await parley.run('{ agent(slug: "ada") { id } }') == {"agent": None}


async def test_expired_key_is_refused(parley: Parley) -> None:
    given = {"name": "short", "role": "ANALYST", "expiresAt": (now() + timedelta(hours=1)).isoformat()}
    secret = (await parley.run(CREATE, {"input": given}))["createApiKey"]["secret"]
    await parley.run("{ viewer { role } }", secret=secret)
    async with parley.transaction() as session:
        await session.execute(text("update api_key set expires_at = now() - interval '1 second' where name = 'short'"))

    refused = await parley.post("{ viewer { role } }", secret=secret)

    assert (refused.status_code, refused.json()["errors"][0]["extensions"]["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.INTEGRATOR, Role.ANALYST, Role.AGENT])
async def test_only_admins_see_keys(parley: Parley, role: Role) -> None:
    errors = await parley.errors("{ team { apiKeys { nodes { name } } } }", role=role)
    by_id = await parley.run(
        "query ($id: ID!) { node(id: $id) { id } }", {"id": parley.home.key_id(Role.ADMIN)}, role=role
    )

    assert errors[0]["extensions"]["code"] == "FORBIDDEN"
    assert by_id == {"node": None}


async def test_key_that_revokes_itself_is_told_so(parley: Parley) -> None:
    revoked = await parley.run(REVOKE, {"id": parley.home.key_id(Role.ADMIN)})

    assert revoked["revokeApiKey"]["__typename"] == "ApiKeyPayload"
    assert revoked["revokeApiKey"]["apiKey"]["live"] is False
    assert (await parley.post("{ viewer { role } }")).status_code == 401


async def test_agents_key_reads_no_event_by_its_id(parley: Parley) -> None:
    events = await parley.run("{ events(first: 1) { nodes { id } } }")
    event = {"id": events["events"]["nodes"][0]["id"]}

    seen = {
        role: (await parley.run("query ($id: ID!) { node(id: $id) { id } }", event, role=role))["node"] for role in Role
    }

    assert seen == {role: None if role is Role.AGENT else event for role in Role}
