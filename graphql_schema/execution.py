"""Runs operations: one planned statement where SQL can answer all of it, graphql-core where some field needs Python."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson
from graphql import ExecutionResult, GraphQLSchema, OperationType, execute

from app.auth.principal import Principal
from app.auth.queries import DEAD_KEY, living
from app.db.reader import Reader, reading_for
from app.errors import AppError, Unauthenticated
from graphql_schema.answer import Answer, Operation
from graphql_schema.context import Context, Left, Services, never
from graphql_schema.errors import formatted, masked
from graphql_schema.planner.errors import TooCostly
from graphql_schema.planner.introspection import Introspected
from graphql_schema.planner.limits import AnswerSize, answer_too_large
from graphql_schema.planner.plan import Plan
from graphql_schema.streams.hub import Hub
from graphql_schema.streams.key_watch import KeyWatch
from graphql_schema.streams.queue_sink import QueueSink
from graphql_schema.streams.rendering import Rendering
from graphql_schema.streams.subscriber import Sink, Subscriber
from graphql_schema.transport.refusals import from_app_error
from graphql_schema.variables import coerced


@dataclass(slots=True)
class Prepared:
    """An operation ready to run: its variables coerced, its plan found, its cost known."""

    variables: dict[str, Any]
    plan: Plan | None
    rendering: Rendering | None
    cost: int
    introspected: Introspected | None = None


class Executor:
    """Answers queries and mutations. Never raises; refusals and bugs become answers."""

    def __init__(self, core: GraphQLSchema, services: Services, hub: Hub, keys: KeyWatch) -> None:
        self.core = core
        self._services = services
        self._hub = hub
        self._keys = keys

    def cost(self, operation: Operation, principal: Principal) -> int:
        """What the operation may cost in points; raises AppError when it cannot run at all."""
        if operation.prepared is None:
            operation.prepared = self._prepare(operation, principal)
        cost: int = operation.prepared.cost
        return cost

    async def execute(self, operation: Operation, principal: Principal, left: Left = never) -> Answer:
        try:
            cost = self.cost(operation, principal)
            prepared: Prepared = operation.prepared
            with reading_for(Reader(principal.team_id, principal.key_id)):
                if prepared.plan is not None:
                    data = await self._services.planner.run(prepared.plan, principal, prepared.variables)
                    return Answer(b'{"data":' + data + b"}", cost=cost)
                if prepared.introspected is not None:
                    await self._require_live(principal)
                    return Answer(b'{"data":' + prepared.introspected.body + b"}", cost=cost)
                return await self._execute_in_python(operation, prepared, principal, left)
        except AppError as error:
            return from_app_error(error)
        except Exception as error:
            message, extensions = masked(error)
            body = orjson.dumps({"data": None, "errors": [{"message": message, "extensions": extensions}]})
            return Answer(body, status=500)

    async def subscribe(self, operation: Operation, principal: Principal, sink: Sink) -> Subscriber:
        """Open a subscription that pushes its payloads into a sink; raises AppError to refuse it."""
        self.cost(operation, principal)
        with reading_for(Reader(principal.team_id, principal.key_id)):
            await self._require_live(principal)
            prepared: Prepared = operation.prepared
            assert prepared.rendering is not None
            return await self._hub.open(operation, prepared.variables, prepared.rendering, principal, sink)

    async def stream(self, operation: Operation, principal: Principal) -> AsyncIterator[bytes]:
        """The payloads of a subscription; raises AppError to refuse it, and later when its key dies."""
        sink = QueueSink(self._services.settings.subscriber_buffer, self._services.settings.stalled_socket_s)
        subscriber = await self.subscribe(operation, principal, sink)
        return self._drain(sink, subscriber, principal)

    async def _drain(self, sink: QueueSink, subscriber: Subscriber, principal: Principal) -> AsyncIterator[bytes]:
        try:
            with self._keys.watch(principal, lambda: sink.fail(Unauthenticated(DEAD_KEY))):
                async for payload in sink:
                    yield payload
        finally:
            subscriber.close()

    async def _require_live(self, principal: Principal) -> None:
        if not await living(self._services.database, [principal.key_id]):
            raise Unauthenticated(DEAD_KEY)

    def _prepare(self, operation: Operation, principal: Principal) -> Prepared:
        variables = coerced(self.core, operation)
        planner, document, plan, rendering = self._services.planner, operation.document, None, None
        introspected = None
        if operation.type is OperationType.SUBSCRIPTION:
            rendering = Rendering(self.core, self._services, operation, variables, principal)
            cost = rendering.cost
        elif operation.type is OperationType.MUTATION:
            cost = planner.cost_of_payloads(document, operation.name, variables, principal.role)
        elif plan := planner.operation(document, operation.name, variables, principal.role):
            cost = max(1, plan.cost.total(variables))
        elif introspected := planner.introspection(document, operation.name, variables):
            cost = introspected.cost
        else:
            cost = max(1, planner.cost_of_fields(document, operation.name, variables, principal.role))
        if cost > self._services.settings.max_cost:
            raise TooCostly(cost, self._services.settings.max_cost)
        return Prepared(variables, plan, rendering, cost, introspected)

    async def _execute_in_python(
        self, operation: Operation, prepared: Prepared, principal: Principal, left: Left
    ) -> Answer:
        if operation.type is OperationType.QUERY:
            await self._require_live(principal)
        size = AnswerSize(self._services.planner.limits)
        context = Context(principal, operation.document, prepared.variables, self._services, left, size=size)
        result = execute(
            self.core,
            operation.document.ast,
            context_value=context,
            variable_values=operation.variables,
            operation_name=operation.name,
        )
        if inspect.isawaitable(result):
            result = await result
        answer = self._answer(result, prepared.cost)
        maximum = self._services.planner.limits.answer_bytes
        if len(answer.body) > maximum and operation.type is OperationType.QUERY:
            raise answer_too_large(len(answer.body), maximum)
        return answer

    def _answer(self, result: ExecutionResult, cost: int) -> Answer:
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = formatted(result.errors)
        return Answer(orjson.dumps(body), cost=cost)
