"""The ExpertGate: from a query and what is known of the team to candidates with their four signals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.routing.load import Load, load_balance
from app.routing.performance import UNRATED, Rating, past_performance
from app.routing.personality import manner_of, personality_fit
from app.routing.score import Candidate, Signals, kept
from app.routing.skill_match import Query, skill_matches
from app.routing.team_index import TeamIndex

IDLE = Load()


def candidates(
    index: TeamIndex, query: Query, *, ratings: Mapping[str, Sequence[Rating]], loads: Mapping[str, Load]
) -> list[Candidate]:
    """One an agent of the index, by slug. An agent that is missing from `ratings` is unrated, from `loads` idle."""
    manner = manner_of(query.text)
    fits = {traits: kept("personality_fit", personality_fit(manner, traits)) for traits in index.traits}
    past = {slug: kept("past_performance", past_performance(found)) for slug, found in ratings.items()}
    free = {slug: kept("load_balance", load_balance(load)) for slug, load in loads.items()}
    idle = kept("load_balance", load_balance(IDLE))
    return [
        Candidate(
            agent.slug,
            agent.name,
            Signals.of_kept(match.value, past.get(agent.slug, UNRATED), fits[agent.traits], free.get(agent.slug, idle)),
            match.skills,
        )
        for agent, match in zip(index.agents, skill_matches(index, query), strict=True)
    ]
