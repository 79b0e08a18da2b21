"""Routes messages: reads and reckons without a transaction, then writes the decision with all that it depended on."""

from __future__ import annotations

import asyncio
import time
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import numpy as np
import structlog
from sqlalchemy import Table, insert
from sqlalchemy.ext.asyncio import AsyncSession

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.embedder import DIMENSIONS, Embedder, EmbeddingFailed, Vectors
from app.errors import InvalidInput, NotFound, check_text
from app.events.kinds import EventKind
from app.events.log import Actor, append
from app.ids import Prefix, new_id, to_global
from app.routing import facts, policies
from app.routing.choice import Choice, RoutingMode, choose, direct
from app.routing.complexity import Complexity, complexity_of
from app.routing.cost import estimated_costs
from app.routing.errors import AgentNotActive, NoAgentAvailable
from app.routing.facts import TeamFacts
from app.routing.gate import candidates
from app.routing.models import MAX_QUERY, SCORE_UNITS, RoutingCandidate, RoutingDecision
from app.routing.packing import packed
from app.routing.score import Score, units
from app.routing.select import Policy, Strategy
from app.routing.skill_match import Query
from app.routing.team_indexes import KnownTeam, TeamIndexes
from app.routing.tier import TIERS, TierChoice, choose_tier, tier_of
from app.teams.flags import FeatureFlag, is_on

log = structlog.get_logger(__name__)
WORDS_ONLY = "The embedder did not answer, so only words and subjects were compared."
HUNDREDTHS = 100
_INSERT_DECISION = insert(cast("Table", RoutingDecision.__table__))
_INSERT_CANDIDATES = insert(cast("Table", RoutingCandidate.__table__))


@dataclass(frozen=True)
class Message:
    """What is to be routed. What is None counts as the team's policy says, or as not known."""

    text: str
    agent_id: UUID | None = None
    current_agent_id: UUID | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    strategy: Strategy | None = None
    k: int | None = None
    threshold: float | None = None
    model_tier: int | None = None


@dataclass(frozen=True)
class Draft:
    """A decision that is made and not yet written."""

    decision: dict[str, Any]
    candidates: list[dict[str, Any]]
    told: dict[str, Any]


