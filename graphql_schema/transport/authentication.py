"""Finds the principal behind an Authorization header, and slows down whoever guesses keys.

A key's facts never change, so they are cached without end. Whether the key is still live is asked here once, and from
then on inside every statement that runs for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time

import structlog

from app.auth.principal import Principal
from app.auth.queries import DEAD_KEY, find_principal, living
from app.auth.tokens import TOKEN_PREFIX, visible_prefix
from app.config import Settings
from app.db.engine import Database
from app.errors import RateLimited, Unauthenticated, Unavailable
from app.observability import metrics
from app.redis import Redis
from graphql_schema.transport.lru import LRU

log = structlog.get_logger(__name__)
WINDOW_S = 60
KEPT_PRINCIPALS = 10_000
KEPT_ADDRESSES = 10_000
LONGEST_SECRET = 200
SHORTEST_SHOWN = 30
LOOKUPS_AT_ONCE = 8  # also bounds how many guesses can slip through before the first is counted

_NO_KEY = "Send an API key: `Authorization: Bearer parley_…`."
_UNKNOWN_KEY = "This API key is not known. Check that it was copied whole."


class Authenticator:
    def __init__(self, database: Database, redis: Redis, settings: Settings) -> None:
        self._database = database
        self._most_failures = settings.auth_failures_per_minute
        self._known: LRU[str, Principal] = LRU(KEPT_PRINCIPALS)
        self._failures = FailureCount(redis)
        self._lookups = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    def known(self, authorization: str) -> Principal | None:
        """The principal of a header seen before: no waiting."""
        return self._known.get(authorization)

    async def principal(self, authorization: str | None, client_address: str) -> Principal:
        """Raises Unauthenticated, RateLimited with `retry_after_s`, or Unavailable."""
        if authorization is None:
            raise Unauthenticated(_NO_KEY)
        if principal := self._known.get(authorization):
            return principal
        secret = _secret(authorization)
        async with self._lookups:
            return self._known.get(_header(secret)) or await self._look_up(secret, network_of(client_address))

    def forget(self, principal: Principal) -> None:
        """The key was found dead, so its next use is counted as a failure."""
        self._known.pop(_header(principal.secret))

    async def _look_up(self, secret: str, address: str) -> Principal:
        await self._refuse_guessers(address)
        principal = await find_principal(self._database, secret) if len(secret) <= LONGEST_SECRET else None
        if principal is None:
            raise await self._failed(address, secret, _UNKNOWN_KEY)
        if not await living(self._database, [principal.key_id]):
            raise await self._failed(address, secret, DEAD_KEY)
        self._known.put(_header(secret), principal)
        return principal

    async def _refuse_guessers(self, address: str) -> None:
        if await self._failures.count(address) >= self._most_failures:
            metrics.AUTH_FAILURES.labels("blocked").inc()
            wait = WINDOW_S - int(time.time()) % WINDOW_S
            raise RateLimited(
                f"Too many wrong API keys came from your address. Try again in {wait} seconds.", retry_after_s=wait
            )

    async def _failed(self, address: str, secret: str, message: str) -> Unauthenticated:
        failures = await self._failures.add(address)
        metrics.AUTH_FAILURES.labels("dead" if message == DEAD_KEY else "unknown").inc()
        log.warning(
            "authentication failed", address=address, key=public_part(secret), failures=failures, reason=message
        )
        return Unauthenticated(message)


class FailureCount:
    """Failures per address and minute: in Redis for all processes, in memory as well for when Redis is away."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._local: LRU[str, int] = LRU(KEPT_ADDRESSES)

    async def count(self, address: str) -> int:
        name = self._name(address)
        try:
            shared = int(await self._redis.run(lambda client: client.get(name)) or 0)
        except Unavailable:
            shared = 0
        return max(shared, self._local.get(name) or 0)

    async def add(self, address: str) -> int:
        name = self._name(address)
        local = (self._local.get(name) or 0) + 1
        self._local.put(name, local)
        try:
            return max(local, await self._add_shared(name))
        except Unavailable:
            return local

    async def _add_shared(self, name: str) -> int:
        async with self._redis.client.pipeline(transaction=False) as pipeline:
            pipeline.incr(name)
            pipeline.expire(name, 2 * WINDOW_S)
            return int((await self._redis.run(lambda _: pipeline.execute()))[0])

    @staticmethod
    def _name(address: str) -> str:
        return f"auth-failures:{address}:{int(time.time() // WINDOW_S)}"


def public_part(secret: str) -> str:
    """What may be logged of a key. What is no key of ours may be a password that went astray."""
    ours = secret.startswith(TOKEN_PREFIX) and len(secret) >= SHORTEST_SHOWN
    return visible_prefix(secret) if ours else "(not shown)"


def _secret(authorization: str) -> str:
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated(_NO_KEY)
    return secret.strip()


def _header(secret: str) -> str:
    """The one spelling of the header under which a principal is kept."""
    return f"Bearer {secret}"


def network_of(address: str) -> str:
    """An IPv6 customer has a /64 at least, so that is what is counted."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)
