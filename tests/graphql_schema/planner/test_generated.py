"""Operations that nobody thought of give one answer through every way of executing them. `make soak` tries more."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from graphql_schema.schema import schema
from tests.fixtures.generated import operations
from tests.fixtures.graph import Graph
from tests.fixtures.pools import pools_of
from tests.fixtures.reference import Reference, comparable, difference

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(7_200)]
SOAKING = os.environ.get("PARLEY_SOAK") == "1"
SETTINGS = settings(
    max_examples=5_000 if SOAKING else 25,
    deadline=None,
    database=None,
    # What was found is told at once; whoever looks into it has it made smaller by PARLEY_SOAK.
    phases=tuple(Phase) if SOAKING else (Phase.generate,),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


@given(data=st.data())
@SETTINGS
async def test_generated_operations_give_the_same_answer_every_way(
    graph: Graph, reference: Reference, data: Any
) -> None:
    seed = graph.seed
    text, variables = data.draw(operations(schema._schema, pools_of(seed)))

    expected = comparable(reference.answer(text, variables, seed.admin))

    for feeding in (False, True):
        found = difference(comparable(await graph.ask(text, variables, feeding=feeding)), expected)
        assert found is None, (found, text, variables)
