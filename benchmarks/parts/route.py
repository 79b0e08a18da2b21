"""`routeMessage` by 16 callers at once: a team of 10 agents, every message with an idempotency key of its own.

Measured with one API process, and with two that share the callers as behind a load balancer. Every answer must be a
decision, and the database must hold exactly as many decisions as were answered: none lost, none doubled.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any
from uuid import UUID

import asyncpg

from app.agents import service as agents
from app.agents.spec import parse_agent
from app.auth.roles import Role
from app.auth.service import issue
from app.auth.tokens import new_secret
from app.config import load_settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.events.log import SYSTEM
from app.routing.profile import AgentProfile
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from benchmarks.contenders import PARLEY
from benchmarks.part import Depth, Figures, OpenTestbed, Part
from benchmarks.processes import Server, python, run_load
from benchmarks.seed import skip_wake_ups
from benchmarks.testbed import Testbed
from tests.fixtures.labelled import profiles, tuning

CALLERS, AGENTS = 16, 10
PROCESSES = (1, 2)
MAX_REQUESTS_PER_CALLER_SECOND = 200  # prepared before a round; more than a caller can send
MUTATION = """mutation Route($input: RouteMessageInput!) { routeMessage(input: $input) {
  __typename ... on RoutingDecisionPayload { eventCursor routingDecision { id } } } }"""
_SAVED = """
select count(*) as decisions, count(routing_vector) as vectors,
    (select count(*) from idempotency_record where key like $3) as idempotency_keys,
    percentile_cont(0.5) within group (order by router_latency_ms) as recorded_p50_ms
from routing_decision left join routing_vector on routing_vector.decision_id = routing_decision.id
where routing_decision.team_id = $1 and routing_decision.created_at > $2
"""


@dataclass(frozen=True)
class Size:
    rounds: int
    seconds: float
    warm_up_s: float


QUICK = Size(rounds=1, seconds=1.0, warm_up_s=0.5)
NORMAL = Size(rounds=5, seconds=5.0, warm_up_s=2.0)


@dataclass(frozen=True)
class Team:
    id: UUID
    secret: str


def measure(open_testbed: OpenTestbed, depth: Depth) -> Figures:
    size = QUICK if depth is Depth.QUICK else NORMAL
    with open_testbed() as testbed:
        team = asyncio.run(_create_team(testbed))
        rounds = {str(processes): _run_rounds(testbed, team, processes, size) for processes in PROCESSES}
    return {"callers": CALLERS, "agents": AGENTS, "rounds_by_processes": rounds}


def _run_rounds(testbed: Testbed, team: Team, processes: int, size: Size) -> list[dict[str, float]]:
    servers = [testbed.start_server(f"{PARLEY} {number}", python("app.cli", "serve")) for number in range(processes)]
    _load(servers, team, f"{processes}, warm-up", size.warm_up_s)
    asyncio.run(_vacuum(testbed.database_url))
    names = [f"{processes}, round {number}" for number in range(size.rounds)]
    rounds = [_run_round(testbed, servers, team, name, size.seconds) for name in names]
    for server in servers:
        testbed.stop(server)
    return rounds


def _run_round(testbed: Testbed, servers: list[Server], team: Team, name: str, seconds: float) -> dict[str, float]:
    started_at = asyncio.run(_database_time(testbed.database_url))
    api_cpu_s, postgres_cpu_s = _cpu_s(servers), testbed.postgres_cpu_s()
    report = _load(servers, team, name, seconds)
    api_cpu_s, postgres_cpu_s = _cpu_s(servers) - api_cpu_s, testbed.postgres_cpu_s() - postgres_cpu_s
    saved = asyncio.run(_count_saved(testbed.database_url, team, started_at, name))
    answered = report["requests"]
    if report["failed"] or {saved["decisions"], saved["vectors"], saved["idempotency_keys"]} != {answered}:
        raise AssertionError(f"{answered} requests answered, {report['failed']} refused, but saved: {saved}")
    return {
        "decisions_per_second": answered / report["seconds"],
        "p50_ms": report["p50_ms"],
        "p99_ms": report["p99_ms"],
        "api_cpu_ms": 1000 * api_cpu_s / answered,
        "postgres_cpu_ms": 1000 * postgres_cpu_s / answered,
        "recorded_p50_ms": saved["recorded_p50_ms"],
    }


def _cpu_s(servers: list[Server]) -> float:
    return sum(server.cpu_s() for server in servers)


def _load(servers: list[Server], team: Team, name: str, seconds: float) -> dict[str, Any]:
    """Sends messages whose idempotency keys begin with the name of the round."""
    texts = [query.text for query in tuning()]
    count = int(CALLERS * MAX_REQUESTS_PER_CALLER_SECOND * seconds)
    requests = [_request(team.secret, texts[number % len(texts)], f"{name} {number}") for number in range(count)]
    return run_load([server.port for server in servers], requests, CALLERS, seconds)


def _request(secret: str, text: str, key: str) -> str:
    body = json.dumps({"query": MUTATION, "variables": {"input": {"text": text, "idempotencyKey": key}}})
    head = f"POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\n"
    return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"


async def _vacuum(url: str) -> None:
    """Does what autovacuum would do soon: the first plans were made when all tables were empty."""
    connection = await asyncpg.connect(url)
    await connection.execute("vacuum analyze")
    await connection.close()


async def _database_time(url: str) -> datetime:
    connection = await asyncpg.connect(url)
    now: datetime = await connection.fetchval("select now()")
    await connection.close()
    return now


async def _count_saved(url: str, team: Team, started_at: datetime, name: str) -> dict[str, Any]:
    """Counts the decisions, vectors and idempotency keys of one round."""
    connection = await asyncpg.connect(url)
    try:
        return dict(await connection.fetchrow(_SAVED, team.id, started_at, f"{name} %"))
    finally:
        await connection.close()


async def _create_team(testbed: Testbed) -> Team:
    """Creates a team of the labelled agents, with collaboration and the expert gate turned on."""
    database = Database(load_settings(DATABASE_URL=testbed.database_url, REDIS_URL=testbed.redis_url))
    secret = new_secret()
    try:
        async with Transactions(database, skip_wake_ups)() as session:
            team = await teams.create(session, slug="route", name="Route", actor=SYSTEM)
            team.flags = {FeatureFlag.AGENT_COLLABORATION.value: True, FeatureFlag.EXPERT_GATE.value: True}
            for profile in profiles()[:AGENTS]:
                await agents.create(session, team_id=team.id, spec=parse_agent(_agent_fields(profile)), actor=SYSTEM)
            await issue(session, team_id=team.id, name="route", role=Role.ADMIN, secret=secret, actor=SYSTEM)
        return Team(team.id, secret)
    finally:
        await database.close()


def _agent_fields(profile: AgentProfile) -> dict[str, Any]:
    skills = [{"name": skill.name, "description": skill.description} for skill in profile.skills]
    return {"slug": profile.slug, "name": profile.name, "role": profile.role, "skills": skills}


def table(figures: Figures) -> str:
    rounds = figures["rounds_by_processes"]
    title = f"routeMessage: {figures['callers']} callers, {figures['agents']} agents, medians of rounds"
    lines = [title, f"{'':24}" + "".join(f"{f'{processes} process(es)':>16}" for processes in rounds)]
    for figure in next(iter(rounds.values()))[0]:
        medians = (median(sample[figure] for sample in samples) for samples in rounds.values())
        lines.append(f"{figure:24}{''.join(f'{value:16.2f}' for value in medians)}")
    return "\n".join(lines)


PART = Part("route", measure, table)
