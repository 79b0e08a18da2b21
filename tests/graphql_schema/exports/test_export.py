"""What /export answers: the same rows as page by page, with the same rights, or a refusal before the first byte."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert

from app.auth.roles import Role
from app.documents.hashes import sha256
from app.documents.models import TrustedDocument
from tests.fixtures.parley import Parley
from tests.graphql_schema.exports.conftest import Exports

ROWS = """
  nodes { id kind at cursor changes actor agent { slug team { slug } skills { name } } }
"""
PAGES = f"""
query Pages($after: Cursor, $kinds: [EventKind!], $way: Direction = ASC) {{
  events(first: 100, after: $after, where: {{ kind: {{ in: $kinds }} }}, orderBy: [{{ field: AT, direction: $way }}]) {{
    {ROWS} pageInfo {{ hasNextPage endCursor }}
  }}
}}
"""
EXPORT = f"""
query Export($kinds: [EventKind!], $way: Direction = ASC, $first: Int, $after: Cursor) {{
  events(first: $first, after: $after, where: {{ kind: {{ in: $kinds }} }},
         orderBy: [{{ field: AT, direction: $way }}]) {{ {ROWS} }}
}}
"""
NUMBERS = '{ events(where: { actor: { eq: "writer" } }) { nodes { changes } } }'

REFUSED = [
    ("{ agents { nodes { id } } tasks { nodes { id } } }", "NOT_EXPORTABLE"),
    ("{ a: agents { nodes { id } } b: agents { nodes { id } } }", "NOT_EXPORTABLE"),
    ("{ agents { nodes { id } } ...More } fragment More on Query { __typename }", "NOT_EXPORTABLE"),
    ("{ agents { totalCount } }", "NOT_EXPORTABLE"),
    ("{ agents { nodes { id } totalCount } }", "NOT_EXPORTABLE"),
    ("{ agents { a: nodes { id } b: nodes { id } } }", "NOT_EXPORTABLE"),
    ("{ agents { nodes @skip(if: true) { id } } }", "NOT_EXPORTABLE"),
    ("{ agents @include(if: false) { nodes { id } } }", "NOT_EXPORTABLE"),
    ("{ agents { edges { node { id } } } }", "NOT_EXPORTABLE"),
    ("{ team { agents { nodes { id } } } }", "NOT_EXPORTABLE"),
    ("{ nodes(ids: []) { id } }", "NOT_EXPORTABLE"),
    ("{ __typename }", "NOT_EXPORTABLE"),
    ("{ __schema { types { name } } }", "NOT_EXPORTABLE"),
    ("{ agents { nodes { team { featureFlags { flag } } } } }", "NOT_EXPORTABLE"),
    ('mutation { pauseAgent(input: { agentId: "x" }) { __typename } }', "NOT_EXPORTABLE"),
    ("subscription { teamEvents { __typename } }", "NOT_EXPORTABLE"),
    ("{ agents(last: 5) { nodes { id } } }", "INVALID_ARGUMENT"),
    ("{ agents(first: 0) { nodes { id } } }", "INVALID_ARGUMENT"),
    ("{ agents(first: 5000001) { nodes { id } } }", "INVALID_ARGUMENT"),
    ('{ agents(after: "x") { nodes { id } } }', "INVALID_CURSOR"),
    ("{ agents { nodes { nothing } } }", "GRAPHQL_VALIDATION_FAILED"),
    ("{ agents", "GRAPHQL_PARSE_FAILED"),
    ("query Q($n: Int!) { agents(first: $n) { nodes { id } } }", "BAD_VARIABLES"),
]


async def paged(parley: Parley, variables: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """All rows by following the pages, and the cursors on the way."""
    rows: list[Any] = []
    cursors, more = [], True
    while more:
        page = (await parley.run(PAGES, {**variables, "after": cursors[-1] if cursors else None}))["events"]
        rows += page["nodes"]
        cursors.append(page["pageInfo"]["endCursor"])
        more = page["pageInfo"]["hasNextPage"]
    return rows, cursors


async def test_equals_paging(parley: Parley, exports: Exports) -> None:
    await exports.write(700)
    await exports.write(300, team=parley.other)
    for variables in ({"kinds": ["AGENT_UPDATED", "AGENT_CREATED"], "way": "DESC"}, {"kinds": ["AGENT_CREATED"]}, {}):
        rows, cursors = await paged(parley, variables)
        assert await exports.rows(EXPORT, variables) == rows

    assert len(rows) > 700
    assert {row["agent"]["team"]["slug"] for row in rows if row["agent"]} == {"home"}
    assert await exports.rows(EXPORT, {"first": 450}) == rows[:450]
    assert await exports.rows(EXPORT, {"first": 450, "after": cursors[0]}) == rows[100:550]

    table = (await exports.post(EXPORT, accept="text/csv")).content.decode()
    read = list(csv.DictReader(io.StringIO(table, newline=""), strict=True))
    assert list(read[0]) == "id kind at cursor changes actor agent.slug agent.team.slug agent.skills".split()
    assert [(line["id"], json.loads(line["changes"])) for line in read] == [(row["id"], row["changes"]) for row in rows]
    assert {line["agent.skills"] for line in read} == {"", '[{"name":"talking"}]'}


async def test_forms_and_methods(parley: Parley, exports: Exports) -> None:
    query = 'query Q { none: agents(where: { slug: { eq: "nobody" } }) { rows: nodes { id who: name } } }'
    for accept, form in {
        "*/*": "ndjson", "text/*": "csv", "text/csv, application/x-ndjson;q=0.5": "csv", "application/*": "ndjson",
    }.items():  # fmt: skip
        answer = await exports.post(query, accept=accept)
        assert answer.headers["content-disposition"] == f'attachment; filename="agents.{form}"'
        assert answer.content == (b"id,who\r\n" if form == "csv" else b"")
    assert "ratelimit" in answer.headers

    spread = """
      query Q($no: Boolean!) { ...Root }
      fragment Root on Query { all: agents(orderBy: [{ field: SLUG, direction: DESC }]) { ...Page } }
      fragment Page on AgentConnection { nodes { ... on Agent { s: slug } } nodes { name type @include(if: $no) } }
    """
    assert await exports.rows(spread, {"no": False}) == [{"s": "luke", "name": "Luke"}, {"s": "kyra", "name": "Kyra"}]

    headers = exports.headers(Role.ANALYST, "application/json")
    by_url = {"query": "{ agents(first: 1) { nodes { slug } } }", "format": "csv"}
    assert (await parley.client.get("/export", params=by_url, headers=headers)).text == 'slug\r\n"kyra"\r\n'
    for method, params, status in (
        ("GET", {**by_url, "format": "xml"}, 400), ("GET", {"query": by_url["query"]}, 406), ("PUT", by_url, 405),
        ("HEAD", by_url, 405),
    ):  # fmt: skip
        assert (await parley.client.request(method, "/export", params=params, headers=headers)).status_code == status
    assert (await parley.client.options("/export")).headers["allow"] == "GET, POST, OPTIONS"
    assert (await parley.client.post("/export", content="x", headers=headers | {"Accept": "*/*"})).status_code == 415
    assert (await parley.client.post("/export", json={"query": query})).status_code == 401


async def test_other_documents_are_refused(exports: Exports) -> None:
    for query, code in REFUSED:
        assert (query, *await exports.refusal(query)) == (query, 400, code)
    inner = "tasks(first: 100) { nodes { subtasks(first: 100) { nodes { id } } } }"
    assert await exports.refusal(f"{{ agents {{ nodes {{ {inner} }} }} }}") == (422, "COST_LIMIT_EXCEEDED")


async def test_field_that_cannot_be_exported_is_named(exports: Exports) -> None:
    for selected, field in (
        ("explanation", "RoutingDecision.explanation"),
        ("policy { id } candidates { nodes { explanation } }", "RoutingCandidate.explanation"),
    ):
        answer = await exports.post(f"{{ routingDecisions {{ nodes {{ id {selected} }} }} }}")
        [error] = answer.json()["errors"]
        assert error["message"] == f"{field} is not read from the database alone. Leave it out."


async def test_rights(parley: Parley, exports: Exports) -> None:
    for role in Role:
        refused = role is Role.AGENT
        answer = await exports.post("{ events { nodes { id } } }", role=role)
        assert answer.status_code == (403 if refused else 200)
        keys = await exports.post("{ events { nodes { apiKey { name } } } }", role=role)
        assert keys.status_code == (200 if role is Role.ADMIN else 403)
    ids = {row["id"] for row in await exports.rows("{ agents { nodes { id } } }")}
    other = {"Authorization": f"Bearer {parley.other.secrets[Role.ADMIN]}"}
    answer = await parley.client.post("/export", json={"query": "{ agents { nodes { id } } }"}, headers=other)
    theirs = {json.loads(line)["id"] for line in answer.text.splitlines()}
    assert len(ids) == len(theirs) == 2
    assert not ids & theirs

    async with parley.transaction() as session:
        await session.execute(text("update api_key set revoked_at = now() where role = 'analyst'"))
    assert await exports.refusal("{ agents { nodes { id } } }") == (401, "UNAUTHENTICATED")


async def test_trusted_documents_bind_exports_too(parley: Parley, exports: Exports) -> None:
    trusted = "query Trusted($n: Int) { agents(first: $n) { nodes { slug } } }"
    async with parley.transaction() as session:
        await session.execute(text("update team set trusted_only_roles = '[\"analyst\"]'"))
        values = {"team_id": parley.home.id, "id": sha256(trusted), "body": trusted}
        await session.execute(insert(TrustedDocument).values(values))

    assert await exports.refusal("{ agents { nodes { id } } }") == (403, "UNTRUSTED_DOCUMENT")
    headers = exports.headers(Role.ANALYST, "*/*")
    by_id = {"documentId": sha256(trusted), "variables": {"n": 1}}
    assert (await parley.client.post("/export", json=by_id, headers=headers)).json() == {"slug": "kyra"}
