"""The migrations go up and down, and end where the models are."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from app.db import migrate


def test_up_down_up_and_no_difference_to_the_models(empty_database_url: str) -> None:
    migrate.upgrade(empty_database_url)
    assert migrate.current(empty_database_url) == migrate.head()
    migrate.check(empty_database_url)

    migrate.downgrade(empty_database_url, "base")
    assert _tables(empty_database_url) == {"alembic_version"}

    migrate.upgrade(empty_database_url)
    migrate.check(empty_database_url)


def test_vectors_of_routed_queries_move_and_come_back(empty_database_url: str) -> None:
    url, moves = empty_database_url, "0015"
    migrate.upgrade(url, f"{moves}-1")
    _fetch(url, DECISIONS)
    wide = _fetch(url, "select id, team_id, embedder, embedding::text from routing_decision order by id")

    migrate.upgrade(url, moves)
    apart = _fetch(url, "select decision_id, team_id, embedder, embedding::text from routing_vector order by 1")
    [(decisions, size)] = _fetch(url, "select count(*), pg_relation_size('routing_decision') from routing_decision")
    migrate.downgrade(url, f"{moves}-1")
    back = _fetch(url, "select id, team_id, embedder, embedding::text from routing_decision order by id")

    assert [tuple(row) for row in apart] == [tuple(row) for row in wide]
    assert [tuple(row) for row in back] == [tuple(row) for row in wide]
    assert decisions == len({row["embedding"] for row in wide}) == 50
    assert size < 50 * 1024, "a dropped column keeps its room until the rows are written anew"


def test_the_older_version_is_left_nothing_of_consultations_that_it_would_stumble_over(empty_database_url: str) -> None:
    url, made = empty_database_url, "0020"
    migrate.upgrade(url, made)
    _fetch(url, ERRANDS)

    migrate.downgrade(url, f"{made}-1")
    kept = {row["kind"] for row in _fetch(url, "select kind from errand")}
    migrate.upgrade(url, made)
    _fetch(url, "update task set status = 'pending', result = null, finished_at = null")
    with pytest.raises(Exception, match="There are open consultations"):
        migrate.downgrade(url, f"{made}-1")

    assert kept == {"attention_due"}


def test_kept_answers_are_renamed_with_the_schema_and_back(empty_database_url: str) -> None:
    url, renames = empty_database_url, "0023"
    migrate.upgrade(url, f"{renames}-1")
    _fetch(url, OUTCOMES)
    kept = "select mutation, outcome::text from idempotency_record order by mutation"
    before = [tuple(row) for row in _fetch(url, kept)]

    migrate.upgrade(url, renames)
    after = dict(tuple(row) for row in _fetch(url, kept))
    migrate.downgrade(url, f"{renames}-1")

    assert [tuple(row) for row in _fetch(url, kept)] == before
    assert after == {
        "acknowledgeInbox": '{"acknowledged": 2, "unread_count": 3}',
        "delegateTask": '{"session": "kept", "decision": "kept"}',
        "routeMessage": '{"routing_decision": "d1"}',
        "startCollaboration": '{"collaboration": "c1"}',
        "updateAgent": None,
    }


def test_handoff_rules_that_exist_go_on_trusting_texts_and_new_ones_do_not(empty_database_url: str) -> None:
    url, changes = empty_database_url, "0026"
    migrate.upgrade(url, f"{changes}-1")
    _fetch(url, RULE.format(condition="old"))

    migrate.upgrade(url, changes)
    _fetch(url, "insert into handoff_rule (id, team_id, condition) select gen_random_uuid(), id, 'new' from team")
    trusting = dict(tuple(row) for row in _fetch(url, "select condition, trusts_text from handoff_rule"))
    _fetch(url, CLAIM)
    migrate.downgrade(url, f"{changes}-1")

    assert trusting == {"old": True, "new": False}
    assert [row["kind"] for row in _fetch(url, "select kind from attention_item")] == ["question"]


RULE = """
with team as (insert into team (id, slug, name) values (gen_random_uuid(), 'acme', 'Acme') returning id)
insert into handoff_rule (id, team_id, condition) select gen_random_uuid(), id, '{condition}' from team
"""
CLAIM = """
insert into attention_item (id, team_id, kind, title, opened_by)
select gen_random_uuid(), id, 'cost_claim', 'A cost', 'parley' from team
"""
OUTCOMES = """
    with team as (insert into team (id, name, slug) values (gen_random_uuid(), 'A', 'a') returning id),
    made as (
        insert into api_key (id, team_id, name, role, hash, prefix)
        select gen_random_uuid(), id, 'k', 'admin', '\\x00', 'p' from team returning id
    )
    insert into idempotency_record (api_key_id, key, mutation, input_hash, outcome)
    select made.id, mutation, mutation, '\\x00', outcome::jsonb
    from made, (values
        ('startCollaboration', '{"session": "c1"}'), ('routeMessage', '{"decision": "d1"}'),
        ('acknowledgeInbox', '{"unread": 3, "acknowledged": 2}'), ('updateAgent', null),
        ('delegateTask', '{"decision": "kept", "session": "kept"}')
    ) as call (mutation, outcome)
