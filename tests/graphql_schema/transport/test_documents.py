"""Documents are read once, refused cheaply, and never raise."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest
from graphql import GraphQLSchema, get_introspection_query, parse

from app.config import Settings
from graphql_schema.answer import Document
from graphql_schema.schema import schema as parley
from graphql_schema.transport import documents as module
from graphql_schema.transport.documents import Documents
from tests.fixtures.hostile import REFUSED
from tests.fixtures.http import PlainExecutor

LARGEST = "{ " + "hello " * 4_900 + "}"  # as many tokens as an honest document may hold


@pytest.fixture(scope="module")
def core() -> GraphQLSchema:
    return PlainExecutor().core


def _least_cpu_s(work: Callable[[], object], times: int = 5) -> float:
    spent = []
    for _ in range(times):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


@pytest.fixture
def documents(core: GraphQLSchema) -> Documents:
    return Documents(core, Settings())


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_document_costs_less_than_reading_the_largest_honest_one(core: GraphQLSchema, name: str) -> None:
    """About 45 ms of CPU where the benchmarks ran; a ratio holds on any machine."""
    gc.freeze()  # as the server does after its start: what pytest keeps alive is none of the document's cost
    try:
        spent_s = _least_cpu_s(lambda: Documents(core, Settings()).get(REFUSED[name]))
        honest_s = _least_cpu_s(lambda: parse(LARGEST), times=2)
    finally:
        gc.unfreeze()

    found = Documents(core, Settings()).get(REFUSED[name])
    assert isinstance(found, list)
    assert all(error.extensions and error.extensions["code"] for error in found)
    assert spent_s < honest_s


def test_a_document_is_parsed_once(documents: Documents) -> None:
    first = documents.get("{ hello }")

    assert isinstance(first, Document)
    assert documents.get("{ hello }") is first
    assert list(first.operations) == [None]


def test_a_failure_is_kept_without_its_syntax_tree(documents: Documents) -> None:
    first = documents.get("{ helo }")

    assert isinstance(first, list)
    assert documents.get("{ helo }") is first
    assert first[0].nodes is None
    assert first[0].formatted == {
        "message": "Cannot query field 'helo' on type 'Query'. Did you mean 'hello' or 'self'?",
        "locations": [{"line": 1, "column": 3}],
        "extensions": {"code": "GRAPHQL_VALIDATION_FAILED"},
    }


def test_a_syntax_error_is_an_answer(documents: Documents) -> None:
    found = documents.get("{ hello")

    assert isinstance(found, list)
    assert found[0].formatted == {
        "message": "Syntax Error: Expected Name, found <EOF>.",
        "locations": [{"line": 1, "column": 8}],
        "extensions": {"code": "GRAPHQL_PARSE_FAILED"},
    }


@pytest.mark.parametrize("text", ["", " ", "{}", "{ self {} }", "fragment A on Query { hello }", "type A { b: Int }"])
def test_what_holds_no_operation_is_refused(documents: Documents, text: str) -> None:
    assert isinstance(documents.get(text), list)


def test_validation_stops_after_ten_errors(documents: Documents) -> None:
    found = documents.get("{ " + " ".join(f"f{i}" for i in range(20)) + " }")

    assert isinstance(found, list)
    assert len(found) == 11
    assert "error limit reached" in found[-1].message


def test_caches_are_bounded(core: GraphQLSchema, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_DOCUMENTS", 3)
    monkeypatch.setattr(module, "KEPT_FAILURE_CHARS", 50)
    documents = Documents(core, Settings())

    for number in range(10):
        documents.get(f"query Q{number} {{ hello }}")
        documents.get(f"query Q{number} {{ helo }}")

    assert len(documents._known) == 3
    assert len(documents._failed) == 50 // len("query Q0 { helo }")


@pytest.mark.parametrize(
    "text",
    [
        get_introspection_query(),
        get_introspection_query(
            descriptions=True,
            specified_by_url=True,
            directive_is_repeatable=True,
            schema_description=True,
            input_value_deprecation=True,
            type_depth=20,
        ),
    ],
    ids=["plain", "everything"],
)
def test_introspection_of_tools_passes(text: str) -> None:
    assert isinstance(Documents(parley._schema, Settings()).get(text), Document)


def test_introspection_has_a_bound_too() -> None:
    deep = "{ __schema { types " + "{ ofType " * 40 + "{ name }" + "}" * 42
    circular = "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }"
    documents = Documents(parley._schema, Settings())

    assert [e.extensions["limit"] for e in documents.get(deep)] == ["introspectionDepth"]  # type: ignore[index, union-attr]
    assert isinstance(documents.get(circular), list)


def test_a_broad_ordinary_document_passes(documents: Documents) -> None:
    """Fragments that repeat a few fields in many places, as component frameworks make them."""
    fragments = " ".join(
        f'fragment F{i} on Query {{ hello self {{ hello s{i}: echo(text: "{i}") }} }}' for i in range(35)
    )
    text = "{ self { " + " ".join(f"...F{i}" for i in range(35)) + " } } " + fragments

    assert isinstance(documents.get(text), Document)
