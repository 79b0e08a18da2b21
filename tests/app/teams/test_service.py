"""A team's settings change in turns, and only a difference is told."""

from __future__ import annotations

import asyncio

import pytest

from app.config import Flags
from app.db.transaction import Transactions
from app.errors import InvalidInput, NotFound
from app.events.log import Actor
from app.ids import new_id
from app.teams import service
from app.teams.flags import FeatureDisabled, FeatureFlag, is_on, require
from app.teams.models import Team
from app.teams.values import same
from tests.app.conftest import Kinds


async def test_of_ten_creations_at_once_all_get_the_one_team(transaction: Transactions, actor: Actor) -> None:
    async def create() -> Team:
        async with transaction() as session:
            return await service.create(session, slug="one", name="One", actor=actor)

    made = await asyncio.gather(*(create() for _ in range(10)))

    assert len({team.id for team in made}) == 1


async def test_flags_are_overridden_and_given_back(
    transaction: Transactions, team: Team, actor: Actor, kinds: Kinds
) -> None:
    for value, expected in ((True, {"expert_gate": True}), (True, {"expert_gate": True}), (None, {})):
        async with transaction() as session:
            changed = await service.set_flags(
                session, team_id=team.id, changes={FeatureFlag.EXPERT_GATE: value}, actor=actor
            )
            assert changed.flags == expected

    assert await kinds() == ["team.flags_changed", "team.flags_changed"]


async def test_no_flag_is_no_change(transaction: Transactions, team: Team, actor: Actor) -> None:
    with pytest.raises(InvalidInput):
        async with transaction() as session:
            await service.set_flags(session, team_id=team.id, changes={}, actor=actor)


async def test_flags_set_at_once_are_all_kept(transaction: Transactions, team: Team, actor: Actor) -> None:
    async def turn_on(flag: FeatureFlag) -> None:
        async with transaction() as session:
            known = await service.find_by_slug(session, "writers")  # as it was before the wait
            assert await service.set_flags(session, team_id=team.id, changes={flag: True}, actor=actor) is known

    await asyncio.gather(*map(turn_on, FeatureFlag))

    async with transaction() as session:
        assert (await service.lock(session, team.id)).flags == {flag.value: True for flag in FeatureFlag}


async def test_a_lock_shows_the_team_as_it_is_not_as_the_session_knew_it(
    transaction: Transactions, team: Team, actor: Actor
) -> None:
    async with transaction() as session:
        known = await service.find_by_slug(session, "writers")  # held: the session forgets what nobody holds
        async with transaction() as meanwhile:
            locked = await service.lock(meanwhile, team.id)
            await service.change(meanwhile, team=locked, fields={"description": "new"}, actor=actor)

        assert await service.lock(session, team.id) is known
        assert known is not None
        assert known.description == "new"


async def test_a_missing_team_cannot_be_locked(transaction: Transactions) -> None:
    with pytest.raises(NotFound):
        async with transaction() as session:
            await service.lock(session, new_id())


def test_the_teams_word_on_a_flag_counts_before_the_installations() -> None:
    on, off = Flags(expert_gate=True), Flags()

    assert is_on(FeatureFlag.EXPERT_GATE, on, {})
    assert not is_on(FeatureFlag.EXPERT_GATE, on, {"expert_gate": False})
    assert is_on(FeatureFlag.EXPERT_GATE, off, {"expert_gate": True})
    with pytest.raises(FeatureDisabled, match="expert_gate is off"):
        require(FeatureFlag.EXPERT_GATE, off, {})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": 1, "b": "x"}, {"b": "x", "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("x", "x", True),
    ],
)
def test_settings_are_the_same_only_in_kind(one: object, other: object, expected: bool) -> None:
    assert same(one, other) is expected
