"""Compiled statements and their cache."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
from graphql import FieldNode, GraphQLObjectType, GraphQLSchema
from sqlalchemy import Select, Uuid, any_, bindparam, case, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import asyncpg as asyncpg_dialect

from app.auth.principal import Principal
from app.auth.queries import DEAD_KEY, is_live
from app.auth.roles import Role
from app.db.engine import Database
from app.errors import Unauthenticated, Unavailable
from graphql_schema.answer import Document
from graphql_schema.planner.arguments import Variables, shape
from graphql_schema.planner.compiler import Compiler
from graphql_schema.planner.cost import Cost
from graphql_schema.planner.errors import NotPlanned
from graphql_schema.planner.mapping import Caller, is_planned_root
from graphql_schema.planner.selection import Selection
from graphql_schema.planner.sql import Pairs, json_object

MOST_PLANS = 64  # per document: shapes of its variables times roles
_DIALECT = asyncpg_dialect.dialect()
_ENTITY = "entity_ids"
Reader = Callable[[Principal, Variables, Any], Any]


@dataclass(slots=True)
class Plan:
    """One statement, how its parameters are read, and what it may cost."""

    sql: str
    readers: list[Reader]
    cost: Cost

    def arguments(self, principal: Principal, variables: Variables, entities: Any = None) -> list[Any]:
        return [read(principal, variables, entities) for read in self.readers]


class Planner:
    """Plans operations, fields and entities, each once per document, role and shape of the variables."""

    def __init__(self, schema: GraphQLSchema, database: Database) -> None:
        self._schema = schema
        self._database = database

    def operation(self, document: Document, name: str | None, variables: Variables, role: Role) -> Plan | None:
        """The statement that answers a whole query; None when some field of it needs Python."""

        def compile_() -> Plan:
            compiler = self._compiler(document, variables, role, feed=False)
            of, node, cost = self._schema.query_type, document.operations[name], Cost()
            assert of is not None
            fields = compiler.selection.fields(of, [node.selection_set])
            pairs = [(key, compiler.field(of, nodes, None, None, cost)) for key, nodes in fields.items()]
            return _guarded(compiler, pairs, cost)

        return self._cached(document, ("operation", name), variables, role, compile_)

    def field(
        self, document: Document, path: Hashable, of: GraphQLObjectType, nodes: list[FieldNode], variables: Variables, role: Role
    ) -> Plan:
        """The statement that answers one root field of an operation that also needs Python."""

        def compile_() -> Plan:
            compiler, cost = self._compiler(document, variables, role, feed=True), Cost()
            return _guarded(compiler, [("value", compiler.field(of, nodes, None, None, cost))], cost)

        return self._planned(document, ("field", path), variables, role, compile_)

    def cost_of_fields(self, document: Document, name: str | None, variables: Variables, role: Role) -> int:
        """What the planned root fields of an operation may cost together; refuses what cannot be planned as asked."""
        of, selection = self._schema.query_type, Selection(self._schema, document.ast, variables)
        assert of is not None
        total = 0
        for key, nodes in selection.fields(of, [document.operations[name].selection_set]).items():
            if is_planned_root(of, nodes[0]):
                total += self.field(document, (key,), of, nodes, variables, role).cost.total(variables)
            else:
                total += 1
        return total

    def entities(
        self, document: Document, path: Hashable, of: GraphQLObjectType, nodes: list[FieldNode], variables: Variables, role: Role, *, feed: bool, guarded: bool = True
    ) -> Plan:
        """The statement that reads nodes of one type by their keys: rows of key and JSON.

        Streams are not guarded: one stream serves many keys, and each key is watched by itself.
        """

        def compile_() -> Plan:
            compiler, cost = self._compiler(document, variables, role, feed=feed), Cost(own=1)
            _, alias, columns, scope = compiler.child(of.name)
            body = compiler.object(of, nodes, columns, alias, cost)
            keys = bindparam(_ENTITY, type_=ARRAY(Uuid()))
            statement = select(columns.id, body).select_from(alias).where(scope, columns.id == any_(keys))
            return _plan(compiler, statement.where(is_live(Caller.key_id)) if guarded else statement, cost)

        plan = self._cached(document, ("entities", path, feed), variables, role, compile_)
        if plan is None:
            raise NotPlanned
        return plan

    async def run(self, plan: Plan, principal: Principal, variables: Variables) -> bytes:
        """The JSON of a planned operation or field; raises Unauthenticated when the key died."""
        answer = await _timely(self._database.fetchval(plan.sql, *plan.arguments(principal, variables)))
        if answer is None:
            raise Unauthenticated(DEAD_KEY)
        found: bytes = answer
        return found

    async def read(self, plan: Plan, principal: Principal, variables: Variables, keys: list[UUID]) -> dict[UUID, bytes]:
        rows = await _timely(self._database.fetch(plan.sql, *plan.arguments(principal, variables, keys)))
        return {row[0]: row[1] for row in rows}

    def _compiler(self, document: Document, variables: Variables, role: Role, *, feed: bool) -> Compiler:
        selection = Selection(self._schema, document.ast, variables)
        return Compiler(self._schema, selection, variables, role, feed=feed)

    def _planned(
        self, document: Document, name: Hashable, variables: Variables, role: Role, compile_: Callable[[], Plan]
    ) -> Plan:
        plan = self._cached(document, name, variables, role, compile_)
        assert plan is not None, "a planned field can always be planned"
        return plan

    def _cached(
        self, document: Document, name: Hashable, variables: Variables, role: Role, compile_: Callable[[], Plan]
    ) -> Plan | None:
        key = (name, role, shape(variables) if variables else None)
        plans = document.plans
        try:
            return plans[key]
        except KeyError:
            pass
        try:
            plan: Plan | None = compile_()
        except NotPlanned:
            plan = None
        if len(plans) >= MOST_PLANS:
            plans.pop(next(iter(plans)))
        plans[key] = plan
        return plan


def _guarded(compiler: Compiler, pairs: Pairs, cost: Cost) -> Plan:
    """The statement gives null for a key that is revoked or expired: revocation needs no second round trip."""
    return _plan(compiler, select(case((is_live(Caller.key_id), json_object(pairs)))), cost)


def _plan(compiler: Compiler, statement: Select[Any], cost: Cost) -> Plan:
    compiled = statement.compile(dialect=_DIALECT)
    readers = [_reader(name, compiler, compiled.params) for name in compiled.positiontup or ()]
    return Plan(str(compiled), readers, cost)


def _reader(name: str, compiler: Compiler, constants: Mapping[str, Any]) -> Reader:
    match name:
        case "caller_team_id":
            return lambda principal, variables, entities: principal.team_id
        case "caller_key_id":
            return lambda principal, variables, entities: principal.key_id
        case "caller_agent_id":
            return lambda principal, variables, entities: principal.agent_id
        case "entity_ids":
            return lambda principal, variables, entities: entities
    if name not in compiler.parameters.readers:  # a constant in a mapping's expression
        value = constants[name]
        return lambda principal, variables, entities: value
    bind, convert = compiler.parameters.readers[name]
    return lambda principal, variables, entities: convert(bind.read(variables))


async def _timely(reading: Any) -> Any:
    try:
        return await reading
    except asyncpg.QueryCanceledError:
        raise Unavailable("The database took too long for this operation. Ask for less, or add a filter.") from None
