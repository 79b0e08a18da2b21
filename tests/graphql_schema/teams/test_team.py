"""The team over GraphQL: flags, files, trusted documents."""

from __future__ import annotations

import hashlib

import pytest

from app.auth.roles import Role
from tests.fixtures.parley import Parley

FLAGS = "{ team { featureFlags { flag enabled overridden } } }"
SET_FLAGS = """
mutation ($flags: [FeatureFlagInput!]!) {
  setFeatureFlags(input: {flags: $flags}) {
    __typename ... on TeamPayload { team { featureFlags { flag enabled overridden } } } ... on Refusal { code message }
  }
}
"""
APPLY = """
mutation ($file: String!, $dryRun: Boolean! = false) {
  applyTeam(input: {file: $file, dryRun: $dryRun}) {
    __typename
    ... on ApplyTeamPayload { changed created updated unchanged changedTeamFields team { description } }
    ... on Refusal { code }
    ... on InvalidInput { problems { path line message } }
  }
}
"""
FILE = """\
name: Home
description: Where we live
agents:
  - slug: kyra
    name: Kyra
    skills:
      - name: talking
  - slug: ada
    name: Ada
"""


async def test_flags_are_off_until_set_and_go_back_to_the_installation(parley: Parley) -> None:
    before = {flag["flag"]: flag["enabled"] for flag in (await parley.run(FLAGS))["team"]["featureFlags"]}

    on = await parley.run(SET_FLAGS, {"flags": [{"flag": "TASK_DELEGATION", "enabled": True}]})
    back = await parley.run(SET_FLAGS, {"flags": [{"flag": "TASK_DELEGATION", "enabled": None}]})

    assert set(before.values()) == {False}
    assert {"flag": "TASK_DELEGATION", "enabled": True, "overridden": True} in on["setFeatureFlags"]["team"][
        "featureFlags"
    ]
    assert {"flag": "TASK_DELEGATION", "enabled": False, "overridden": False} in back["setFeatureFlags"]["team"][
        "featureFlags"
    ]


@pytest.mark.parametrize(
    "flags", [[], [{"flag": "EXPERT_GATE", "enabled": True}, {"flag": "EXPERT_GATE", "enabled": False}]]
)
async def test_no_flag_or_one_twice_is_refused(parley: Parley, flags: list[dict[str, object]]) -> None:
    assert (await parley.run(SET_FLAGS, {"flags": flags}))["setFeatureFlags"]["code"] == "INVALID_INPUT"


async def test_file_is_applied_once_and_then_changes_nothing(parley: Parley) -> None:
    would = (await parley.run(APPLY, {"file": FILE, "dryRun": True}))["applyTeam"]
    first = (await parley.run(APPLY, {"file": FILE}))["applyTeam"]
    second = (await parley.run(APPLY, {"file": FILE}))["applyTeam"]

    assert would["created"] == first["created"] == ["ada"]
    assert would["team"]["description"] == ""
    assert (first["changed"], first["changedTeamFields"]) == (True, ["description"])
    assert first["team"]["description"] == "Where we live"
    assert (second["changed"], second["created"], second["unchanged"]) == (False, [], ["kyra", "ada"])


async def test_the_team_is_read_as_a_file_that_changes_nothing(parley: Parley) -> None:
    await parley.run(APPLY, {"file": FILE})

    written = (await parley.run("{ teamFile { text } }", role=Role.ANALYST))["teamFile"]["text"]
    again = (await parley.run(APPLY, {"file": written}))["applyTeam"]

    assert "description: Where we live" in written
    assert (again["changed"], sorted(again["unchanged"])) == (False, ["ada", "kyra", "luke"])


async def test_bad_file_names_line_and_field_and_changes_nothing(parley: Parley) -> None:
    bad = FILE.replace("    name: Ada", "    name: Ada\n    status: sleepy")

    refused = (await parley.run(APPLY, {"file": bad}))["applyTeam"]

    assert refused["__typename"] == "InvalidInput"
    assert [(problem["line"], problem["path"]) for problem in refused["problems"]] == [(10, "agents.1.status")]
    assert await parley.run('{ agent(slug: "ada") { id } team { description } }') == {
        "agent": None, "team": {"description": ""},
    }  # fmt: skip


async def test_limited_role_runs_trusted_documents_only(parley: Parley) -> None:
    body = "{ viewer { role } }"
    digest = hashlib.sha256(body.encode()).hexdigest()
    await parley.run(
        "mutation ($d: [DocumentInput!]!) { registerDocuments(input: {documents: $d}) { __typename } }",
        {"d": [{"id": digest, "body": body}]},
    )
    await parley.run("mutation { limitRolesToTrustedDocuments(input: {roles: [ANALYST]}) { __typename } }")
    headers = {"Authorization": f"Bearer {parley.home.secrets[Role.ANALYST]}"}

    trusted = await parley.client.post("/graphql", json={"documentId": f"sha256:{digest}"}, headers=headers)
    other = await parley.client.post("/graphql", json={"query": "{ team { name } }"}, headers=headers)
    admin = await parley.run("{ team { name } }")

    assert trusted.json() == {"data": {"viewer": {"role": "ANALYST"}}}
    assert other.json()["errors"][0]["extensions"]["code"] == "UNTRUSTED_DOCUMENT"
    assert admin == {"team": {"name": "Home"}}
