"""Who a read is for: the read pool gives each team and key its share by this."""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import ContextVar
from typing import NamedTuple
from uuid import UUID

STREAMS = "streams"


class Reader(NamedTuple):
    """`weight`: how much each connection that it holds counts against its share."""

    team_id: UUID
    key: Hashable
    weight: int = 1


_reader: ContextVar[Reader | None] = ContextVar("reader", default=None)


def current_reader() -> Reader | None:
    """None for what the server reads for itself."""
    return _reader.get()


class reading_for:
    """Within it, reads are for this reader. A class, because every request passes here: a generator takes longer."""

    __slots__ = ("_reader", "_token")

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __enter__(self) -> None:
        self._token = _reader.set(self._reader)

    def __exit__(self, *_: object) -> None:
        _reader.reset(self._token)
