"""Remembers and forgets. Recalling is in `recall`; `Library` does it with the meaning of texts and a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.errors import Conflict, Forbidden, InvalidInput, NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, to_global
from app.memories import shelves
from app.memories.classification import Classified, classify
from app.memories.errors import MemoryFull
from app.memories.models import MAX_SUBJECT, MAX_TEXT, Memory, MemoryKind
from app.memories.recall import Meaning, Recalled, recall
from app.memories.wording import fingerprint
from app.redaction import Redaction, redact

MOST_OF_TEAM = 10_000
MOST_OF_AGENT = 2_000
MOST_EPISODES = 2_000  # on one shelf; the oldest give way
USUAL_IMPORTANCE = 0.5
OF_THE_TEAM = frozenset({MemoryKind.SHARED, MemoryKind.USER_PROFILE})

__all__ = ["Meaning", "Recalled", "Remembered", "Source", "forget", "forget_expired", "recall", "remember"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where it was learned."""

    task_id: UUID | None = None
    conversation_id: UUID | None = None
    consultation_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """`merged`: the same text was remembered before, and is now told once more."""

    memory: Memory
    merged: bool


async def remember(
    session: AsyncSession,
    *,
    team_id: UUID,
    kind: MemoryKind | None,
    text: str,
    agent_id: UUID | None = None,
    source: Source | None = None,
    actor: Actor,
    subject: str | None = None,
    importance: float = USUAL_IMPORTANCE,
    expires_at: datetime | None = None,
    meaning: Meaning | None = None,
    likeness: Mapping[MemoryKind, float] | None = None,
) -> Remembered:
    """Raises InvalidInput, NotFound, Conflict or MemoryFull. A kind that is given counts; without one it is found.

    `agent_id` is who learned it; what is shared, or of a user's profile, is the team's all the same. `meaning` is
    embedded before the transaction; without one the library adds it at the next recall.
    """
    told = check_text("text", text, least=1, most=MAX_TEXT)
    text = await _without_secrets(session, team_id, source, told)
    meaning = meaning if text == told else None
    subject = None if subject is None else check_text("subject", subject, least=1, most=MAX_SUBJECT)
    if not 0 <= importance <= 1:
        raise InvalidInput.of("importance", "must be 0 to 1")
    found = None
    if kind is None:
        found = classify(text, likeness, owned=agent_id is not None, has_subject=subject is not None)
        kind = found.kind
    _check_kind(kind, agent_id, subject)
    await _check_named(session, team_id, agent_id, source)
    await _check_expiry(session, expires_at)
    owner_id = None if kind in OF_THE_TEAM else agent_id
    await shelves.turn(session, team_id=team_id, owners=[owner_id or team_id])
    text_hash = _text_hash(text, kind, owner_id, source)
    memory = await _known(session, team_id, owner_id or team_id, kind, subject, text_hash)
    merged = memory is not None
    if memory is None:
        await _make_room(session, team_id, owner_id, kind)
        memory = Memory(team_id=team_id, kind=kind, agent_id=owner_id, subject=subject, text=text, text_hash=text_hash)
        _fill(memory, agent_id, source, importance, expires_at, found)
        session.add(memory)
    else:
        _tell_again(memory, importance, expires_at)
    if meaning is not None:
        memory.embedding, memory.embedder = meaning.vector, meaning.embedder
    await session.flush()
    changes = {"memory_id": to_global(Prefix.MEMORY, memory.id), "memory_kind": kind, "merged": merged}
    append(session, EventKind.MEMORY_REMEMBERED, team_id=team_id, actor=actor, agent_id=agent_id, changes=changes)
    return Remembered(memory, merged)


async def forget(
    session: AsyncSession, *, team_id: UUID, memory_id: UUID, actor: Actor, agent_id: UUID | None = None
) -> UUID:
    """Raises NotFound, and Forbidden: an agent forgets its own and what it told the team, nothing else."""
    seen = select(Memory.owner_id).where(Memory.team_id == team_id, Memory.id == memory_id)
    owner_id = await session.scalar(seen)
    if owner_id is None or (agent_id is not None and owner_id not in (team_id, agent_id)):
        raise _missing()
    await shelves.turn(session, team_id=team_id, owners=[owner_id])
    mine = (Memory.team_id == team_id) & (Memory.id == memory_id)
    memory = await session.scalar(select(Memory).where(mine))
    if memory is None:
        raise _missing()
    if agent_id is not None and agent_id not in (memory.agent_id, memory.learned_by_id):
        raise Forbidden("This agent did not tell it. Only who told the team something may make the team forget it.")
    await session.execute(delete(Memory).where(mine))
    told = {"memory_id": to_global(Prefix.MEMORY, memory_id), "memory_kind": memory.kind}
    owner = memory.agent_id
    append(session, EventKind.MEMORY_FORGOTTEN, team_id=team_id, actor=actor, agent_id=owner, changes=told)
    return memory_id


async def forget_expired(session: AsyncSession, *, most: int = 1_000) -> int:
    """Nobody sees them any more; this frees their room. Returns how many went."""
    expired = select(Memory.id).where(Memory.expires_at <= func.now()).limit(most).with_for_update(skip_locked=True)
    gone = await session.scalars(delete(Memory).where(Memory.id.in_(expired)).returning(Memory.id))
    return len(gone.all())


