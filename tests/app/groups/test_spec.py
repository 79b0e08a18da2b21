"""Groups that do not fit are told with what is wrong; who makes up a group of skills; who is picked in it."""

from __future__ import annotations

from uuid import UUID

import pytest

from app.discovery.experts import Expert, Holding
from app.errors import Conflict
from app.groups.forming import form
from app.groups.picking import Member, Picked, PickReason, choose
from app.groups.spec import GroupSpec, problems_with
from app.tasks.errors import AgentUnavailable


def group(slug: str, parent: str | None = None, *agents: str, **more: str) -> GroupSpec:
    return GroupSpec(slug=slug, name=slug, parent=parent, agents=agents, **more)


def told(*groups: GroupSpec) -> dict[str, str]:
    return {one["path"]: one["message"] for one in problems_with(groups, slugs=["kyra", "luke"])}


def test_what_does_not_fit_is_named() -> None:
    assert told(group("a", None, "kyra"), group("b", "a", "luke", coordinator="kyra")) == {}
    assert told(group("a", None, "lucke")) == {"groups.0.agents.0": "there is no agent 'lucke'; did you mean 'luke'?"}
    assert told(group("a", coordinator="max")) == {"groups.0.coordinator": "there is no agent 'max'"}
    assert told(group("crew", "crow"))["groups.0.parent"] == "there is no group 'crow'; did you mean 'crew'?"
    assert told(group("a"), group("a"))["groups.1.slug"] == "'a' is already the slug of group 1"
    assert told(group("a", "a"))["groups.0.parent"].endswith("a → a")
    around = told(group("a", "b"), group("b", "c"), group("c", "a"), group("d", "a"))
    assert list(around) == ["groups.0.parent", "groups.1.parent", "groups.2.parent"]
    assert around["groups.1.parent"].endswith("b → c → a → b")
    deep = [group(str(level), str(level - 1) if level else None) for level in range(7)]
    assert list(told(*deep)) == ["groups.5.parent", "groups.6.parent"]


def expert(slug: str, *skills: str, available: bool = True) -> Expert:
    return Expert(slug, tuple(Holding(skill, skill) for skill in skills), (), available, 0.0)


def test_few_agents_are_taken_and_free_ones_first() -> None:
    many = [expert("ada", "sql", "css"), expert("ben", "sql"), expert("cyd", "law")]
    assert form(many, ["SQL", "css", "law"]) == (["ada", "cyd"], [])
    assert form(many, ["sql", "art"]) == (["ada"], ["art"])
    busy = [expert("ada", "sql", "css", available=False), expert("ben", "sql")]
    assert form(busy, ["sql"]) == (["ben"], [])
    assert form(busy, ["css"]) == (["ada"], [])
    assert form([], ["sql"]) == ([], ["sql"])


def member(number: int, name: str, match: float = 0.0, tasks: int = 0, status: str = "active") -> Member:
    return Member(UUID(int=number), name.lower(), name, status, tasks, match, match >= 0.35)


def picked(*members: Member, coordinator: int | None = None, exclude: tuple[int, ...] = ()) -> Picked:
    by = UUID(int=coordinator) if coordinator else None
    return choose("crew", by, members, [UUID(int=one) for one in exclude])


def test_the_coordinator_else_the_best_match_else_who_has_least_to_do() -> None:
    ada, ben, cyd = member(1, "Ada", 0.4, 3), member(2, "Ben", 0.9, 4), member(3, "Cyd", tasks=1)

    first = picked(ada, ben, cyd, coordinator=3)
    assert (first.slug, first.reason, first.why) == ("cyd", PickReason.COORDINATOR, "Cyd coordinates the group 'crew'.")
    assert len(first.members) == 3
    by_match = picked(ada, ben, cyd)
    assert (by_match.slug, by_match.reason) == ("ben", PickReason.SKILL_MATCH)
    assert by_match.why == "Ben's skills match best of 3 free members of the group 'crew' (0.90)."
    assert picked(ada, ben, cyd, exclude=(2,)).slug == "ada"
    assert picked(ada, member(2, "Ben", 0.9, 5), cyd).slug == "ada"
    paused = picked(ada, member(2, "Ben", 0.9, status="paused"), cyd, coordinator=2)
    assert (paused.slug, paused.why.endswith("Its coordinator Ben is paused.")) == ("ada", True)
    idle = picked(member(4, "Dan", 0.1, 2), cyd)
    assert (idle.slug, idle.reason) == ("cyd", PickReason.LEAST_BUSY)
    asking = picked(ada, cyd, coordinator=3, exclude=(3,))
    assert (asking.slug, "waiting" in asking.why) == ("ada", True)

    with pytest.raises(Conflict):
        picked(ada, exclude=(1,))
    with pytest.raises(AgentUnavailable) as refused:
        picked(member(1, "Ada", tasks=5), member(2, "Ben", status="paused"))
    assert refused.value.details == {"reason": "AT_CAPACITY"}
