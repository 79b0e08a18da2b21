"""`parley keys` creates keys that are shown once, lists them without their secrets, and revokes them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.app.cli.conftest import Answer


@pytest.fixture
def parley_on_team(parley_on_database: Callable[..., Answer], team_file: Path) -> Callable[..., Answer]:
    assert parley_on_database("team", "apply", str(team_file), "--team", "writers", "--create").code == 0
    return parley_on_database


def test_key_is_shown_once(parley_on_team: Callable[..., Answer]) -> None:
    created = parley_on_team("keys", "create", "dashboard", "--role", "analyst")

    secret = created.out.strip()
    listed = parley_on_team("keys", "list")
    assert created.code == 0
    assert secret.startswith("parley_")
    assert secret[:13] in listed.out
    assert secret not in listed.out


def test_list_as_json(parley_on_team: Callable[..., Answer]) -> None:
    parley_on_team("keys", "create", "first")
    parley_on_team("keys", "create", "second", "--days", "30")

    keys = json.loads(parley_on_team("keys", "list", "--json").out)

    assert [(key["name"], key["role"], key["state"][:10]) for key in keys] == [
        ("second", "integrator", "live until"),
        ("first", "integrator", "live"),
    ]


def test_revoked_by_what_it_begins_with(parley_on_team: Callable[..., Answer]) -> None:
    secret = parley_on_team("keys", "create", "leaked").out.strip()

    answer = parley_on_team("keys", "revoke", secret[:13])

    again = parley_on_team("keys", "revoke", secret[:13])
    assert (answer.code, answer.out) == (0, f"Key 'leaked' ({secret[:13]}…) is revoked.\n")
    assert (again.code, again.err.strip()) == (1, "This API key is already revoked.")
    assert json.loads(parley_on_team("keys", "list", "--json").out)[0]["state"] == "revoked"


def test_agent_key_names_its_agent(parley_on_team: Callable[..., Answer]) -> None:
    assert parley_on_team("keys", "create", "Ada", "--role", "agent", "--agent", "ada").code == 0
    unknown = parley_on_team("keys", "create", "Ada", "--role", "agent", "--agent", "nobody")
    assert (unknown.code, unknown.err.strip()) == (1, "The team has no agent 'nobody'.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "x", "--role", "agent"], "agentId: is needed for the role AGENT"),
        (["create", " "], "name: must be 1 to 120 characters long"),
        (["create", "x", "--team", "none"], "No team 'none'; there are: writers"),
        (["revoke", "key_0"], "Team 'writers' has no key 'key_0'."),
    ],
)
def test_refusals_change_nothing(parley_on_team: Callable[..., Answer], arguments: list[str], said: str) -> None:
    answer = parley_on_team("keys", *arguments)

    assert answer.code == 1
    assert said in answer.err
    assert json.loads(parley_on_team("keys", "list", "--json").out) == []


def test_without_a_team(parley_on_database: Callable[..., Answer]) -> None:
    answer = parley_on_database("keys", "create", "x")

    assert (answer.code, answer.err.strip()) == (
        1,
        "There is no team yet. Make one from a file: parley team apply FILE --team SLUG --create",
    )
