"""A managed agent gives work to a group: one of it is picked, never who waits, and the agent is told who and why."""

from __future__ import annotations

import json

from app.config import Settings
from app.db.engine import Database
from app.groups import service as groups
from app.groups.spec import GroupSpec
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.tasks.models import TaskStatus
from tests.fixtures.desk import ACTOR, Desk
from tests.jobs.conftest import Workers
from tests.jobs.test_managed_agents import below, tool_calls
from tests.jobs.test_tasks import until_status


def to_group(slug: str, instructions: str) -> str:
    return "@tool delegate_task " + json.dumps({"group": slug, "title": "below", "instructions": instructions})


async def test_a_tool_call_may_name_a_group(
    desk: Desk, settings: Settings, database: Database, workers: Workers
) -> None:
    for slug in ("kyra", "luke", "ada", "zara"):
        await desk.agent(slug, skills=({"name": "Tax law"},) if slug == "zara" else ())
    crew = GroupSpec(slug="crew", name="Crew", coordinator="luke", agents=("ada", "zara", "kyra"))
    async with desk.transaction() as session:
        await groups.save(session, team_id=desk.team_id, spec=crew, actor=ACTOR)
    asked = "\n".join([to_group("crew", "A question on tax law."), to_group("crow", "Nobody.")])

    async with workers(Execution(settings, database, Providers(settings))):
        top = await desk.delegate("kyra", "luke", instructions=asked)
        await until_status(desk, top, TaskStatus.COMPLETED)

    (child,) = await below(desk, top)
    done, refused, *_ = await tool_calls(desk, top)
    assert child.assignee_id == desk.agents["zara"].id, "luke coordinates, but waits for it, and so does kyra"
    assert child.picked_because is not None
    assert child.picked_because.startswith("Zara's skills match best of 2 free members of the group 'crew'")
    assert (done.result or "").startswith(child.picked_because)
    assert (refused.error or "").startswith("NOT_FOUND: There is no group 'crow'")
