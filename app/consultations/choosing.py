"""Reads who could answer out of a routing decision. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

import orjson

from app.agents.models import Agent, AgentStatus
from app.consultations.specialist import Scored, Specialist, Suggestion, choose_specialist
from app.routing.models import SCORE_UNITS
from app.routing.router import Reason
from app.routing.score import UNITS
from app.routing.service import Draft
from app.tasks.starts import BY_OTHERS, Start


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, whom it would ask, and on what authority: on which task it works, or on its allowance."""

    requester_id: UUID
    suggested_agent_id: UUID | None = None
    start: Start = BY_OTHERS


def choose(
    draft: Draft, known: Mapping[UUID, Agent], asking: Asking, allowed: Collection[UUID] | None = None
) -> Specialist:
    """`known` are those who may be taken and who asks, as they are now: nobody is taken who is not active, or whom the
    task that asks may not ask. `allowed` None: no limit."""
    lists, decision = draft.candidates, draft.decision
    scored = [
        Scored(agent_id, known[agent_id].name, overall / SCORE_UNITS, match / UNITS, orjson.loads(skills))
        for agent_id, overall, match, skills in zip(
            lists["agent_id"], lists["overall"], lists["skill_match"], lists["matching_skills"], strict=True
        )
        if agent_id in known
        and known[agent_id].status is AgentStatus.ACTIVE
        and (allowed is None or agent_id in allowed)
    ]
    suits = decision["reason"] is not Reason.DEFAULT and not decision["fallback_used"]
    hint = known.get(asking.suggested_agent_id) if asking.suggested_agent_id else None
    return choose_specialist(
        scored,
        chosen=decision["selected_agent_id"] if suits else None,
        requester_id=asking.requester_id,
        suggested=Suggestion(hint.id, hint.name, hint.status is AgentStatus.ACTIVE) if hint else None,
        skill_floor=decision["skill_floor"] / UNITS,
    )