"""

# The errand of kind `task_ended` is that of a consultation's task.
ERRANDS = """
with team as (
    insert into team (id, slug, name) values (gen_random_uuid(), 'acme', 'Acme') returning id
), agent as (
    insert into agent (id, team_id, slug, name) select gen_random_uuid(), id, 'kyra', 'Kyra' from team returning *
), account as (
    insert into budget_account (id, team_id, kind, period, cap)
    select gen_random_uuid(), id, 'team_month', '2026-11-01', 1 from team returning *
), task as (
    insert into task (id, team_id, purpose, assignee_id, root_id, budget_id, type, title, instructions, status, depth,
        on_behalf_of, result, due_at, attempts_allowed, finished_at)
    select id, team_id, 'consultation', agent_id, id, budget_id, 'analyze', 'Why?', 'Why?', 'completed', 0, 'a test',
        'So.', now(), 3, now()
    from (select gen_random_uuid() as id, agent.id as agent_id, account.id as budget_id, agent.team_id
        from agent, account) as wanted
    returning *
)
insert into errand (id, team_id, kind, subject_id)
select gen_random_uuid(), task.team_id, kind, task.id
from task, unnest(array['task_begun', 'consultation_stopped', 'task_ended', 'attention_due']) as kind
"""
DECISIONS = """
with team as (
    insert into team (id, slug, name) values (gen_random_uuid(), 'acme', 'Acme') returning id
), policy as (
    insert into routing_policy (id, team_id, version, skill_match_weight, past_performance_weight,
        personality_fit_weight, load_balance_weight, threshold, skill_floor, strategy, k, created_by)
    select gen_random_uuid(), id, 1, 4000, 2500, 2000, 1500, 6000, 3500, 'top_1', 3, 'a test' from team
    returning id, team_id
)
insert into routing_decision (id, team_id, policy_id, mode, reason, asked_strategy, strategy, ensemble_allowed,
    threshold, skill_floor, k, query, embedding, embedder, selected_agent_ids, confidence, fallback_used, complexity,
    complexity_length, complexity_steps, complexity_technical_depth, complexity_reasoning, complexity_constraints,
    suggested_tier, selected_tier, selected_model, estimated_cost, router_latency_ms)
select gen_random_uuid(), team_id, id, 'gate', 'default', 'top_1', 'top_1', false, 6000, 3500, 3, 'Who?',
    array_fill(n, array[256])::vector, 'static ' || n, '{}', 0, true, 0, 0, 0, 0, 0, 0, 0, 0, 'offline', 0, 1
from policy, generate_series(1, 50) as n
"""


def _tables(url: str) -> set[str]:
    rows = _fetch(url, "select tablename from pg_tables where schemaname = 'public'")
    return {row["tablename"] for row in rows}


def _fetch(url: str, sql: str) -> list[Any]:
    async def read() -> list[Any]:
        connection = await asyncpg.connect(url)
        try:
            rows: list[Any] = await connection.fetch(sql)
            return rows
        finally:
            await connection.close()

    return asyncio.run(read())
