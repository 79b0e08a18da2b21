"""What every transport does with a request before it runs: find its document, choose its operation, charge its cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from graphql import GraphQLError, GraphQLSchema, OperationDefinitionNode

from app.auth.principal import Principal
from app.config import Settings
from app.errors import AppError, RateLimited
from app.observability import metrics
from graphql_schema.answer import Answer, Document, Operation
from graphql_schema.context import Left
from graphql_schema.planner.plan import NotCached, only_cached
from graphql_schema.planning import Planning
from graphql_schema.transport.documents import Documents
from graphql_schema.transport.limits import count_values
from graphql_schema.transport.persisted import REGISTER_POINTS, PersistedDocuments
from graphql_schema.transport.rate_limit import RateLimiter, RateState
from graphql_schema.transport.refusals import Refused, from_graphql_errors
from graphql_schema.transport.request import GraphQLRequest

# Reading a document that was not seen lately takes up to 10 µs a character. Without a price, a key could keep a process
# busy with ever new ones.
REFUSED_POINTS = 5
CHARS_A_POINT = 20
FREE_CHARS = 2_000
FREE_VALUES = 1_000  # in the variables: to coerce more takes so long that it is done like planning


class Executor(Protocol):
    core: GraphQLSchema

    async def execute(self, operation: Operation, principal: Principal, left: Left = ...) -> Answer:
        """Run a query or mutation; never raises. `left` ends when the client does."""

    def cost(self, operation: Operation, principal: Principal) -> int:
        """The points that an operation costs; raises AppError to refuse it."""

    async def stream(self, operation: Operation, principal: Principal) -> AsyncIterator[bytes]:
        """The payloads of a subscription as JSON; raises AppError to refuse it and, later, to end it."""


class Intake:
    def __init__(
        self,
        executor: Executor,
        documents: Documents,
        persisted: PersistedDocuments,
        limiter: RateLimiter,
        planning: Planning,
        settings: Settings,
    ) -> None:
        self._executor = executor
        self._documents = documents
        self._persisted = persisted
        self._limiter = limiter
        self.planning = planning
        self._variables_depth = settings.max_variables_depth
        self._longest = settings.max_query_chars

    async def operation(self, request: GraphQLRequest, principal: Principal) -> Operation:
        """Raises Refused for what the document is at fault for, AppError for anything else."""
        values = count_values(request.variables, self._variables_depth) if request.variables else 0
        if isinstance(values, GraphQLError):
            raise Refused(from_graphql_errors([values]))
        text = self._persisted.plain(request, principal)
        if text is None:
            text = await self._persisted.text(request, principal)
        document = self._documents.known(text) or await self._read(text, principal)
        if isinstance(document, list):
            raise Refused(from_graphql_errors(document))
        if self._persisted.is_new(request, principal):
            await self.spend(principal, REGISTER_POINTS)
            await self._persisted.remember(request, principal)
        node = choose(document, request.operation_name)
        name = node.name.value if node.name else None
        return Operation(document, node, name, request.variables, many_values=values > FREE_VALUES)

    async def require_unrestricted(self, principal: Principal) -> None:
        """Raises UntrustedDocument for a role that may run only trusted documents."""
        await self._persisted.require_unrestricted(principal)

    async def charge(self, operation: Operation, principal: Principal) -> RateState:
        """Raises AppError, RateLimited among them."""
        try:
            cost = await self._cost(operation, principal)
        except AppError:
            await self.spend(principal, REFUSED_POINTS)  # finding out has cost CPU, if no rows
            raise
        return await self.spend(principal, cost)

    async def _cost(self, operation: Operation, principal: Principal) -> int:
        try:
            with only_cached():
                if not operation.many_values:
                    return self._executor.cost(operation, principal)
        except NotCached:
            pass
        return await self.planning.run(principal, lambda: self._executor.cost(operation, principal))

    async def _read(self, text: str, principal: Principal) -> Document | list[GraphQLError]:
        """Read a new text. A long one is charged beforehand, a refused one afterwards: both cost CPU, not rows."""
        cost = len(text) // CHARS_A_POINT if len(text) <= self._longest else 0
        if len(text) > FREE_CHARS:
            await self.spend(principal, cost)
        document = await self.planning.run(principal, lambda: self._documents.read(text))
        self._documents.keep(text, document)
        if isinstance(document, list) and len(text) <= FREE_CHARS:
            await self.spend(principal, 1 + cost)
        return document

    async def spend(self, principal: Principal, cost: int) -> RateState:
        """Raises RateLimited."""
        try:
            return self._limiter.try_spend(principal.key_id, cost) or await self._limiter.spend(principal.key_id, cost)
        except RateLimited:
            metrics.RATE_LIMITED.inc()
            raise


def choose(document: Document, name: str | None) -> OperationDefinitionNode:
    """The operation that is asked for; raises Refused when that is not clear."""
    operations = document.operations
    if name is None and len(operations) == 1:
        return next(iter(operations.values()))
    node = operations.get(name) if name is not None else None
    if node is None:
        known = ", ".join(f"'{known}'" for known in list(operations)[:10] if known)
        wanted = f"has no operation '{name[:100]}'" if name else "has several operations: send 'operationName'"
        message = f"The document {wanted}." + (f" It has {known}." if known else "")
        raise Refused(from_graphql_errors([GraphQLError(message, extensions={"code": "OPERATION_RESOLUTION_FAILED"})]))
    return node
