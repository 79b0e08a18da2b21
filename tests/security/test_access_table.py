"""Agents of one team see of each other what docs/access.md says, by every way to it, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type, is_required_argument

from app.auth.roles import PERMISSIONS, Permission, Role
from app.config import Settings
from graphql_schema.planner.mapping import MAPS, PLAN, Python
from graphql_schema.schema import schema
from tests.fixtures.office import AUDIENCES, TEAM, Office, open_office
from tests.fixtures.parley import Parley

CORE = schema._schema
PAGE = Path("docs/access.md").read_text()
ROW = re.compile(r"^\| `(?P<first>[\w.]+)` \|(?P<rest>.*)\|$", re.M)
WITHOUT_ID = re.compile(r"reads it no more\. (?P<types>.*?) have no id", re.S)
MAX_DEPTH = 1


def table(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the page."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [
        [row["first"], *(cell.strip().strip("`") for cell in row["rest"].split("|"))] for row in ROW.finditer(section)
    ]
    assert rows, heading
    return rows


READERS = {(kind, made_in): AUDIENCES[audience] for kind, made_in, audience in table("What agents see of each other")}
NEEDS = {field: needs for field, needs in table("Fields that need more")}


@pytest.fixture
def parley_settings(parley_settings: Settings) -> Settings:
    generous = {"rate_limit_points": 10**9, "max_cost": 10**7, "max_fields": 10_000, "max_tokens": 50_000}
    return parley_settings.model_copy(update={**generous, "max_depth": 30, "operation_timeout_s": 60.0})


@pytest.fixture
async def office(parley: Parley) -> Office:
    return await open_office(parley)


def test_page_has_every_permission_of_every_role() -> None:
    roles = [Role(name) for name in re.findall(r"^\| Permission \|(.*)\|$", PAGE, re.M)[0].replace(" ", "").split("|")]

    written = {
        (Permission[name], role): cell == "yes"
        for name, *cells in table("What a role may do")
        for role, cell in zip(roles, cells, strict=True)
    }

    assert written == {
        (permission, role): permission in PERMISSIONS[role] for permission in Permission for role in Role
    }


def test_page_has_every_type() -> None:
    without_id = re.findall(r"`(\w+)`", WITHOUT_ID.search(PAGE)["types"])  # type: ignore[index]

    assert {kind for kind, _ in READERS} == {name for name, of in MAPS.items() if of.prefix is not None}
    assert set(without_id) == {name for name, of in MAPS.items() if of.table is not None and of.prefix is None}


def test_page_has_every_field_that_needs_more() -> None:
    declared = {f"{of.name}.{name}": plan.needs.name for of, name, plan in plans() if plan.needs is not None}

    assert declared == NEEDS


def plans() -> Iterator[tuple[GraphQLObjectType, str, Any]]:
    for of in CORE.type_map.values():
        for name, field in of.fields.items() if isinstance(of, GraphQLObjectType) else ():
            declared = field.extensions.get("strawberry-definition")
            plan = declared.metadata.get(PLAN) if declared else None
            if hasattr(plan, "needs"):
                yield of, name, plan


async def test_each_agent_reads_by_id_what_the_page_says(office: Office) -> None:
    assert office.things.keys() == READERS.keys()
    ids = {thing: key for key, thing in office.things.items()}

    for slug in sorted(TEAM):
        read = await nodes(office, list(ids), office.secrets[slug])
        expected = {thing: slug in READERS[key] for thing, key in ids.items()}
        assert {ids[thing]: thing in read for thing in ids} == {ids[thing]: seen for thing, seen in expected.items()}, (
            slug
        )
    by_admin = await nodes(office, list(ids), office.parley.home.secrets[Role.ADMIN])
    assert by_admin == set(ids)


async def nodes(office: Office, ids: list[str], secret: str) -> set[str]:
    """Those of the ids that are answered; one at a time, because some kinds are refused altogether."""
    read = set()
    for thing in ids:
        answer = (
            await office.parley.post("query ($id: ID!) { node(id: $id) { id } }", {"id": thing}, secret=secret)
        ).json()
        if (answer.get("data") or {}).get("node"):
            read.add(thing)
    return read


async def test_each_agent_comes_across_only_what_the_page_says(office: Office) -> None:
    """By every field of everything that it can reach, and every other way in. An admin comes across all of it, which
    guards the walk itself: what it does not come across, it could not find with an agent either."""
    keys = office.secrets | {"admin": office.parley.home.secrets[Role.ADMIN]}
    for slug, secret in keys.items():
        text = "\n".join([part async for part in everything(office, secret)])
        expected = {word for word, readers in office.words.items() if slug in readers or slug == "admin"}

        assert {word for word in office.words if word in text} == expected, slug


async def everything(office: Office, secret: str) -> Any:
    parley, headers = office.parley, {"Authorization": f"Bearer {secret}"}
    for (kind, _), thing in office.things.items():
        if kind not in {"ApiKey", "Event"}:
            whole = f"query ($id: ID!) {{ node(id: $id) {{ ... on {kind} {{ {fields(CORE.type_map[kind], 0)} }} }} }}"
            yield await data(parley, whole, {"id": thing}, secret)
    for name, field in CORE.query_type.fields.items():  # type: ignore[union-attr]
        of = get_named_type(field.type)
        if of.name.endswith("Connection") and f"Query.{name}" not in NEEDS:
            rows = fields(get_named_type(of.fields["nodes"].type), MAX_DEPTH)
            yield await data(parley, f"{{ {name}(first: 100) {{ nodes {{ {rows} }} }} }}", {}, secret)
            of_database = fields(get_named_type(of.fields["nodes"].type), MAX_DEPTH, exported=True)
            query = f"{{ {name} {{ nodes {{ {of_database} }} }} }}"
            exported = await parley.client.post("/export", json={"query": query}, headers=headers)
            assert exported.status_code == 200, (name, exported.text)
            yield exported.text
    for word in office.words:
        recall = "query ($q: String!) { recallMemories(query: $q, first: 50) { memory { text } } }"
        yield await data(parley, recall, {"q": word}, secret)
    for (kind, _), thing in office.things.items():
        if kind == "Report":
            yield (await parley.client.get(f"/reports/{thing}.json", headers=headers)).text


async def data(parley: Parley, document: str, variables: dict[str, Any], secret: str) -> str:
    answer = (await parley.post(document, variables, secret=secret)).json()
    assert "errors" not in answer, (answer["errors"], document)
    return json.dumps(answer["data"])


PYTHON = {f"{of.name}.{name}" for of, name, plan in plans() if isinstance(plan, Python)}


def fields(of: Any, depth: int, *, exported: bool = False) -> str:
    """Every field that needs neither arguments nor another role, and below it the same. Exports have none of Python."""
    parts = ["__typename"]
    for name, field in of.fields.items():
        inner = get_named_type(field.type)
        if f"{of.name}.{name}" in NEEDS or any(map(is_required_argument, field.args.values())):
            continue
        if exported and f"{of.name}.{name}" in PYTHON:
            continue
        if is_leaf_type(inner):
            parts.append(name)
        elif isinstance(inner, GraphQLObjectType) and depth < MAX_DEPTH and inner.name not in {"ApiKey", "Event"}:
            parts.append(f"{name} {{ {below(inner, depth)} }}")
    return " ".join(parts)


def below(inner: GraphQLObjectType, depth: int) -> str:
    if "nodes" in inner.fields and "pageInfo" in inner.fields:
        return f"nodes {{ {fields(get_named_type(inner.fields['nodes'].type), depth + 1)} }}"
    return fields(inner, depth + 1)
