"""Reports through the API: asked for, routed, read, downloaded and refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.auth.roles import Role
from app.config import Flags, Settings, load_settings
from app.ids import Prefix, to_global
from tests.fixtures.desk import Desk
from tests.fixtures.parley import Parley
from tests.fixtures.reports import BAD, Reports

REQUEST = """mutation ($input: RequestReportInput!) { requestReport(input: $input) {
  __typename
  ... on ReportPayload { report { id status assignee { slug } requester { slug } routingDecision { reason } } }
  ... on InvalidInput { problems { path message } }
  ... on Refusal { code message }
} }"""
READ = """query ($id: ID!) { report(id: $id) {
  type title status format requiredSections missingSections problems parameters
  sections { position name title kind content } task { status purpose } repairTask { status } memory { kind text }
} }"""
HOSTILE = """## Summary
<script>alert(1)</script>
## Findings
"quoted" & ]]>
## Severity breakdown
0
## Recommendations
</pre></body><iframe src="https://example.org">
## Thanks <img src=x onerror=alert(2)>
To all.
"""


@pytest.fixture
def parley_settings(database_url: str, redis_url: str) -> Settings:
    flags = Flags(task_delegation=True)
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, port=0, log_level="error", flags=flags)


@pytest.fixture
def desk(parley: Parley) -> Desk:
    home = parley.home
    return Desk(parley.transaction, parley.settings, home.id, {"kyra": home.kyra, "luke": home.luke})


def wanted(parley: Parley, **fields: Any) -> dict[str, Any]:
    given = {"type": "CODE_REVIEW", "title": "Login", "parameters": {"files": ["auth.py"]}}
    return {"input": given | {"assigneeId": parley.home.agent_id} | fields}


async def test_from_request_to_download(parley: Parley, desk: Desk) -> None:
    await parley.allow()
    asked = (await parley.run(REQUEST, wanted(parley), role=Role.AGENT))["requestReport"]["report"]
    assert (asked["status"], asked["assignee"], asked["requester"]) == ("WORKING", {"slug": "luke"}, {"slug": "luke"})
    reports = Reports(desk)
    await reports.answer("luke", BAD)
    half = (await parley.run(READ, {"id": asked["id"]}, role=Role.ANALYST))["report"]
    assert (half["status"], half["missingSections"]) == ("REPAIRING", ["severity_breakdown", "findings"])
    await reports.answer("luke", HOSTILE)

    done = (await parley.run(READ, {"id": asked["id"]}))["report"]
    assert (done["status"], done["problems"], done["parameters"]) == ("VALID", [], {"files": ["auth.py"]})
    assert [(one["name"], one["kind"]) for one in done["sections"]][-1] == (
        "thanks_img_src_x_onerror_alert_2",
        "ADDITIONAL",
    )
    assert done["task"] == {"status": "COMPLETED", "purpose": "REPORT"}
    assert done["memory"]["kind"] == "PROCEDURAL"
    listed = await parley.run("{ reports(where: {status: {eq: VALID}}) { nodes { id } totalCount } }")
    assert listed["reports"] == {"nodes": [{"id": asked["id"]}], "totalCount": 1}

    async def download(form: str, role: Role = Role.ANALYST, secret: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {secret or parley.home.secrets[role]}"}
        return await parley.client.get(f"/reports/{asked['id']}.{form}", headers=headers)

    page, text, data = await download("html"), await download("md"), await download("json")
    assert [one.status_code for one in (page, text, data)] == [200, 200, 200]
    for mark in ("<script", "<img", "<iframe", "</pre></body>"):
        assert mark not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert text.text.startswith("# Login\n\ncode_review · valid\n\n## Summary\n\n<script>")
    assert [one["name"] for one in data.json()["sections"]] == [one["name"] for one in done["sections"]]

    other = await download("json", secret=parley.other.secrets[Role.ADMIN])
    assert (other.status_code, other.json()["errors"][0]["extensions"]["code"]) == (404, "NOT_FOUND")
    assert (await download("exe")).status_code == 404
    assert (await parley.client.get(f"/reports/{asked['id']}.md")).status_code == 401
    assert (await parley.client.post(f"/reports/{asked['id']}.md")).status_code == 405


async def test_routing_chooses_who_writes_it_and_says_why(parley: Parley, desk: Desk) -> None:
    await desk.sql("""update team set flags = '{"agent_collaboration": true, "expert_gate": true}'""")
    await desk.agent("ada", skills=[{"name": "code review", "description": "Reviews code for security."}])
    requester = to_global(Prefix.AGENT, parley.home.kyra.id)

    asked = await parley.run(REQUEST, wanted(parley, assigneeId=None, requesterId=requester))

    report = asked["requestReport"]["report"]
    assert report["assignee"] == {"slug": "ada"}
    assert report["requester"] == {"slug": "kyra"}
    assert report["routingDecision"]["reason"]


@pytest.mark.parametrize(
    "on", ["{}", '{"agent_collaboration": true}', '{"agent_collaboration": true, "expert_gate": true}']
)
async def test_who_asks_does_not_write_it_itself(parley: Parley, desk: Desk, on: str) -> None:
    await desk.sql(f"update team set flags = '{on}'")
    off_topic = {"type": "RESEARCH_SUMMARY", "title": "Whales", "parameters": {"topic": "Whales in the Pacific"}}
    requester = to_global(Prefix.AGENT, parley.home.kyra.id)  # the default agent

    for context in ("", "As @kyra said."):
        fields = off_topic | {"assigneeId": None, "requesterId": requester, "context": context}
        refused = (await parley.run(REQUEST, wanted(parley, **fields)))["requestReport"]
        assert (refused["__typename"], refused["code"]) == ("NoAgentAvailable", "NO_AGENT_AVAILABLE"), context
        assert "the default agent is left out" in refused["message"]

    assert (await parley.run("{ reports { totalCount } routingDecisions { totalCount } }")) == {
        "reports": {"totalCount": 0}, "routingDecisions": {"totalCount": 0},
    }  # fmt: skip


async def test_what_does_not_fit_is_refused_by_name(parley: Parley) -> None:
    asked = {
        "parameters.files": {"parameters": {}},
        "parameters.options": {"type": "COMPARISON", "parameters": {"options": ["one"]}},
        "parameters.depth": {"type": "RESEARCH_SUMMARY", "parameters": {"topic": "x", "depth": "deep"}},
        "parameters.color": {"parameters": {"files": ["a"], "color": "red"}},
        "parameters": {"parameters": [1]},
        "sections.0": {"sections": ["risk_matrix"]},
        "maxSections": {"maxSections": 3},
        "title": {"title": " "},
        "context": {"context": "x" * 50_001},
        "budgetUsd": {"budgetUsd": "-1"},
    }
    for path, fields in asked.items():
        refused = (await parley.run(REQUEST, wanted(parley, **fields)))["requestReport"]
        assert (refused["__typename"], [one["path"] for one in refused["problems"]]) == ("InvalidInput", [path]), path
    too_many = await parley.run(REQUEST, wanted(parley, maxSections=21))
    assert too_many["requestReport"]["problems"][0]["path"] == "maxSections"
    foreign = await parley.run(REQUEST, wanted(parley, assigneeId=parley.other.agent_id))
    as_another = {"requesterId": to_global(Prefix.AGENT, parley.home.kyra.id)}
    disguised = await parley.run(REQUEST, wanted(parley, **as_another), role=Role.AGENT)
    reading = await parley.run(REQUEST, wanted(parley), role=Role.ANALYST)

    codes = [one["requestReport"]["code"] for one in (foreign, disguised, reading)]
    assert codes == ["NOT_FOUND", "FORBIDDEN", "FORBIDDEN"]
    assert await parley.value("select count(*) from report") == await parley.value("select count(*) from task") == 0


async def test_templates_can_be_read(parley: Parley) -> None:
    read = await parley.run(
        "{ reportTemplates { type requiredSections optionalSections parameters { name required many } outputSchema } "
        "one: reportTemplates(type: COMPARISON) { type } }",
        role=Role.ANALYST,
    )

    assert len(read["reportTemplates"]) == 8
    assert read["one"] == [{"type": "COMPARISON"}]
    first = read["reportTemplates"][0]
    assert first["requiredSections"] == ["summary", "findings", "severity_breakdown", "recommendations"]
    assert first["outputSchema"]["required"] == first["requiredSections"]
    assert first["parameters"][0] == {"name": "files", "required": True, "many": True}
