"""All subscriptions of this process: opens them, shares what is identical, and feeds them from the tailer."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Hashable
from typing import Any
from uuid import UUID

import orjson
import structlog
from graphql import GraphQLSchema, VariableNode, Visitor, visit

from app.auth.principal import Principal
from app.conversations.partials import decode
from app.errors import Forbidden
from app.events import cursor
from app.events.cursor import LAST_ID
from app.events.kinds import EventKind
from app.events.reading import EventRow, LogState, Place, Topic, check_cursor, log_state
from app.events.tailer import Tailer
from app.observability import metrics
from graphql_schema.answer import Operation
from graphql_schema.context import Services
from graphql_schema.planner.arguments import Bind, arguments_of
from graphql_schema.planner.mapping import PLAN
from graphql_schema.streams.field import Stream
from graphql_schema.streams.limits import StreamLimits
from graphql_schema.streams.rendering import Rendering
from graphql_schema.streams.stream import SharedStream
from graphql_schema.streams.subscriber import Sink, Subscriber

log = structlog.get_logger(__name__)
_ENDINGS = frozenset(
    {EventKind.TASK_COMPLETED, EventKind.TASK_FAILED, EventKind.TASK_TIMED_OUT, EventKind.TASK_CANCELLED}
)
_MOST_ENDED = 1_000  # tasks of which a piece may still be on its way


class Hub:
    def __init__(self, core: GraphQLSchema, services: Services, tailer: Tailer) -> None:
        self._core, self._services, self._tailer = core, services, tailer
        self._streams: dict[Hashable, SharedStream] = {}
        self._by_team: defaultdict[UUID, set[SharedStream]] = defaultdict(set)
        self._through: Place = (0, LAST_ID)
        self._ended: OrderedDict[UUID, None] = OrderedDict()
        self._limits = StreamLimits(services.settings)
        tailer.listen(self._on_batch)

    async def open(
        self,
        operation: Operation,
        variables: dict[str, Any],
        rendering: Rendering,
        principal: Principal,
        sink: Sink,
    ) -> Subscriber:
        """Start a subscription; raises AppError to refuse it. The caller closes it."""
        field = self._core.subscription_type.fields[rendering.node.name.value]  # type: ignore[union-attr]
        plan: Stream = field.extensions["strawberry-definition"].metadata[PLAN]
        symbols = arguments_of(field, rendering.node, variables)
        arguments = {
            name: value.read(variables) if isinstance(value, Bind) else value for name, value in symbols.items()
        }
        topic = await plan.topic(principal, self._services.database, arguments)
        await self._tailer.following()
        state = await log_state(self._services.database)
        place, gap = _start(arguments.get("after"), principal, state)
        stream = self._shared(operation, variables, principal, topic, rendering)
        subscriber = Subscriber(stream, sink, place)
        self._limits.enter(principal, stream, subscriber)
        stream.enter(subscriber)
        if principal.agent_id is not None and topic.conversation_id is not None:
            await self._still_allowed(plan, principal, arguments, subscriber)
        subscriber.catch_up(gap=gap)
        return subscriber

    async def _still_allowed(
        self, plan: Stream, principal: Principal, arguments: dict[str, Any], subscriber: Subscriber
    ) -> None:
        """Whoever was removed after the first look and before entering was told nothing of it."""
        try:
            await plan.topic(principal, self._services.database, arguments)
        except BaseException:
            subscriber.close()
            raise

    def _shared(
        self, operation: Operation, variables: dict[str, Any], principal: Principal, topic: Topic, rendering: Rendering
    ) -> SharedStream:
        key = _identity(operation, rendering, principal, topic)
        if key not in self._streams:

            def forget() -> None:
                self._streams.pop(key, None)
                team = self._by_team[topic.team_id]
                team.discard(stream)
                if not team:
                    del self._by_team[topic.team_id]
                metrics.STREAMS.set(len(self._streams))

            stream = SharedStream(
                topic, rendering, self._services.database, lambda: self._through, forget, principal.agent_id
            )
            self._streams[key] = stream
            self._by_team[topic.team_id].add(stream)
            metrics.STREAMS.set(len(self._streams))
        return self._streams[key]

    def hear(self, body: str) -> None:
        """What an agent is saying, for those who follow its conversation; never after the work on it has ended."""
        try:
            partial = decode(body)
        except (ValueError, KeyError, TypeError):
            log.warning("a piece of a reply cannot be read; it is left out")
            return
        if partial.speech.task_id in self._ended:
            return
        for stream in self._by_team.get(partial.speech.team_id, ()):
            if stream.topic.conversation_id == partial.speech.conversation_id:
                stream.whisper(partial)

    def _note_ended(self, rows: list[EventRow]) -> None:
        for row in rows:
            if row.conversation_id is not None and row.task_id is not None and row.kind in _ENDINGS:
                self._ended[row.task_id] = None
        while len(self._ended) > _MOST_ENDED:
            self._ended.popitem(last=False)

    def _end_for_removed(self, rows: list[EventRow]) -> None:
        for row in rows:
            if row.kind != EventKind.CONVERSATION_AGENT_LEFT:
                continue
            for stream in list(self._by_team.get(row.team_id, ())):
                if stream.topic.conversation_id == row.conversation_id and stream.agent_id == row.agent_id:
                    stream.end(Forbidden("The agent of this key was removed from the conversation."))

    def _on_batch(self, rows: list[EventRow], through: Place) -> None:
        self._note_ended(rows)
        self._end_for_removed(rows)
        by_team: dict[UUID, list[EventRow]] = {}
        for row in rows:
            by_team.setdefault(row.team_id, []).append(row)
        for team_id, team_rows in by_team.items():
            for stream in self._by_team.get(team_id, ()):
                stream.offer(team_rows, self._through)
        self._through = through


def _start(after: str | None, principal: Principal, state: LogState) -> tuple[Place, bool]:
    """Where to start, and whether events before that are gone."""
    if after is None:
        return state.end, False
    found = cursor.decode(after, principal.team_id)
    if check_cursor(found, state):
        return (state.floor, LAST_ID), True
    return (found.position, found.event_id), False


def _identity(operation: Operation, rendering: Rendering, principal: Principal, topic: Topic) -> Hashable:
    """What makes two subscriptions the same: all but the place where they start."""
    variables = dict(operation.variables)
    for argument in rendering.node.arguments or ():
        value = argument.value
        if argument.name.value == "after" and isinstance(value, VariableNode) and _uses(operation, value) == 1:
            variables.pop(value.name.value, None)
    rights = (principal.team_id, principal.role, principal.agent_id)
    sorted_variables = orjson.dumps(variables, option=orjson.OPT_SORT_KEYS)
    return (operation.document.text, operation.name, sorted_variables, rights, topic)


def _uses(operation: Operation, variable: VariableNode) -> int:
    """How often a variable is used, its own definition aside."""

    class Counting(Visitor):
        found = 0

        def enter_variable(self, node: VariableNode, *_: Any) -> None:
            self.found += node.name.value == variable.name.value

    counting = Counting()
    visit(operation.document.ast, counting)
    return counting.found - 1
