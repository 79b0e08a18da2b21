"""Every operation of the corpus gives one answer: planned whole, fed to graphql-core, and by graphql-core alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.graph import Graph
from tests.fixtures.operations import CORPUS
from tests.fixtures.reference import Reference, comparable

pytestmark = pytest.mark.asyncio(loop_scope="session")
IDS = [f"{theme}-{number}" for number, (theme, _, _) in enumerate(CORPUS)]


async def test_the_corpus_is_large_and_its_operations_differ() -> None:
    assert len(CORPUS) >= 150
    assert len({(text, str(variables)) for _, text, variables in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize(("theme", "text", "variables"), CORPUS, ids=IDS)
async def test_every_way_gives_the_same_answer(
    graph: Graph, reference: Reference, theme: str, text: str, variables: dict[str, Any]
) -> None:
    expected = comparable(reference.answer(text, variables, graph.seed.admin))

    whole, fed = await graph.ask(text, variables), await graph.ask(text, variables, feeding=True)

    assert comparable(whole) == expected
    assert comparable(fed) == expected
    assert graph.is_planned(text, variables) is (theme != "python")
