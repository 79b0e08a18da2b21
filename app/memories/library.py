"""Recalls for a whole process: embeds what is asked, adds vectors that are lacking, and keeps answers in Redis.

An answer is kept under the version of the shelves that it was read from, and the version is asked of Postgres every
time: what was committed anywhere is seen by the next recall everywhere, whatever Redis holds, or if it holds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import orjson
import structlog
from sqlalchemy import select, update

from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.embedder import Embedder, EmbeddingFailed, Vectors
from app.errors import Unavailable
from app.memories import shelves
from app.memories.classification import EXAMPLES
from app.memories.models import Memory, MemoryKind
from app.memories.recall import USUAL_LIMIT, VERSION, Found, Meaning, Recalled, View, search
from app.redis import Redis

log = structlog.get_logger(__name__)
KEPT_S = 3600  # an answer that nobody asked for again; no bound on how old an answer may be
EMBEDDED_AT_ONCE = 256
MAX_QUERY = 10_000
_NEAREST = 2  # examples of a kind whose cosine counts


class Library:
    """One a process. Forgetting everything that it holds costs time and changes no answer."""

    def __init__(
        self, database: Database, transaction: Transactions, embedder: Embedder, redis: Redis | None = None
    ) -> None:
        self._database, self._transaction = database, transaction
        self._embedder, self._redis = embedder, redis
        self._examples: dict[MemoryKind, Vectors] = {}

    async def recall(
        self, *, team_id: UUID, agent_id: UUID, text: str, limit: int = USUAL_LIMIT, subject: str | None = None
    ) -> list[Recalled]:
        """As `app.memories.recall.recall`, by meaning, and from the cache where that holds."""
        return await self.search(View.of_agent(team_id, agent_id, subject), text=text, limit=limit)

    async def search(self, view: View, *, text: str, limit: int) -> list[Recalled]:
        text = text[:MAX_QUERY]
        stamp = await self._database.fetchrow(VERSION, view.team_id, view.parameters[1], view.reader)
        if stamp is None or not stamp["version"]:  # nobody in view ever remembered anything
            return []
        key = self._key(view, text, limit)
        kept = await self._kept(key, stamp["version"], stamp["moment"])
        if kept is not None:
            return kept
        meaning = await self.meaning(text)
        found = await search(self._database, view, text=text, limit=limit, meaning=meaning)
        if found.lacking and meaning is not None and await self._add_vectors(view):
            found = await search(self._database, view, text=text, limit=limit, meaning=meaning)
        if meaning is not None:  # what was found by words alone is not worth keeping
            await self._keep(key, found)
        return found.memories

    async def meaning(self, text: str) -> Meaning | None:
        """None when the embedder fails: words then decide alone."""
        try:
            return Meaning((await self._embedder.embed([text[:MAX_QUERY]]))[0], self._embedder.name)
        except EmbeddingFailed as error:
            log.warning("memory works without the meaning of a text", error=error.message)
            return None

    async def likeness(self, meaning: Meaning | None) -> Mapping[MemoryKind, float]:
        """How much a text resembles the examples of each kind; empty where that cannot be known."""
        if meaning is None or not meaning.vector.any():
            return {}
        if not self._examples:
            try:
                self._examples = {kind: await self._embedder.embed(texts) for kind, texts in EXAMPLES.items()}
            except EmbeddingFailed:
                return {}
        return {
            kind: float(np.sort(vectors @ meaning.vector)[-_NEAREST:].mean())
            for kind, vectors in self._examples.items()
        }

    async def _kept(self, key: str, version: str, moment: datetime) -> list[Recalled] | None:
        if self._redis is None:
            return None
        try:
            body = await self._redis.run(lambda client: client.get(key))
        except Unavailable:
            return None
        entry = _entry(body)
        if entry is None:
            return None
        holds = entry["version"] == version and (entry["until"] is None or _time(entry["until"]) > moment)
        return [_recalled(one) for one in entry["memories"]] if holds else None

    async def _keep(self, key: str, found: Found) -> None:
        if self._redis is None:
            return
        body = orjson.dumps(asdict(found), default=str)
        try:
            await self._redis.run(lambda client: client.set(key, body, ex=KEPT_S))
        except Unavailable:
            log.debug("an answer of memory was not kept")

    async def _add_vectors(self, view: View) -> bool:
        """Of memories that were written without one, or by another embedder; some at a time."""
        owners = view.parameters[1]
        lacking = select(Memory.id, Memory.owner_id, Memory.text).where(
            Memory.team_id == view.team_id, Memory.embedder.is_distinct_from(self._embedder.name)
        )
        if owners is not None:
            lacking = lacking.where(Memory.owner_id.in_(owners))
        async with self._transaction() as session:
            rows = (await session.execute(lacking.order_by(Memory.id).limit(EMBEDDED_AT_ONCE))).all()
        try:
            vectors = await self._embedder.embed([row.text for row in rows])
        except EmbeddingFailed:
            return False
        async with self._transaction() as session:
            await shelves.turn(session, team_id=view.team_id, owners={row.owner_id for row in rows})
            for row, vector in zip(rows, vectors, strict=True):
                values = {"embedding": vector, "embedder": self._embedder.name, "updated_at": Memory.updated_at}
                await session.execute(update(Memory).where(Memory.id == row.id).values(values))
        return bool(rows)

    def _key(self, view: View, text: str, limit: int) -> str:
        asked = (self._embedder.name, text, limit, *view.parameters[2:], str(view.reader), view.quotable)
        digest = hashlib.sha256(orjson.dumps(asked)).hexdigest()
        owners = "all" if view.owners is None else ".".join(one.hex for one in view.owners)
        return f"parley:recall:{view.team_id.hex}:{owners}:{digest}"


def _entry(body: Any) -> dict[str, Any] | None:
    if body is None:
        return None
    try:
        entry: dict[str, Any] = orjson.loads(body)
        return entry if {"version", "until", "memories"} <= entry.keys() else None
    except (ValueError, AttributeError):
        return None


def _recalled(entry: Mapping[str, Any]) -> Recalled:
    agent_id = entry["agent_id"]
    return Recalled(
        **{
            **entry,
            "id": UUID(entry["id"]),
            "kind": MemoryKind(entry["kind"]),
            "created_at": _time(entry["created_at"]),
            "agent_id": UUID(agent_id) if agent_id else None,
        }
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def texts_of(memories: Sequence[Recalled], *, most_characters: int) -> list[str]:
    """As many as fit, best first; one that does not fit is left out, not cut."""
    kept, left = [], most_characters
    for memory in memories:
        if len(memory.text) <= left:
            kept.append(memory.text)
            left -= len(memory.text)
    return kept
