"""A desk whose team may delegate, decisions of routing written as rows, and the seeded graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import now
from app.config import Flags
from app.ids import new_id
from app.routing.models import RoutingCandidate, RoutingDecision, RoutingMode, RoutingPolicy, RoutingRating
from app.routing.router import Reason
from app.routing.select import Strategy
from tests.fixtures.desk import Desk
from tests.fixtures.graph import graph, seeded
from tests.fixtures.parley import Parley

__all__ = ["decided", "desk", "graph", "seeded"]
AVAILABILITY = "availability { available activeTasks activeConversations estimatedWaitSeconds reason }"
RECORD = """
  since firstChoices selections ratings meanStars tasksEnded tasksCompleted successShare attempts workSeconds toolCalls
  medianAttemptSeconds p95AttemptSeconds attemptCost medianResponseSeconds p95ResponseSeconds answerCost
"""
EXPERTS = """
query ($skills: [String!]!, $exclude: [ID!], $first: Int! = 10) {
  findExperts(requiredSkills: $skills, exclude: $exclude, first: $first) {
    agent { id slug availability { available activeTasks activeConversations estimatedWaitSeconds reason } }
    coverage matchedSkills { required heldAs } missingSkills available activeTasks load
  }
}
"""
RECOMMEND = """
query ($query: String!, $first: Int! = 3) {
  recommendAgents(query: $query, first: $first) { agent { slug } confidence matchingSkills tagline personality }
}
"""
Decided = Callable[..., Awaitable[UUID]]


@pytest.fixture
async def desk(parley: Parley) -> Desk:
    settings = parley.settings.model_copy(update={"flags": Flags(task_delegation=True)})
    home = parley.home
    made = Desk(parley.transaction, settings, home.id, {"kyra": home.kyra, "luke": home.luke})
    await made.sql("""update team set flags = '{"task_delegation": true}'""")
    return made


@pytest.fixture
async def decided(desk: Desk) -> Decided:
    """Writes a decision for these agents, best first, some days ago."""
    policy_id = new_id()
    async with desk.transaction() as session:
        session.add(
            RoutingPolicy(
                id=policy_id, team_id=desk.team_id, version=1, skill_match_weight=4_000, past_performance_weight=2_500,
                personality_fit_weight=2_000, load_balance_weight=1_500, threshold=6_000, skill_floor=3_500,
                strategy=Strategy.TOP_K, k=3, created_by="a test",
            )
        )  # fmt: skip

    async def write(slugs: Sequence[str], *, days: float = 0, stars: Sequence[int] = (), **more: Any) -> UUID:
        chosen = [(await desk.agent(slug)).id for slug in slugs]
        at, key = now() - timedelta(days=days), new_id()
        async with desk.transaction() as session:
            session.add(
                RoutingDecision(
                    id=key, team_id=desk.team_id, created_at=at, mode=RoutingMode.GATE, reason=Reason.SKILL_MATCH,
                    policy_id=policy_id, asked_strategy=Strategy.TOP_K, strategy=Strategy.TOP_K,
                    ensemble_allowed=True, threshold=6_000, skill_floor=3_500, k=3, query="Who?", embedder="none",
                    selected_agent_id=chosen[0], selected_agent_ids=chosen, confidence=0,
                    fallback_used=False, complexity=0, complexity_length=0, complexity_steps=0,
                    complexity_technical_depth=0, complexity_reasoning=0, complexity_constraints=0, suggested_tier=0,
                    selected_tier=0, selected_model="offline", estimated_cost=0, router_latency_ms=0.0, **more,
                )
            )  # fmt: skip
            await session.flush()
            _candidates(session, desk, key, chosen)
            session.add_all(
                RoutingRating(
                    id=new_id(), team_id=desk.team_id, decision_id=key, agent_id=chosen[0], stars=given,
                    rated_by=f"rater {place}", created_at=at,
                )
                for place, given in enumerate(stars)
            )  # fmt: skip
        return key

    return write


def _candidates(session: AsyncSession, desk: Desk, key: UUID, chosen: Sequence[UUID]) -> None:
    everybody = [*chosen, *(agent.id for agent in desk.agents.values() if agent.id not in chosen)]
    session.add_all(
        RoutingCandidate(
            decision_id=key, agent_id=agent, team_id=desk.team_id, agent_version=1, place=place, tie_order=place,
            selected=agent in chosen, skill_match=0, past_performance=0, personality_fit=0, load_balance=0, overall=0,
        )
        for place, agent in enumerate(everybody, 1)
    )  # fmt: skip
