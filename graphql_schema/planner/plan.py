"""Compiled statements: what each may cost, how its parameters are read, and who runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import asyncpg
from graphql import FieldNode, GraphQLField, GraphQLObjectType, GraphQLSchema
from sqlalchemy import ColumnElement, Select, Uuid, any_, bindparam, case, func, literal_column, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import asyncpg as asyncpg_dialect

from app.auth.principal import Principal
from app.auth.queries import DEAD_KEY, is_live
from app.auth.roles import Role, allowed
from app.config import environment_name
from app.db.engine import Database
from app.errors import TookTooLong, Unauthenticated
from graphql_schema.answer import Document
from graphql_schema.planner.arguments import Variables, arguments_of, shape
from graphql_schema.planner.cache import PlanCache
from graphql_schema.planner.compiler import Compiler
from graphql_schema.planner.connections import CONNECTIONS
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import InvalidArgument, NotPlanned, TooCostly
from graphql_schema.planner.filter_compiler import FilterCompiler
from graphql_schema.planner.introspection import (
    MAX_VALUES_BESIDE_OTHERS,
    META_FIELDS,
    Introspected,
    IntrospectionRenderer,
)
from graphql_schema.planner.limits import (
    MAX_ARGUMENT_CHARS,
    PlanLimits,
    answer_too_large,
    argument_chars,
    arguments_too_large,
    too_many_values,
)
from graphql_schema.planner.mapping import NEEDS, ROOT_PLANS, Caller, Python, plan_of
from graphql_schema.planner.node_ids import named_types
from graphql_schema.planner.payloads import payload_entities
from graphql_schema.planner.rows import AskedRows, asked_rows, rows_statement
from graphql_schema.planner.selection import Selected, Selection
from graphql_schema.planner.sql import Pairs, json_object

T = TypeVar("T")
MUTATION_COST = 10
_DIALECT: Any = asyncpg_dialect.dialect()  # type: ignore[no-untyped-call]
_ENTITY = "entity_ids"
Reader = Callable[[Principal, Variables, Any], Any]


@dataclass(slots=True)
class Plan:
    """One statement, how its parameters are read, and what it may cost."""

    sql: str
    readers: list[Reader]
    values: list[Callable[[Variables], Any]]
    cost: Cost

    @property
    def size(self) -> int:
        """Characters, for the bound of the cache."""
        return len(self.sql)

    def arguments(self, principal: Principal, variables: Variables, entities: Any = None) -> list[Any]:
        """Raises AppError for a value that the operation's types allow and its fields do not."""
        arguments, chars = [], 0
        for read in self.readers:
            value = read(principal, variables, entities)
            if isinstance(value, str | list):
                chars += argument_chars(value)
                if chars > MAX_ARGUMENT_CHARS:
                    raise arguments_too_large(chars)
            arguments.append(value)
        return arguments

    def check(self, variables: Variables) -> None:
        """Raises what `arguments` would raise, before anything runs."""
        chars = 0
        for read in self.values:
            chars += argument_chars(read(variables))
            if chars > MAX_ARGUMENT_CHARS:
                raise arguments_too_large(chars)


