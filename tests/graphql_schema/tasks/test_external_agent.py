"""The example of an agent of one's own joins a running server and works."""

from __future__ import annotations

import asyncio
import os
import sys

from app.auth.roles import Role
from tests.fixtures.parley import Parley
from tests.graphql_schema.tasks.conftest import Do


async def test_the_example_works_on_what_is_delegated(work: Parley, delegate: Do) -> None:
    made = await delegate()
    given = {
        "PARLEY_URL": f"{work.url}/graphql",
        "PARLEY_KEY": work.home.secrets[Role.AGENT],
        "PATH": os.environ["PATH"],
    }

    process = await asyncio.create_subprocess_exec(sys.executable, "examples/external_agent.py", env=given)
    try:
        async with asyncio.timeout(20):
            while (task := await read(work, made["task"]["id"]))["status"] != "COMPLETED":  # noqa: ASYNC110  another process
                await asyncio.sleep(0.1)
    finally:
        process.terminate()
        await process.wait()

    assert task == {
        "status": "COMPLETED", "progress": "started",
        "result": "'Compare caches' asks for 4 words' worth of work.",
    }  # fmt: skip


async def read(work: Parley, task: str) -> dict[str, str]:
    return dict((await work.run("query ($i: ID!) { task(id: $i) { status progress result } }", {"i": task}))["task"])


async def test_the_example_says_what_it_is_refused(work: Parley) -> None:
    given = {"PARLEY_URL": f"{work.url}/graphql", "PARLEY_KEY": work.home.secrets[Role.ADMIN]}

    process = await asyncio.create_subprocess_exec(
        sys.executable, "examples/external_agent.py", env=given, stderr=asyncio.subprocess.PIPE
    )
    _, said = await asyncio.wait_for(process.communicate(), 20)

    assert process.returncode == 1
    assert said.decode().startswith("INVALID_INPUT: agentId: is needed")