class Routing:
    """One a process; holds nothing that matters to correctness."""

    def __init__(
        self,
        database: Database,
        transaction: Transactions,
        settings: Settings,
        embedder: Embedder,
        indexes: TeamIndexes,
    ) -> None:
        self._database, self._transaction, self._settings = database, transaction, settings
        self._embedder, self._indexes = embedder, indexes

    async def decide(self, team_id: UUID, message: Message) -> Draft:
        """Decide who answers. No transaction is open meanwhile; nothing is written but a team's first policy.

        Raises InvalidInput, NotFound, AgentNotActive and, when collaboration is off, NoAgentAvailable.
        """
        started = time.perf_counter()
        message = _checked(message)
        known = await self._facts(team_id)
        team = await self._indexes.get(team_id)
        named = await self._active(team_id, team, message.agent_id, "agentId")
        await self._exists(team_id, team, message.current_agent_id)
        vector, blind = await self._vector(message.text)
        policy = self._policy(known, message)
        mode = self._mode(known)
        gate_started = time.perf_counter()
        if mode is RoutingMode.DIRECT:
            choice = direct(named, _default(team, named))
        else:
            choice = await self._choose(mode, team_id, team, message, vector, policy, named)
        if blind and mode is not RoutingMode.DIRECT:
            choice = replace(choice, warning=" ".join(filter(None, (choice.warning, WORDS_ONLY))))
        ended = time.perf_counter()
        latencies = {
            "gate_latency_ms": 1000 * (ended - gate_started) if mode is RoutingMode.GATE else None,
            "router_latency_ms": 1000 * (ended - started),
        }
        return self._draft(team_id, team, message, known, policy, choice, vector, latencies)

    async def _facts(self, team_id: UUID) -> TeamFacts:
        known = await facts.team_facts(self._database, team_id, self._settings)
        if known.policy is not None:
            return known
        async with self._transaction() as session:
            return replace(known, policy=await policies.ensure(session, team_id))

    def _mode(self, known: TeamFacts) -> RoutingMode:
        if not is_on(FeatureFlag.AGENT_COLLABORATION, self._settings.flags, known.flags):
            return RoutingMode.DIRECT
        gated = is_on(FeatureFlag.EXPERT_GATE, self._settings.flags, known.flags)
        return RoutingMode.GATE if gated else RoutingMode.ROUTER

    def _policy(self, known: TeamFacts, message: Message) -> Policy:
        """The team's, with what the caller asks for this once."""
        allowed = is_on(FeatureFlag.ENSEMBLE_MODE, self._settings.flags, known.flags)
        asked = {"strategy": message.strategy, "k": message.k, "threshold": message.threshold}
        own = {name: value for name, value in asked.items() if value is not None}
        return replace(policies.policy_of(known.policy, ensemble_allowed=allowed), **own)  # type: ignore[arg-type]

    async def _active(self, team_id: UUID, team: KnownTeam, agent_id: UUID | None, path: str) -> str | None:
        """The slug of an agent that must be active; raises NotFound and AgentNotActive."""
        slug = team.slug_of(agent_id)
        if slug is None and agent_id is not None:
            status = await self._exists(team_id, team, agent_id)
            raise AgentNotActive(*status)
        return slug

    async def _exists(self, team_id: UUID, team: KnownTeam, agent_id: UUID | None) -> tuple[str, str]:
        if agent_id is None or team.slug_of(agent_id) is not None:
            return "", ""
        found = "select name, status from agent where team_id = $1 and id = $2"
        row = await self._database.fetchrow(found, team_id, agent_id)
        if row is None:
            raise NotFound("There is no such agent in this team.")
        return row["name"], row["status"]

    async def _vector(self, text: str) -> tuple[Vectors, bool]:
        """Zeros, and True, when the embedder fails: words and subjects then decide alone."""
        try:
            return (await self._embedder.embed([text]))[0], False
        except EmbeddingFailed as error:
            log.warning("a message is routed without its meaning", error=error.message)
            return np.zeros(DIMENSIONS, dtype=np.float32), True

    async def _choose(
        self,
        mode: RoutingMode,
        team_id: UUID,
        team: KnownTeam,
        message: Message,
        vector: Vectors,
        policy: Policy,
        named: str | None,
    ) -> Choice:
        calibration = await self._indexes.calibration()
        ratings, loads = await asyncio.gather(
            facts.similar_ratings(self._database, team_id, vector, calibration),
            facts.loads(self._database, team_id),
        )
        found = candidates(team.index, Query(message.text, vector), ratings=ratings, loads=loads)
        current = team.slug_of(message.current_agent_id)
        return choose(mode, message.text, found, policy, named=named, current=current, default=team.default)

    def _draft(
        self,
        team_id: UUID,
        team: KnownTeam,
        message: Message,
        known: TeamFacts,
        policy: Policy,
        choice: Choice,
        vector: Vectors,
        latencies: dict[str, float | None],
    ) -> Draft:
        complexity = complexity_of(message.text)
        tier, cost = self._tier(message, complexity, known, len(choice.selected))
        selected = [team.agents[slug].id for slug in choice.selected]
        decision = {
            "id": new_id(),
            "team_id": team_id,
            "mode": choice.mode,
            "reason": choice.reason,
            "policy_id": known.policy.id,
            "asked_strategy": policy.strategy,
            "strategy": choice.strategy,
            "ensemble_allowed": policy.ensemble_allowed,
            "threshold": units(policy.threshold),
            "skill_floor": units(policy.skill_floor),
            "k": policy.k,
            "query": message.text,
            "embedding": vector,
            "embedder": self._embedder.name,
            "conversation_id": message.conversation_id,
            "message_id": message.message_id,
            "current_agent_id": message.current_agent_id,
            "default_agent_id": team.default_id if team.default is not None else None,
            "selected_agent_id": selected[0] if selected else None,
            "selected_agent_ids": selected,
            **packed((score.candidate for score in choice.scores), {slug: one.id for slug, one in team.agents.items()}),
            "confidence": round(choice.confidence * SCORE_UNITS),
            "fallback_used": choice.fallback_used,
            "warning": choice.warning,
            **_complexity_columns(complexity),
            "suggested_tier": tier_of(complexity.overall),
            "selected_tier": tier.tier,
            "selected_model": tier.model,
            "tier_override_reason": tier.override_reason,
            "estimated_cost": cost,
            **latencies,
        }
        rows = _candidate_rows(decision["id"], team_id, team, choice)
        told = {
            "decision_id": to_global(Prefix.ROUTING_DECISION, decision["id"]),
            "mode": choice.mode,
            "reason": choice.reason,
            "strategy": choice.strategy,
            "selected": list(choice.selected),
            "confidence": choice.confidence,
            "fallback_used": choice.fallback_used,
            "warning": choice.warning,
        }
        return Draft(decision, rows, told)

    def _tier(
        self, message: Message, complexity: Complexity, known: TeamFacts, agents: int
    ) -> tuple[TierChoice, Decimal]:
        settings = self._settings
        models = (settings.model_tier_0, settings.model_tier_1, settings.model_tier_2)
        costs = estimated_costs(
            message.text,
            models=models,
            usd_per_million=settings.tier_usd_per_million_tokens,
            agents=agents,
        )
        tier = choose_tier(
            complexity.overall,
            models=models,
            costs_usd=costs,
            left_usd=known.left_usd,
            requested=message.model_tier,
        )
        return tier, costs[tier.tier]