class Planner:
    """Plans operations, fields and entities, each once per document, role and shape of the variables."""

    def __init__(
        self,
        schema: GraphQLSchema,
        database: Database,
        cache: PlanCache | None = None,
        limits: PlanLimits | None = None,
    ) -> None:
        self._schema = schema
        self._database = database
        self._cache = cache or PlanCache()
        self.limits = limits or PlanLimits()

    def operation(self, document: Document, name: str | None, variables: Variables, role: Role) -> Plan | None:
        """The statement that answers a whole query; None when some field of it needs Python."""

        def compile_() -> Plan:
            compiler, cost = self._compiler(document, variables, role, feed=False), Cost()
            of = self._query_type
            fields = compiler.selection.fields(of, [document.operations[name].selection_set])
            pairs = [(key, compiler.field(of, nodes, None, None, cost)) for key, nodes in fields.items()]
            return self._guarded(compiler, pairs, cost)

        return self._cached(document, ("operation", name), variables, role, compile_)

    def field(
        self,
        document: Document,
        path: Hashable,
        of: GraphQLObjectType,
        nodes: list[FieldNode],
        variables: Variables,
        role: Role,
    ) -> Plan:
        """The statement that answers one root field of an operation that also needs Python.

        `path` tells it from every other field of the document: the operation's name and the response key.
        """

        def compile_() -> Plan:
            compiler, cost = self._compiler(document, variables, role, feed=True), Cost()
            return self._guarded(compiler, [("value", compiler.field(of, nodes, None, None, cost))], cost)

        return self._planned(document, ("field", path), variables, role, compile_)

    def cost_of_fields(self, document: Document, name: str | None, variables: Variables, role: Role) -> int:
        """What the root fields of an operation may cost together; refuses what cannot be planned as asked."""
        of, selection = self._query_type, Selection(self._schema, document.ast, variables)
        total = 0
        for key, nodes in selection.fields(of, [document.operations[name].selection_set]).items():
            declared = plan_of(of, nodes[0])
            if isinstance(declared, ROOT_PLANS):
                plan = self.field(document, (name, key), of, nodes, variables, role)
                total += plan.cost.total(variables)
                plan.check(variables)
            elif isinstance(declared, Python):
                definition = of.fields[nodes[0].name.value]
                each, _ = self._cost_of_entities(document, (name, key), selection, definition, nodes, variables, role)
                total += declared.cost + _rows(declared, definition, nodes[0], variables) * each
            elif nodes[0].name.value != "__typename":
                total += self._introspected(selection, {key: nodes}, variables, MAX_VALUES_BESIDE_OTHERS).cost
        return total

    def introspection(self, document: Document, name: str | None, variables: Variables) -> Introspected | None:
        """The answer to a query whose root fields are all introspection; None for any other."""
        selection = Selection(self._schema, document.ast, variables)
        selected = selection.fields(self._query_type, [document.operations[name].selection_set])
        names = {nodes[0].name.value for nodes in selected.values()}
        if names.isdisjoint(META_FIELDS) or not names <= {*META_FIELDS, "__typename"}:
            return None
        key = ("introspection", name, repr(sorted(variables.items())))
        answer: Introspected | None = document.plans.get(key)
        if answer is None:
            if _cached_only.get():
                raise NotCached
            answer = self._introspected(selection, selected, variables, self.limits.introspection_values)
            self._cache.put(document.plans, key, answer)
        return answer

    def _introspected(
        self, selection: Selection, selected: Selected, variables: Variables, max_values: int
    ) -> Introspected:
        renderer = IntrospectionRenderer(
            self._schema, selection, variables, max_values=max_values, max_bytes=self.limits.answer_bytes
        )
        return renderer.render(self._query_type, selected)

    def cost_of_payloads(self, document: Document, name: str | None, variables: Variables, role: Role) -> int:
        """What a mutation operation may cost: each of its changes, and what is read of their payloads.

        Refuses what will be refused anyway before anything is changed. A change that the role may not make is left to
        the mutation, which says so as data.
        """
        of, selection = self._schema.mutation_type, Selection(self._schema, document.ast, variables)
        assert of is not None
        total = 0
        for key, nodes in selection.fields(of, [document.operations[name].selection_set]).items():
            total += MUTATION_COST
            definition = of.fields.get(nodes[0].name.value)
            needs = definition.extensions["strawberry-definition"].metadata.get(NEEDS) if definition else None
            if definition is None or (needs is not None and not allowed(role, needs)):
                continue
            cost, values = self._cost_of_entities(document, (name, key), selection, definition, nodes, variables, role)
            total += cost
            if values > self.limits.python_values and total <= self.limits.cost:
                raise too_many_values(values, self.limits.python_values)
        return total

    def _cost_of_entities(
        self,
        document: Document,
        path: tuple[Hashable, ...],
        selection: Selection,
        definition: GraphQLField,
        nodes: list[FieldNode],
        variables: Variables,
        role: Role,
    ) -> tuple[int, int]:
        """Points and values of what is read of the entities that a resolved field gives, for each that it gives."""
        total = values = 0
        for key, entity, asked in payload_entities(self._schema, selection, definition, nodes):
            plan = self.entities(document, (*path, key), entity, asked, variables, role, feed=True)
            plan.check(variables)
            total += plan.cost.total(variables)
            values += plan.cost.total_values(variables)
        return total, values

    def entities(
        self,
        document: Document,
        path: Hashable,
        of: GraphQLObjectType,
        nodes: list[FieldNode],
        variables: Variables,
        role: Role,
        *,
        feed: bool,
    ) -> Plan:
        """The statement that reads nodes of one type by their keys: rows of key and JSON.

        It does not ask whether the caller's key is alive: a payload follows a transaction that did, and a stream
        serves many keys, each watched by itself.
        """

        def compile_() -> Plan:
            compiler, cost = self._compiler(document, variables, role, feed=feed), Cost(own=1)
            _, alias, columns, scope = compiler.child(of.name)
            body = compiler.object(of, nodes, columns, alias, cost)
            keys = bindparam(_ENTITY, type_=ARRAY(Uuid()))
            rows = select(columns.id, body.label("body")).select_from(alias).where(scope, columns.id == any_(keys))
            return _plan(compiler, self._bounded_rows(rows), cost)

        return self._planned(document, ("entities", of.name, path, feed), variables, role, compile_)

    def matching(
        self,
        document: Document,
        path: Hashable,
        name: str,
        definition: GraphQLField,
        node: FieldNode,
        variables: Variables,
        role: Role,
    ) -> Plan:
        """The statement that finds the keys of a type's rows which a field's argument `where` asks for.

        Like `entities`, it does not ask whether the caller's key is alive.
        """

        def compile_() -> Plan:
            compiler = self._compiler(document, variables, role, feed=True)
            _, alias, columns, scope = compiler.child(name)
            where = compiler.arguments(definition, node).get("where") or {}
            filters = FilterCompiler(
                CONNECTIONS[f"{name}Connection"], columns, compiler.parameters.add, compiler.size, compiler.child
            )
            statement = select(columns.id).select_from(alias).where(scope, filters.compile(where))
            return _plan(compiler, statement, Cost())

        return self._planned(document, ("matching", name, path), variables, role, compile_)

    def asked_rows(self, document: Document, name: str | None, variables: Variables) -> AskedRows:
        """The connection that an operation wants to be read as rows; raises NotExportable, InvalidArgument."""
        selection = Selection(self._schema, document.ast, variables)
        return asked_rows(self._query_type, selection, document.operations[name], variables)

    def rows(self, document: Document, name: str | None, variables: Variables, role: Role, *, onward: bool) -> Plan:
        """The statement that reads a stretch of an operation's one connection, for `run_rows`.

        `onward`: from the row behind a cursor. Raises NotPlanned with the field that needs Python.
        """

        def compile_() -> Plan:
            compiler, cost = self._compiler(document, variables, role, feed=False), Cost()
            asked = asked_rows(self._query_type, compiler.selection, document.operations[name], variables)
            return _plan(compiler, self._bounded_rows(rows_statement(compiler, asked, cost, onward=onward)), cost)

        plan = self._cached(document, ("rows", name, onward), variables, role, compile_)
        return compile_() if plan is None else plan  # which raises again, with the field

    async def run_rows(self, plan: Plan, principal: Principal, variables: Variables) -> list[tuple[str, bytes]]:
        """Cursor and JSON of each row; `variables` also hold SIZE and CURSOR.

        Raises Unauthenticated, TookTooLong, and LimitExceeded when the rows are too large together.
        """
        rows = await self._timely(self._database.fetch(plan.sql, *plan.arguments(principal, variables)))
        if not rows[0][0]:
            raise Unauthenticated(DEAD_KEY)
        return [(cursor, self._bounded(body, size)) for _, cursor, body, size in rows if cursor is not None]

    async def run(self, plan: Plan, principal: Principal, variables: Variables) -> bytes:
        """The JSON of a planned operation or field; raises Unauthenticated when the key died, LimitExceeded."""
        rows = await self._timely(self._database.fetch(plan.sql, *plan.arguments(principal, variables)))
        body, size = rows[0]
        if size is None:
            raise Unauthenticated(DEAD_KEY)
        return self._bounded(body, size)

    async def read(self, plan: Plan, principal: Principal, variables: Variables, keys: list[UUID]) -> dict[UUID, bytes]:
        """The JSON of each entity that exists, by its key; raises LimitExceeded when they are too large together."""
        rows = await self._timely(self._database.fetch(plan.sql, *plan.arguments(principal, variables, keys)))
        return {key: self._bounded(body, size) for key, body, size in rows}

    def _bounded(self, body: bytes | None, size: int) -> bytes:
        if body is None:
            raise answer_too_large(size, self.limits.answer_bytes)
        return body

    def _guarded(self, compiler: Compiler, pairs: Pairs, cost: Cost) -> Plan:
        """The statement gives the answer and its size in bytes.

        Both are null for a key that is revoked or expired: revocation needs no second round trip. An answer that is too
        large is null, too: it must not reach this process.
        """
        answer = case((is_live(Caller.key_id), json_object(pairs)))
        # The offset keeps Postgres from computing the answer once for its size and once more for itself.
        made = select(answer.label("body")).offset(literal_column("0")).subquery()
        size: ColumnElement[Any] = func.pg_column_size(made.c.body)
        self._check_cost(compiler, cost)
        return _plan(compiler, select(self._if_small(size, made.c.body), size), cost)

    def _bounded_rows(self, rows: Select[Any]) -> Select[Any]:
        """Rows whose last column is `body`, with the size of all bodies together; too large ones are null."""
        made = rows.offset(literal_column("0")).subquery()
        size: ColumnElement[Any] = func.sum(func.pg_column_size(made.c.body)).over()
        sized = select(*made.c, size.label("size")).subquery()
        others = [column for column in sized.c if column.key not in ("body", "size")]
        return select(*others, self._if_small(sized.c.size, sized.c.body), sized.c.size)

    def _if_small(self, size: ColumnElement[Any], body: ColumnElement[Any]) -> ColumnElement[Any]:
        return case((size <= literal_column(str(self.limits.answer_bytes)), body))

    def _check_cost(self, compiler: Compiler, cost: Cost) -> None:
        """Refuses before SQLAlchemy writes the statement, which takes longest."""
        total = cost.total(compiler.variables)
        if total > self.limits.cost:
            raise TooCostly(total, self.limits.cost)

    async def _timely(self, reading: Awaitable[T]) -> T:
        try:
            return await reading
        except asyncpg.QueryCanceledError:
            raise TookTooLong(
                "The database took too long for this operation. Ask for less, or add a filter.",
                limit="readTimeoutMs",
                setting=environment_name("read_timeout_ms"),
            ) from None

    @property
    def _query_type(self) -> GraphQLObjectType:
        assert self._schema.query_type is not None
        return self._schema.query_type

    def _compiler(self, document: Document, variables: Variables, role: Role, *, feed: bool) -> Compiler:
        selection = Selection(self._schema, document.ast, variables)
        return Compiler(self._schema, selection, variables, role, self.limits, feed=feed)

    def _planned(
        self, document: Document, name: Hashable, variables: Variables, role: Role, compile_: Callable[[], Plan]
    ) -> Plan:
        plan = self._cached(document, name, variables, role, compile_)
        if plan is None:
            raise NotPlanned
        return plan

    def _cached(
        self, document: Document, name: Hashable, variables: Variables, role: Role, compile_: Callable[[], Plan]
    ) -> Plan | None:
        key = (name, role, (shape(variables), named_types(document, variables)) if variables else None)
        plan: Plan | None
        try:
            plan = document.plans[key]
        except KeyError:
            if _cached_only.get():
                raise NotCached from None
            plan = _compiled(compile_)
            self._cache.put(document.plans, key, plan)
        return plan


