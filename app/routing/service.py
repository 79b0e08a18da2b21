"""Routes messages: reads and reckons without a transaction, then writes the decision with all that it depended on."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from decimal import Decimal
from uuid import UUID

import numpy as np
import structlog

from app.config import Settings
from app.db.engine import Database
from app.db.transaction import Transactions
from app.embeddings.embedder import DIMENSIONS, Embedder, EmbeddingFailed, Vectors
from app.errors import InvalidInput, NotFound, check_text
from app.ids import Prefix, new_id, to_global
from app.routing import facts, policies
from app.routing.choice import Choice, RoutingMode, choose, direct
from app.routing.complexity import Complexity, complexity_of
from app.routing.cost import estimated_costs
from app.routing.decisions import Draft as Draft
from app.routing.decisions import candidate_columns
from app.routing.decisions import record as record
from app.routing.errors import AgentNotActive, NoAgentAvailable
from app.routing.facts import TeamFacts
from app.routing.gate import candidates
from app.routing.mentions import MOST_TOLD, mentions, passed_over, unheard
from app.routing.models import MAX_QUERY, SCORE_UNITS
from app.routing.packing import packed
from app.routing.score import units
from app.routing.select import Policy, Strategy
from app.routing.skill_match import Query
from app.routing.team_indexes import KnownTeam, TeamIndexes
from app.routing.tier import TIERS, TierChoice, choose_tier, tier_of
from app.teams.flags import FeatureFlag, is_on

log = structlog.get_logger(__name__)
WORDS_ONLY = "The embedder did not answer, so only words and subjects were compared."
HUNDREDTHS = 100


@dataclass(frozen=True)
class Message:
    """What is to be routed. What is None counts as the team's policy says, or as not known.

    `direct_agent_id` answers where collaboration is off and no agent is named. Those in `without` were removed from the
    conversation, or ask where there is none: they are not chosen, also not as the default agent, unless they are named.
    """

    text: str
    agent_id: UUID | None = None
    direct_agent_id: UUID | None = None
    current_agent_id: UUID | None = None
    conversation_id: UUID | None = None
    message_id: UUID | None = None
    strategy: Strategy | None = None
    k: int | None = None
    threshold: float | None = None
    model_tier: int | None = None
    without: frozenset[UUID] = frozenset()


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
        team = await self._indexes.get(team_id, known.stamp)
        named = await self._active(team_id, team, message.agent_id, "agentId")
        await self._exists(team_id, team, message.current_agent_id)
        vector, blind = await self._vector(message.text)
        written = facts.as_text(vector)
        policy = self._policy(known, message)
        mode = self._mode(known)
        gate_started = time.perf_counter()
        if mode is RoutingMode.DIRECT:
            named = named or await self._active(team_id, team, message.direct_agent_id, "agentId")
            choice = direct(named, named or _default(team, message))
        else:
            choice = await self._choose(mode, team_id, team, message, vector, written, policy, named)
            unseen = WORDS_ONLY if blind or team.blind else None
            told = (await self._passed_over(team_id, team, message), choice.warning, unseen)
            choice = replace(choice, warning=" ".join(filter(None, told)) or None)
        ended = time.perf_counter()
        latencies = {
            "gate_latency_ms": 1000 * (ended - gate_started) if mode is RoutingMode.GATE else None,
            "router_latency_ms": 1000 * (ended - started),
        }
        return self._draft(team_id, team, message, known, policy, choice, written, latencies)

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
        written: str,
        policy: Policy,
        named: str | None,
    ) -> Choice:
        ratings, loads = await facts.signals(self._database, team_id, written, team.index.calibration)
        found = candidates(team.index, Query(message.text, vector), ratings=ratings, loads=loads)
        current = team.slug_of(message.current_agent_id)
        gone = {slug for one in message.without if (slug := team.slug_of(one))} - {named, *mentions(message.text)}
        found = [one for one in found if one.slug not in gone]
        return choose(
            mode, message.text, found, policy, named=named, current=current, default=team.default, left_out=gone
        )

    async def _passed_over(self, team_id: UUID, team: KnownTeam, message: Message) -> str | None:
        """What is to be told of mentions that address nobody. Who is named in another way needs none of them."""
        passed = passed_over(message.text, team.agents) if message.agent_id is None else []
        if not passed:
            return None
        known = "select slug, status from agent where team_id = $1 and slug = any($2)"
        rows = await self._database.fetch(known, team_id, passed[:MOST_TOLD])
        return unheard(passed, {row["slug"]: row["status"] for row in rows})

    def _draft(
        self,
        team_id: UUID,
        team: KnownTeam,
        message: Message,
        known: TeamFacts,
        policy: Policy,
        choice: Choice,
        vector: str,
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
            "embedder": self._embedder.name,
            "conversation_id": message.conversation_id,
            "message_id": message.message_id,
            "current_agent_id": message.current_agent_id,
            "default_agent_id": team.default_id if team.default is not None else None,
            "selected_agent_id": selected[0] if selected else None,
            "selected_agent_ids": selected,
            "left_out_ids": [team.agents[slug].id for slug in choice.left_out],
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
        told = {
            "routing_decision_id": to_global(Prefix.ROUTING_DECISION, decision["id"]),
            "mode": choice.mode,
            "reason": choice.reason,
            "strategy": choice.strategy,
            "selected": list(choice.selected),
            "confidence": choice.confidence,
            "fallback_used": choice.fallback_used,
            "warning": choice.warning,
        }
        return Draft(decision, vector, candidate_columns(team, choice), told)

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


def _checked(message: Message) -> Message:
    if message.model_tier is not None and message.model_tier not in TIERS:
        raise InvalidInput.of("modelTier", "must be 0 to 2")
    return replace(message, text=check_text("text", message.text, least=1, most=MAX_QUERY))


def _default(team: KnownTeam, message: Message) -> str:
    if team.default is None:
        raise NoAgentAvailable
    if team.default_id in message.without:
        raise NoAgentAvailable("No agent was named, and the default agent is left out. Name an agent.")
    return team.default


def _complexity_columns(complexity: Complexity) -> dict[str, int]:
    parts = {f"complexity_{name}": round(value * HUNDREDTHS) for name, value in vars(complexity).items()}
    return {"complexity": round(complexity.overall * HUNDREDTHS), **parts}
