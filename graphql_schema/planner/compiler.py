"""Turns the selection of an operation into one SQL statement whose JSON is the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from graphql import (
    FieldNode,
    GraphQLAbstractType,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    get_named_type,
)
from sqlalchemy import (
    ColumnElement,
    DateTime,
    FromClause,
    Select,
    String,
    Text,
    Uuid,
    bindparam,
    func,
    literal_column,
    null,
    select,
)
from sqlalchemy import Integer as SqlInteger
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.types import Double, TypeEngine
from strawberry.utils.str_converters import to_snake_case

from app.auth.roles import Permission, Role, allowed, roles_with
from app.errors import Forbidden
from app.ids import Prefix, from_global, parse_global
from graphql_schema.planner.arguments import Bind, Symbol, Variables, arguments_of, storable
from graphql_schema.planner.connection_compiler import ConnectionCompiler
from graphql_schema.planner.connections import CONNECTIONS
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import InvalidArgument, NotPlanned
from graphql_schema.planner.limits import TABLE_PARTS, PlanLimits, PlanSize
from graphql_schema.planner.mapping import (
    MAPS,
    AnyNode,
    Column,
    Derived,
    Embedded,
    Expression,
    Listing,
    Many,
    One,
    Python,
    TypeMap,
    plan_of,
)
from graphql_schema.planner.selection import Selection
from graphql_schema.planner.sql import Pairs, json_list, json_object, rendered, word
from graphql_schema.scalars import moment_to_datetime

MOST_IDS = 100
Converter = Callable[[Any], Any]
_SQL_TYPES: dict[str, TypeEngine[Any]] = {"Int": SqlInteger(), "Float": Double()}


def identity(value: Any) -> Any:
    return value


class Parameters:
    """The values that a statement reads when it runs, by the names of its parameters."""

    def __init__(self) -> None:
        self.readers: dict[str, tuple[Bind, Converter]] = {}

    def add(self, bind: Bind, sql_type: TypeEngine[Any], convert: Converter = identity) -> ColumnElement[Any]:
        name = f"p{len(self.readers)}"
        self.readers[name] = (bind, convert)
        return bindparam(name, type_=sql_type)


class Compiler:
    """Compiles for one role and one shape of the variables.

    `feed` adds, under names that GraphQL cannot ask for, what Python resolvers of the same operation need; without
    it a field that needs Python raises NotPlanned. LimitExceeded ends the compiling of a plan that is too large.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        selection: Selection,
        variables: Variables,
        role: Role,
        limits: PlanLimits,
        *,
        feed: bool,
    ) -> None:
        self.schema, self.selection, self.variables, self.role, self.feed = schema, selection, variables, role, feed
        self.parameters, self.size = Parameters(), PlanSize(limits)

    def object(
        self, of: GraphQLObjectType, nodes: list[FieldNode], row: Any, source: FromClause | None, cost: Cost
    ) -> ColumnElement[Any]:
        pairs: Pairs = [(key, self.field(of, field, row, source, cost)) for key, field in self._wanted(of, nodes)]
        cost.values += len(pairs)
        if self.feed:
            pairs += self._hidden(of, nodes, row, cost)
        return json_object(pairs)

    def _wanted(self, of: GraphQLObjectType, nodes: list[FieldNode]) -> list[tuple[str, list[FieldNode]]]:
        selected = self.selection.below(of, nodes)
        return [(key, field) for key, field in selected.items() if not (self.feed and self._is_python(of, field[0]))]

    def _hidden(self, of: GraphQLObjectType, nodes: list[FieldNode], row: Any, cost: Cost) -> Pairs:
        """The object's type, and the columns that its Python fields require."""
        pairs: Pairs = [("$type", word(of.name))]
        required = {}
        for field in self.selection.below(of, nodes).values():
            plan = plan_of(of, field[0])
            if isinstance(plan, Python):
                self.permit(plan.needs)
                cost.add(own=plan.cost)
                required.update(dict.fromkeys(plan.requires))
        return pairs + [(f"${name}", row[name]) for name in required]

    def _is_python(self, of: GraphQLObjectType, node: FieldNode) -> bool:
        return isinstance(plan_of(of, node), Python)

    def field(
        self, of: GraphQLObjectType, nodes: list[FieldNode], row: Any, source: FromClause | None, cost: Cost
    ) -> ColumnElement[Any]:
        """The SQL of one field of a row; `source` is the row's FROM, which sub-selects correlate to."""
        node = nodes[0]
        self.size.add()
        if node.name.value == "__typename":
            return word(of.name)
        definition = of.fields.get(node.name.value)
        plan = plan_of(of, node)
        if definition is None or plan is None or isinstance(plan, Python):
            raise NotPlanned(f"{of.name}.{node.name.value}")
        if not isinstance(plan, Embedded | AnyNode):
            self.permit(plan.needs)
        match plan:
            case Column():
                column = row[plan.name or self._python_name(definition)]
                return rendered(column, definition.type, plan.prefix or self._own_prefix(of, column))
            case Expression():
                return plan.build(row)
            case Embedded():
                return self.object(self._object_type(definition), nodes, row, source, cost)
            case Derived():
                return self._derived(definition, nodes, plan, row, source, cost.add(own=plan.cost))
            case One():
                return self._one(definition, nodes, plan, row, source, cost.add())
            case Listing():
                return self._listing(definition, nodes, plan, row, source, cost)
            case Many():
                return self._many(definition, nodes, plan, row, source, cost)
            case AnyNode():
                return self._nodes(definition, nodes, cost) if plan.many else self._node(definition, nodes, cost.add())
        raise NotPlanned

    def permit(self, permission: Permission | None) -> None:
        if permission is not None and not allowed(self.role, permission):
            roles = roles_with(permission)
            raise Forbidden(
                f"A key with role {self.role.value} may not {permission.value}. "
                f"Use a key with one of these roles: {', '.join(role.value for role in roles)}.",
                permission=permission.name,
                roles=[role.name for role in roles],
            )

    def child(self, name: str) -> tuple[TypeMap, FromClause, Any, ColumnElement[bool]]:
        """A fresh alias of a mapped type's table and the condition that keeps it inside the caller's team.

        Every table enters a statement here, so a query cannot forget the team.
        """
        mapping = MAPS[name]
        assert mapping.table is not None
        assert mapping.scope is not None
        self.permit(mapping.needs)
        self.size.add(TABLE_PARTS)
        alias = mapping.table.alias()
        return mapping, alias, alias.c, mapping.scope(alias.c)

    def arguments(self, definition: GraphQLField, node: FieldNode) -> dict[str, Symbol]:
        return arguments_of(definition, node, self.variables)

    def _python_name(self, definition: GraphQLField) -> str:
        return str(definition.extensions["strawberry-definition"].python_name)

    def _own_prefix(self, of: GraphQLObjectType, column: Any) -> Prefix | None:
        mapping = MAPS.get(of.name)
        return mapping.prefix if mapping and column.key == "id" else None

    def _object_type(self, definition: GraphQLField) -> GraphQLObjectType:
        named = get_named_type(definition.type)
        assert isinstance(named, GraphQLObjectType)
        return named

    def _derived(
        self,
        definition: GraphQLField,
        nodes: list[FieldNode],
        plan: Derived,
        row: Any,
        source: FromClause | None,
        cost: Cost,
    ) -> ColumnElement[Any]:
        values = {
            to_snake_case(name): self._argument(definition, name, value, None, plan.checks.get(name, identity))
            for name, value in self.arguments(definition, nodes[0]).items()
        }
        statement = plan.build(row, **values)
        found = (statement.correlate(source) if source is not None else statement).subquery()
        body = self.object(self._object_type(definition), nodes, found.c, found, cost)
        return select(body).select_from(found).scalar_subquery()

    def _one(
        self,
        definition: GraphQLField,
        nodes: list[FieldNode],
        plan: One,
        row: Any,
        source: FromClause | None,
        cost: Cost,
    ) -> ColumnElement[Any]:
        of = self._object_type(definition)
        mapping, alias, columns, scope = self.child(of.name)
        values = {
            to_snake_case(name): self._argument(definition, name, value, mapping.prefix)
            for name, value in self.arguments(definition, nodes[0]).items()
        }
        body = self.object(of, nodes, columns, alias, cost)
        statement = select(body).select_from(alias).where(scope, plan.on(row, columns, **values))
        return _correlated(statement, source)

    def _argument(
        self,
        definition: GraphQLField,
        name: str,
        value: Symbol,
        prefix: Prefix | None,
        check: Converter = identity,
    ) -> Any:
        if not isinstance(value, Bind):
            return value
        named = get_named_type(definition.args[name].type)
        assert isinstance(named, GraphQLScalarType)
        if named.name == "ID":
            assert prefix is not None
            return self.parameters.add(value, Uuid(), lambda text: from_global(prefix, storable(text, name), path=name))
        if named.name == "String":
            return self.parameters.add(value, Text(), lambda text: storable(text, name))
        if named.name == "Moment":
            return self.parameters.add(value, DateTime(timezone=True), lambda at: check(moment_to_datetime(at)))
        return self.parameters.add(value, _SQL_TYPES[named.name], check)

    def _listing(
        self,
        definition: GraphQLField,
        nodes: list[FieldNode],
        plan: Listing,
        row: Any,
        source: FromClause | None,
        cost: Cost,
    ) -> ColumnElement[Any]:
        of = self._object_type(definition)
        _, alias, columns, scope = self.child(of.name)
        # Such lists are short as a rule; what hangs on their rows is counted for as many as there may be.
        inner_cost = cost.add(own=plan.most // 10, times=lambda _: plan.most)
        page = (
            select(alias)
            .where(scope, plan.on(row, columns))
            .order_by(columns[plan.order] if isinstance(plan.order, str) else plan.order(row, columns))
            .limit(literal_column(str(plan.most)))
        )
        if source is not None:
            page = page.correlate(source)
        rows = page.subquery()
        body = self.object(of, nodes, rows.c, rows, inner_cost)
        return select(json_list(body)).select_from(rows).scalar_subquery()

    def _many(
        self,
        definition: GraphQLField,
        nodes: list[FieldNode],
        plan: Many,
        row: Any,
        source: FromClause | None,
        cost: Cost,
    ) -> ColumnElement[Any]:
        of = self._object_type(definition)
        arguments = self.arguments(definition, nodes[0])
        return ConnectionCompiler(self, CONNECTIONS[of.name], of, arguments, plan, row, source).compile(nodes, cost)

    def _node(self, definition: GraphQLField, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        bind = self.arguments(definition, nodes[0])["id"]
        named = {parse_global(storable(bind.read(self.variables), "id"))[0]}
        prefix = self.parameters.add(bind, String(), lambda text: parse_global(storable(text, "id"))[0].value)
        key = self.parameters.add(bind, Uuid(), lambda text: parse_global(storable(text, "id"))[1])
        return self._of_types(named, definition, nodes, prefix, key, None, cost)

    def _nodes(self, definition: GraphQLField, nodes: list[FieldNode], cost: Cost) -> ColumnElement[Any]:
        bind = self.arguments(definition, nodes[0])["ids"]
        if not isinstance(bind, Bind):  # an empty list
            return literal_column("'[]'::json")

        prefixes = self.parameters.add(bind, ARRAY(String()), lambda texts: [p.value for p, _ in _parsed(texts)])
        keys = self.parameters.add(bind, ARRAY(Uuid()), lambda texts: [key for _, key in _parsed(texts)])
        wanted = func.unnest(prefixes, keys).table_valued("prefix", "key", with_ordinality="place").render_derived()
        named = {prefix for prefix, _ in _parsed(bind.read(self.variables))}
        inner = cost.add(own=0, times=lambda variables: len(_bounded(bind.read(variables))), each=1)
        item = self._of_types(named, definition, nodes, wanted.c.prefix, wanted.c.key, wanted, inner)
        ordered = func.json_agg(aggregate_order_by(item, wanted.c.place))
        return select(func.coalesce(ordered, literal_column("'[]'::json"))).select_from(wanted).scalar_subquery()

    def _of_types(
        self,
        named: set[Prefix],
        definition: GraphQLField,
        nodes: list[FieldNode],
        prefix: ColumnElement[Any],
        key: ColumnElement[Any],
        source: FromClause | None,
        cost: Cost,
    ) -> ColumnElement[Any]:
        """The node with this key among the types that the ids name and this role may read.

        Which types the ids name is part of the plan's key in the cache.
        """
        abstract = get_named_type(definition.type)
        assert isinstance(abstract, GraphQLInterfaceType)
        options = []
        for of in self._possible(abstract, named):
            mapping, alias, columns, scope = self.child(of.name)
            assert mapping.prefix is not None
            body = self.object(of, nodes, columns, alias, cost)
            statement = select(body).select_from(alias).where(scope, columns.id == key, prefix == word(mapping.prefix))
            options.append(_correlated(statement, source))
        return func.coalesce(*options, null())

    def _possible(self, abstract: GraphQLAbstractType, named: set[Prefix]) -> list[GraphQLObjectType]:
        found = []
        for of in self.schema.get_possible_types(abstract):
            mapping = MAPS[of.name]
            permissions = (mapping.needs, mapping.node_needs)
            if mapping.prefix in named and all(needs is None or allowed(self.role, needs) for needs in permissions):
                found.append(of)
        return found


def _bounded(texts: list[str]) -> list[str]:
    if len(texts) > MOST_IDS:
        raise InvalidArgument("ids", f"takes at most {MOST_IDS} ids, not {len(texts)}")
    return texts


def _parsed(texts: list[str]) -> list[tuple[Prefix, UUID]]:
    return [parse_global(storable(text, "ids"), path=f"ids.{at}") for at, text in enumerate(_bounded(texts))]


def _correlated(statement: Select[Any], source: FromClause | None) -> ColumnElement[Any]:
    return (statement.correlate(source) if source is not None else statement).scalar_subquery()
