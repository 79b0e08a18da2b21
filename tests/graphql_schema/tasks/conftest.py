"""A team that may delegate, whose agent luke is somebody's own program."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

DELEGATE = """
mutation ($input: DelegateTaskInput!) {
  delegateTask(input: $input) {
    __typename
    ... on TaskPayload { eventCursor task { id title status depth budget { cap reserved spent remaining } } }
    ... on Refusal { code message }
    ... on InvalidInput { problems { path message } }
    ... on CycleDetected { chain }
    ... on DelegationDepthExceeded { chain limit }
    ... on AgentUnavailable { reason }
    ... on AuthorityExceeded { missing }
    ... on BudgetExhausted { scope cap reserved spent asked }
    ... on FeatureDisabled { flag }
    ... on Forbidden { permission roles }
  }
}
"""
CLAIM = """
mutation ($input: ClaimTaskInput!) {
  claimTask(input: $input) {
    __typename
    ... on ClaimTaskPayload { claimToken task { id title instructions } }
    ... on Refusal { code message }
  }
}
"""
TASK_PAYLOAD = """... on TaskPayload {
  task { id status progress result error errorCode tokensUsed cost attemptsMade assignee { slug } }
}"""
PAYLOADS = {
    "ToolCall": "... on ToolCallPayload { toolCall { id name createdTask { id } } task { status } }",
    "DeadLetter": """... on DeadLetterPayload {
      deadLetter { id status note resolvedBy } replay: task { id title status }
    }""",
}
Do = Callable[..., Awaitable[Any]]


@pytest.fixture
async def work(parley: Parley) -> Parley:
    async with parley.transaction() as session:
        await session.execute(text("""update team set flags = '{"task_delegation": true}'"""))
        await session.execute(text("update agent set runtime = 'external'"))
    return parley


@pytest.fixture
def delegate(work: Parley) -> Do:
    """kyra asks luke, unless told otherwise; answers the result, whatever it is."""

    async def do(role: Role = Role.INTEGRATOR, **given: Any) -> Any:
        usual = {
            "creatorId": to_global(Prefix.AGENT, work.home.kyra.id), "assigneeId": work.home.agent_id,
            "type": "RESEARCH", "title": "Compare caches", "instructions": "Compare Redis and Valkey.",
        }  # fmt: skip
        wanted = {name: value for name, value in (usual | given).items() if value is not None}
        return (await work.run(DELEGATE, {"input": wanted}, role=role))["delegateTask"]

    return do


@pytest.fixture
def claim(work: Parley) -> Do:
    """luke's own key claims."""

    async def do(role: Role = Role.AGENT, **given: Any) -> Any:
        return (await work.run(CLAIM, {"input": given}, role=role))["claimTask"]

    return do


@pytest.fixture
def do(work: Parley) -> Do:
    """Any other mutation: its name and its input; answers the result with the task."""

    async def call(name: str, role: Role = Role.AGENT, /, **given: Any) -> Any:
        kind = name[0].upper() + name[1:] + "Input"
        payload = next((text for verb, text in PAYLOADS.items() if verb in name), TASK_PAYLOAD)
        document = f"""mutation ($input: {kind}!) {{ {name}(input: $input) {{ __typename {payload}
          ... on Refusal {{ code message }} ... on InvalidInput {{ problems {{ path message }} }} }} }}"""
        return (await work.run(document, {"input": given}, role=role))[name]

    return call
