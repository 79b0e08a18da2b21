"""Routing: policies in versions, decisions with the agents that were scored, ratings."""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "routing_policy",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("skill_match_weight", sa.SmallInteger(), nullable=False),
        sa.Column("past_performance_weight", sa.SmallInteger(), nullable=False),
        sa.Column("personality_fit_weight", sa.SmallInteger(), nullable=False),
        sa.Column("load_balance_weight", sa.SmallInteger(), nullable=False),
        sa.Column("threshold", sa.SmallInteger(), nullable=False),
        sa.Column("skill_floor", sa.SmallInteger(), nullable=False),
        sa.Column(
            "strategy",
            sa.Enum(
                "top_1",
                "top_k",
                "ensemble",
                "cascade",
                name="strategy",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("k", sa.SmallInteger(), nullable=False),
        sa.Column("note", sa.String(length=500), server_default="", nullable=False),
        sa.Column("created_by", sa.String(length=120), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("k between 1 and 20", name=op.f("ck_routing_policy_k")),
        sa.CheckConstraint(
            "least(skill_match_weight, past_performance_weight, personality_fit_weight, load_balance_weight) >= 0",
            name=op.f("ck_routing_policy_weights"),
        ),
        sa.CheckConstraint(
            "skill_match_weight + past_performance_weight + personality_fit_weight + load_balance_weight = 10000",
            name=op.f("ck_routing_policy_weights_sum"),
        ),
        sa.CheckConstraint(
            "threshold between 0 and 10000 and skill_floor between 0 and 10000",
            name=op.f("ck_routing_policy_thresholds"),
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_routing_policy_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_routing_policy")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_routing_policy_team_id_id")),
        sa.UniqueConstraint("team_id", "version", name=op.f("uq_routing_policy_team_id_version")),
    )
    op.create_table(
        "routing_decision",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "mode",
            sa.Enum(
                "direct", "router", "gate", name="routing_mode", native_enum=False, create_constraint=True, length=32
            ),
            nullable=False,
        ),
        sa.Column(
            "reason",
            sa.Enum(
                "user_mention",
                "skill_match",
                "handoff",
                "default",
                name="reason",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("policy_id", sa.Uuid(), nullable=False),
        sa.Column(
            "asked_strategy",
            sa.Enum("top_1", "top_k", "ensemble", "cascade", name="strategy", native_enum=False, length=32),
            nullable=False,
        ),
        sa.Column(
            "strategy",
            sa.Enum(
                "top_1",
                "top_k",
                "ensemble",
                "cascade",
                name="strategy",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("ensemble_allowed", sa.Boolean(), nullable=False),
        sa.Column("threshold", sa.SmallInteger(), nullable=False),
        sa.Column("skill_floor", sa.SmallInteger(), nullable=False),
        sa.Column("k", sa.SmallInteger(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column(
            "query_words",
            postgresql.TSVECTOR(),
            sa.Computed("to_tsvector('simple', query)", persisted=True),
            nullable=False,
        ),
        sa.Column("embedding", VECTOR(256), nullable=False),
        sa.Column("embedder", sa.String(length=120), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("message_id", sa.Uuid(), nullable=True),
        sa.Column("current_agent_id", sa.Uuid(), nullable=True),
        sa.Column("default_agent_id", sa.Uuid(), nullable=True),
        sa.Column("selected_agent_id", sa.Uuid(), nullable=True),
        sa.Column("selected_agent_ids", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("candidate_ids", postgresql.ARRAY(sa.Uuid()), server_default="{}", nullable=False),
        sa.Column("candidate_signals", postgresql.ARRAY(sa.BigInteger()), server_default="{}", nullable=False),
        sa.Column("confidence", sa.Integer(), nullable=False),
        sa.Column("fallback_used", sa.Boolean(), nullable=False),
        sa.Column("warning", sa.String(length=500), nullable=True),
        sa.Column("complexity", sa.SmallInteger(), nullable=False),
        sa.Column("complexity_length", sa.SmallInteger(), nullable=False),
        sa.Column("complexity_steps", sa.SmallInteger(), nullable=False),
        sa.Column("complexity_technical_depth", sa.SmallInteger(), nullable=False),
        sa.Column("complexity_reasoning", sa.SmallInteger(), nullable=False),
        sa.Column("complexity_constraints", sa.SmallInteger(), nullable=False),
        sa.Column("suggested_tier", sa.SmallInteger(), nullable=False),
        sa.Column("selected_tier", sa.SmallInteger(), nullable=False),
        sa.Column("selected_model", sa.String(length=120), nullable=False),
        sa.Column("tier_override_reason", sa.String(length=500), nullable=True),
        sa.Column("estimated_cost", sa.Numeric(precision=14, scale=6), nullable=False),
        sa.Column("actual_cost", sa.Numeric(precision=14, scale=6), nullable=True),
        sa.Column("gate_latency_ms", sa.Double(), nullable=True),
        sa.Column("router_latency_ms", sa.Double(), nullable=False),
        sa.Column("response_ms", sa.Integer(), nullable=True),
        sa.Column(
            "outcome",
            sa.Enum(
                "answered",
                "failed",
                "redirected",
                name="routing_outcome",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("rating", sa.Double(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("fallback_used or selected_agent_id is not null", name=op.f("ck_routing_decision_somebody")),
        sa.ForeignKeyConstraint(
            ["team_id", "current_agent_id"],
            ["agent.team_id", "agent.id"],
            name=op.f("fk_routing_decision_team_id_current_agent_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "default_agent_id"],
            ["agent.team_id", "agent.id"],
            name=op.f("fk_routing_decision_team_id_default_agent_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "policy_id"],
            ["routing_policy.team_id", "routing_policy.id"],
            name=op.f("fk_routing_decision_team_id_policy_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "selected_agent_id"],
            ["agent.team_id", "agent.id"],
            name=op.f("fk_routing_decision_team_id_selected_agent_id"),
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_routing_decision_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_routing_decision")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_routing_decision_team_id_id")),
    )
    op.create_index(
        "ix_routing_decision_agent",
        "routing_decision",
        ["team_id", "selected_agent_id", "created_at", "id"],
        unique=False,
    )
    op.create_index("ix_routing_decision_team_at", "routing_decision", ["team_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_routing_decision_words", "routing_decision", ["query_words"], unique=False, postgresql_using="gin"
    )
    op.create_table(
        "routing_candidate",
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("agent_version", sa.Integer(), nullable=False),
        sa.Column("place", sa.SmallInteger(), nullable=False),
        sa.Column("tie_order", sa.SmallInteger(), nullable=False),
        sa.Column("selected", sa.Boolean(), nullable=False),
        sa.Column("skill_match", sa.SmallInteger(), nullable=False),
        sa.Column("past_performance", sa.SmallInteger(), nullable=False),
        sa.Column("personality_fit", sa.SmallInteger(), nullable=False),
        sa.Column("load_balance", sa.SmallInteger(), nullable=False),
        sa.Column("overall", sa.Integer(), nullable=False),
        sa.Column("matching_skills", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.CheckConstraint(
            "least(skill_match, past_performance, personality_fit, load_balance) >= 0 "
            "and greatest(skill_match, past_performance, personality_fit, load_balance) <= 10000",
            name=op.f("ck_routing_candidate_signals"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "agent_id"], ["agent.team_id", "agent.id"], name=op.f("fk_routing_candidate_team_id_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "decision_id"],
            ["routing_decision.team_id", "routing_decision.id"],
            name=op.f("fk_routing_candidate_team_id_decision_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("decision_id", "agent_id", name=op.f("pk_routing_candidate")),
    )
    op.create_index(
        "ix_routing_candidate_agent", "routing_candidate", ["team_id", "agent_id", "decision_id"], unique=False
    )
    op.create_table(
        "routing_rating",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("stars", sa.SmallInteger(), nullable=False),
        sa.Column("comment", sa.String(length=2000), server_default="", nullable=False),
        sa.Column("rated_by", sa.String(length=120), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("stars between 1 and 5", name=op.f("ck_routing_rating_stars")),
        sa.ForeignKeyConstraint(
            ["team_id", "agent_id"], ["agent.team_id", "agent.id"], name=op.f("fk_routing_rating_team_id_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "decision_id"],
            ["routing_decision.team_id", "routing_decision.id"],
            name=op.f("fk_routing_rating_team_id_decision_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_routing_rating_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_routing_rating")),
        sa.UniqueConstraint(
            "decision_id", "agent_id", "rated_by", name=op.f("uq_routing_rating_decision_id_agent_id_rated_by")
        ),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_routing_rating_team_id_id")),
    )
    op.create_index("ix_routing_rating_team_at", "routing_rating", ["team_id", "created_at"], unique=False)
    op.create_index(
        "ix_routing_rating_good",
        "routing_rating",
        ["team_id", "created_at", "id"],
        unique=False,
        postgresql_where=sa.text("stars >= 4"),
    )


def downgrade() -> None:
    for table in ("routing_rating", "routing_candidate", "routing_decision", "routing_policy"):
        op.drop_table(table)
