"""Renders events in the words of one subscription: by one planned statement for a batch, or by graphql-core."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any
from uuid import UUID

import orjson
from graphql import FieldNode, GraphQLObjectType, GraphQLSchema, execute

from app.auth.principal import Principal
from app.conversations.partials import Partial
from app.db.reader import STREAMS, Reader, reading_for
from app.errors import LimitExceeded
from app.events.cursor import EventCursor
from app.events.reading import EventRow, Place
from app.ids import Prefix, to_global
from graphql_schema.answer import Operation
from graphql_schema.context import Context, Services
from graphql_schema.errors import formatted
from graphql_schema.planner.errors import NotPlanned, TooCostly
from graphql_schema.planner.limits import AnswerSize
from graphql_schema.planner.selection import Selection

MOST_IN_A_BATCH = 200
BATCHES_IN_THE_LIMIT = 20  # one event may cost this part of what a query may
STREAMS_WEIGHT = 3  # all subscriptions of a team together get about a third of the read pool


class Rendering:
    """One subscription operation of one principal's rights; whose key it is does not matter."""

    def __init__(
        self,
        core: GraphQLSchema,
        services: Services,
        operation: Operation,
        variables: dict[str, Any],
        principal: Principal,
    ) -> None:
        self._core, self._services, self._operation = core, services, operation
        self._variables, self._principal = variables, principal
        self._selection = Selection(core, operation.document.ast, variables)
        root = core.subscription_type
        assert root is not None
        selected = self._selection.fields(root, [operation.node.selection_set])
        self.reader = Reader(principal.team_id, STREAMS, STREAMS_WEIGHT)
        self.key, self.nodes = next(iter(selected.items()))
        self._prefix, self._suffix = b'{"data":{"' + self.key.encode() + b'":', b"}}"
        try:
            self._plan, self._in_python = self._planned(feed=False), False
        except NotPlanned:
            self._plan, self._in_python = self._planned(feed=True), True
        self._plan.check(variables)
        self.cost = self._plan.cost.total(variables)
        most = services.settings.max_cost // BATCHES_IN_THE_LIMIT
        if self.cost > most:
            raise TooCostly(self.cost, most)
        # One statement renders a batch: it may cost no more than a query.
        self.batch = min(MOST_IN_A_BATCH, services.settings.max_cost // self.cost)

    def _planned(self, *, feed: bool) -> Any:
        return self._services.planner.entities(
            self._operation.document,
            ("stream", self._operation.name),
            self._type("Event"),
            self.nodes,
            self._variables,
            self._principal.role,
            feed=feed,
        )

    async def events(self, rows: list[EventRow]) -> list[tuple[Place, bytes]]:
        """Payloads in order. An event that retention dropped meanwhile is left out."""
        if not rows:
            return []
        found: dict[UUID, bytes] = {}
        with reading_for(self.reader):
            for start in range(0, len(rows), self.batch):
                found |= await self._read([row.id for row in rows[start : start + self.batch]])
        present = [(row, found[row.id]) for row in rows if row.id in found]
        if self._in_python:
            return [(row.place, await self._executed(body)) for row, body in present]
        return [(row.place, self._prefix + body + self._suffix) for row, body in present]

    async def _read(self, keys: list[UUID]) -> dict[UUID, bytes]:
        """Events that are too large together are read in halves; raises LimitExceeded when a single one is."""
        try:
            return await self._services.planner.read(self._plan, self._principal, self._variables, keys)
        except LimitExceeded:
            if len(keys) == 1:
                raise
        half = len(keys) // 2
        return await self._read(keys[:half]) | await self._read(keys[half:])

    async def _executed(self, body_of_event: bytes) -> bytes:
        size = AnswerSize(self._services.planner.limits)
        context = Context(self._principal, self._operation.document, self._variables, self._services, size=size)
        await context.take_in(body_of_event)
        await asyncio.sleep(0)  # many streams may come to this point together
        result = execute(
            self._core,
            self._operation.document.ast,
            root_value=orjson.loads(body_of_event),
            context_value=context,
            variable_values=self._operation.variables,
            operation_name=self._operation.name,
        )
        if inspect.isawaitable(result):
            result = await result
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = formatted(result.errors)
        return orjson.dumps(body)

    def caught_up(self, place: Place) -> bytes:
        return self._marker("CaughtUp", {"cursor": self._cursor(place)})

    def gap(self, place: Place) -> bytes:
        message = "Events behind your cursor are older than retention and gone. Read the current state anew."
        return self._marker("Gap", {"cursor": self._cursor(place), "message": message})

    def partial(self, partial: Partial) -> bytes | None:
        """None where nothing of it is selected."""
        speech, name = partial.speech, "PartialText"
        if not any(
            nodes[0].name.value != "__typename"
            for nodes in self._selection.below(self._type(name), self.nodes).values()
        ):
            return None
        values = {
            "replyId": to_global(Prefix.REPLY, speech.reply_id),
            "agentId": to_global(Prefix.AGENT, speech.agent_id),
            "taskId": to_global(Prefix.TASK, speech.task_id),
            "text": partial.text,
            "delta": partial.text[partial.offset :],
            "offset": partial.offset,
        }
        return self._marker(name, values)

    def _marker(self, name: str, values: dict[str, Any]) -> bytes:
        fields = self._selection.below(self._type(name), self.nodes)
        values = {"__typename": name, **values}
        body = {key: values[nodes[0].name.value] for key, nodes in fields.items()}
        return self._prefix + orjson.dumps(body) + self._suffix

    def _cursor(self, place: Place) -> str:
        return EventCursor(position=place[0], event_id=place[1], team_id=self._principal.team_id).encode()

    def _type(self, name: str) -> GraphQLObjectType:
        found = self._core.type_map[name]
        assert isinstance(found, GraphQLObjectType)
        return found

    @property
    def node(self) -> FieldNode:
        return self.nodes[0]
