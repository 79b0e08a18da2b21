"""Bounds the different subscriptions of a key and of a team: each is rendered anew for every event that it gets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from app.auth.principal import Principal
from app.config import Settings, environment_name
from app.errors import RateLimited

if TYPE_CHECKING:
    from graphql_schema.streams.stream import SharedStream
    from graphql_schema.streams.subscriber import Subscriber

RETRY_AFTER_S = 10


class StreamLimits:
    """Counts by key and by team how many subscribers each stream has; equal subscriptions are one stream."""

    def __init__(self, settings: Settings) -> None:
        self._per_key, self._per_team = settings.max_streams_per_key, settings.max_streams_per_team
        self._open: defaultdict[UUID, Counter[SharedStream]] = defaultdict(Counter)

    def enter(self, principal: Principal, stream: SharedStream, subscriber: Subscriber) -> None:
        """Counts a subscriber until it closes; raises RateLimited, and lets go of a stream that was made for it."""
        for account, owner, maximum, setting in (
            (principal.key_id, "key", self._per_key, "max_streams_per_key"),
            (principal.team_id, "team", self._per_team, "max_streams_per_team"),
        ):
            streams = self._open.get(account, ())
            if stream not in streams and len(streams) >= maximum:
                stream.forget_unused()
                raise RateLimited(
                    f"This {owner} has {maximum} different subscriptions open, which is the most. Close one first, or "
                    "use the same document with the same variables again: equal subscriptions count once.",
                    limit="streams",
                    maximum=maximum,
                    setting=environment_name(setting),
                    retry_after_s=RETRY_AFTER_S,
                )
        self._count(principal, stream, 1)
        subscriber.on_close = self._leave(principal, stream)

    def _leave(self, principal: Principal, stream: SharedStream) -> Callable[[], None]:
        return lambda: self._count(principal, stream, -1)

    def _count(self, principal: Principal, stream: SharedStream, change: int) -> None:
        for account in (principal.key_id, principal.team_id):
            streams = self._open[account]
            streams[stream] += change
            if not streams[stream]:
                del streams[stream]
            if not streams:
                del self._open[account]
