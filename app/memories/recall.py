"""Finds what an agent remembers of a text: by meaning where both were embedded alike, else by words; one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, literal_column
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncSession

from app.db.engine import Database
from app.embeddings.embedder import Vectors
from app.memories.audience import quotable_of_team, readable_of_team
from app.memories.models import MemoryKind
from app.memories.wording import any_word

USUAL_LIMIT = 8
MOST_RECALLED = 100
RELEVANCE, IMPORTANCE = 0.8, 0.2  # what each counts in a score
_WORDS_TO_ONE = 8  # a text rank times this is about as large as the cosine of a text on the same matter


def _sql(predicate: ColumnElement[bool]) -> str:
    """As text for a statement that is written by hand. Columns and parameters in it must be literal."""
    return str(predicate.compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]


_MEMORY = SimpleNamespace(
    **{name: literal_column(f"memory.{name}") for name in ("kind", "conversation_id", "consultation_id")}
)
_READER: dict[str, Any] = {"team_id": literal_column("$1"), "agent_id": literal_column("$10::uuid")}
# The version and what stands under it are of one moment, because they are of one statement.
_VISIBLE = f"""
    memory.team_id = $1 and ($2::uuid[] is null or memory.owner_id = any($2))
    and ($3::text[] is null or memory.kind = any($3)) and (memory.kind <> 'user_profile' or $4 or memory.subject = $5)
    and (memory.expires_at is null or memory.expires_at > now())
    and ($10::uuid is null or memory.agent_id is not null or ({_sql(readable_of_team(_MEMORY, **_READER))}))
    and (not $11 or memory.agent_id is not null or ({_sql(quotable_of_team(_MEMORY))}))
"""


def _version(reader: str) -> str:
    """Changes with every memory in view, and when the reader joins or leaves a conversation."""
    return f"""
select case when shelves = '' then '' else shelves || conversations end as version, now() as moment from (
    select coalesce(string_agg(version::text, '.' order by owner_id), '') as shelves
    from memory_shelf where team_id = $1 and ($2::uuid[] is null or owner_id = any($2))
) as shelf, (
    select count(*) filter (where left_at is null) || coalesce(max(greatest(joined_at, left_at))::text, '')
        as conversations
    from conversation_participant where team_id = $1 and agent_id = {reader}::uuid
) as seats
"""


VERSION = _version("$3")
_SEARCH = f"""
select shelf.version, shelf.lacking, shelf.until, found.* from (
    select (select version from ({_version("$10")}) as stamp) as version,
        (select min(expires_at) from memory where {_VISIBLE} and expires_at is not null) as until,
        exists (
            select from memory where {_VISIBLE} and (embedder is null or embedder < $7::text or embedder > $7)
        ) as lacking
) as shelf left join lateral (
    select id, kind, agent_id, subject, text, importance, created_at,
        round((({RELEVANCE} * relevance + {IMPORTANCE} * importance))::numeric, 4)::float8 as score
    from (
        select *, case
            when embedder = $7 then greatest(-(embedding <#> $6::text::vector), 0)
            when $8 = '' then 0
            else least(ts_rank(to_tsvector('simple', text), to_tsquery('simple', $8)) * {_WORDS_TO_ONE}, 1)
        end as relevance
        from memory where {_VISIBLE}
    ) as rated
    order by score desc, created_at desc, id limit $9
) as found on true
"""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A text's vector, and the name of the embedder that made it."""

    vector: Vectors
    embedder: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """`score` is 0 to 1: mostly how near it is to the text, and how important it is."""

    id: UUID
    kind: MemoryKind
    text: str
    score: float
    importance: float
    created_at: datetime
    agent_id: UUID | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What may be seen: the shelves of these owners (None: all of the team's), of these kinds (None: all), and of
    profiles that of one user, or of every user.

    `reader` is the agent that reads: of the team's memories it sees those whose audience it belongs to. None: all.
    `quotable` leaves out what may not be quoted to other agents.
    """

    team_id: UUID
    owners: tuple[UUID, ...] | None
    kinds: tuple[MemoryKind, ...] | None = None
    subject: str | None = None
    of_every_user: bool = False
    reader: UUID | None = None
    quotable: bool = False

    @classmethod
    def of_agent(cls, team_id: UUID, agent_id: UUID | None, subject: str | None = None) -> View:
        """The team's, and the agent's own."""
        owners = (team_id,) if agent_id is None else (team_id, agent_id)
        return cls(team_id, owners, subject=subject, reader=agent_id)

    @property
    def parameters(self) -> tuple[Any, ...]:
        owners = None if self.owners is None else list(self.owners)
        kinds = None if self.kinds is None else [kind.value for kind in self.kinds]
        return self.team_id, owners, kinds, self.of_every_user, self.subject


@dataclass(frozen=True, slots=True)
class Found:
    """What was recalled, of which version of the shelves, until when it stays the same by itself, and whether
    memories lack a vector of the present embedder."""

    memories: list[Recalled]
    version: str
    until: datetime | None
    lacking: bool


async def recall(
    source: AsyncSession | Database,
    *,
    team_id: UUID,
    agent_id: UUID | None,
    text: str,
    limit: int = USUAL_LIMIT,
    subject: str | None = None,
    meaning: Meaning | None = None,
) -> list[Recalled]:
    """What the agent remembers of this text, best first: of its own and of the team's. A user's profile only where
    that user is the `subject`."""
    view = View.of_agent(team_id, agent_id, subject)
    return (await search(source, view, text=text, limit=limit, meaning=meaning)).memories


async def search(
    source: AsyncSession | Database, view: View, *, text: str, limit: int, meaning: Meaning | None
) -> Found:
    vector, embedder = (as_text(meaning.vector), meaning.embedder) if meaning is not None else (None, None)
    query = (vector, embedder, any_word(text), limit)
    rows = await _rows(source, (*view.parameters, *query, view.reader, view.quotable))
    found = [
        Recalled(
            id=row["id"],
            kind=MemoryKind(row["kind"]),
            text=row["text"],
            score=row["score"],
            importance=row["importance"],
            created_at=row["created_at"],
            agent_id=row["agent_id"],
            subject=row["subject"],
        )
        for row in rows
        if row["id"] is not None
    ]
    return Found(found, rows[0]["version"], rows[0]["until"], rows[0]["lacking"])


async def _rows(source: AsyncSession | Database, parameters: tuple[Any, ...]) -> Sequence[Any]:
    if isinstance(source, Database):
        return await source.fetch(_SEARCH, *parameters)
    connection = await source.connection()
    return (await connection.exec_driver_sql(_SEARCH, parameters)).mappings().all()


def as_text(vector: Vectors) -> str:
    return "[" + ",".join(map(str, vector.reshape(-1).tolist())) + "]"