class NotCached(Exception):
    """A plan must be compiled, which `only_cached` does not allow."""


_cached_only: ContextVar[bool] = ContextVar("cached_only", default=False)


class only_cached:
    """Within it, a planner raises NotCached instead of compiling a plan. Every request passes here."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _cached_only.set(True)

    def __exit__(self, *_: object) -> None:
        _cached_only.reset(self._token)


def _compiled(compile_: Callable[[], Plan]) -> Plan | None:
    try:
        return compile_()
    except NotPlanned:
        return None


def _rows(declared: Python, definition: GraphQLField, node: FieldNode, variables: Variables) -> int:
    first = arguments_of(definition, node, variables).get("first")
    if first is None:
        return declared.most
    asked: int = first.read(variables)
    if not 1 <= asked <= declared.most:
        raise InvalidArgument("first", f"must be 1 to {declared.most}, not {asked}")
    return asked


def _plan(compiler: Compiler, statement: Select[Any], cost: Cost) -> Plan:
    compiled = statement.compile(dialect=_DIALECT)
    readers, values = [], []
    for name in compiled.positiontup or ():
        if name in _CALLER:
            readers.append(_CALLER[name])
        elif name in compiler.parameters.readers:
            values.append(_value(*compiler.parameters.readers[name]))
            readers.append(_of_variables(values[-1]))
        else:  # a constant in a mapping's expression
            readers.append(_constant(compiled.params[name]))
    return Plan(str(compiled), readers, values, cost)


_CALLER: dict[str, Reader] = {
    "caller_team_id": lambda principal, variables, entities: principal.team_id,
    "caller_key_id": lambda principal, variables, entities: principal.key_id,
    "caller_agent_id": lambda principal, variables, entities: principal.agent_id,
    _ENTITY: lambda principal, variables, entities: entities,
}


def _value(bind: Any, convert: Callable[[Any], Any]) -> Callable[[Variables], Any]:
    return lambda variables: convert(bind.read(variables))


def _of_variables(read: Callable[[Variables], Any]) -> Reader:
    return lambda principal, variables, entities: read(variables)


def _constant(value: Any) -> Reader:
    return lambda principal, variables, entities: value
