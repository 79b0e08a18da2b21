"""Shelves: each change of what an owner remembers holds its row and gives it another version."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.ids import new_id
from app.memories.models import MemoryShelf


async def turn(session: AsyncSession, *, team_id: UUID, owners: Iterable[UUID]) -> None:
    """Hold these shelves until the transaction ends; whoever reads after its commit sees another version.

    Locks are taken in one order, and shelves come last: the team's row, agents by id, a conversation's or a session's
    row, tasks by id, budget accounts upwards, shelves by owner. Who works on a task holds its claim before.
    """
    for owner_id in sorted(owners):
        row = insert(MemoryShelf).values(team_id=team_id, owner_id=owner_id, version=new_id())
        await session.execute(
            row.on_conflict_do_update(index_elements=["team_id", "owner_id"], set_={"version": row.excluded.version})
        )
