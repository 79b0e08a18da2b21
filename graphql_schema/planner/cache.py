"""Keeps compiled plans with their documents, bounded for each document and for all of them together."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable
from typing import Any

MOST_PLANS = 64  # per document: its operations and fields, times roles, times shapes of the variables
MOST_CHARS = 8_000_000  # of SQL in a process; a plan takes about four bytes for each
_OVERHEAD_CHARS = 1_000


class PlanCache:
    """First in, first out: a plan is made again in milliseconds, so it is not worth counting who uses it."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        self._most_chars = most_chars
        self._chars = 0
        # The dictionaries, not their documents: what the document cache forgets must not be held by this one.
        self._entries: deque[tuple[dict[Any, Any], Hashable, int]] = deque()
        self._lock = threading.Lock()  # plans are compiled in a thread, too

    def put(self, plans: dict[Any, Any], key: Hashable, plan: Any) -> None:
        """Keep a plan, or None for "cannot be planned", in its document's dictionary."""
        with self._lock:
            self._put(plans, key, plan)

    def _put(self, plans: dict[Any, Any], key: Hashable, plan: Any) -> None:
        if len(plans) >= MOST_PLANS:
            plans.pop(next(iter(plans)))
        plans[key] = plan
        size = _OVERHEAD_CHARS + len(repr(key)) + (plan.size if plan is not None else 0)
        self._entries.append((plans, key, size))
        self._chars += size
        while self._chars > self._most_chars:
            plans, key, size = self._entries.popleft()
            plans.pop(key, None)
            self._chars -= size
