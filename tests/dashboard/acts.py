"""What tests do past the browser: mutations, and a session with a program of their own."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.fixtures.browser import Dashboard


async def wait_for(dashboard: Dashboard, query: str, done: Any, **variables: Any) -> Any:
    """Ask until `done` of the data holds."""
    async with asyncio.timeout(90):
        while not done(data := await dashboard.run(query, variables)):  # noqa: ASYNC110 - as a client asks
            await asyncio.sleep(0.2)
    return data


async def act(dashboard: Dashboard, name: str, chosen: str, /, **given: Any) -> Any:
    kind = name[0].upper() + name[1:]
    chosen += " ... on Refusal { message }"
    query = f"mutation ($input: {kind}Input!) {{ {name}(input: $input) {{ __typename {chosen} }} }}"
    return (await dashboard.run(query, {"input": given}))[name]


async def started(dashboard: Dashboard, goal: str = "Find out why imports are slow.") -> tuple[str, str]:
    """A session whose one worker is a program of the test's own; answers the session and the agent."""
    made = await act(
        dashboard, "createAgent", "... on AgentPayload { agent { id } }", slug="robin", name="Robin", runtime="EXTERNAL"
    )
    seats = [{"agentId": made["agent"]["id"], "role": "WORKER"}]
    session = await act(
        dashboard,
        "startCollaboration",
        "... on CollaborationPayload { collaboration { id } }",
        pattern="DELEGATION",
        goal=goal,
        participants=seats,
    )
    return session["collaboration"]["id"], made["agent"]["id"]


async def fail_task(dashboard: Dashboard, agent: str) -> None:
    claim = await act(
        dashboard, "claimTask", "... on ClaimTaskPayload { task { id } claimToken }", agentId=agent, waitSeconds=10
    )
    await act(
        dashboard,
        "failTask",
        "",
        taskId=claim["task"]["id"],
        claimToken=claim["claimToken"],
        message="The log is gone.",
        mayPass=False,
    )
