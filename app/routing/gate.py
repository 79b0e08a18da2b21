"""The ExpertGate: from a query and what is known of the team to candidates with their four signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.routing.load import Load, load_balance
from app.routing.performance import Rating, past_performance
from app.routing.personality import manner_of, personality_fit
from app.routing.score import Candidate, Signals
from app.routing.skill_match import Query, skill_matches
from app.routing.team_index import TeamIndex


def candidates(
    index: TeamIndex, query: Query, *, ratings: Mapping[str, Sequence[Rating]], loads: Mapping[str, Load]
) -> list[Candidate]:
    """One an agent of the index, by slug. An agent that is missing from `ratings` is unrated, from `loads` idle."""
    manner = manner_of(query.text)
    return [
        Candidate(
            agent.slug,
            agent.name,
            Signals(
                skill_match=match.value,
                past_performance=past_performance(ratings.get(agent.slug, ())),
                personality_fit=personality_fit(manner, agent.traits),
                load_balance=load_balance(loads.get(agent.slug, Load())),
            ),
            match.skills,
        )
        for agent, match in zip(index.agents, skill_matches(index, query), strict=True)
    ]
