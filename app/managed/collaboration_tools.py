"""The tools with which managed agents start collaboration sessions and learn what came of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.spec import Strict
from app.collaborations import service, templates
from app.collaborations.models import (
    OPEN,
    Collaboration,
    CollaborationPattern,
    CollaborationTemplate,
    ParticipantRole,
)
from app.collaborations.service import Origin
from app.collaborations.spec import MOST_PARTICIPANTS, CollaborationSpec, parse_collaboration
from app.errors import Conflict, InvalidInput, NotFound
from app.ids import Prefix, from_global, to_global
from app.managed.task_tools import MOST_WAIT_S, find_colleague, find_group
from app.managed.tool import AgentTool, Desk, Done
from app.managed.waiting import wait_while
from app.tasks.models import Task

_STATUS = "select status from collaboration where team_id = $1 and id = $2 and lead_id = $3"


class Participant(Strict):
    agent: Annotated[str, Field(description="The colleague's slug, such as luke; empty where a group is named.")] = ""
    group: Annotated[str, Field(description="Instead of an agent: the slug of a group, which picks one.")] = ""
    role: Annotated[ParticipantRole, Field(description="What it is there for; the lead is you.")]
    stage: Annotated[str | None, Field(description="The name of its stage in a pipeline.", max_length=120)] = None
    instructions: Annotated[str, Field(description="What only this colleague is told.")] = ""


class StartCollaboration(Strict):
    pattern: Annotated[
        CollaborationPattern | None, Field(description="How you work together; left out with a team_template.")
    ] = None
    goal: Annotated[str, Field(description="What you are to reach; all are told.")]
    context: Annotated[str, Field(description="Background for all.")] = ""
    participants: Annotated[
        list[Participant],
        Field(
            default_factory=list,
            description="Your colleagues in it; left out with a team_template.",
            max_length=MOST_PARTICIPANTS,
        ),
    ]
    template: Annotated[
        CollaborationTemplate | None,
        Field(description="Lays the stages down, with the pattern supervisor_worker; usually left out."),
    ] = None
    team_template: Annotated[
        str, Field(description="The slug of a template of the team's, which says pattern and participants.")
    ] = ""
    options: Annotated[list[str] | None, Field(description="What a consensus chooses among; usually yes and no.")] = (
        None
    )
    max_cost_usd: Annotated[
        Decimal | None, Field(description="US dollars of your own budget that it may cost; usually left out.", gt=0)
    ] = None


class CheckCollaboration(Strict):
    session_id: Annotated[str, Field(description="The id that start_collaboration answered.")]
    wait_seconds: Annotated[int, Field(description="Wait up to this long for its end.", ge=0, le=MOST_WAIT_S)] = 0


async def _start(session: AsyncSession, desk: Desk, asked: StartCollaboration) -> Done:
    """Whoever starts it leads it; a pipeline goes without a lead."""
    run, task = desk.run, desk.run.task
    made = await service.start(
        session,
        team_id=task.team_id,
        spec=await (_by_template if asked.team_template else _spec)(session, task, asked),
        settings=desk.settings,
        actor=run.actor,
        origin=Origin(lead_id=task.assignee_id, conversation_id=task.conversation_id, start=desk.start),
    )
    name = to_global(Prefix.COLLABORATION, made.id)
    return Done(f"Started as {name}. Ask check_collaboration for what it comes to.")


async def _spec(session: AsyncSession, task: Task, asked: StartCollaboration) -> CollaborationSpec:
    seats = [
        {**await _who(session, task, one), **one.model_dump(exclude={"agent", "group"})} for one in asked.participants
    ]
    if asked.pattern is not CollaborationPattern.PIPELINE:
        seats.append({"agent_id": task.assignee_id, "role": ParticipantRole.LEAD})
    return parse_collaboration(_given(asked) | {"participants": seats})


async def _by_template(session: AsyncSession, task: Task, asked: StartCollaboration) -> CollaborationSpec:
    """One of the team's, which says who leads; another agent's sessions are not this one's to start."""
    slug = asked.team_template.strip().casefold()
    given = _given(asked) | ({"participants": asked.participants} if asked.participants else {})
    spec = await templates.fill(session, team_id=task.team_id, slug=slug, given=given)
    lead = next((one for one in spec.participants if one.role is ParticipantRole.LEAD), None)
    if lead is not None and lead.agent_id != task.assignee_id:
        raise Conflict(f"The template '{slug}' is led by somebody else. Delegate a task to them instead.")
    return spec


def _given(asked: StartCollaboration) -> dict[str, Any]:
    return asked.model_dump(exclude={"participants", "team_template"}, exclude_none=True)


async def _who(session: AsyncSession, task: Task, one: Participant) -> dict[str, UUID]:
    if one.agent and one.group:
        raise InvalidInput.of("group", "goes without an agent: the group picks one")
    if one.group:
        return {"group_id": await find_group(session, task, one.group)}
    return {"agent_id": (await find_colleague(session, task, one.agent)).id}


async def _wait(desk: Desk, asked: CheckCollaboration) -> None:
    which = from_global(Prefix.COLLABORATION, asked.session_id, path="session_id")
    await wait_while(desk, OPEN, _STATUS, which, desk.run.task.assignee_id, seconds=asked.wait_seconds)


async def _check(session: AsyncSession, desk: Desk, asked: CheckCollaboration) -> Done:
    """Only of sessions that the agent leads."""
    mine = desk.run.task
    found = await session.scalar(
        select(Collaboration).where(
            Collaboration.team_id == mine.team_id,
            Collaboration.id == from_global(Prefix.COLLABORATION, asked.session_id, path="session_id"),
            Collaboration.lead_id == mine.assignee_id,
        )
    )
    if found is None:
        raise NotFound("You lead no such session.")
    said = "\n".join(part for part in (found.error_message, found.result) if part)
    return Done(f"{found.status.value.upper()}: {said}" if said else found.status.value.upper())


# What works for a session starts none: sessions never nest, so that no two can wait for each other.
COLLABORATION_TOOLS = (
    AgentTool(
        name="start_collaboration",
        description="Have several colleagues work on one goal, in a pattern, with you as the lead. Answers the "
        "session's id at once; it is paid from your own budget and goes on when you end.",
        arguments=StartCollaboration,
        act=_start,
        offered=lambda task: task.collaboration_id is None,
    ),
    AgentTool(
        name="check_collaboration",
        description="Where a session that you started stands, and what it came to; can wait for its end.",
        arguments=CheckCollaboration,
        act=_check,
        wait=_wait,
        offered=lambda task: task.collaboration_id is None,
    ),
)
