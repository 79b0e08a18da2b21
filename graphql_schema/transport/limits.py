"""Refuses documents that would cost too much, before they cost it. A refusal names limit, value and maximum.

Weights count fragments expanded, but each fragment is weighed once: a chain of double spreads costs its length, not
its expansion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DocumentNode,
    ExecutableDefinitionNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    OperationDefinitionNode,
    SelectionSetNode,
)

from app.config import Settings, environment_name
from graphql_schema.transport.lexicon import count, tokens

LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
# Introspection is exempt from the ordinary depth: the queries of GraphiQL and of code generators nest up to 15 deep.
MAX_INTROSPECTION_DEPTH = 30
# Literals cost some 20 µs each and up to 1 µs a character to parse and validate; in variables next to nothing.
MAX_ARGUMENT_TOKENS = 1_500
MAX_LITERAL_CHARS = 30_000
MAX_VARIABLE_VALUES = 10_000  # coercing one takes some 3 µs
# Validation compares each pair of equal names and of fragments in a selection set.
MAX_REPEATS = 30
MAX_SPREADS = 50
_VARIABLES = " (put long values into variables)"
_INTROSPECTION = frozenset(["__schema", "__type"])
_UNCOUNTED = 1_000_000_000  # weights stop here, so that an expansion of astronomical size still fits into JSON


def exceeded(limit: str, value: int, maximum: int, unit: str, setting: str | None = None) -> GraphQLError:
    """`setting` is the field of Settings that raises the limit; None for one that is fixed."""
    extensions = {"code": LIMIT_EXCEEDED, "limit": limit, "value": value, "maximum": maximum}
    if setting is not None:
        extensions["setting"] = environment_name(setting)
    return GraphQLError(f"This request has {value} {unit}; at most {maximum} are allowed.", extensions=extensions)


def lexical_problem(text: str, settings: Settings) -> GraphQLError | None:
    """What can be told without parsing, in a millisecond or two."""
    if len(text) > settings.max_query_chars:
        return exceeded("queryChars", len(text), settings.max_query_chars, "characters of query", "max_query_chars")
    if len(text) <= min(settings.max_tokens, settings.max_fields, MAX_ARGUMENT_TOKENS):
        return None  # every token takes a character at least
    found = tokens(text)
    if len(found) > settings.max_tokens:
        return exceeded("tokens", len(found), settings.max_tokens, "lexical tokens", "max_tokens")
    counted = count(found)
    for limit, value, maximum, unit, setting in (
        ("fields", counted.fields, settings.max_fields, "fields", "max_fields"),
        ("argumentTokens", counted.argument_tokens, MAX_ARGUMENT_TOKENS, f"tokens in its arguments{_VARIABLES}", None),
        ("literalChars", counted.literal_chars, MAX_LITERAL_CHARS, f"characters in its literals{_VARIABLES}", None),
    ):
        if value > maximum:
            return exceeded(limit, value, maximum, unit, setting)
    return None


def count_values(variables: dict[str, Any], maximum_depth: int) -> int | GraphQLError:
    """How many values the variables hold, or why they are too many or too deep.

    Level by level instead of by recursion, so that no depth can exhaust the stack.
    """
    depth, size, level = 0, len(variables), _containers([variables])
    while level:
        depth += 1
        size += sum(map(len, level))
        if size > MAX_VARIABLE_VALUES:
            return exceeded("variableValues", size, MAX_VARIABLE_VALUES, "values in its variables")
        level = _containers(level)
    if depth > maximum_depth:
        return exceeded(
            "variablesDepth", depth, maximum_depth, "levels of nesting in its variables", "max_variables_depth"
        )
    return size


def _containers(level: Sequence[dict[str, Any] | list[Any]]) -> list[dict[str, Any] | list[Any]]:
    inside = (child for value in level for child in (value.values() if isinstance(value, dict) else value))
    return [child for child in inside if isinstance(child, (dict, list))]


@dataclass(slots=True)
class Weight:
    """What a selection holds.

    `depth` and `introspection` are the deepest level, `repeats` and `spreads` the most that one selection set spells
    out of one name and of fragments; the rest are counts.
    """

    depth: int = 0
    introspection: int = 0
    root_fields: int = 0
    fields: int = 0
    aliases: int = 0
    directives: int = 0
    repeats: int = 0
    spreads: int = 0

    def add(self, spread: _Spread, fragment: Weight) -> None:
        if spread.introspecting:
            self.introspection = max(self.introspection, spread.level + fragment.depth)
        else:
            self.depth = max(self.depth, spread.level + fragment.depth)
            self.introspection = max(self.introspection, fragment.introspection)
        self.repeats = max(self.repeats, fragment.repeats)
        self.spreads = max(self.spreads, fragment.spreads)
        if spread.level == 0:
            self.root_fields = min(_UNCOUNTED, self.root_fields + fragment.root_fields)
        self.fields = min(_UNCOUNTED, self.fields + fragment.fields)
        self.aliases = min(_UNCOUNTED, self.aliases + fragment.aliases)
        self.directives = min(_UNCOUNTED, self.directives + fragment.directives)


@dataclass(slots=True, frozen=True)
class _Spread:
    name: str
    level: int
    introspecting: bool


@dataclass(slots=True)
class _Definition:
    """One operation or fragment: what it spells out itself, and the fragments that it spreads."""

    weight: Weight
    spreads: list[_Spread] = field(default_factory=list)


def document_problems(document: DocumentNode, settings: Settings) -> list[GraphQLError]:
    """The limits that the first operation over any of them is over."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    weights = _weigh_fragments({name: _read(node) for name, node in fragments.items()})
    for operation in document.definitions:
        if isinstance(operation, OperationDefinitionNode):
            problems = list(_problems(_total(_read(operation), weights), settings))
            if problems:
                return problems
    return []


