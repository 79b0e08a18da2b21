"""Housekeeping jobs: run twice in a row they leave one effect."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.clock import now
from app.events.partitions import WEEKS_AHEAD, partition_name, week_of
from jobs.maintenance import forget_idempotency, maintain_events
from tests.fixtures.follow_ups import arq_context
from tests.fixtures.parley import Parley

PARTITIONS = (
    "select array_agg(c.relname::text order by c.relname) from pg_inherits i join pg_class c on c.oid = i.inhrelid"
)


@pytest.fixture
def ctx(parley: Parley) -> dict[str, Any]:
    return arq_context(parley.transaction, parley.settings)


async def test_partitions_are_made_ahead_and_old_ones_dropped(parley: Parley, ctx: dict[str, Any]) -> None:
    this_week = week_of(now().date())
    await run_sql(
        parley, "create table event_p20200106 partition of event for values from ('2020-01-06') to ('2020-01-13')"
    )
    await run_sql(parley, f"drop table {partition_name(this_week + timedelta(weeks=WEEKS_AHEAD))}")

    await maintain_events(ctx)
    first = await parley.value(PARTITIONS)
    await maintain_events(ctx)

    assert await parley.value(PARTITIONS) == first
    assert "event_p20200106" not in first
    assert partition_name(this_week + timedelta(weeks=WEEKS_AHEAD)) in first


async def test_dropping_events_raises_the_floor(parley: Parley, ctx: dict[str, Any]) -> None:
    await run_sql(
        parley, "create table event_p20200106 partition of event for values from ('2020-01-06') to ('2020-01-13')"
    )
    await run_sql(
        parley,
        f"insert into event (id, at, position, team_id, kind, actor) values "
        f"(gen_random_uuid(), '2020-01-07', 41, '{parley.home.id}', 'team.created', 'x')",
    )

    await maintain_events(ctx)

    assert await parley.value("select floor from event_clock") == 41


async def test_old_idempotency_keys_are_forgotten_and_young_ones_kept(parley: Parley, ctx: dict[str, Any]) -> None:
    for key in ("old", "young"):
        await parley.run(
            "mutation ($k: String!, $slug: String!) "
            '{ createAgent(input: {slug: $slug, name: "x", idempotencyKey: $k}) { __typename } }',
            {"k": key, "slug": key},
        )
    await run_sql(parley, "update idempotency_record set created_at = now() - interval '25 hours' where key = 'old'")

    await forget_idempotency(ctx)
    await forget_idempotency(ctx)

    assert await parley.value("select array_agg(key::text) from idempotency_record") == ["young"]


async def run_sql(parley: Parley, sql: str) -> None:
    async with parley.transaction() as session:
        await session.execute(text(sql))
