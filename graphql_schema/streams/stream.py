"""Identical subscriptions share one stream: each event is read and rendered once and handed on as bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from uuid import UUID

import structlog

from app.conversations.partials import Partial
from app.db.engine import Database
from app.errors import AppError, Unavailable
from app.events.reading import EventRow, Place, Topic
from app.observability import metrics
from graphql_schema.streams.rendering import Rendering
from graphql_schema.streams.subscriber import Subscriber

log = structlog.get_logger(__name__)
RENDER_BATCH = 200
MOST_BACKLOG = 10_000
PORTION_BYTES = 32_000
_AWAY_PAUSE_S = 0.5
Rendered = tuple[Place, bytes]


class SharedStream:
    def __init__(
        self,
        topic: Topic,
        rendering: Rendering,
        database: Database,
        read_through: Callable[[], Place],
        on_empty: Callable[[], None],
        agent_id: UUID | None = None,
    ) -> None:
        """`agent_id`: those who follow it act as this agent."""
        self.topic, self.rendering, self.database, self.agent_id = topic, rendering, database, agent_id
        self._read_through, self._on_empty = read_through, on_empty
        self._live: set[Subscriber] = set()
        self._members: set[Subscriber] = set()
        self._backlog: list[EventRow] = []
        self._delivered: Place = read_through()
        self._work: asyncio.Task[None] | None = None

    @property
    def place(self) -> Place:
        """Everything up to here has been delivered to the live subscribers."""
        return self._delivered if self._backlog or self._work else self._read_through()

    def enter(self, subscriber: Subscriber) -> None:
        self._members.add(subscriber)

    def go_live(self, subscriber: Subscriber) -> None:
        if not subscriber.closed:
            self._live.add(subscriber)
            metrics.SUBSCRIBERS.labels("live").inc()

    def leave(self, subscriber: Subscriber) -> None:
        self._out_of_live(subscriber)
        self._members.discard(subscriber)
        self.forget_unused()

    def forget_unused(self) -> None:
        """Ends the stream when nobody follows it."""
        if not self._members:
            if self._work is not None:
                self._work.cancel()
            self._on_empty()

    def end(self, error: AppError) -> None:
        """Nobody may follow it any more."""
        for subscriber in list(self._members):
            subscriber.sink.fail(error)
            subscriber.close()

    def _out_of_live(self, subscriber: Subscriber) -> None:
        if subscriber in self._live:
            self._live.discard(subscriber)
            metrics.SUBSCRIBERS.labels("live").dec()

    def offer(self, rows: list[EventRow], before: Place) -> None:
        """New events of this topic's team; `before` is where the log had been read to without them."""
        wanted = [row for row in rows if self.topic.matches(row)]
        # While work is under way, one who joins next counts on it, so it must not skip what comes when nobody is live.
        if not wanted or not (self._live or self._work):
            return
        if len(self._backlog) + len(wanted) > MOST_BACKLOG:
            self._give_up_backlog(wanted[-1].place)
            return
        if self._work is None:
            self._delivered = before
            self._work = asyncio.create_task(self._run())
        self._backlog += wanted

    def whisper(self, partial: Partial) -> None:
        """Hand on what is not in the log to whoever is live and takes it at once; nobody waits and nobody reads it
        again."""
        payload = self.rendering.partial(partial) if self._live else None
        if payload is not None:
            for subscriber in self._live:
                if subscriber.sink.ready:
                    subscriber.push([payload])

    def _give_up_backlog(self, through: Place) -> None:
        """The log is the buffer: everybody reads it at their own pace, up to `through` at least."""
        self._backlog.clear()
        self._delivered = max(self._delivered, through)
        for subscriber in list(self._live):
            self._fall_behind(subscriber)

    async def _run(self) -> None:
        try:
            while self._backlog:
                rows, self._backlog = self._backlog[:RENDER_BATCH], self._backlog[RENDER_BATCH:]
                try:
                    payloads = await self.rendering.events(rows)
                except Unavailable:
                    self._backlog = rows + self._backlog
                    await asyncio.sleep(_AWAY_PAUSE_S)
                    continue
                for portion in _portions(payloads):
                    self._deliver(portion)
                    self._delivered = max(self._delivered, portion[-1][0])
                    await asyncio.sleep(0)  # to a thousand subscribers this took a while: let others have a turn
                self._delivered = max(self._delivered, rows[-1].place)
        except Exception:
            log.exception("rendering events failed; subscribers read the log instead")
            self._give_up_backlog(self._delivered)
        finally:
            self._work = None

    def _deliver(self, portion: list[Rendered]) -> None:
        """Hand each live subscriber all of it at once: a write to a socket costs much, the bytes in it little."""
        (first, _), (last, _) = portion[0], portion[-1]
        payloads, slow, delivered = [payload for _, payload in portion], [], 0
        for subscriber in self._live:
            if last <= subscriber.place:
                continue
            if not subscriber.sink.ready:
                slow.append(subscriber)
                continue
            has_none = subscriber.place < first
            wanted = payloads if has_none else [payload for place, payload in portion if place > subscriber.place]
            subscriber.push(wanted)
            subscriber.place = last
            delivered += len(wanted)
        metrics.DELIVERIES.inc(delivered)
        for subscriber in slow:
            self._fall_behind(subscriber)

    def _fall_behind(self, subscriber: Subscriber) -> None:
        self._out_of_live(subscriber)
        subscriber.catch_up()


def _portions(rendered: list[Rendered]) -> Iterator[list[Rendered]]:
    """Cut so that what a socket holds back for a slow client stays small."""
    portion: list[Rendered] = []
    size = 0
    for place, payload in rendered:
        if portion and size + len(payload) > PORTION_BYTES:
            yield portion
            portion, size = [], 0
        portion.append((place, payload))
        size += len(payload)
    if portion:
        yield portion