def _problems(weight: Weight, settings: Settings) -> Iterator[GraphQLError]:
    for limit, value, maximum, unit, setting in (
        ("depth", weight.depth, settings.max_depth, "levels of nested fields", "max_depth"),
        ("introspectionDepth", weight.introspection, MAX_INTROSPECTION_DEPTH, "levels of nested introspection", None),
        ("rootFields", weight.root_fields, settings.max_root_fields, "root fields", "max_root_fields"),
        ("fields", weight.fields, settings.max_fields, "fields with fragments expanded", "max_fields"),
        ("aliases", weight.aliases, settings.max_aliases, "aliases with fragments expanded", "max_aliases"),
        ("repeats", weight.repeats, MAX_REPEATS, "repetitions of one field in one place", None),
        ("spreads", weight.spreads, MAX_SPREADS, "fragments spread in one place", None),
        ("directives", weight.directives, settings.max_directives, "directives with fragments expanded",
         "max_directives"),
    ):  # fmt: skip
        if value > maximum:
            yield exceeded(limit, value, maximum, unit, setting)


def _weigh_fragments(definitions: dict[str, _Definition]) -> dict[str, Weight]:
    """Depth first and without recursion. A spread that closes a cycle weighs nothing: validation refuses the cycle."""
    weights: dict[str, Weight] = {}
    entered: set[str] = set()
    stack = list(definitions)
    while stack:
        name = stack[-1]
        if name not in entered:
            entered.add(name)
            spread = {spread.name for spread in definitions[name].spreads}
            stack.extend(other for other in spread if other in definitions and other not in entered)
        else:
            stack.pop()
            if name not in weights:
                weights[name] = _total(definitions[name], weights)
    return weights


def _total(definition: _Definition, fragments: dict[str, Weight]) -> Weight:
    for spread in definition.spreads:
        if fragment := fragments.get(spread.name):
            definition.weight.add(spread, fragment)
    return definition.weight


def _read(definition: ExecutableDefinitionNode) -> _Definition:
    """Walk what one definition spells out; the parser bounds how deep that can be."""
    read = _Definition(Weight(directives=len(definition.directives or ())))
    for variable in definition.variable_definitions or ():
        read.weight.directives += len(variable.directives or ())
    _walk(definition.selection_set, 0, False, read)
    return read


def _walk(selection_set: SelectionSetNode, level: int, introspecting: bool, read: _Definition) -> None:
    weight = read.weight
    repeats: dict[str, int] = {}
    spreads = 0
    for selection in selection_set.selections:
        weight.directives += len(selection.directives or ())
        if isinstance(selection, FieldNode):
            _count(selection, level, introspecting, weight)
            name = (selection.alias or selection.name).value
            repeats[name] = repeats.get(name, 0) + 1
            if selection.selection_set:
                inside = introspecting or selection.name.value in _INTROSPECTION
                _walk(selection.selection_set, level + 1, inside, read)
        elif isinstance(selection, FragmentSpreadNode):
            spreads += 1
            read.spreads.append(_Spread(selection.name.value, level, introspecting))
        else:
            _walk(selection.selection_set, level, introspecting, read)  # type: ignore[attr-defined]
    weight.repeats = max(weight.repeats, *repeats.values(), 0)
    weight.spreads = max(weight.spreads, spreads)


def _count(node: FieldNode, level: int, introspecting: bool, weight: Weight) -> None:
    weight.fields += 1
    weight.aliases += node.alias is not None
    weight.root_fields += level == 0
    if introspecting:
        weight.introspection = max(weight.introspection, level + 1)
    else:
        weight.depth = max(weight.depth, level + 1)
