"""Remembering, forgetting, and recalling by meaning."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from app.agents.models import Agent
from app.clock import now
from app.db.engine import Database
from app.db.transaction import Transactions
from app.errors import Forbidden, InvalidInput, NotFound
from app.ids import new_id
from app.memories import service
from app.memories.errors import MemoryFull
from app.memories.library import Library, texts_of
from app.memories.models import Memory, MemoryKind
from app.memories.service import Source
from app.teams import service as teams
from app.teams.models import Team
from tests.app.conftest import ACTOR, Kinds
from tests.app.memories.conftest import Tell

PRIVATE, EPISODIC, PROFILE = MemoryKind.PRIVATE, MemoryKind.EPISODIC, MemoryKind.USER_PROFILE
FACT = "The company switched its database to PostgreSQL."


async def said(library: Library, team: Team, agent: Agent, query: str, **more: Any) -> list[str]:
    return [one.text for one in await library.recall(team_id=team.id, agent_id=agent.id, text=query, **more)]


async def test_by_meaning_own_and_the_teams_and_nobody_elses(
    transaction: Transactions, team: Team, kyra: Agent, luke: Agent, tell: Tell, libraries: tuple[Library, Library]
) -> None:
    shared = await tell(FACT, agent_id=kyra.id)
    await tell("Kyra finds tables hard to read.", PRIVATE, agent_id=kyra.id)
    await tell("The coffee machine is on the second floor.", agent_id=luke.id)
    await tell("Tom likes PostgreSQL.", PROFILE, subject="tom")
    async with transaction() as session:
        other = await teams.create(session, slug="others", name="Others", actor=ACTOR)
        await service.remember(
            session, team_id=other.id, kind=MemoryKind.SHARED, text="PostgreSQL is theirs.", actor=ACTOR
        )
    library, _ = libraries

    of_kyra = await said(library, team, kyra, "Which SQL database do they have?")
    of_luke = await library.recall(team_id=team.id, agent_id=luke.id, text="Which SQL database do they have?")
    with_tom = await said(library, team, luke, "Which SQL database do they have?", subject="tom")

    assert shared.memory.agent_id is None
    assert shared.memory.learned_by_id == kyra.id
    assert of_kyra[0] == of_luke[0].text == FACT
    assert len(of_kyra) == 3
    assert [one.text for one in of_luke] == [FACT, "The coffee machine is on the second floor."]
    assert of_luke[0].score > of_luke[1].score + 0.1
    assert set(with_tom) == {*(one.text for one in of_luke), "Tom likes PostgreSQL."}
    assert texts_of(of_luke, most_characters=len(FACT) + 3) == [FACT]


async def test_without_vectors_words_are_found_and_vectors_are_added_by_the_first_recall(
    transaction: Transactions, database: Database, team: Team, kyra: Agent, tell: Tell,
    libraries: tuple[Library, Library],
) -> None:  # fmt: skip
    for text_ in ("The moon is far away.", FACT, "It's a 'quoted' & odd: text | !"):
        await tell(text_)

    async with transaction() as session:
        by_words = await service.recall(
            session, team_id=team.id, agent_id=kyra.id, text="what's with 'PostgreSQL' & <-> | now", limit=1
        )
    assert [one.text for one in by_words] == [FACT]
    assert await database.fetchval("select count(embedding) from memory") == 0

    by_meaning = await libraries[0].recall(team_id=team.id, agent_id=kyra.id, text="lunar distance", limit=1)

    assert [one.text for one in by_meaning] == ["The moon is far away."]
    assert await database.fetchval("select count(*) from memory where embedder = $1", libraries[0]._embedder.name) == 3


HOSTILE = ["x" * 10_000, "'", "\\", "a:*b & !c | (d <-> e)", "__ \\' ' OR 1=1 --", "日本 " * 200, "\u202e😀", " "]


async def test_any_text_can_be_asked(
    transaction: Transactions, team: Team, kyra: Agent, tell: Tell, libraries: tuple[Library, Library]
) -> None:
    await tell("日本 is far.")
    for query in HOSTILE:
        async with transaction() as session:
            by_words = await service.recall(session, team_id=team.id, agent_id=kyra.id, text=query)
        assert [one.text for one in by_words] == ["日本 is far."]
        assert await said(libraries[0], team, kyra, query) == ["日本 is far."]


async def test_the_same_text_told_by_many_at_once_is_one_memory(
    database: Database, kyra: Agent, luke: Agent, tell: Tell, kinds: Kinds
) -> None:
    variants = ["Ship on Friday.", "ship  on friday", " SHIP ON FRIDAY! ", "Ｓhip on Friday"]
    soon = now() + timedelta(hours=1)

    told = await asyncio.gather(
        *(
            tell(variants[place % 4], agent_id=(kyra, luke)[place % 2].id, importance=place / 20, expires_at=soon)
            for place in range(16)
        )
    )

    (memory,) = {one.memory.id for one in told}
    assert sum(not one.merged for one in told) == 1
    row = await database.fetchrow("select times_told, importance, expires_at from memory where id = $1", memory)
    assert row is not None
    assert (row["times_told"], row["importance"], row["expires_at"]) == (16, 15 / 20, soon)
    assert (await tell("Ship on Friday", expires_at=None)).memory.expires_at is None
    assert not (await tell("Ship on Friday", PRIVATE, agent_id=kyra.id)).merged
    assert (await kinds()).count("memory.remembered") == 18


async def test_what_expired_is_gone_and_may_be_told_anew(
    transaction: Transactions, database: Database, team: Team, kyra: Agent, tell: Tell,
    libraries: tuple[Library, Library],
) -> None:  # fmt: skip
    first = await tell(FACT, expires_at=now() + timedelta(hours=1))
    assert await said(libraries[0], team, kyra, "database") == [FACT]

    async with transaction() as session:  # as if the hour were over; the shelf's version stays
        await session.execute(update(Memory).values(expires_at=func.now() - text("interval '1 second'")))
    assert await said(libraries[1], team, kyra, "a database") == []
    again = await tell(FACT)

    assert again.memory.id != first.memory.id
    assert (again.merged, again.memory.times_told) == (False, 1)
    await tell("Soon gone.", expires_at=now() + timedelta(hours=1))
    async with transaction() as session:
        await session.execute(
            update(Memory).where(Memory.expires_at.is_not(None)).values(expires_at=func.now() - text("interval '1 s'"))
        )
        assert await service.forget_expired(session) == 1
    assert await database.fetchval("select count(*) from memory") == 1


async def test_a_full_shelf_refuses_and_episodes_give_way(
    monkeypatch: pytest.MonkeyPatch, database: Database, kyra: Agent, luke: Agent, tell: Tell
) -> None:
    for name, most in (("MOST_OF_AGENT", 2), ("MOST_OF_TEAM", 3), ("MOST_EPISODES", 2)):
        monkeypatch.setattr(service, name, most)

    outcomes = await asyncio.gather(
        *(tell(f"Note {place}", PRIVATE, agent_id=kyra.id) for place in range(8)), return_exceptions=True
    )
    assert sum(isinstance(one, MemoryFull) for one in outcomes) == 6
    await tell("Luke's own", PRIVATE, agent_id=luke.id)
    for place in range(3):
        await tell(f"Fact {place}")
    with pytest.raises(MemoryFull) as refused:
        await tell("One too many")
    assert refused.value.details == {"limit": 3}
    assert (await tell("FACT 1")).merged

    for place, importance in enumerate((0.9, 0.1, 0.5)):
        await tell(f"Event {place}", EPISODIC, importance=importance)
    rows = await database.fetch("select text from memory where kind = 'episodic' order by text")
    assert [row["text"] for row in rows] == ["Event 0", "Event 2"]


async def test_forgetting_is_for_owners_and_for_who_told_it(
    transaction: Transactions, database: Database, team: Team, kyra: Agent, luke: Agent, tell: Tell
) -> None:
    own = (await tell("Mine.", PRIVATE, agent_id=kyra.id)).memory.id
    told = (await tell(FACT, agent_id=kyra.id)).memory.id

    async def forget(memory_id: Any, by: Agent | None = None) -> Any:
        async with transaction() as session:
            agent_id = by.id if by else None
            return await service.forget(session, team_id=team.id, memory_id=memory_id, actor=ACTOR, agent_id=agent_id)

    with pytest.raises(NotFound):
        await forget(own, luke)
    with pytest.raises(Forbidden):
        await forget(told, luke)
    with pytest.raises(NotFound):
        await forget(new_id())
    assert await database.fetchval("select count(*) from memory") == 2

    outcomes = await asyncio.gather(*(forget(own, kyra) for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(one, NotFound) for one in outcomes) == 4
    await forget(told)
    assert await database.fetchval("select count(*) from memory") == 0
    assert FACT not in await database.fetchval("select string_agg(changes::text, '') from event")


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"text": " "}, "text"),
        ({"text": "x" * 4_001}, "text"),
        ({"text": "a\0b"}, "text"),
        ({"kind": PRIVATE}, "agentId"),
        ({"kind": PROFILE}, "subject"),
        ({"subject": "tom"}, "subject"),
        ({"importance": 1.01}, "importance"),
        ({"importance": float("nan")}, "importance"),
        ({"expires_at": now() - timedelta(seconds=1)}, "expiresAt"),
    ],
)
async def test_wrong_input_is_named_and_leaves_nothing(
    database: Database, team: Team, tell: Tell, given: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await tell(**({"text": FACT} | given))

    assert [problem["path"] for problem in refused.value.problems] == [path]
    assert await database.fetchval("select count(*) from memory_shelf") == 0


async def test_strangers_are_not_found(tell: Tell, kyra: Agent) -> None:
    with pytest.raises(NotFound):
        await tell(FACT, agent_id=new_id())
    with pytest.raises(NotFound):
        await tell(FACT, source=Source(task_id=new_id()))
    with pytest.raises(NotFound):
        await tell(FACT, source=Source(conversation_id=new_id()))
    assert (await tell("I should read more.", None, agent_id=kyra.id)).memory.kind is PRIVATE


async def test_every_kind_has_its_owner(transaction: Transactions, tell: Tell, kyra: Agent) -> None:
    for kind in MemoryKind:
        await tell(f"As {kind}", kind, agent_id=kyra.id, **({"subject": "tom"} if kind is PROFILE else {}))

    async with transaction() as session:
        rows = (await session.execute(select(Memory.kind, Memory.agent_id))).all()
    assert {kind for kind, owner in rows if owner is None} == {MemoryKind.SHARED, PROFILE}
