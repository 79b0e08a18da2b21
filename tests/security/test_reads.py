"""Attacks by what the database has to read, and by how much of it comes back."""

from __future__ import annotations

import asyncio
import statistics
import time

import httpx
from sqlalchemy import insert, text

from app.agents.models import Agent
from app.ids import new_id
from tests.fixtures.attack import MAX_REQUEST_CPU_S, Target, outcome

AGENTS = "{ agents { nodes { id } } }"
LONG_TEXT_CHARS = 20_000
MAX_GROWTH_BYTES = 60_000_000


async def add_agents(target: Target, count: int) -> None:
    rows = [
        {
            "id": new_id(),
            "team_id": target.attacker.id,
            "slug": f"agent-{number}",
            "name": f"Agent {number}",
            "personality": f"{number} " + "abcdefghij" * (LONG_TEXT_CHARS // 10),
        }
        for number in range(count)
    ]
    async with target.installation.transaction() as session:
        await session.execute(insert(Agent), rows)


async def ask_timed(client: httpx.AsyncClient, query: str) -> tuple[str, float]:
    started = time.perf_counter()
    answer = await client.post("/graphql", json={"query": query})
    return outcome(answer), time.perf_counter() - started


async def test_statements_that_hang_leave_connections_for_others(target: Target) -> None:
    """Without shares, ten statements that wait for a lock hold the whole pool until their time is over."""
    async with target.client() as client, target.watched() as waits:
        async with target.installation.transaction() as session:
            await session.execute(text("lock table agent in access exclusive mode"))
            answers = await asyncio.gather(*(ask_timed(client, AGENTS) for _ in range(20)))

    hung_s = [seconds for code, seconds in answers if code == "TIMEOUT"]
    assert {code for code, _ in answers} <= {"TIMEOUT", "UNAVAILABLE"}
    assert len(hung_s) >= 3
    assert max(waits.seconds) < min(hung_s) / 2


async def test_searches_in_long_texts(target: Target) -> None:
    await add_agents(target, 1_000)
    # What it finds is what it must read: nobody has this text, so that every row is looked through.
    query = '{ agents(where: {personality: {contains: "abcdefghik"}}) { nodes { id } } }'

    async with target.client() as client, target.watched() as waits:
        answers = await asyncio.gather(*(ask_timed(client, query) for _ in range(20)))

    assert {code for code, _ in answers} <= {"ok", "TIMEOUT", "UNAVAILABLE"}
    assert waits.p99_s() < statistics.median(seconds for _, seconds in answers)


async def test_many_text_conditions_and_long_patterns(target: Target) -> None:
    many = "{ agents(where: {or: [" + " ".join('{name: {contains: "a"}}' for _ in range(11)) + "]}) { totalCount } }"
    long = "query ($t: String!) { agents(where: {name: {contains: $t}}) { totalCount } }"

    conditions, cpu_s = await target.cost(many)
    pattern, pattern_cpu_s = await target.cost(long, {"t": "a" * 400_000})

    refusal = conditions.json()["errors"][0]["extensions"]
    assert (refusal["limit"], refusal["maximum"]) == ("textConditions", 10)
    assert refusal["setting"] == "PARLEY_MAX_TEXT_CONDITIONS"
    assert pattern.json()["errors"][0]["extensions"]["code"] == "INVALID_ARGUMENT"
    assert max(cpu_s, pattern_cpu_s) < MAX_REQUEST_CPU_S


async def test_huge_answer(target: Target) -> None:
    await add_agents(target, 100)
    aliases = " ".join(f"a{number}: personality" for number in range(45))
    query = f"{{ agents(first: 100) {{ nodes {{ {aliases} }} }} }}"
    before = target.memory_bytes()

    answer, cpu_s = await target.cost(query)

    (error,) = answer.json()["errors"]
    assert (error["extensions"]["limit"], error["extensions"]["maximum"]) == ("answerBytes", 8_388_608)
    assert error["extensions"]["value"] > 80_000_000
    assert error["extensions"]["setting"] == "PARLEY_MAX_ANSWER_BYTES"
    assert "first and after" in error["message"]
    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        assert set(await target.flood(iter(lambda: {"query": query}, None), at_once=4)) <= {
            "LIMIT_EXCEEDED", "TIMEOUT", "UNAVAILABLE",
        }  # fmt: skip
    assert target.memory_bytes() - before < MAX_GROWTH_BYTES


async def test_huge_answer_that_python_puts_together(target: Target) -> None:
    await add_agents(target, 100)
    aliases = " ".join(f"a{number}: slug" for number in range(45))
    query = f"{{ agents(first: 100) {{ nodes {{ {aliases} team {{ featureFlags {{ flag }} }} }} }} }}"

    answer, cpu_s = await target.cost(query)

    assert answer.json()["errors"][0]["extensions"]["limit"] == "pythonValues"
    assert cpu_s < MAX_REQUEST_CPU_S
    async with target.watched():
        await target.flood(iter(lambda: {"query": query}, None))


async def test_answers_that_python_puts_together_leave_turns_for_others(target: Target) -> None:
    await add_agents(target, 100)
    aliases = " ".join(f"a{number}: slug" for number in range(30))
    query = f"{{ agents(first: 100) {{ nodes {{ {aliases} team {{ featureFlags {{ flag }} }} }} }} }}"

    async with target.watched():
        answers = await target.flood(iter(lambda: {"query": query}, None))

    assert answers["ok"] > 0


async def test_export_of_huge_rows(target: Target) -> None:
    """Each row has nearly a megabyte, so that the hundred rows of the first stretch are too large together."""
    await add_agents(target, 120)
    aliases = " ".join(f"a{number}: personality" for number in range(45))
    before, lines = target.memory_bytes(), 0

    async with target.client() as client, target.watched():
        body = {"query": f"{{ agents {{ nodes {{ {aliases} }} }} }}"}
        async with client.stream("POST", "/export", json=body) as answer:
            async for line in answer.aiter_lines():
                lines += line.startswith('{"a0"')

    assert lines == 122
    assert target.memory_bytes() - before < MAX_GROWTH_BYTES
