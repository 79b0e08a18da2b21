"""A connection read as rows, stretch by stretch, instead of as one JSON: what an export asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphql import FieldNode, GraphQLObjectType, OperationDefinitionNode, OperationType, get_named_type
from sqlalchemy import Select, select

from app.auth.queries import is_live
from graphql_schema.planner.arguments import Bind, Symbol, Variables, arguments_of
from graphql_schema.planner.connection_compiler import ConnectionCompiler
from graphql_schema.planner.connections import CONNECTIONS
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import InvalidArgument, NotExportable
from graphql_schema.planner.mapping import Caller, Many, plan_of
from graphql_schema.planner.selection import Selection

if TYPE_CHECKING:
    from graphql_schema.planner.compiler import Compiler

# Read from the variables, under names that GraphQL cannot give: rows of a stretch, and the cursor it lies behind.
SIZE, CURSOR = "$size", "$cursor"
_ADVICE = "Ask for one connection and of it for `nodes` alone, such as `{ tasks { nodes { id title } } }`."


@dataclass(frozen=True, slots=True)
class AskedRows:
    """The one connection of an operation, its arguments, and what is asked of its nodes."""

    name: str
    of: GraphQLObjectType
    plan: Many
    arguments: dict[str, Symbol]
    node: GraphQLObjectType
    fields: list[FieldNode]

    def argument(self, name: str, variables: Variables) -> Any:
        given = self.arguments.get(name)
        return given.read(variables) if isinstance(given, Bind) else None


def asked_rows(
    root: GraphQLObjectType, selection: Selection, operation: OperationDefinitionNode, variables: Variables
) -> AskedRows:
    """Raises NotExportable for any other form, InvalidArgument for reading backward."""
    if operation.operation is not OperationType.QUERY:
        raise NotExportable(f"A {operation.operation.value} cannot be exported. {_ADVICE}")
    nodes = _only(selection.fields(root, [operation.selection_set]), "an operation")
    plan = plan_of(root, nodes[0])
    if not isinstance(plan, Many):
        raise NotExportable(f"'{nodes[0].name.value}' is not a connection of the query's root. {_ADVICE}")
    definition = root.fields[nodes[0].name.value]
    of = _object(definition.type)
    fields = _only(selection.below(of, nodes), "the connection")
    if fields[0].name.value != "nodes":
        raise NotExportable(f"'{fields[0].name.value}' of a connection cannot be exported. {_ADVICE}")
    arguments = arguments_of(definition, nodes[0], variables)
    for name in ("last", "before"):
        if arguments.get(name) is not None:
            raise InvalidArgument(name, "an export reads forward; turn the order round with orderBy")
    return AskedRows(nodes[0].name.value, of, plan, arguments, _object(of.fields["nodes"].type), fields)


def rows_statement(compiler: Compiler, asked: AskedRows, cost: Cost, *, onward: bool) -> Select[Any]:
    """Whether the key lives, and of each row its cursor and its JSON. Without rows there is one, of nulls."""
    compiler.permit(asked.plan.needs)
    arguments = {name: value for name, value in asked.arguments.items() if name in ("where", "orderBy")}
    arguments["first"] = Bind(lambda variables: variables[SIZE])
    if onward:
        arguments["after"] = Bind(lambda variables: variables[CURSOR])
    each = cost.add(own=0, times=lambda variables: variables[SIZE], each=1)
    connection = ConnectionCompiler(compiler, CONNECTIONS[asked.of.name], asked.of, arguments, asked.plan, None, None)
    rows = connection.rows(asked.fields, each).subquery()
    live = select(is_live(Caller.key_id).label("live")).subquery()
    return select(live.c.live, rows.c.cursor, rows.c.body).select_from(live.outerjoin(rows, live.c.live))


def _only(selected: dict[str, list[FieldNode]], of: str) -> list[FieldNode]:
    if len(selected) != 1:
        names = ", ".join(f"'{key}'" for key in list(selected)[:10])
        raise NotExportable(f"An export takes one field of {of}, not {len(selected)} ({names or 'none'}). {_ADVICE}")
    return next(iter(selected.values()))


def _object(of: Any) -> GraphQLObjectType:
    named = get_named_type(of)
    assert isinstance(named, GraphQLObjectType)
    return named
