"""Who is connected to this process, and who has shown a key: bounds the silent and the slow.

A connection counts as unauthenticated until a request on it has named a valid key. Each network may hold only so many
of these. When there are too many in all, the oldest of them goes: whoever has a key shows it within milliseconds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
from collections import Counter
from typing import Protocol

import structlog

from app.config import Settings
from app.observability import metrics
from graphql_schema.transport.authentication import network_of

log = structlog.get_logger(__name__)
CHECKS = 10  # times in the deadline: a request may overrun it by a tenth
SPARE_DESCRIPTORS = 100  # for the database, Redis and files
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Guest(Protocol):
    """A connection that may have something to send until `due`, in the loop's time."""

    transport: asyncio.Transport
    due: float | None


class Doorway:
    def __init__(self, settings: Settings) -> None:
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if descriptors == resource.RLIM_INFINITY:
            descriptors = 1_048_576
        self.deadline_s = settings.request_deadline_s
        self._max_open = max(10, descriptors - SPARE_DESCRIPTORS)
        self._max_unknown = min(settings.max_unauthenticated, max(5, descriptors // 2))
        self._max_per_network = settings.max_unauthenticated_per_network
        self._proxies = _networks(settings.trusted_proxies)
        self._guests: dict[asyncio.Transport, Guest] = {}
        self._unknown: dict[asyncio.Transport, str | None] = {}  # the oldest first, with its network
        self._by_network: Counter[str] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, guest: Guest, address: str | None) -> None:
        """Admits a new connection, or aborts it where there are too many."""
        network = self._counted_network(address)
        if len(self._guests) >= self._max_open or (network and self._by_network[network] >= self._max_per_network):
            self._refuse(guest.transport, "too many connections", network)
            return
        if len(self._unknown) >= self._max_unknown:
            oldest = next(iter(self._unknown))
            self._refuse(oldest, "too many connections without a key", self._unknown[oldest])
            self.leave(oldest)
        self._guests[guest.transport] = guest
        self._unknown[guest.transport] = network
        if network:
            self._by_network[network] += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.deadline_s / CHECKS, self._check)

    def authenticated(self, transport: asyncio.Transport) -> None:
        if transport in self._unknown and (network := self._unknown.pop(transport)):
            self._by_network[network] -= 1
            if not self._by_network[network]:
                del self._by_network[network]

    def leave(self, transport: asyncio.Transport) -> None:
        self.authenticated(transport)
        self._guests.pop(transport, None)

    def _counted_network(self, address: str | None) -> str | None:
        """None for a trusted proxy, through which many come."""
        if address is None or self._proxies is None:
            return None
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return address
        return None if any(parsed in proxy for proxy in self._proxies) else network_of(address)

    def _refuse(self, transport: asyncio.Transport, reason: str, network: str | None) -> None:
        metrics.CONNECTIONS_REFUSED.labels(reason).inc()
        log.debug("connection aborted", reason=reason, network=network)
        transport.abort()

    def _check(self) -> None:
        """One timer for all: each connection writes down until when its client has to send something."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for transport, guest in list(self._guests.items()):
            if guest.due is not None and guest.due <= now and not transport.is_closing():
                guest.due = None
                metrics.CONNECTIONS_REFUSED.labels("too slow").inc()
                transport.write(TIMED_OUT)
                transport.close()
        self._timer = loop.call_later(self.deadline_s / CHECKS, self._check) if self._guests else None


def _networks(proxies: str) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network] | None:
    """None where every address is a trusted proxy's."""
    names = [name.strip() for name in proxies.split(",") if name.strip()]
    if "*" in names:
        return None
    networks = []
    for name in names:
        try:
            networks.append(ipaddress.ip_network(name, strict=False))
        except ValueError:
            continue  # uvicorn takes other names, too, such as those of Unix sockets
    return networks