async def record(session: AsyncSession, draft: Draft, *, actor: Actor) -> UUID:
    """Write a decision with its candidates and tell of it, in the caller's transaction; returns its id."""
    decision = draft.decision
    # Into the tables, with parameters: half the time of the mapped classes, whose values are each looked at.
    await session.execute(_INSERT_DECISION, decision)
    if draft.candidates:
        await session.execute(_INSERT_CANDIDATES, draft.candidates)
    append(
        session,
        EventKind.ROUTING_FELL_BACK if decision["fallback_used"] else EventKind.ROUTING_DECIDED,
        team_id=decision["team_id"],
        actor=actor,
        agent_id=decision["selected_agent_id"],
        changes=draft.told,
    )
    made: UUID = decision["id"]
    return made


def _checked(message: Message) -> Message:
    if message.model_tier is not None and message.model_tier not in TIERS:
        raise InvalidInput.of("modelTier", "must be 0 to 2")
    return replace(message, text=check_text("text", message.text, least=1, most=MAX_QUERY))


def _default(team: KnownTeam, named: str | None) -> str:
    if named is None and team.default is None:
        raise NoAgentAvailable
    return named or team.default or ""


def _complexity_columns(complexity: Complexity) -> dict[str, int]:
    names = ("length", "steps", "technical_depth", "reasoning", "constraints")
    parts = {
        f"complexity_{name}": round(value * HUNDREDTHS) for name, value in zip(names, astuple(complexity), strict=True)
    }
    return {"complexity": round(complexity.overall * HUNDREDTHS), **parts}


def _candidate_rows(decision_id: UUID, team_id: UUID, team: KnownTeam, choice: Choice) -> list[dict[str, Any]]:
    by_slug = sorted(score.candidate.slug for score in choice.scores)
    tie_order = {slug: place for place, slug in enumerate(by_slug, 1)}
    return [
        {
            "decision_id": decision_id,
            "agent_id": team.agents[score.candidate.slug].id,
            "team_id": team_id,
            "agent_version": team.agents[score.candidate.slug].version,
            "place": place,
            "tie_order": tie_order[score.candidate.slug],
            "selected": score.candidate.slug in choice.selected,
            **_signal_columns(score),
        }
        for place, score in enumerate(choice.scores, 1)
    ]


def _signal_columns(score: Score) -> dict[str, Any]:
    return {
        **{name: units(value) for name, value in vars(score.candidate.signals).items()},
        "overall": round(score.overall * SCORE_UNITS),
        "matching_skills": list(score.candidate.matching_skills),
    }
