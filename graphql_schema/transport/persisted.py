"""Turns what a client names a document by into its text, and keeps restricted roles to trusted documents.

Trusted documents are registered ahead of time and live in Postgres. Automatic ones (Apollo's persisted queries) save
bytes only: any client may register one, so they are never trusted, and they live in Redis for a day.
"""

from __future__ import annotations

import time
from uuid import UUID

from app.auth.principal import Principal
from app.auth.roles import Role
from app.config import Settings
from app.db.engine import Database
from app.documents.hashes import fits, ids_of, parse_id
from app.documents.queries import find_trust
from app.errors import AppError, Forbidden, Unavailable
from app.redis import Redis
from graphql_schema.transport.lru import LRU
from graphql_schema.transport.request import BadRequest, GraphQLRequest

KEPT_TEXTS = 5_000
KEPT_CHARS = 10_000_000
AUTOMATIC_S = 24 * 3600
REGISTER_POINTS = 10  # for keeping an automatic query that was not kept before
FREE_S = 2.0  # how long it may take until a new restriction binds every process


class PersistedQueryNotFound(AppError):
    """Apollo's clients know this message and code, and answer by sending the whole query."""

    code = "PERSISTED_QUERY_NOT_FOUND"


class UntrustedDocument(Forbidden):
    code = "UNTRUSTED_DOCUMENT"


class PersistedDocuments:
    def __init__(self, database: Database, redis: Redis, settings: Settings) -> None:
        self._database = database
        self._redis = redis
        self._longest = settings.max_query_chars
        self._most_chars = settings.max_automatic_chars_per_team
        # Trusted documents are never changed or removed, so what was found once holds.
        self._trusted: LRU[tuple[UUID, str], str] = _texts()
        self._automatic: LRU[tuple[UUID, str], str] = _texts()
        self._free: dict[tuple[UUID, Role], float] = {}

    def plain(self, request: GraphQLRequest, principal: Principal) -> str | None:
        """The text of an ordinary request of a role that is free to send any; None when `text` must look closer."""
        if request.document_id is None and self._free.get((principal.team_id, principal.role), 0.0) > time.monotonic():
            return request.query
        return None

    async def text(self, request: GraphQLRequest, principal: Principal) -> str:
        """Raises PersistedQueryNotFound, UntrustedDocument, BadRequest or Unavailable."""
        if request.document_id is None:
            assert request.query is not None
            return await self._permitted(request.query, principal)
        document_id = _checked_id(request)
        if request.query is None:
            return await self._by_id(document_id, principal)
        return await self._permitted(request.query, principal)

    def is_new(self, request: GraphQLRequest, principal: Principal) -> bool:
        """Whether the request brings an automatic query that this process has not kept yet."""
        if not request.automatic or request.query is None or len(request.query) > self._longest:
            return False
        return self._automatic.get((principal.team_id, _checked_id(request))) is None

    async def require_unrestricted(self, principal: Principal) -> None:
        """Raises UntrustedDocument for a role that may run only trusted documents; for reads that have no document."""
        restricted, _ = await self._trust(principal, [])
        if restricted:
            raise _untrusted(principal)

    async def remember(self, request: GraphQLRequest, principal: Principal) -> None:
        """Keep a new query that came with its hash; called when it has been read, found valid and paid for."""
        assert request.query is not None
        await self._remember((principal.team_id, _checked_id(request)), request.query)

    async def _by_id(self, document_id: str, principal: Principal) -> str:
        key = (principal.team_id, document_id)
        if trusted := self._trusted.get(key):
            return trusted
        restricted, trusted = await self._trust(principal, [document_id])
        if trusted is not None:
            return trusted
        if restricted:
            raise _untrusted(principal)
        automatic = self._automatic.get(key) or await self._recall(key)
        if automatic is None:
            raise PersistedQueryNotFound("PersistedQueryNotFound")
        return automatic

    async def _permitted(self, query: str, principal: Principal) -> str:
        """The query itself, if the principal may send it."""
        if self._free.get((principal.team_id, principal.role), 0.0) > time.monotonic():
            return query
        ids = ids_of(query)
        if any(self._trusted.get((principal.team_id, document_id)) == query for document_id in ids):
            return query
        restricted, trusted = await self._trust(principal, ids)
        if restricted and trusted != query:
            raise _untrusted(principal)
        return query

    async def _trust(self, principal: Principal, ids: tuple[str, ...] | list[str]) -> tuple[bool, str | None]:
        found = await find_trust(self._database, team_id=principal.team_id, role=principal.role, document_ids=ids)
        if found.body is not None:
            for document_id in ids:
                self._trusted.put((principal.team_id, document_id), found.body)
        if found.restricted:
            self._free.pop((principal.team_id, principal.role), None)
        else:
            self._free[principal.team_id, principal.role] = time.monotonic() + FREE_S
        return found.restricted, found.body

    async def _remember(self, key: tuple[UUID, str], query: str) -> None:
        self._automatic.put(key, query)
        try:
            if await self._has_room(key[0], len(query)):
                await self._redis.run(lambda client: client.set(_name(key), query, ex=AUTOMATIC_S))
        except Unavailable:
            pass  # another process will ask the client for the text again

    async def _has_room(self, team_id: UUID, chars: int) -> bool:
        """Whether the team's queries of today still fit into Redis. What does not is kept in this process alone."""
        name = f"document-chars:{team_id.hex}:{int(time.time() // AUTOMATIC_S)}"
        async with self._redis.client.pipeline(transaction=False) as pipeline:
            pipeline.incrby(name, chars)
            pipeline.expire(name, AUTOMATIC_S)
            kept = int((await self._redis.run(lambda _: pipeline.execute()))[0])
        return kept <= self._most_chars

    async def _recall(self, key: tuple[UUID, str]) -> str | None:
        try:
            found = await self._redis.run(lambda client: client.getex(_name(key), ex=AUTOMATIC_S))
        except Unavailable:
            return None
        if found is None:
            return None
        self._automatic.put(key, found.decode())
        return str(found.decode())


def _texts() -> LRU[tuple[UUID, str], str]:
    return LRU(KEPT_TEXTS, size=KEPT_CHARS, size_of=lambda _, text: len(text))


def _name(key: tuple[UUID, str]) -> str:
    return f"document:{key[0].hex}:{key[1]}"


def _checked_id(request: GraphQLRequest) -> str:
    document_id = parse_id(request.document_id or "")
    if document_id is None:
        raise BadRequest("A document id is 'sha256:' and 64 hexadecimal digits; a bare SHA-256 or MD5 is accepted too.")
    if request.query is not None and not fits(document_id, request.query):
        raise BadRequest("The document id is not the hash of the query that was sent with it.")
    return document_id


def _untrusted(principal: Principal) -> UntrustedDocument:
    return UntrustedDocument(
        f"A key with role {principal.role.value} may run only documents that this team has registered as trusted."
    )
