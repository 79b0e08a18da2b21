"""Runs operations: one planned statement where SQL can answer all of it, graphql-core where some field needs Python."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import ExecutionResult, GraphQLSchema, OperationType, execute
from graphql.execution.values import get_variable_values

from app.auth.principal import Principal
from app.auth.queries import DEAD_KEY
from app.errors import AppError, Unauthenticated
from graphql_schema.answer import Answer, Operation
from graphql_schema.context import Context, Services
from graphql_schema.errors import formatted, masked, refused
from graphql_schema.mutations import MUTATION_COST
from graphql_schema.planner.errors import TooCostly
from graphql_schema.planner.plan import Plan

_LIVE = (
    "select exists (select from api_key where id = $1 and revoked_at is null "
    "and (expires_at is null or expires_at > now()))"
)


class BadVariables(AppError):
    code = "BAD_VARIABLES"


@dataclass(slots=True)
class Prepared:
    """An operation ready to run: its variables coerced, its plan found, its cost known."""

    variables: dict[str, Any]
    plan: Plan | None
    cost: int


class Executor:
    """Answers queries and mutations. Never raises; refusals and bugs become answers."""

    def __init__(self, core: GraphQLSchema, services: Services) -> None:
        self.core = core
        self._services = services

    def cost(self, operation: Operation, principal: Principal) -> int:
        """What the operation may cost in points; raises AppError when it cannot run at all."""
        if operation.prepared is None:
            operation.prepared = self._prepare(operation, principal)
        cost: int = operation.prepared.cost
        return cost

    async def execute(self, operation: Operation, principal: Principal) -> Answer:
        try:
            cost = self.cost(operation, principal)
            prepared: Prepared = operation.prepared
            if prepared.plan is not None:
                data = await self._services.planner.run(prepared.plan, principal, prepared.variables)
                return Answer(b'{"data":' + data + b"}", cost=cost)
            return await self._execute_in_python(operation, prepared, principal)
        except AppError as error:
            return refused(error)
        except Exception as error:
            message, extensions = masked(error)
            body = orjson.dumps({"data": None, "errors": [{"message": message, "extensions": extensions}]})
            return Answer(body, status=500)

    async def stream(self, operation: Operation, principal: Principal) -> AsyncIterator[str]:
        raise NotImplementedError

    def _prepare(self, operation: Operation, principal: Principal) -> Prepared:
        variables = self._coerce(operation)
        if operation.type is not OperationType.QUERY:
            return Prepared(variables, None, MUTATION_COST * len(operation.node.selection_set.selections))
        planner, document = self._services.planner, operation.document
        plan = planner.operation(document, operation.name, variables, principal.role)
        cost = max(1, plan.cost.total(variables)) if plan else 1
        if cost > self._services.settings.max_cost:
            raise TooCostly(cost, self._services.settings.max_cost)
        return Prepared(variables, plan, cost)

    def _coerce(self, operation: Operation) -> dict[str, Any]:
        definitions = operation.node.variable_definitions
        if not definitions:
            return {}
        values = get_variable_values(self.core, definitions, operation.variables, max_errors=10)
        if isinstance(values, list):
            raise BadVariables("; ".join(error.message for error in values))
        return values.coerced

    async def _execute_in_python(self, operation: Operation, prepared: Prepared, principal: Principal) -> Answer:
        if operation.type is OperationType.QUERY and not await self._services.database.fetchval(_LIVE, principal.key_id):
            raise Unauthenticated(DEAD_KEY)
        context = Context(principal, operation.document, prepared.variables, self._services)
        result = execute(
            self.core,
            operation.document.ast,
            context_value=context,
            variable_values=operation.variables,
            operation_name=operation.name,
        )
        if inspect.isawaitable(result):
            result = await result
        return self._answer(result, prepared.cost)

    def _answer(self, result: ExecutionResult, cost: int) -> Answer:
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = formatted(result.errors)
        return Answer(orjson.dumps(body), cost=cost)
