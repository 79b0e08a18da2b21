"""A cache that forgets what was not used for longest, bounded by the number of its entries and by their size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LRU(Generic[K, V]):
    def __init__(self, entries: int, *, size: int = 0, size_of: Callable[[K, V], int] | None = None) -> None:
        """`size` bounds the sum of `size_of` over all entries; an entry larger than that is not kept at all."""
        self._entries = entries
        self._most = size
        self._size_of = size_of
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        value = self._kept.get(key)
        if value is not None:
            self._kept.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self.pop(key)
        size = self._weigh(key, value)
        if size > self._most:
            return
        self._kept[key] = value
        self._size += size
        while len(self._kept) > self._entries or self._size > self._most:
            self.pop(next(iter(self._kept)))

    def pop(self, key: K) -> V | None:
        value = self._kept.pop(key, None)
        if value is not None:
            self._size -= self._weigh(key, value)
        return value

    def _weigh(self, key: K, value: V) -> int:
        return self._size_of(key, value) if self._size_of else 0
