"""Counts what each key holds open in this process: WebSockets with event streams, and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from app.config import environment_name
from app.errors import RateLimited
from app.observability import metrics

RETRY_AFTER_S = 10


class OpenConnections:
    def __init__(self, most: int, *, of: str = "connections", setting: str = "max_sockets_per_key") -> None:
        self._most, self._of, self._setting = most, of, environment_name(setting)
        self._open: Counter[UUID] = Counter()

    @contextmanager
    def hold(self, key_id: UUID, transport: str) -> Iterator[None]:
        """Raises RateLimited when the key holds as many as it may."""
        if self._open[key_id] >= self._most:
            raise RateLimited(
                f"This key holds {self._most} {self._of} open, which is the most that it may. Close one first.",
                limit=self._most,
                setting=self._setting,
                retry_after_s=RETRY_AFTER_S,
            )
        self._open[key_id] += 1
        metrics.CONNECTIONS.labels(transport).inc()
        try:
            yield
        finally:
            metrics.CONNECTIONS.labels(transport).dec()
            self._open[key_id] -= 1
            if not self._open[key_id]:
                del self._open[key_id]
