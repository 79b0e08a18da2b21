"""Which types an operation's `node` and `nodes` can mean: their ids name them, so that only these are compiled."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from graphql import (
    ArgumentNode,
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    ListValueNode,
    SelectionSetNode,
    VariableNode,
)

from graphql_schema.answer import Document
from graphql_schema.planner.arguments import Variables

_FIELDS = ("node", "nodes")


def named_types(document: Document, variables: Variables) -> Hashable:
    """The prefixes of the ids in the variables that `node` and `nodes` take; part of a plan's key in the cache."""
    if document.id_variables is None:
        document.id_variables = tuple(sorted(_id_variables(document.ast)))
    if not document.id_variables:
        return None
    return tuple(_prefixes(variables.get(name)) for name in document.id_variables)


def _prefixes(value: Any) -> Hashable:
    if isinstance(value, list):
        return frozenset(_prefixes(item) for item in value)
    return value.rpartition("_")[0] if isinstance(value, str) else None


def _id_variables(document: DocumentNode) -> set[str]:
    return {
        name
        for definition in document.definitions
        if isinstance(definition, ExecutableDefinitionNode)
        for argument in _id_arguments(definition.selection_set)
        for name in _variables(argument.value)
    }


def _id_arguments(selection_set: SelectionSetNode | None) -> Iterator[ArgumentNode]:
    for node in selection_set.selections if selection_set else ():
        if isinstance(node, FieldNode) and node.name.value in _FIELDS:
            yield from node.arguments or ()
        yield from _id_arguments(getattr(node, "selection_set", None))


def _variables(value: Any) -> Iterator[str]:
    if isinstance(value, VariableNode):
        yield value.name.value
    elif isinstance(value, ListValueNode):
        for item in value.values:
            yield from _variables(item)
