"""Contracts over GraphQL: saved, listed, kept by tasks, refused by their fields, and budgets set for the team."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.contracts import service as contracts
from app.errors import FieldProblem
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

SAVE = """
mutation ($input: SaveContractInput!) {
  saveContract(input: $input) {
    __typename
    ... on ContractPayload { contract { id name version description inputSchema outputSchema builtIn retiredAt } }
    ... on Refusal { code }
    ... on InvalidInput { problems { path message } }
  }
}
"""
DELETE = """
mutation ($name: String!) {
  deleteContract(input: {name: $name}) {
    __typename ... on ContractPayload { contract { version retiredAt } } ... on Refusal { code message }
  }
}
"""
WORK = """
mutation ($task: DelegateTaskInput!, $claim: ClaimTaskInput!) {
  delegateTask(input: $task) {
    __typename
    ... on TaskPayload { task { contractInput contract { name version } } }
    ... on Refusal { code }
    ... on InvalidInput { problems { path message } }
  }
  claimTask(input: $claim) { ... on ClaimTaskPayload { claimToken task { id } } }
}
"""
COMPLETE = """
mutation ($input: CompleteTaskInput!) {
  completeTask(input: $input) {
    __typename
    ... on TaskPayload { task { status errorCode error deadLetters { totalCount } } }
    ... on InvalidInput { problems { path message } }
  }
}
"""
BUDGETS = """
mutation ($input: SetTeamBudgetsInput!) {
  setTeamBudgets(input: $input) {
    __typename
    ... on TeamPayload { team { dayBudgetUsd monthBudgetUsd dayBudget { cap remaining } } }
    ... on Refusal { code }
    ... on InvalidInput { problems { path } }
  }
}
"""
RANKED = {"type": "object", "required": ["best_one"], "properties": {"best_one": {"enum": ["a", "b"]}}}


@pytest.fixture
async def work(parley: Parley) -> Parley:
    await parley.run(
        "mutation { setFeatureFlags(input: {flags: [{flag: TASK_DELEGATION, enabled: true}]}) { __typename } }"
    )
    await parley.run(
        "mutation ($i: ID!) { updateAgent(input: {agentId: $i, runtime: EXTERNAL}) { __typename } }",
        {"i": parley.home.agent_id},
    )
    return parley


async def test_a_contract_from_its_first_version_to_a_task_that_breaks_it(work: Parley) -> None:
    wanted = {"name": "ranking", "description": "Pick.", "inputSchema": RANKED, "outputSchema": RANKED}
    saved = (await work.run(SAVE, {"input": wanted}, role=Role.INTEGRATOR))["saveContract"]["contract"]
    task = {
        "creatorId": to_global(Prefix.AGENT, work.home.kyra.id), "assigneeId": work.home.agent_id, "type": "VALIDATE",
        "title": "Rank", "instructions": "Rank these.", "contract": "ranking", "contractInput": {"best_one": "a"},
    }  # fmt: skip
    made = await work.run(WORK, {"task": task, "claim": {"agentId": work.home.agent_id}})
    refused = await work.run(
        WORK, {"task": task | {"contractInput": {"best_one": "c"}}, "claim": {"agentId": work.home.agent_id}}
    )
    second = (await work.run(SAVE, {"input": wanted | {"inputSchema": None}}))["saveContract"]["contract"]
    held = {"taskId": made["claimTask"]["task"]["id"], "claimToken": made["claimTask"]["claimToken"], "result": "Done."}
    unreadable = (await work.run(COMPLETE, {"input": held | {"output": {"deep_one": "\0"}}}))["completeTask"]
    broken = (await work.run(COMPLETE, {"input": held | {"output": {"best_one": "c"}}}))["completeTask"]
    gone = (await work.run(DELETE, {"name": "ranking"}))["deleteContract"]

    assert saved | {"id": ""} == {**wanted, "id": "", "version": 1, "builtIn": False, "retiredAt": None}
    assert made["delegateTask"]["task"] == {
        "contractInput": {"best_one": "a"}, "contract": {"name": "ranking", "version": 1},
    }  # fmt: skip
    assert refused["delegateTask"]["problems"] == [{"path": "contractInput.best_one", "message": "must be one of a, b"}]
    assert refused["claimTask"]["task"] is None
    assert (second["version"], second["inputSchema"]) == (2, None)
    assert unreadable["problems"] == [{"path": "output.deep_one", "message": "must not contain a null character"}]
    assert broken["task"] == {
        "status": "FAILED", "errorCode": "CONTRACT_VIOLATED", "deadLetters": {"totalCount": 1},
        "error": "The output does not fit version 1 of 'ranking': best_one: must be one of a, b",
    }  # fmt: skip
    assert (gone["contract"]["version"], gone["contract"]["retiredAt"] is None) == (2, False)
    read = await work.run(
        """{ contract(name: "ranking") { id } contracts(orderBy: [{field: NAME}, {field: VERSION}]) {
          nodes { name version builtIn tasks { totalCount aggregates { count } } } } }"""
    )
    assert read["contract"] is None
    assert [(one["name"], one["version"], one["builtIn"], one["tasks"]["totalCount"]) for one in
            read["contracts"]["nodes"]] == [
        ("developer", 1, True, 0), ("ranking", 1, False, 1), ("ranking", 2, False, 0), ("reviewer", 1, True, 0),
    ]  # fmt: skip


async def test_an_output_is_checked_before_anybody_holds_the_task(
    work: Parley, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work.run(SAVE, {"input": {"name": "ranking", "outputSchema": RANKED}}, role=Role.INTEGRATOR)
    task = {
        "creatorId": to_global(Prefix.AGENT, work.home.kyra.id), "assigneeId": work.home.agent_id, "type": "VALIDATE",
        "title": "Rank", "instructions": "Rank these.", "contract": "ranking",
    }  # fmt: skip
    made = (await work.run(WORK, {"task": task, "claim": {"agentId": work.home.agent_id}}))["claimTask"]
    checked, true = [], contracts.problems_with

    async def look(schema: dict[str, Any], output: dict[str, Any] | None) -> list[FieldProblem]:
        async with work.transaction() as session:
            await session.execute(text("select from task for update nowait"))
        checked.append(output)
        return await true(schema, output)

    monkeypatch.setattr(contracts, "problems_with", look)
    held = {"taskId": made["task"]["id"], "claimToken": made["claimToken"], "result": "Done."}
    done = (await work.run(COMPLETE, {"input": held | {"output": {"best_one": "b"}}}))["completeTask"]

    assert (done["task"]["status"], checked) == ("COMPLETED", [{"best_one": "b"}])


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": "developer", "outputSchema": {"type": "object"}}, "name"),
        ({"name": "x", "inputSchema": "text"}, "inputSchema"),
        ({"name": "x", "inputSchema": {"type": "object", "properties": {"a_b": {"$ref": "http://x"}}}},
         "inputSchema.properties.a_b.$ref"),
    ],
)  # fmt: skip
async def test_a_refused_contract_names_the_field(parley: Parley, given: dict[str, Any], path: str) -> None:
    refused = (await parley.run(SAVE, {"input": given}))["saveContract"]

    assert [problem["path"] for problem in refused["problems"]] == [path]


async def test_only_those_who_may_write_contracts(parley: Parley) -> None:
    given = {"name": "x", "outputSchema": {"type": "object"}}
    for role in (Role.OPERATOR, Role.ANALYST, Role.AGENT):
        assert (await parley.run(SAVE, {"input": given}, role=role))["saveContract"]["code"] == "FORBIDDEN"
    assert (await parley.run(DELETE, {"name": "reviewer"}))["deleteContract"]["code"] == "CONFLICT"
    assert (await parley.run(DELETE, {"name": "x"}))["deleteContract"]["code"] == "NOT_FOUND"
    assert await parley.value("select count(*) from contract where not built_in") == 0


async def test_budgets_are_set_and_go_back(work: Parley) -> None:
    task = {
        "creatorId": to_global(Prefix.AGENT, work.home.kyra.id), "assigneeId": work.home.agent_id, "type": "PLAN",
        "title": "Plan", "instructions": "Plan it.", "budgetUsd": 2,
    }  # fmt: skip
    await work.run(WORK, {"task": task, "claim": {"agentId": work.home.agent_id}})

    lowered = (await work.run(BUDGETS, {"input": {"dayUsd": 1.5, "monthUsd": 30}}))["setTeamBudgets"]["team"]
    refused = (await work.run(WORK, {"task": task, "claim": {"agentId": work.home.agent_id}}))["delegateTask"]
    back = (await work.run(BUDGETS, {"input": {"dayUsd": None}}))["setTeamBudgets"]["team"]

    assert lowered == {"dayBudgetUsd": 1.5, "monthBudgetUsd": 30, "dayBudget": {"cap": 1.5, "remaining": 0}}
    assert refused["code"] == "BUDGET_EXHAUSTED"
    assert back == {"dayBudgetUsd": None, "monthBudgetUsd": 30, "dayBudget": {"cap": 50, "remaining": 48}}
    for given, path in (({}, "dayUsd"), ({"dayUsd": -1}, "dayUsd"), ({"monthUsd": 1_000_001}, "monthUsd")):
        assert (await work.run(BUDGETS, {"input": given}))["setTeamBudgets"]["problems"] == [{"path": path}]
    assert (await work.run(BUDGETS, {"input": {"dayUsd": 1}}, role=Role.OPERATOR))["setTeamBudgets"][
        "code"
    ] == "FORBIDDEN"
