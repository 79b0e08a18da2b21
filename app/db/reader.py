"""Who a read is for: the read pool gives each team and key its share by this."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
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


@contextmanager
def reading_for(reader: Reader) -> Iterator[None]:
    token = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(token)
