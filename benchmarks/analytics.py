"""Analytics: questions over a million routing decisions, through the graph and by the best hand-written statement.

Both are asked over one connection at a time, in turn, and must answer the same. The hand-written statement answers a
plain row set, without JSON and without rights: less than what the graph does.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

import asyncpg

from benchmarks import decisions
from benchmarks.reads import HANDWRITTEN, PARLEY
from benchmarks.stage import Stage, python

COUNT = 1_000_000
_SINCE = datetime.now(UTC).replace(microsecond=0) - timedelta(days=7)
_SCORE = "confidence / 1e8::float8"
_GROUPS = "groups { key { %s } count confidence { mean } }"


@dataclass(frozen=True)
class Question:
    """The same question twice: `key` is what the rows are grouped by in the graph's answer, and comes first in SQL."""

    name: str
    graph: str
    sql: str
    arguments: tuple[Any, ...] = ()


def _grouped(by: str, key: str, where: str = "", more: str = "first: 50") -> str:
    selected = _GROUPS % key
    return f"{{ routingDecisions{where} {{ groupedAggregates(groupBy: [{by}], {more}) {{ {selected} }} }} }}"


_AGENTS = (
    f"select (select slug from agent where id = g.id), g.count, g.mean from (select selected_agent_id as id, count(*), "
    f"avg({_SCORE}) as mean from routing_decision where team_id = $1 and {{condition}} group by 1 "
    "order by 2 desc, 1 limit 50) g"
)
QUESTIONS = (
    Question(
        "agents for 'code review'",
        _grouped("SELECTED_AGENT", "selectedAgent { slug }", '(where: {queryWords: {match: "code review"}})'),
        _AGENTS.format(condition="query_words @@ websearch_to_tsquery('simple', $2)"),
        ("code review",),
    ),
    Question(
        "text that contains 'review of the b'",
        _grouped("SELECTED_AGENT", "selectedAgent { slug }", '(where: {query: {contains: "review of the b"}})'),
        _AGENTS.format(condition="query ilike $2"),
        ("%review of the b%",),
    ),
    Question(
        "confidence in ENSEMBLE mode",
        "{ routingDecisions(where: {strategy: {eq: ENSEMBLE}}) { aggregates { count confidence { mean } } } }",
        f"select null, count(*), avg({_SCORE}) from routing_decision where team_id = $1 and strategy = $2",
        ("ensemble",),
    ),
    Question(
        "fallbacks of the last week, by hour",
        _grouped(
            "CREATED_AT_HOUR, FALLBACK_USED",
            "createdAtHour",
            f'(where: {{createdAt: {{gte: "{_SINCE:%FT%TZ}"}}}})',
            "first: 1000",
        ),
        f"select date_trunc('hour', created_at), count(*), avg({_SCORE}) from routing_decision where team_id = $1 and "
        "created_at >= $2 group by 1, fallback_used order by 2 desc, 1 limit 1000",
        (_SINCE,),
    ),
    Question(
        "everything, by week and strategy",
        _grouped("CREATED_AT_WEEK, STRATEGY", "createdAtWeek", more="first: 100"),
        f"select date_trunc('week', created_at), count(*), avg({_SCORE}) from routing_decision where team_id = $1 "
        "group by 1, strategy order by 2 desc, 1 limit 100",
    ),
)


def measure(stage: Stage, *, rounds: int, count: int = COUNT) -> dict[str, Any]:
    written_s = decisions.write(stage.postgres.url(), stage.seeded.team_id, count=count)
    server = stage.serve(PARLEY, python("app.cli", "serve"), PARLEY_STATEMENT_TIMEOUT_MS="60000")
    try:
        found = asyncio.run(_measure(stage, server.port, rounds))
    finally:
        stage.stop(server)
    return {"decisions": count, "rounds": rounds, "written_s": written_s, "questions": found}


async def _measure(stage: Stage, port: int, rounds: int) -> dict[str, dict[str, float]]:
    graph = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
    connection = await asyncpg.connect(stage.postgres.url(), server_settings={"jit": "off", "timezone": "UTC"})
    found: dict[str, dict[str, float]] = {}
    try:
        for question in QUESTIONS:
            took: dict[str, list[float]] = {PARLEY: [], HANDWRITTEN: []}
            for _ in range(rounds + 2):
                started = time.perf_counter()
                answer = ask(graph, stage.seeded.secret, question.graph)
                between = time.perf_counter()
                rows = await connection.fetch(question.sql, stage.seeded.team_id, *question.arguments)
                took[HANDWRITTEN].append(1000 * (time.perf_counter() - between))
                took[PARLEY].append(1000 * (between - started))
                refuse_different(question, answer, rows)
            found[question.name] = {name: median(times[2:]) for name, times in took.items()}
    finally:
        graph.close()
        await connection.close()
    return found


def refuse_different(question: Question, answer: dict[str, Any], rows: list[Any]) -> None:
    """A race between different answers says nothing. What is equally large may stand in any order."""
    data = answer["data"]["routingDecisions"]
    groups = [data["aggregates"]] if "aggregates" in data else data["groupedAggregates"]["groups"]
    theirs = sorted((group["count"], round(group["confidence"]["mean"], 9)) for group in groups)
    ours = sorted((row[1], round(row[2], 9)) for row in rows)
    if theirs != ours or not ours or ours[-1][0] == 0:
        raise AssertionError(f"{question.name}: Parley answers {theirs[:5]}, the hand-written statement {ours[:5]}")


def ask(graph: http.client.HTTPConnection, secret: str, text: str) -> Any:
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    graph.request("POST", "/graphql", json.dumps({"query": text}), headers)
    body = graph.getresponse().read()
    if b'"errors"' in body:
        raise AssertionError(f"{text}: {body[:1000].decode()}")
    return json.loads(body)
