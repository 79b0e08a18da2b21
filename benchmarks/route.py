"""`routeMessage` by 16 callers at once: a team of 10 agents, each message under a key of its own; by one API process,
and by two, among which the callers are divided as a load balancer would.

Every answer must be a decision, and the table must hold exactly as many as were answered: none lost, none double.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import dataclass
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
from benchmarks.reads import PARLEY
from benchmarks.stage import Server, Stage, python
from tests.fixtures.labelled import profiles, tuning

CALLERS, AGENTS = 16, 10
PROCESSES = (1, 2)
MOST_EACH = 4_000  # messages of one caller
MUTATION = """mutation Route($input: RouteMessageInput!) { routeMessage(input: $input) {
  __typename ... on RoutingDecisionPayload { eventCursor routingDecision { id } } } }"""


@dataclass(frozen=True)
class Crew:
    team_id: UUID
    secret: str


def measure(stage: Stage, *, rounds: int, seconds: float) -> dict[str, Any]:
    crew = asyncio.run(hire(stage.postgres.url(), stage.valkey.url()))
    found = {str(count): _by(stage, crew, count, rounds, seconds) for count in PROCESSES}
    return {"callers": CALLERS, "agents": AGENTS, "by_processes": found}


def _by(stage: Stage, crew: Crew, processes: int, rounds: int, seconds: float) -> list[dict[str, float]]:
    servers = [stage.serve(f"{PARLEY} {number}", python("app.cli", "serve")) for number in range(processes)]
    try:
        _load(servers, crew, f"warm {processes}", 2.0)
        asyncio.run(_analyze(stage.postgres.url()))
        return [_round(stage, servers, crew, f"{processes}, round {number}", seconds) for number in range(rounds)]
    finally:
        for server in servers:
            stage.stop(server)


def _round(stage: Stage, servers: list[Server], crew: Crew, name: str, seconds: float) -> dict[str, float]:
    api, postgres = _cpu_s(servers), stage.postgres_cpu_s()
    seen = _load(servers, crew, name, seconds)
    api, postgres = _cpu_s(servers) - api, stage.postgres_cpu_s() - postgres
    kept = asyncio.run(_kept(stage.postgres.url(), name))
    if seen["failed"] or kept["decisions"] != kept["vectors"] or kept["decisions"] != seen["requests"]:
        raise AssertionError(f"{seen['requests']} answered, {seen['failed']} refused, kept: {kept}")
    return {
        "per_second": seen["requests"] / seen["seconds"],
        "p50_ms": seen["p50_ms"],
        "p99_ms": seen["p99_ms"],
        "api_cpu_ms": 1000 * api / seen["requests"],
        "postgres_cpu_ms": 1000 * postgres / seen["requests"],
        "recorded_p50_ms": kept["recorded_p50_ms"],
    }


def _cpu_s(servers: list[Server]) -> float:
    return sum(server.cpu_s() for server in servers)


def _load(servers: list[Server], crew: Crew, name: str, seconds: float) -> dict[str, float]:
    texts = [query.text for query in tuning()]
    requests = [_request(crew.secret, texts[n % len(texts)], f"{name} {n}") for n in range(CALLERS * MOST_EACH)]
    orders = {
        "ports": [server.port for server in servers],
        "requests": requests,
        "connections": CALLERS,
        "seconds": seconds,
    }
    command = python("benchmarks.load")
    done = subprocess.run(command, input=json.dumps(orders), capture_output=True, text=True, check=True)
    seen: dict[str, float] = json.loads(done.stdout)
    return seen


def _request(secret: str, text: str, key: str) -> str:
    asked = {"query": MUTATION, "variables": {"input": {"text": text, "idempotencyKey": key}}}
    body = json.dumps(asked)
    head = f"POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\n"
    return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"


async def _analyze(url: str) -> None:
    """As autovacuum would by and by. The plans of the first messages were made when all tables were empty."""
    connection = await asyncpg.connect(url)
    await connection.execute("vacuum analyze")
    await connection.close()


async def _kept(url: str, name: str) -> dict[str, Any]:
    """Of one round, whose idempotency keys begin with its name."""
    connection = await asyncpg.connect(url)
    try:
        row = await connection.fetchrow(
            "select count(*) as decisions, count(routing_vector) as vectors, "
            "percentile_cont(0.5) within group (order by router_latency_ms) as recorded_p50_ms "
            "from idempotency_record as kept "
            "join routing_decision as made on made.id = (kept.outcome ->> 'decision')::uuid "
            "left join routing_vector on routing_vector.decision_id = made.id where kept.key like $1",
            f"{name} %",
        )
        return dict(row)
    finally:
        await connection.close()


async def hire(database_url: str, redis_url: str) -> Crew:
    """A team of the labelled agents, with collaboration and expert gate on."""
    database = Database(load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url))
    secret = new_secret()
    try:
        async with Transactions(database, _no_bell)() as session:
            team = await teams.create(session, slug="crew", name="Crew", actor=SYSTEM)
            team.flags = {FeatureFlag.AGENT_COLLABORATION.value: True, FeatureFlag.EXPERT_GATE.value: True}
            for profile in profiles()[:AGENTS]:
                await agents.create(session, team_id=team.id, spec=parse_agent(_declared(profile)), actor=SYSTEM)
            await issue(session, team_id=team.id, name="crew", role=Role.ADMIN, secret=secret, actor=SYSTEM)
        return Crew(team.id, secret)
    finally:
        await database.close()


def _declared(profile: AgentProfile) -> dict[str, Any]:
    skills = [{"name": skill.name, "description": skill.description} for skill in profile.skills]
    return {"slug": profile.slug, "name": profile.name, "role": profile.role, "skills": skills}


async def _no_bell(bells: list[Any]) -> None:
    """Nobody listens yet."""
