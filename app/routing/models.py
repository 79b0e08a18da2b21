"""What routing keeps: policies in versions, decisions with everything they depended on, and how answers were rated.

Signals, weights and thresholds are whole ten-thousandths and scores whole hundred-millionths, so that SQL computes a
score to the same digit as the rules do.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Computed,
    Double,
    ForeignKey,
    Index,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.budgets.models import USD
from app.db.base import Base, Identified, team_key, team_link, text_enum
from app.embeddings.embedder import DIMENSIONS
from app.routing.choice import RoutingMode as RoutingMode
from app.routing.router import Reason
from app.routing.select import Strategy

MAX_QUERY = 10_000
SCORE_UNITS = 100_000_000


class RoutingOutcome(StrEnum):
    """What became of the answer."""

    ANSWERED = "answered"
    FAILED = "failed"
    REDIRECTED = "redirected"


class RoutingPolicy(Identified, Base):
    """One version of how a team chooses; it never changes. The newest counts, older ones explain older decisions."""

    __tablename__ = "routing_policy"
    __table_args__ = (
        team_key(),
        UniqueConstraint("team_id", "version"),
        CheckConstraint(
            "skill_match_weight + past_performance_weight + personality_fit_weight + load_balance_weight = 10000",
            name="weights_sum",
        ),
        CheckConstraint(
            "least(skill_match_weight, past_performance_weight, personality_fit_weight, load_balance_weight) >= 0",
            name="weights",
        ),
        CheckConstraint("threshold between 0 and 10000 and skill_floor between 0 and 10000", name="thresholds"),
        CheckConstraint("k between 1 and 20", name="k"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    version: Mapped[int]
    skill_match_weight: Mapped[int] = mapped_column(SmallInteger)
    past_performance_weight: Mapped[int] = mapped_column(SmallInteger)
    personality_fit_weight: Mapped[int] = mapped_column(SmallInteger)
    load_balance_weight: Mapped[int] = mapped_column(SmallInteger)
    threshold: Mapped[int] = mapped_column(SmallInteger)
    skill_floor: Mapped[int] = mapped_column(SmallInteger)
    strategy: Mapped[Strategy] = mapped_column(text_enum(Strategy))
    k: Mapped[int] = mapped_column(SmallInteger)
    note: Mapped[str] = mapped_column(String(500), server_default="")
    created_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class RoutingDecision(Identified, Base):
    """Who was chosen to answer a query, and why. Rating, outcome and actual cost are added when they are known."""

    __tablename__ = "routing_decision"
    __table_args__ = (
        team_key(),
        team_link("policy_id", "routing_policy"),
        team_link("selected_agent_id", "agent"),
        team_link("default_agent_id", "agent"),
        team_link("current_agent_id", "agent"),
        CheckConstraint("fallback_used or selected_agent_id is not null", name="somebody"),
        Index("ix_routing_decision_team_at", "team_id", "created_at", "id"),
        Index("ix_routing_decision_agent", "team_id", "selected_agent_id", "created_at", "id"),
        Index("ix_routing_decision_words", "query_words", postgresql_using="gin"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    mode: Mapped[RoutingMode] = mapped_column(text_enum(RoutingMode))
    reason: Mapped[Reason] = mapped_column(text_enum(Reason))
    policy_id: Mapped[UUID]
    asked_strategy: Mapped[Strategy] = mapped_column(text_enum(Strategy, checked=False))
    strategy: Mapped[Strategy] = mapped_column(text_enum(Strategy))
    ensemble_allowed: Mapped[bool]
    threshold: Mapped[int] = mapped_column(SmallInteger)
    skill_floor: Mapped[int] = mapped_column(SmallInteger)
    k: Mapped[int] = mapped_column(SmallInteger)
    query: Mapped[str] = mapped_column(Text)
    query_words: Mapped[Any] = mapped_column(TSVECTOR, Computed("to_tsvector('simple', query)", persisted=True))
    embedder: Mapped[str] = mapped_column(String(120))
    conversation_id: Mapped[UUID | None]
    message_id: Mapped[UUID | None]
    current_agent_id: Mapped[UUID | None]
    default_agent_id: Mapped[UUID | None]
    selected_agent_id: Mapped[UUID | None]
    selected_agent_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid()))
    # Active agents that were not to be chosen; null: not known, as of decisions before this was kept.
    left_out_ids: Mapped[list[UUID] | None] = mapped_column(ARRAY(Uuid()))
    # What a replay reads: see app/routing/packing.py.
    candidate_ids: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid()), server_default="{}")
    candidate_signals: Mapped[list[int]] = mapped_column(ARRAY(BigInteger), server_default="{}")
    confidence: Mapped[int]
    fallback_used: Mapped[bool]
    warning: Mapped[str | None] = mapped_column(String(500))
    # Hundredths, 0 to 1,000.
    complexity: Mapped[int] = mapped_column(SmallInteger)
    complexity_length: Mapped[int] = mapped_column(SmallInteger)
    complexity_steps: Mapped[int] = mapped_column(SmallInteger)
    complexity_technical_depth: Mapped[int] = mapped_column(SmallInteger)
    complexity_reasoning: Mapped[int] = mapped_column(SmallInteger)
    complexity_constraints: Mapped[int] = mapped_column(SmallInteger)
    suggested_tier: Mapped[int] = mapped_column(SmallInteger)
    selected_tier: Mapped[int] = mapped_column(SmallInteger)
    selected_model: Mapped[str] = mapped_column(String(120))
    tier_override_reason: Mapped[str | None] = mapped_column(String(500))
    estimated_cost: Mapped[Decimal] = mapped_column(USD)
    actual_cost: Mapped[Decimal | None] = mapped_column(USD)
    gate_latency_ms: Mapped[float | None] = mapped_column(Double)
    router_latency_ms: Mapped[float] = mapped_column(Double)
    response_ms: Mapped[int | None]
    outcome: Mapped[RoutingOutcome | None] = mapped_column(text_enum(RoutingOutcome))
    rating: Mapped[float | None] = mapped_column(Double)


class RoutingVector(Base):
    """The vector of a decision's query. Apart, because it is larger than all the rest and only similar queries need it;
    with its embedder, without which it means nothing."""

    __tablename__ = "routing_vector"
    __table_args__ = (team_link("decision_id", "routing_decision", ondelete="CASCADE"),)

    decision_id: Mapped[UUID] = mapped_column(primary_key=True)
    team_id: Mapped[UUID]
    embedder: Mapped[str] = mapped_column(String(120))
    embedding: Mapped[Any] = mapped_column(VECTOR(DIMENSIONS))


class RoutingCandidate(Base):
    """An agent that was scored for a decision. `place` counts from 1, the best; `tie_order` is the slug's place in the
    alphabet among the candidates, which decides between equal scores."""

    __tablename__ = "routing_candidate"
    __table_args__ = (
        team_link("decision_id", "routing_decision", ondelete="CASCADE"),
        team_link("agent_id", "agent"),
        CheckConstraint(
            "least(skill_match, past_performance, personality_fit, load_balance) >= 0 "
            "and greatest(skill_match, past_performance, personality_fit, load_balance) <= 10000",
            name="signals",
        ),
        Index("ix_routing_candidate_agent", "team_id", "agent_id", "decision_id"),
    )

    decision_id: Mapped[UUID] = mapped_column(primary_key=True)
    agent_id: Mapped[UUID] = mapped_column(primary_key=True)
    team_id: Mapped[UUID]
    agent_version: Mapped[int]
    place: Mapped[int] = mapped_column(SmallInteger)
    tie_order: Mapped[int] = mapped_column(SmallInteger)
    selected: Mapped[bool]
    skill_match: Mapped[int] = mapped_column(SmallInteger)
    past_performance: Mapped[int] = mapped_column(SmallInteger)
    personality_fit: Mapped[int] = mapped_column(SmallInteger)
    load_balance: Mapped[int] = mapped_column(SmallInteger)
    overall: Mapped[int]
    matching_skills: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")


class RoutingRating(Identified, Base):
    """How somebody rated an agent's answer to a routed query, 1 to 5; the same rater's next word replaces it, and then
    the row gets a new id."""

    __tablename__ = "routing_rating"
    __table_args__ = (
        team_key(),
        team_link("decision_id", "routing_decision", ondelete="CASCADE"),
        team_link("agent_id", "agent"),
        UniqueConstraint("decision_id", "agent_id", "rated_by"),
        CheckConstraint("stars between 1 and 5", name="stars"),
        Index("ix_routing_rating_team_at", "team_id", "created_at"),
        Index("ix_routing_rating_good", "team_id", "created_at", "id", postgresql_where=text("stars >= 4")),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    decision_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    stars: Mapped[int] = mapped_column(SmallInteger)
    comment: Mapped[str] = mapped_column(String(2_000), server_default="")
    rated_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class RoutingOverride(Identified, Base):
    """A person who decided otherwise: who is to answer instead, and why. The newest of a decision counts."""

    __tablename__ = "routing_override"
    __table_args__ = (
        team_key(),
        team_link("decision_id", "routing_decision", ondelete="CASCADE"),
        team_link("agent_id", "agent"),
        Index("ix_routing_override_decision", "decision_id", "id"),
    )

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"))
    decision_id: Mapped[UUID]
    agent_id: Mapped[UUID]
    reason: Mapped[str] = mapped_column(String(500))
    overridden_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
