"""Analytics: queries over a million routing decisions, through GraphQL and by the best hand-written statement.

Both run in turn, over one connection each, and must return the same. The hand-written statement returns plain rows,
without JSON and without permissions: less work than GraphQL does.
"""

from __future__ import annotations

import asyncio
import http.client
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

import asyncpg

from benchmarks.contenders import HANDWRITTEN, PARLEY
from benchmarks.decisions import write_decisions
from benchmarks.graphql_client import fetch_graphql
from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import python
from benchmarks.testbed import Testbed

WARM_UP_ROUNDS = 2
RESPONSE_TIMEOUT_S = 90
_SINCE = datetime.now(UTC).replace(microsecond=0) - timedelta(days=7)
_SCORE = "confidence / 1e8::float8"
_GROUPS = "groups { key { %s } count confidence { mean } }"


@dataclass(frozen=True)
class Size:
    rounds: int
    decisions: int


QUICK = Size(rounds=1, decisions=20_000)
NORMAL = Size(rounds=9, decisions=1_000_000)


@dataclass(frozen=True)
class Query:
    """The same query in GraphQL and SQL. The SQL rows are the group's key, its count and its mean confidence."""

    name: str
    graphql: str
    sql: str
    arguments: tuple[Any, ...] = ()


def _group_query(by: str, key: str, where: str = "", page: str = "first: 50") -> str:
    groups = _GROUPS % key
    return f"{{ routingDecisions{where} {{ groupedAggregates(groupBy: [{by}], {page}) {{ {groups} }} }} }}"


_AGENTS = (
    f"select (select slug from agent where id = g.id), g.count, g.mean from (select selected_agent_id as id, count(*), "
    f"avg({_SCORE}) as mean from routing_decision where team_id = $1 and {{condition}} group by 1 "
    "order by 2 desc, 1 limit 50) g"
)
QUERIES = (
    Query(
        "agents for 'code review'",
        _group_query("SELECTED_AGENT", "selectedAgent { slug }", '(where: {queryWords: {match: "code review"}})'),
        _AGENTS.format(condition="query_words @@ websearch_to_tsquery('simple', $2)"),
        ("code review",),
    ),
    Query(
        "text that contains 'review of the b'",
        _group_query("SELECTED_AGENT", "selectedAgent { slug }", '(where: {query: {contains: "review of the b"}})'),
        _AGENTS.format(condition="query ilike $2"),
        ("%review of the b%",),
    ),
    Query(
        "confidence in ENSEMBLE mode",
        "{ routingDecisions(where: {strategy: {eq: ENSEMBLE}}) { aggregates { count confidence { mean } } } }",
        f"select null, count(*), avg({_SCORE}) from routing_decision where team_id = $1 and strategy = $2",
        ("ensemble",),
    ),
    Query(
        "fallbacks of the last week, by hour",
        _group_query(
            "CREATED_AT_HOUR, FALLBACK_USED",
            "createdAtHour",
            f'(where: {{createdAt: {{gte: "{_SINCE:%FT%TZ}"}}}})',
            "first: 1000",
        ),
        f"select date_trunc('hour', created_at), count(*), avg({_SCORE}) from routing_decision where team_id = $1 and "
        "created_at >= $2 group by 1, fallback_used order by 2 desc, 1 limit 1000",
        (_SINCE,),
    ),
    Query(
        "everything, by week and strategy",
        _group_query("CREATED_AT_WEEK, STRATEGY", "createdAtWeek", page="first: 100"),
        f"select date_trunc('week', created_at), count(*), avg({_SCORE}) from routing_decision where team_id = $1 "
        "group by 1, strategy order by 2 desc, 1 limit 100",
    ),
)


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = QUICK if depth is Depth.QUICK else NORMAL
    with open_testbed() as testbed:
        write_s = write_decisions(testbed.database_url, testbed.seed.team_id, count=size.decisions)
        server = testbed.start_server(PARLEY, python("app.cli", "serve"), PARLEY_STATEMENT_TIMEOUT_MS="60000")
        times_ms = asyncio.run(_measure_queries(testbed, server.port, size.rounds))
    return {"decisions": size.decisions, "rounds": size.rounds, "write_s": write_s, "times_ms": times_ms}


async def _measure_queries(testbed: Testbed, port: int, rounds: int) -> dict[str, dict[str, float]]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=RESPONSE_TIMEOUT_S)
    connection = await asyncpg.connect(testbed.database_url, server_settings={"jit": "off", "timezone": "UTC"})
    medians: dict[str, dict[str, float]] = {}
    try:
        for query in QUERIES:
            times_ms: dict[str, list[float]] = {PARLEY: [], HANDWRITTEN: []}
            for _ in range(rounds + WARM_UP_ROUNDS):
                started = time.perf_counter()
                answer = fetch_graphql(client, testbed.seed.secret, query.graphql)
                middle = time.perf_counter()
                rows = await connection.fetch(query.sql, testbed.seed.team_id, *query.arguments)
                times_ms[HANDWRITTEN].append(1000 * (time.perf_counter() - middle))
                times_ms[PARLEY].append(1000 * (middle - started))
                _check_same_answer(query, answer, rows)
            medians[query.name] = {name: median(times[WARM_UP_ROUNDS:]) for name, times in times_ms.items()}
    finally:
        client.close()
        await connection.close()
    return medians


def _check_same_answer(query: Query, answer: dict[str, Any], rows: list[Any]) -> None:
    """Raises AssertionError unless both returned the same groups, in any order, and at least one."""
    data = answer["data"]["routingDecisions"]
    groups = [data["aggregates"]] if "aggregates" in data else data["groupedAggregates"]["groups"]
    parley = sorted((group["count"], round(group["confidence"]["mean"], 9)) for group in groups)
    handwritten = sorted((row[1], round(row[2], 9)) for row in rows)
    if parley != handwritten or not handwritten or handwritten[-1][0] == 0:
        raise AssertionError(f"{query.name}: Parley returns {parley[:5]}, the hand-written statement {handwritten[:5]}")


def table(figures: Figures) -> str:
    lines = [
        f"Analytics: {figures['decisions']:,} decisions (written in {figures['write_s']:.0f} s), medians of "
        f"{figures['rounds']} rounds",
        f"{'':40}{PARLEY + ', ms':>14}{HANDWRITTEN + ', ms':>24}{'ratio':>8}",
    ]
    for name, row in figures["times_ms"].items():
        lines.append(f"{name:40}{row[PARLEY]:14.1f}{row[HANDWRITTEN]:24.1f}{row[PARLEY] / row[HANDWRITTEN]:8.2f}")
    return "\n".join(lines)


PART = Part("analytics", measure, table)
