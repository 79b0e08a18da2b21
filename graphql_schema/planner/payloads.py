"""Which entities a mutation's payload is asked for, known before the mutation runs."""

from __future__ import annotations

from collections.abc import Iterator

from graphql import FieldNode, GraphQLField, GraphQLObjectType, GraphQLSchema, get_named_type, is_abstract_type

from graphql_schema.planner.mapping import Entity, plan_of
from graphql_schema.planner.selection import Selection


def payload_entities(
    schema: GraphQLSchema, selection: Selection, field: GraphQLField, nodes: list[FieldNode]
) -> Iterator[tuple[str, GraphQLObjectType, list[FieldNode]]]:
    """Response key, type and field nodes of each entity in every payload that the field may answer with."""
    returned = get_named_type(field.type)
    possible = schema.get_possible_types(returned) if is_abstract_type(returned) else [returned]
    for of in possible:
        assert isinstance(of, GraphQLObjectType)
        for key, asked in selection.below(of, nodes).items():
            if isinstance(plan_of(of, asked[0]), Entity):
                entity = get_named_type(of.fields[asked[0].name.value].type)
                assert isinstance(entity, GraphQLObjectType)
                yield key, entity, asked
