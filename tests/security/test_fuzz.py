"""Every root field is asked with generated values: refusals are fine, masked faults are not. `make soak` asks 20,000
times."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import asyncpg
import pytest
from graphql import (
    GraphQLField,
    get_named_type,
    is_leaf_type,
    is_required_argument,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.auth.roles import Role
from app.config import Flags, Settings
from app.ids import Prefix, to_global
from graphql_schema.schema import schema
from tests.fixtures.desk import Desk
from tests.fixtures.one_of_each import foreign_ids
from tests.fixtures.parley import Parley
from tests.fixtures.requests import RequestWriter, as_body, plain_value, text_paths, with_text

SOAKING = os.environ.get("PARLEY_SOAK") == "1"
REQUESTS = 20_000 if SOAKING else 400
pytestmark = pytest.mark.timeout(3_600 if SOAKING else 120)
CORE = schema._schema
ROOTS = {"query": CORE.query_type, "mutation": CORE.mutation_type, "subscription": CORE.subscription_type}
FIELDS = [(verb, name) for verb, root in ROOTS.items() if root is not None for name in root.fields]
# They would end the keys that the test asks with, or pause its own agent.
ENDS_KEYS = {"archiveAgent", "pauseAgent"}
# They would have all that follows refused at once.
STOPS_WORK = {"limitRolesToTrustedDocuments", "setFeatureFlags", "setTeamBudgets", "applyTeam", *ENDS_KEYS}
START_WORK = """
update team set trusted_only_roles = '[]', day_budget_usd = null, month_budget_usd = null,
    flags = '{"task_delegation": true, "collaboration": true, "agent_collaboration": true, "expert_gate": true}';
update agent set status = 'active', archived_at = null;
"""
FUZZ = settings(
    max_examples=REQUESTS,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Fuzzed:
    parley: Parley
    ids: list[str]
    cursors: list[str]
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)


@pytest.fixture
def parley_settings(parley_settings: Settings) -> Settings:
    return parley_settings.model_copy(update={"rate_limit_points": 1_000_000_000})


@pytest.fixture
async def fuzzed(parley: Parley) -> AsyncIterator[Fuzzed]:
    home = parley.home
    await start_work(parley)
    settings = parley.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    desk = Desk(parley.transaction, settings, home.id, {"kyra": home.kyra, "luke": home.luke})
    task = await desk.working("kyra", "luke")
    claimed = [to_global(Prefix.TASK, task.id), str(task.claim_token)]
    ids = await foreign_ids(parley, home, to_global(Prefix.TEAM, home.id))
    ids.remove(home.key_id(Role.ADMIN))
    ids += [*claimed, home.key_id(Role.ANALYST), to_global(Prefix.AGENT, home.kyra.id)]
    fuzzed = Fuzzed(parley, ids, await cursors_of(parley))
    await start_work(parley)
    yield fuzzed
    if SOAKING and fuzzed.tried:
        assert {pair for pair in FIELDS if not fuzzed.tried[pair]} == set()


@given(data=st.data())
@FUZZ
async def test_no_value_makes_a_masked_fault(fuzzed: Fuzzed, data: Any) -> None:
    verb, name = data.draw(st.sampled_from(FIELDS))
    own = {fuzzed.parley.home.agent_id} if name in ENDS_KEYS else set()
    writer = RequestWriter(CORE, data.draw, [thing for thing in fuzzed.ids if thing not in own], fuzzed.cursors)
    query, variables = writer.request(verb, name, ROOTS[verb].fields[name])  # type: ignore[union-attr]
    role = data.draw(st.sampled_from([Role.ADMIN, Role.ADMIN, Role.INTEGRATOR, Role.OPERATOR, Role.AGENT]))
    fuzzed.tried[verb, name] += 1

    status, text = await send(fuzzed.parley, verb, as_body(query, variables), role)

    if name in STOPS_WORK:
        await start_work(fuzzed.parley)
    assert status < 500, (status, text, query, variables)
    assert '"INTERNAL"' not in text, (text, query, variables)
    assert "UNAUTHENTICATED" not in text, (name, variables)


async def test_a_null_character_in_any_text_is_refused_or_harmless(fuzzed: Fuzzed) -> None:
    """Postgres can keep none, so each text is checked before it gets there."""
    tried, faults = 0, []
    for verb, name in FIELDS:
        for query, variables in with_null_characters(ROOTS[verb].fields[name], verb, name, fuzzed.ids):  # type: ignore[union-attr]
            for role in (Role.ADMIN, Role.AGENT):
                status, text = await send(fuzzed.parley, verb, as_body(query, variables), role)
                tried += 1
                if status >= 500 or '"INTERNAL"' in text:
                    faults.append((role, query, variables))
        if name in STOPS_WORK:
            await start_work(fuzzed.parley)

    assert faults == []
    assert tried > 1_000


def with_null_characters(
    root: GraphQLField, verb: str, name: str, ids: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    plain = partial(plain_value, ids)
    for place, argument in root.args.items():
        for path in text_paths(argument.type):
            needed = {key: of for key, of in root.args.items() if is_required_argument(of) or key == place}
            values = {key: plain(of.type, key) for key, of in needed.items()}
            values[place] = with_text(argument.type, path, "a\0b", plain)
            declared = ", ".join(f"${key}: {of.type}" for key, of in needed.items())
            passed = ", ".join(f"{key}: ${key}" for key in needed)
            body = "" if is_leaf_type(get_named_type(root.type)) else "{ __typename }"
            yield f"{verb} ({declared}) {{ {name}({passed}) {body} }}", values


async def cursors_of(parley: Parley) -> list[str]:
    await parley.settled()
    places = "{ edges { cursor } }"
    read = await parley.run(f"{{ agents {places} tasks {places} memories {places} events(first: 3) {places} }}")
    logged = await parley.run("{ events(first: 3) { nodes { cursor } } }")
    cursors = [edge["cursor"] for page in read.values() for edge in page["edges"]]
    return [*cursors, *(event["cursor"] for event in logged["events"]["nodes"])]


async def start_work(parley: Parley) -> None:
    connection = await asyncpg.connect(parley.settings.database_url)
    await connection.execute(START_WORK)
    await connection.close()


async def send(parley: Parley, verb: str, body: bytes, role: Role) -> tuple[int, str]:
    """Of a stream the first item is enough: it is either refused or has caught up."""
    streams = verb == "subscription"
    accept = "text/event-stream" if streams else "application/graphql-response+json"
    headers = {
        "Authorization": f"Bearer {parley.home.secrets[role]}", "Content-Type": "application/json", "Accept": accept,
    }  # fmt: skip
    if not streams:
        answer = await parley.client.post("/graphql", content=body, headers=headers)
        return answer.status_code, answer.text
    async with asyncio.timeout(30), parley.client.stream("POST", "/graphql", content=body, headers=headers) as stream:
        async for chunk in stream.aiter_text():
            return stream.status_code, chunk
    return stream.status_code, ""
