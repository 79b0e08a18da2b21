"""Which fields an operation asks for: fragments spread, `@skip` and `@include` decided, equal response keys merged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphql import (
    BooleanValueNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLAbstractType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    SelectionSetNode,
    VariableNode,
)

from graphql_schema.planner.arguments import Variables
from graphql_schema.planner.errors import InvalidArgument

Selected = dict[str, list[FieldNode]]


class Selection:
    """Collects the fields of one operation, as the GraphQL specification's CollectFields does."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Variables) -> None:
        self._schema = schema
        self._variables = variables
        self._fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }

    def fields(self, of: GraphQLObjectType, sets: Iterable[SelectionSetNode | None]) -> Selected:
        selected: Selected = {}
        seen: set[str] = set()
        for selection_set in sets:
            if selection_set is not None:
                self._collect(of, selection_set, selected, seen)
        return selected

    def below(self, of: GraphQLObjectType, nodes: list[FieldNode]) -> Selected:
        return self.fields(of, (node.selection_set for node in nodes))

    def _collect(self, of: GraphQLObjectType, selection_set: SelectionSetNode, into: Selected, seen: set[str]) -> None:
        for node in selection_set.selections:
            if not self._included(node):
                continue
            if isinstance(node, FieldNode):
                into.setdefault((node.alias or node.name).value, []).append(node)
            elif isinstance(node, InlineFragmentNode):
                condition = node.type_condition
                if condition is None or self._applies(condition.name.value, of):
                    self._collect(of, node.selection_set, into, seen)
            elif isinstance(node, FragmentSpreadNode) and node.name.value not in seen:
                seen.add(node.name.value)
                fragment = self._fragments[node.name.value]
                if self._applies(fragment.type_condition.name.value, of):
                    self._collect(of, fragment.selection_set, into, seen)

    def _applies(self, name: str, of: GraphQLObjectType) -> bool:
        if name == of.name:
            return True
        condition = self._schema.type_map[name]
        return isinstance(condition, GraphQLAbstractType) and self._schema.is_sub_type(condition, of)

    def _included(self, node: Any) -> bool:
        for directive in node.directives or ():
            name = directive.name.value
            if name in {"skip", "include"} and self._flag(directive.arguments[0].value) is (name == "skip"):
                return False
        return True

    def _flag(self, value: Any) -> bool:
        if isinstance(value, VariableNode):
            given = self._variables[value.name.value]
            if given is None:  # allowed by its default; only the value tells
                raise InvalidArgument("if", "must not be null")
            return bool(given)
        assert isinstance(value, BooleanValueNode)
        return value.value