def _check_kind(kind: MemoryKind, agent_id: UUID | None, subject: str | None) -> None:
    if kind is MemoryKind.PRIVATE and agent_id is None:
        raise InvalidInput.of("agentId", "is needed for a private memory: whose is it?")
    if kind is MemoryKind.USER_PROFILE and subject is None:
        raise InvalidInput.of("subject", "is needed for a user's profile: whom is it about?")
    if kind is not MemoryKind.USER_PROFILE and subject is not None:
        raise InvalidInput.of("subject", "goes only with the kind USER_PROFILE")


async def _check_named(session: AsyncSession, team_id: UUID, agent_id: UUID | None, source: Source | None) -> None:
    if agent_id is not None:
        mine = select(Agent.name, Agent.status).where(Agent.team_id == team_id, Agent.id == agent_id)
        agent = (await session.execute(mine)).one_or_none()
        if agent is None:
            raise NotFound("There is no such agent in this team.")
        if agent.status is AgentStatus.ARCHIVED:
            raise Conflict(f"{agent.name} is archived and learns nothing new.")
    for table in ("task", "conversation", "consultation"):
        named = getattr(source, f"{table}_id", None)
        known = sql(f"select exists (select from {table} where team_id = :team and id = :named)")
        if named is not None and not await session.scalar(known, {"team": team_id, "named": named}):
            raise NotFound(f"There is no such {table} in this team.")


async def _without_secrets(session: AsyncSession, team_id: UUID, source: Source | None, text: str) -> str:
    """What was learned in a task, as it may be kept with that task."""
    if source is None or source.task_id is None:
        return text
    named = {"team": team_id, "named": source.task_id}
    what = await session.scalar(sql("select redacts from task where team_id = :team and id = :named"), named)
    return text if what is None else redact(text, Redaction(what))[:MAX_TEXT]


async def _check_expiry(session: AsyncSession, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= (await session.scalars(select(func.now()))).one():
        raise InvalidInput.of("expiresAt", "lies in the past")


def _text_hash(text: str, kind: MemoryKind, owner_id: UUID | None, source: Source | None) -> bytes:
    """What is limited to an audience is merged only with what has the same one."""
    plain = fingerprint(text)
    places = (source.conversation_id, source.consultation_id) if source else ()
    audience = b"".join(place.bytes for place in places if place is not None)
    if owner_id is not None or kind in OF_THE_TEAM or not audience:
        return plain
    return hashlib.sha256(plain + audience).digest()


async def _known(
    session: AsyncSession, team_id: UUID, owner_id: UUID, kind: MemoryKind, subject: str | None, text_hash: bytes
) -> Memory | None:
    """The shelf is held, so that of two who tell the same at once the second finds the first's. Expired is unknown."""
    same = (
        (Memory.team_id == team_id)
        & (Memory.owner_id == owner_id)
        & (Memory.kind == kind)
        & Memory.subject.is_not_distinct_from(subject)
        & (Memory.text_hash == text_hash)
    )
    await session.execute(delete(Memory).where(same, Memory.expires_at <= func.now()))
    return await session.scalar(select(Memory).where(same).execution_options(populate_existing=True))


async def _make_room(session: AsyncSession, team_id: UUID, owner_id: UUID | None, kind: MemoryKind) -> None:
    """Expired memories go first. Episodes give way to newer ones; of everything else there is only so much."""
    shelf = (Memory.team_id == team_id) & (Memory.owner_id == (owner_id or team_id))
    is_episode = kind is MemoryKind.EPISODIC
    mine = shelf & ((Memory.kind == MemoryKind.EPISODIC) if is_episode else (Memory.kind != MemoryKind.EPISODIC))
    most = MOST_EPISODES if is_episode else MOST_OF_AGENT if owner_id else MOST_OF_TEAM
    if await _count(session, mine) < most:
        return
    await session.execute(delete(Memory).where(mine, Memory.expires_at <= func.now()))
    excess = await _count(session, mine) - most + 1
    if excess > 0 and not is_episode:
        raise MemoryFull("This agent has" if owner_id else "The team has", most)
    if excess > 0:
        least = select(Memory.id).where(mine).order_by(Memory.importance, Memory.created_at, Memory.id).limit(excess)
        await session.execute(delete(Memory).where(Memory.id.in_(least)))


async def _count(session: AsyncSession, which: object) -> int:
    return await session.scalar(select(func.count()).select_from(Memory).where(which)) or 0  # type: ignore[arg-type]


def _fill(
    memory: Memory,
    learned_by_id: UUID | None,
    source: Source | None,
    importance: float,
    expires_at: datetime | None,
    found: Classified | None,
) -> None:
    memory.learned_by_id, memory.importance, memory.expires_at = learned_by_id, importance, expires_at
    if source is not None:
        memory.task_id, memory.conversation_id = source.task_id, source.conversation_id
        memory.consultation_id = source.consultation_id
    if found is not None:
        memory.confidence, memory.reason = found.confidence, found.reason


def _tell_again(memory: Memory, importance: float, expires_at: datetime | None) -> None:
    """What is told again is at least as important as before, and stays at least as long."""
    memory.times_told += 1
    memory.importance = max(memory.importance, importance)
    kept = memory.expires_at
    memory.expires_at = None if kept is None or expires_at is None else max(kept, expires_at)


def _missing() -> NotFound:
    return NotFound("There is no such memory in this team.")
