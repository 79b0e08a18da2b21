"""Saving makes a version, deleting takes it from new tasks, and every team has the contracts that are built in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.contracts import service
from app.contracts.built_in import BUILT_IN, BuiltIn
from app.contracts.models import Contract
from app.contracts.spec import parse_contract
from app.db.transaction import Transactions
from app.errors import Conflict, NotFound
from app.events.log import Actor
from app.teams.models import Team
from tests.app.conftest import Kinds


class Shelf:
    """The team's contracts, each verb in a transaction of its own."""

    def __init__(self, transaction: Transactions, team: Team, actor: Actor) -> None:
        self.transaction, self.team_id, self.actor = transaction, team.id, actor

    async def save(self, name: str, **schema: Any) -> Contract:
        spec = parse_contract({"name": name, "output_schema": {"type": "object", **schema}})
        async with self.transaction() as session:
            return await service.save(session, team_id=self.team_id, spec=spec, actor=self.actor)

    async def delete(self, name: str) -> Contract:
        async with self.transaction() as session:
            return await service.delete(session, team_id=self.team_id, name=name, actor=self.actor)

    async def find(self, name: str) -> Contract:
        async with self.transaction() as session:
            return await service.find(session, team_id=self.team_id, name=name)


@pytest.fixture
def shelf(transaction: Transactions, team: Team, actor: Actor) -> Shelf:
    return Shelf(transaction, team, actor)


async def test_versions_follow_each_other_and_deleting_ends_them(shelf: Shelf, kinds: Kinds) -> None:
    first = await shelf.save("report")
    again = await shelf.save("report")
    second = await shelf.save("report", required=["a"])
    found = await shelf.find("report")
    await shelf.delete("report")
    with pytest.raises(NotFound):
        await shelf.find("report")
    with pytest.raises(NotFound):
        await shelf.delete("report")
    third = await shelf.save("report", required=["a"])

    assert [one.version for one in (first, again, second, found, third)] == [1, 1, 2, 2, 3]
    assert again.id == first.id
    assert await kinds() == ["contract.saved", "contract.saved", "contract.deleted", "contract.saved"]


async def test_of_many_saved_at_once_each_is_a_version(shelf: Shelf) -> None:
    saved = await asyncio.gather(*(shelf.save("report", minProperties=number) for number in range(10)))

    assert sorted(one.version for one in saved) == list(range(1, 11))
    assert (await shelf.find("report")).version == 10


async def test_a_team_has_a_bounded_number(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MAX_CONTRACTS", 2)
    monkeypatch.setattr(service, "MAX_VERSIONS", 1)
    await shelf.save("a")
    await shelf.save("b")

    with pytest.raises(Conflict, match="2 contracts"):
        await shelf.save("c")
    with pytest.raises(Conflict, match="1 versions"):
        await shelf.save("a", required=["x"])


async def test_built_in_ones_are_there_once_cannot_be_deleted_and_are_brought_up_to_date(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await asyncio.gather(*(shelf.find("reviewer") for _ in range(5)))
    with pytest.raises(Conflict, match="built in"):
        await shelf.delete("reviewer")
    newer = BuiltIn("reviewer", 2, "", {"type": "object"}, {"type": "object"})
    monkeypatch.setitem(BUILT_IN, "reviewer", newer)
    for _ in range(2):
        async with shelf.transaction() as session:
            await service.add_built_in(session)

    assert len({one.id for one in found}) == 1
    assert (await shelf.find("reviewer")).version == 2
    async with shelf.transaction() as session:
        rows = await session.execute(
            select(Contract.name, func.count(), func.count(Contract.retired_at)).group_by(Contract.name)
        )
        assert {name: (all_of, retired) for name, all_of, retired in rows} == {"developer": (1, 0), "reviewer": (2, 1)}


async def test_what_another_adds_meanwhile_is_left_in_place(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shelf.transaction() as session:
        look = session.scalars

        async def overtaken(*asked: Any) -> Any:
            lacking = await look(*asked)
            await shelf.find("developer")
            return lacking

        monkeypatch.setattr(session, "scalars", overtaken)
        await service.add_built_in(session)

    assert (await shelf.find("developer")).version == 1


async def test_a_built_in_one_that_a_team_lost_counts_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    before = await shelf.find("developer")
    lose = update(Contract).where(Contract.name == "developer").values(retired_at=func.now())
    async with shelf.transaction() as session:
        await session.execute(lose)
    found = await asyncio.gather(*(shelf.find("developer") for _ in range(5)))
    assert {(one.id, one.version, one.retired_at) for one in found} == {(before.id, 1, None)}

    monkeypatch.setitem(BUILT_IN, "developer", BuiltIn("developer", 2, "", {"type": "object"}, None))
    async with shelf.transaction() as session:
        await service.add_built_in(session)
        await session.execute(lose)
        await service.add_built_in(session)
    assert (await shelf.find("developer")).version == 2
    monkeypatch.setitem(BUILT_IN, "developer", BuiltIn("developer", 1, "", {"type": "object"}, None))
    async with shelf.transaction() as session:
        await service.add_built_in(session)  # by a process that is not upgraded yet
    assert (await shelf.find("developer")).version == 2


async def test_a_name_that_a_team_had_before_it_was_built_in_stays_the_teams(shelf: Shelf) -> None:
    await shelf.save("early")
    async with shelf.transaction() as session:
        await session.execute(update(Contract).values(name="developer"))

    async with shelf.transaction() as session:
        await service.add_built_in(session)

    assert (await shelf.find("developer")).built_in is False
