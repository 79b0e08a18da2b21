"""Dependencies: a task starts when all it needs completed, fails when one failed, and never waits in a circle."""

from __future__ import annotations

import asyncio

import pytest

from app.errors import Conflict
from app.tasks import revival
from app.tasks.errors import CycleDetected
from app.tasks.models import Task
from tests.fixtures.desk import ACTOR, Desk


async def test_a_task_starts_when_all_it_depends_on_completed(desk: Desk) -> None:
    first, second = await desk.working("kyra", "luke"), await desk.working("kyra", "ada")
    last = await desk.delegate("kyra", "otto", needs=[first, second])

    await desk.complete(first)
    assert await desk.claim("otto") is None
    await desk.complete(second)

    claimed = await desk.claim("otto")
    assert claimed is not None
    assert claimed.id == last.id


async def test_what_has_completed_is_not_waited_for(desk: Desk) -> None:
    done = await desk.working("kyra", "luke")
    await desk.complete(done)

    assert (await desk.delegate("kyra", "ada", needs=[done])).waiting_for == 0


async def test_dependencies_that_complete_at_once_are_each_counted_once(desk: Desk) -> None:
    needed = [await desk.working("kyra", f"worker-{number}") for number in range(10)]
    last = await desk.delegate("kyra", "otto", needs=needed)

    await asyncio.gather(*(desk.complete(task) for task in needed))

    assert (await desk.read(last)).waiting_for == 0
    assert await desk.claim("otto") is not None


async def test_delegating_while_the_dependency_completes_never_waits_for_ever(desk: Desk) -> None:
    for agent in ("kyra", "luke", "ada"):
        await desk.agent(agent)
    for _ in range(8):
        needed = await desk.working("kyra", "luke")
        _, made = await asyncio.gather(desk.complete(needed), desk.delegate("kyra", "ada", needs=[needed]))

        assert (await desk.read(made)).waiting_for == 0
        await desk.cancel(made)


@pytest.mark.parametrize("end", ["fail", "cancel"])
async def test_failure_passes_down_the_chain_with_its_reason(desk: Desk, end: str) -> None:
    first = await desk.working("kyra", "luke", title="Measure")
    second = await desk.delegate("kyra", "ada", title="Compare", needs=[first])
    third = await desk.delegate("kyra", "otto", title="Report", needs=[second])

    await (desk.fail(first, may_pass=False) if end == "fail" else desk.cancel(first))

    assert await desk.status(second, third) == ["failed", "failed"]
    assert (await desk.read(second)).error_code == "DEPENDENCY_FAILED"
    assert "'Measure'" in ((await desk.read(second)).error_message or "")
    assert "'Compare'" in ((await desk.read(third)).error_message or "")
    assert await desk.reserved() == 0


async def test_a_task_cannot_be_made_to_wait_for_one_that_failed(desk: Desk) -> None:
    failed = await desk.working("kyra", "luke")
    await desk.fail(failed, may_pass=False)

    with pytest.raises(Conflict, match="could never start"):
        await desk.delegate("kyra", "ada", needs=[failed])

    assert await desk.count() == 1


async def test_a_task_that_failed_with_its_dependency_can_be_retried_after_it(desk: Desk) -> None:
    first = await desk.working("kyra", "luke")
    second = await desk.delegate("kyra", "ada", needs=[first])
    await desk.fail(first, may_pass=False)

    with pytest.raises(Conflict, match="Retry that one first"):
        await _retry(desk, second)
    await _retry(desk, first)
    assert (await _retry(desk, second)).waiting_for == 1
    again = await desk.claim("luke")
    assert again is not None
    await desk.complete(again)

    assert await desk.claim("ada") is not None


async def test_a_subtask_cannot_wait_for_what_waits_for_it(desk: Desk) -> None:
    top = await desk.working("kyra", "luke", title="Top")
    middle = await desk.working(None, "ada", title="Middle", parent=top)
    other = await desk.delegate("kyra", "mia", title="Other", needs=[top])

    for needs, chain in (
        (top, ["Leaf", "Top", "Middle", "Leaf"]),
        (middle, ["Leaf", "Middle", "Leaf"]),
        (other, ["Leaf", "Other", "Top", "Middle", "Leaf"]),
    ):
        with pytest.raises(CycleDetected) as refused:
            await desk.delegate(None, "otto", title="Leaf", parent=middle, needs=[needs])
        assert refused.value.details == {"chain": chain}

    assert await desk.count() == 3


async def test_two_waits_at_once_do_not_close_a_circle(desk: Desk) -> None:
    left, right = await desk.working("kyra", "luke"), await desk.working("kyra", "ada")
    await desk.agent("otto")
    await desk.agent("mia")

    outcomes = await asyncio.gather(
        desk.delegate(None, "otto", parent=left, needs=[right]),
        desk.delegate(None, "mia", parent=right, needs=[left]),
        return_exceptions=True,
    )

    assert {type(outcome) for outcome in outcomes} == {Task, CycleDetected}


async def _retry(desk: Desk, task: Task) -> Task:
    async with desk.transaction() as session:
        return await revival.retry(session, team_id=desk.team_id, task_id=task.id, settings=desk.settings, actor=ACTOR)
