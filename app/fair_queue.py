"""A queue in which teams take turns, and within a team its keys: a long row of one holds up nobody else."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    def __init__(self) -> None:
        # Both dictionaries are in the order of turns: whoever was served goes to the end.
        self._teams: dict[Hashable, dict[Hashable, deque[T]]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def count(self, team: Hashable) -> int:
        """How many items of a team wait."""
        return sum(map(len, self._teams.get(team, {}).values()))

    def push(self, team: Hashable, key: Hashable, item: T) -> None:
        self._teams.setdefault(team, {}).setdefault(key, deque()).append(item)
        self._size += 1

    def pop(self, may_go: Callable[[T], bool]) -> T | None:
        """Removes and returns the next item that may go; None when there is none."""
        for team, keys in self._teams.items():
            for key, items in keys.items():
                if may_go(items[0]):
                    return self._take(team, key)
        return None

    def discard(self, team: Hashable, key: Hashable, item: T) -> None:
        """Removes an item that waits no more."""
        items = self._teams.get(team, {}).get(key)
        if items is not None and item in items:
            items.remove(item)
            self._size -= 1
            self._tidy(team, key)

    def _take(self, team: Hashable, key: Hashable) -> T:
        keys = self._teams.pop(team)
        items = keys.pop(key)
        item = items.popleft()
        self._size -= 1
        keys[key], self._teams[team] = items, keys
        self._tidy(team, key)
        return item

    def _tidy(self, team: Hashable, key: Hashable) -> None:
        if not self._teams[team][key]:
            del self._teams[team][key]
        if not self._teams[team]:
            del self._teams[team]
