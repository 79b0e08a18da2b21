"""What an agent's key may start and report over the API, and who answers for the money."""

from __future__ import annotations

from typing import Any

import pytest

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley
from tests.graphql_schema.tasks.conftest import Do

REPORT = """mutation ($input: RequestReportInput!) { requestReport(input: $input) {
  __typename
  ... on ReportPayload { report { task { budget { cap } } } }
  ... on Refusal { code message }
  ... on AllowanceExceeded { agent allowance used asked }
  ... on InvalidInput { problems { path message } }
} }"""
ALLOW = """mutation ($input: SetAgentAllowanceInput!) { setAgentAllowance(input: $input) {
  __typename
  ... on AgentPayload { agent { dayAllowanceUsd } }
  ... on Refusal { code }
} }"""
CORRECT = """mutation ($input: CorrectTaskCostInput!) { correctTaskCost(input: $input) {
  __typename
  ... on TaskPayload { task { cost claimedCost budget { spent } } }
  ... on Refusal { code }
} }"""
CLAIMS = "{ attention(where: {kind: {eq: COST_CLAIM}}) { nodes { id status option task { claimedCost } } } }"
ANSWER = """mutation ($input: AnswerAttentionInput!) { answerAttention(input: $input) {
  __typename ... on Forbidden { permission }
} }"""
CREATE = """mutation { createAgent(input: {slug: "ada", name: "Ada"}) { ... on AgentPayload { agent { id } } } }"""
TEAM = "{ team { monthBudget { spent reserved } } }"


async def ask(parley: Parley, **more: Any) -> Any:
    """luke's key wants a report, of kyra unless said otherwise."""
    kyra = to_global(Prefix.AGENT, parley.home.kyra.id)
    wanted = {"type": "RESEARCH_SUMMARY", "title": "Sum up", "parameters": {"topic": "caches"}, "assigneeId": kyra}
    return (await parley.run(REPORT, {"input": wanted | more}, role=Role.AGENT))["requestReport"]


async def test_work_outside_any_task_needs_an_allowance(work: Parley) -> None:
    refused = await ask(work)
    assert refused == {
        "__typename": "AllowanceExceeded", "code": "ALLOWANCE_EXCEEDED", "message": refused["message"],
        "agent": "luke", "allowance": 0, "used": 0, "asked": 0.5,
    }  # fmt: skip
    assert await work.value("select count(*) from task") == 0
    assert await work.value("select count(*) from budget_account where kind = 'task'") == 0

    given = {"input": {"agentId": work.home.agent_id, "dayUsd": 0.5}}
    for role in set(Role) - {Role.ADMIN}:
        assert (await work.run(ALLOW, given, role=role))["setAgentAllowance"]["code"] == "FORBIDDEN"
    allowed = await work.run(ALLOW, given)
    assert allowed["setAgentAllowance"]["agent"] == {"dayAllowanceUsd": 0.5}
    assert (await ask(work))["__typename"] == "ReportPayload"
    assert (await ask(work))["used"] == 0.5


async def test_work_goes_below_the_task_that_the_agent_has_claimed(work: Parley, delegate: Do, claim: Do) -> None:
    ids = [(await delegate(title=title, budgetUsd=1))["task"]["id"] for title in ("first", "second")]
    ada = (await work.run(CREATE))["createAgent"]["agent"]["id"]
    first = await claim()
    assert (await ask(work))["__typename"] == "CycleDetected", "kyra waits for the task"
    made = await ask(work, assigneeId=ada)
    assert made["report"]["task"]["budget"] == {"cap": 0.5}
    assert (await work.run(TEAM))["team"]["monthBudget"] == {"spent": 0, "reserved": 2}
    second = await claim()

    several = await ask(work, assigneeId=ada, title="Again")
    unproven = await ask(work, assigneeId=ada, title="Again", parentId=ids[0])
    wrong = await ask(work, assigneeId=ada, title="Again", parentId=ids[0], claimToken=second["claimToken"])
    named = await ask(
        work, assigneeId=ada, title="Again", parentId=ids[0], claimToken=first["claimToken"], budgetUsd=0.2
    )

    assert several["problems"][0]["path"] == "parentId"
    assert all(task in several["problems"][0]["message"] for task in ids)
    assert unproven["problems"][0]["path"] == "claimToken"
    assert wrong["__typename"] == "ClaimLost"
    assert named["report"]["task"]["budget"] == {"cap": 0.2}
    assert (await work.run(TEAM))["team"]["monthBudget"] == {"spent": 0, "reserved": 2}


@pytest.mark.parametrize("verb", ["heartbeatTask", "completeTask", "failTask"])
async def test_a_reported_cost_never_ends_the_teams_month(
    work: Parley, delegate: Do, claim: Do, do: Do, verb: str
) -> None:
    made = (await delegate(budgetUsd=0.25))["task"]["id"]
    token = (await claim())["claimToken"]
    more = {"completeTask": {"result": "Done."}, "failTask": {"message": "No."}}.get(verb, {})

    ended = await do(verb, taskId=made, claimToken=token, costUsd=1_000_000, **more)

    assert (ended["task"]["errorCode"], ended["task"]["cost"]) == ("LIMIT_EXCEEDED", 0.25)
    assert (await work.run(TEAM))["team"]["monthBudget"] == {"spent": 0.25, "reserved": 0}
    (item,) = (await work.run(CLAIMS))["attention"]["nodes"]
    assert (item["status"], item["task"]) == ("OPEN", {"claimedCost": 999_999.75})
    given = {"input": {"attentionId": item["id"], "option": "book"}}
    booked = await work.run(ANSWER, given, role=Role.OPERATOR)
    assert booked["answerAttention"] == {"__typename": "Forbidden", "permission": "CONFIGURE_TEAM"}

    correction = {"input": {"taskId": made, "costUsd": 0.5, "reason": "the invoice"}}
    for role in set(Role) - {Role.ADMIN}:
        assert (await work.run(CORRECT, correction, role=role))["correctTaskCost"]["code"] == "FORBIDDEN"
    corrected = await work.run(CORRECT, correction)

    assert corrected["correctTaskCost"]["task"] == {"cost": 0.5, "claimedCost": 0, "budget": {"spent": 0.5}}
    assert (await work.run(TEAM))["team"]["monthBudget"] == {"spent": 0.5, "reserved": 0}
    assert [node["status"] for node in (await work.run(CLAIMS))["attention"]["nodes"]] == ["ANSWERED"]


async def test_directives_count_only_where_an_admin_or_an_integrator_delegates(
    work: Parley, delegate: Do, claim: Do
) -> None:
    await work.allow()
    kyra = to_global(Prefix.AGENT, work.home.kyra.id)
    for role in (Role.ADMIN, Role.INTEGRATOR):
        await delegate(role=role, instructions="@wait 1")
    await delegate(role=Role.AGENT, creatorId=None, assigneeId=kyra, instructions="@wait 1")

    obeyed = await work.database.fetch("select obeys_directives from task order by id")
    assert [row[0] for row in obeyed] == [True, True, False]
