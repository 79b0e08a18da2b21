"""What may not be delegated is refused by its name, and then nothing is created and nothing reserved."""

from __future__ import annotations

from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy.exc import IntegrityError

from app.budgets.errors import BudgetExhausted
from app.errors import AppError, Conflict, InvalidInput, NotFound
from app.ids import new_id
from app.tasks.errors import (
    AuthorityExceeded,
    ClaimLost,
    CycleDetected,
    DelegationDepthExceeded,
)
from app.tasks.models import Task
from app.teams.flags import FeatureDisabled
from tests.fixtures.desk import Desk


async def test_a_fourth_hop_is_refused_and_the_chain_named(desk: Desk) -> None:
    first = await desk.working("kyra", "luke")
    second = await desk.working(None, "ada", parent=first)
    third = await desk.working(None, "otto", parent=second)
    before = await desk.reserved()

    with pytest.raises(DelegationDepthExceeded, match="kyra → luke → ada → otto → mia") as refused:
        await desk.delegate(None, "mia", parent=third)

    assert refused.value.details == {"chain": ["kyra", "luke", "ada", "otto", "mia"], "limit": 3}
    assert (third.depth, await desk.count(), await desk.reserved()) == (3, 3, before)


@pytest.mark.parametrize("back_to", ["kyra", "luke", "ada"])
async def test_work_never_comes_back_to_who_waits_for_it(desk: Desk, back_to: str) -> None:
    first = await desk.working("kyra", "luke")
    second = await desk.working(None, "ada", parent=first)

    with pytest.raises(CycleDetected, match=f"kyra → luke → ada → {back_to}"):
        await desk.delegate(None, back_to, parent=second)

    assert await desk.count() == 2


async def test_self_delegation_is_refused(desk: Desk) -> None:
    with pytest.raises(CycleDetected, match="kyra → kyra"):
        await desk.delegate("kyra", "kyra")

    assert (await desk.count(), await desk.reserved()) == (0, 0)


@pytest.mark.parametrize(
    "change", ["set assignee_id = creator_id", "set depth = 4", "set status = 'in_progress'", "set finished_at = now()"]
)
async def test_the_database_itself_refuses_a_broken_task(desk: Desk, change: str) -> None:
    await desk.delegate("kyra", "luke")

    with pytest.raises(IntegrityError) as refused:
        await desk.sql(f"update task {change}")

    assert isinstance(refused.value.orig.__cause__, asyncpg.CheckViolationError)  # type: ignore[union-attr]


async def test_a_flag_that_is_off_refuses(desk: Desk) -> None:
    await desk.sql("""update team set flags = '{"task_delegation": false}'""")

    with pytest.raises(FeatureDisabled):
        await desk.delegate("kyra", "luke")

    assert await desk.count() == 0


async def test_authority_only_narrows(desk: Desk) -> None:
    await desk.agent("ada", tools=["search", "read"])
    top = await desk.working("kyra", "luke", tools=["search", "read"], may_ask=["ada"])

    below = await desk.delegate(None, "ada", parent=top, tools=["search"])
    inherited = await desk.delegate(None, "ada", parent=top)
    with pytest.raises(AuthorityExceeded) as refused:
        await desk.delegate(None, "otto", parent=top, tools=["search", "write"])

    assert refused.value.details == {"missing": ["the tool 'write'", "the agent 'otto'"]}
    assert (below.allowed_tools, inherited.allowed_tools) == (["search"], ["read", "search"])
    assert below.allowed_agents == top.allowed_agents
    assert below.on_behalf_of == top.on_behalf_of == "a test"


async def test_a_tool_that_nobody_has_is_refused_for_an_agent_whose_tools_are_known(desk: Desk) -> None:
    await desk.agent("otto", runtime="external", tools=["search"])

    with pytest.raises(InvalidInput, match=r"no agent of this team has delegate_tsak, read\. Luke has: ask_person, "):
        await desk.delegate("kyra", "luke", tools=["read", "delegate_tsak", "delegate_task", "search"])
    assert await desk.count() == 0
    known = await desk.delegate("kyra", "luke", tools=["search", "delegate_task"])
    own = await desk.delegate("kyra", "otto", tools=["read"])
    assert (known.allowed_tools, own.allowed_tools) == (["delegate_task", "search"], ["read"])


async def test_more_than_the_parent_has_left_is_exhausted(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", budget_usd="1")
    await desk.delegate(None, "ada", parent=top, budget_usd="0.7")

    with pytest.raises(BudgetExhausted, match=r"The task's budget has 0\.300000 of 1\.000000 USD left") as refused:
        await desk.delegate(None, "otto", parent=top, budget_usd="0.31")

    assert refused.value.details["scope"] == "TASK"
    assert await desk.count() == 2


async def test_only_a_running_task_delegates_and_only_in_its_assignees_name(desk: Desk) -> None:
    waiting = await desk.delegate("kyra", "luke")
    running = await desk.working("kyra", "ada")

    for parent, creator, token, error in (
        (waiting, None, None, Conflict),
        (running, "kyra", None, InvalidInput),
        (running, None, uuid4(), ClaimLost),
        (Task(id=new_id()), None, None, NotFound),
    ):
        with pytest.raises(error):
            await desk.delegate(creator, "otto", parent=parent, claim_token=token)

    assert await desk.count() == 2


async def test_a_first_task_needs_its_creator(desk: Desk) -> None:
    with pytest.raises(AppError, match="creatorId"):
        await desk.delegate(None, "luke")
