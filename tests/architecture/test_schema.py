"""The schema as a product: described throughout, guarded throughout, exported, and of one mould."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLUnionType,
    get_named_type,
)

from app.auth.roles import Permission
from graphql_schema.planner.mapping import MAPS, NEEDS, PLAN
from graphql_schema.schema import schema
from graphql_schema.sdl import schema_text
from graphql_schema.streams.field import Stream

CORE = schema._schema
OWN_TYPES = [of for name, of in CORE.type_map.items() if not name.startswith("__")]
BUILT_IN = {"String", "Int", "Float", "Boolean", "ID"}


def test_exported_schema_is_not_stale() -> None:
    assert Path("schema.graphql").read_text() == schema_text(), "run: make schema"


def test_everything_is_described() -> None:
    missing = []
    for of in OWN_TYPES:
        if of.name not in BUILT_IN and not of.description:
            missing.append(of.name)
        for name, field in getattr(of, "fields", {}).items():
            if not field.description:
                missing.append(f"{of.name}.{name}")
            missing += [
                f"{of.name}.{name}({argument})"
                for argument, definition in getattr(field, "args", {}).items()
                if not definition.description
            ]
        if isinstance(of, GraphQLEnumType):
            missing += [f"{of.name}.{name}" for name, value in of.values.items() if not value.description]

    assert missing == []


def test_every_mutation_declares_its_permission() -> None:
    for name, field in CORE.mutation_type.fields.items():  # type: ignore[union-attr]
        needs = field.extensions["strawberry-definition"].metadata.get(NEEDS)
        assert isinstance(needs, Permission), name


def test_every_subscription_is_a_stream_whose_topic_checks_rights() -> None:
    for name, field in CORE.subscription_type.fields.items():  # type: ignore[union-attr]
        assert isinstance(field.extensions["strawberry-definition"].metadata.get(PLAN), Stream), name


def test_every_mutation_takes_one_input_and_answers_with_a_nullable_union() -> None:
    for name, field in CORE.mutation_type.fields.items():  # type: ignore[union-attr]
        assert list(field.args) == ["input"], name
        taken = get_named_type(field.args["input"].type)
        assert taken.name == name[0].upper() + name[1:] + "Input"
        assert "idempotencyKey" in taken.fields, name  # type: ignore[union-attr]
        assert not isinstance(field.type, GraphQLNonNull), name
        assert isinstance(field.type, GraphQLUnionType), name
        assert field.type.name == name[0].upper() + name[1:] + "Result"


def test_every_result_is_a_payload_and_refusals() -> None:
    payload, refusal = CORE.type_map["Payload"], CORE.type_map["Refusal"]
    assert isinstance(payload, GraphQLInterfaceType)
    assert isinstance(refusal, GraphQLInterfaceType)
    for of in OWN_TYPES:
        if isinstance(of, GraphQLUnionType) and of.name.endswith("Result"):
            payloads = [member for member in of.types if CORE.is_sub_type(payload, member)]
            refusals = [member for member in of.types if CORE.is_sub_type(refusal, member)]
            assert len(payloads) == 1, of.name
            assert len(refusals) == len(of.types) - 1, of.name
            assert {"InvalidInput", "Forbidden", "IdempotencyConflict"} <= {member.name for member in refusals}


def test_comparisons_of_enums_are_named_by_them() -> None:
    for of in OWN_TYPES:
        if isinstance(of, GraphQLInputObjectType) and of.name.endswith("Comparison"):
            compared = get_named_type(next(iter(of.fields.values())).type)
            if isinstance(compared, GraphQLEnumType):
                assert of.name == compared.name + "Comparison"


def test_every_id_has_its_object_beside_it() -> None:
    """Where it has none, docs/integrate.md says why."""
    computed = {"TimelineLane", "TimelineSpan", "TimelineArrow", "SimulatedAgent", "SimulatedChoice", "RoutingFlip"}
    alone = computed | {"HandoffRuleOutcome", "PartialText", "ForgetPayload"}
    found = set()
    for of in OWN_TYPES:
        if isinstance(of, GraphQLObjectType) and not of.name.endswith("GroupKey"):
            for name, field in of.fields.items():
                is_id = name.endswith("Id") and get_named_type(field.type).name == "ID"
                if is_id and name.removesuffix("Id") not in of.fields:
                    found.add(of.name)

    assert found == alone


def test_every_list_that_can_grow_is_a_connection() -> None:
    """A list of nodes outside a connection must be bounded by its declaration."""
    for of in OWN_TYPES:
        if not isinstance(of, GraphQLObjectType) or of.name.endswith(("Connection", "Payload")):
            continue
        for name, field in of.fields.items():
            if "[" in str(field.type) and get_named_type(field.type).name in MAPS:
                plan = field.extensions["strawberry-definition"].metadata.get(PLAN)
                assert hasattr(plan, "most"), f"{of.name}.{name}"


@pytest.mark.parametrize("name", [name for name, mapping in MAPS.items() if mapping.table is not None])
def test_every_mapped_table_is_limited_to_the_callers_team(name: str) -> None:
    mapping = MAPS[name]
    assert mapping.table is not None
    assert mapping.scope is not None
    condition = str(mapping.scope(mapping.table.alias().c))
    assert "caller_team_id" in condition or "caller_key_id" in condition
