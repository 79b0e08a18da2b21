"""A Parley whose team has as many events as a test asks for, and a client that exports them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.auth.roles import Role
from app.config import Settings, load_settings
from app.observability import metrics
from tests.fixtures.parley import Parley, TeamKit

_WRITE = """
insert into event (position, id, team_id, kind, actor, changes)
select n - 1000000, cast(lpad(to_hex(n), 32, '0') as uuid), :team, 'agent.updated', 'writer',
       jsonb_build_object('n', n, 'pad', repeat('x', cast(:pad as int)))
from generate_series(1, :count) as n
"""


@dataclass
class Exports:
    parley: Parley

    async def write(self, count: int, *, pad: int = 0, team: TeamKit | None = None) -> None:
        """Numbered events, in one transaction."""
        async with self.parley.transaction() as session:
            values = {"team": (team or self.parley.home).id, "count": count, "pad": pad}
            await session.execute(text(_WRITE), values)
        await self.parley.settled()

    def headers(self, role: Role, accept: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.parley.home.secrets[role]}", "Accept": accept}

    async def post(
        self, query: str, variables: dict[str, Any] | None = None, *,
        role: Role = Role.ANALYST, accept: str = "application/x-ndjson", **payload: Any,
    ) -> httpx.Response:  # fmt: skip
        body = {"query": query, "variables": variables or {}, **payload}
        return await self.parley.client.post("/export", json=body, headers=self.headers(role, accept))

    async def rows(self, query: str, variables: dict[str, Any] | None = None, **options: Any) -> list[Any]:
        answer = await self.post(query, variables, **options)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.content.decode().split("\n")[:-1]]

    async def refusal(self, query: str, variables: dict[str, Any] | None = None, **options: Any) -> tuple[int, str]:
        answer = await self.post(query, variables, **options)
        return answer.status_code, answer.json()["errors"][0]["extensions"]["code"]

    @asynccontextmanager
    async def stream(
        self, query: str, role: Role = Role.ANALYST, *, wait_s: float = 30
    ) -> AsyncIterator[httpx.Response]:
        headers, body = self.headers(role, "application/x-ndjson"), {"query": query}
        async with self.parley.client.stream("POST", "/export", json=body, headers=headers, timeout=wait_s) as answer:
            yield answer

    def sent(self) -> float:
        return float(metrics.EXPORTED_ROWS.labels("ndjson")._value.get())

    def running(self) -> float:
        return float(metrics.CONNECTIONS.labels("export")._value.get())


@pytest.fixture
def parley_settings(request: pytest.FixtureRequest, database_url: str, redis_url: str) -> Settings:
    """With the overrides of the test's parameter, if it has one."""
    overrides = getattr(request, "param", {})
    return load_settings(DATABASE_URL=database_url, REDIS_URL=redis_url, port=0, log_level="error", **overrides)


@pytest.fixture
def exports(parley: Parley) -> Exports:
    return Exports(parley)
