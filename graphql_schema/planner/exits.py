"""The second exit: planned rows feed ordinary execution, where some field of the operation needs Python.

Rows arrive as the JSON that Postgres built, keyed by response key, so a resolver of a planned field is one look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from graphql import (
    GraphQLAbstractType,
    GraphQLEnumType,
    GraphQLField,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    get_named_type,
    is_list_type,
)
from strawberry.dataloader import DataLoader

from graphql_schema.planner.connections import VIRTUAL
from graphql_schema.planner.mapping import MAPS, PLAN, ROOT_PLANS, Entity, Python

Resolver = Callable[..., Any]
Info = GraphQLResolveInfo[Any]


def install(schema: GraphQLSchema) -> None:
    """Give every planned field of the schema its resolver."""
    for of in schema.type_map.values():
        if isinstance(of, GraphQLObjectType):
            _install_on(schema, of)
        elif isinstance(of, GraphQLAbstractType):
            of.resolve_type = _by_hidden_type(of.resolve_type)


def _install_on(schema: GraphQLSchema, of: GraphQLObjectType) -> None:
    planned_type = of.name in MAPS or of.name in VIRTUAL
    if planned_type:
        of.is_type_of = None  # rows are plain mappings
    for name, field in of.fields.items():
        definition = field.extensions.get("strawberry-definition")
        plan = definition.metadata.get(PLAN) if definition else None
        if of.name in MAPS and plan is None:
            raise TypeError(f"{of}.{name}: a field of a mapped type is declared with column, one, many, … or python")
        if isinstance(plan, Entity):
            field.resolve = _entity_resolver(definition.python_name)
        elif of is schema.query_type and isinstance(plan, ROOT_PLANS):
            field.resolve = _resolve_root
        elif of is schema.subscription_type:
            field.resolve = _event_itself
        elif planned_type and not isinstance(plan, Python):
            field.resolve = _row_resolver(field)


def _row_resolver(field: GraphQLField) -> Resolver:
    named = get_named_type(field.type)
    if not isinstance(named, GraphQLEnumType):
        return lambda source, info, **_: source[info.path.key]
    values = {name: value.value for name, value in named.values.items()}

    def resolve(source: Any, info: Info, **_: Any) -> Any:
        found = source[info.path.key]
        return [values[name] for name in found] if is_list_type(field.type) else found and values[found]

    return resolve


def _event_itself(source: Any, info: Info, **_: Any) -> Any:
    return source


async def _resolve_root(source: Any, info: Info, **_: Any) -> Any:
    context = info.context
    planner, principal = context.services.planner, context.principal
    plan = planner.field(
        context.document, field_path(info), info.parent_type, info.field_nodes, context.variables, principal.role
    )
    body = await planner.run(plan, principal, context.variables)
    await context.take_in(body)
    return orjson.loads(body)["value"]


def _entity_resolver(name: str) -> Resolver:
    async def resolve(source: Any, info: Info, **_: Any) -> Any:
        key = getattr(source, name)
        if key is None:
            return None
        key = key if isinstance(key, UUID) else UUID(key)
        path = field_path(info)
        fields = tuple(step for step in path if not isinstance(step, int))
        if fields == path:
            return (await _entities(info, path, [key]))[0]
        # In a list, all that the operation asks for at this place is read by one statement.
        loaders = info.context.loaders
        if fields not in loaders:
            loaders[fields] = DataLoader(partial(_entities, info, fields))
        return await loaders[fields].load(key)

    return resolve


async def _entities(info: Info, path: tuple[Hashable, ...], keys: list[UUID]) -> list[Any]:
    context = info.context
    planner, principal, variables = context.services.planner, context.principal, context.variables
    of = get_named_type(info.return_type)
    plan = planner.entities(context.document, path, of, info.field_nodes, variables, principal.role, feed=True)
    found = await planner.read(plan, principal, variables, keys)
    await context.take_in(*found.values())
    return [orjson.loads(found[key]) if key in found else None for key in keys]


def _by_hidden_type(original: Any) -> Any:
    def resolve(value: Any, info: Info, of: GraphQLAbstractType) -> Any:
        return value["$type"] if isinstance(value, dict) else original(value, info, of)

    return resolve


def field_path(info: Info) -> tuple[Hashable, ...]:
    """One document may hold several operations with the same response keys."""
    return (info.operation.name.value if info.operation.name else None, *info.path.as_list())
