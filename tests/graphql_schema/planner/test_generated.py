"""Operations that nobody thought of give one answer through every way of executing them. `make soak` tries more."""

from __future__ import annotations

import os
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.ids import Prefix, to_global
from graphql_schema.schema import schema
from tests.fixtures.generated import operations
from tests.fixtures.graph import Graph
from tests.fixtures.reference import Reference, comparable

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(7_200)]
SOAKING = os.environ.get("PARLEY_SOAK") == "1"
SETTINGS = settings(
    max_examples=5_000 if SOAKING else 25,
    deadline=None,
    derandomize=not SOAKING,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@given(data=st.data())
@SETTINGS
async def test_generated_operations_give_the_same_answer_every_way(
    graph: Graph, reference: Reference, data: Any
) -> None:
    seed = graph.seed
    ids = {
        "Agent": [seed.id(Prefix.AGENT, key) for key in (*seed.agents[:4], seed.other_agents[0])],
        "Event": [seed.id(Prefix.EVENT, key) for key in seed.events[:3]],
        "HandoffRule": [seed.id(Prefix.HANDOFF_RULE, key) for key in seed.rules[:3]],
        "ApiKey": [seed.id(Prefix.API_KEY, seed.admin.key_id)],
    }
    nobody = UUID(int=0)  # the seed holds no task
    ids |= {
        "Contract": [seed.id(Prefix.CONTRACT, key) for key in seed.contracts[-3:]],
        "Task": [to_global(Prefix.TASK, nobody)],
        "TaskAttempt": [to_global(Prefix.ATTEMPT, nobody)],
        "ToolCall": [to_global(Prefix.TOOL_CALL, nobody)],
        "DeadLetter": [to_global(Prefix.DEAD_LETTER, nobody)],
        "RoutingDecision": [to_global(Prefix.ROUTING_DECISION, nobody)],
        "RoutingPolicy": [to_global(Prefix.ROUTING_POLICY, nobody)],
    }
    ids |= {name: ids["Agent"] for name in ("creatorId", "assigneeId", "agentId")}
    ids |= {name: ids["Task"] for name in ("parentId", "rootId", "taskId", "replayId", "createdTaskId")}
    ids |= {name: ids["Agent"] for name in ("selectedAgentId", "currentAgentId", "defaultAgentId")}
    ids["policyId"] = ids["RoutingPolicy"]
    known = [one for kind in ids.values() for one in kind]
    ids |= {name: [to_global(Prefix(name.removesuffix("Id")), nobody)] for name in ("conversationId", "messageId")}
    ids["id"] = ids["ids"] = known
    text, variables = data.draw(operations(schema._schema, ids))

    expected = comparable(reference.answer(text, variables, seed.admin))

    assert comparable(await graph.ask(text, variables)) == expected, (text, variables)
    assert comparable(await graph.ask(text, variables, feeding=True)) == expected, (text, variables)
