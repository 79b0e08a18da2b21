"""Teams, agents, keys, handoff rules, trusted documents and the event log."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Positions are handed out per transaction and read only below the oldest one still running, so a reader that went
# past a position never finds a new event behind it.
POSITION = """
create function event_position() returns bigint language sql stable as
$$ select shift + pg_current_xact_id()::text::bigint from event_clock $$
"""
HORIZON = """
create function event_horizon() returns bigint language sql stable as
$$ select shift + pg_snapshot_xmin(pg_current_snapshot())::text::bigint from event_clock $$
"""


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute("create extension if not exists vector")
    op.create_table(
        "event_clock",
        sa.Column("id", sa.SmallInteger(), server_default="1", autoincrement=False, nullable=False),
        sa.Column("shift", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("floor", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_event_clock_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_clock")),
    )
    op.execute("insert into event_clock default values")
    op.execute(POSITION)
    op.execute(HORIZON)
    op.create_table(
        "event",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("event_position()"), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("actor", sa.String(length=120), nullable=False),
        sa.Column("api_key_id", sa.Uuid(), nullable=True),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("changes", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", "at", name=op.f("pk_event")),
        postgresql_partition_by="RANGE (at)",
    )
    op.create_index(
        "ix_event_agent",
        "event",
        ["agent_id", "position", "id"],
        unique=False,
        postgresql_where=sa.text("agent_id is not null"),
    )
    op.create_index("ix_event_order", "event", ["position", "id"], unique=False)
    op.create_index("ix_event_team", "event", ["team_id", "position", "id"], unique=False)
    op.create_table(
        "team",
        sa.Column("slug", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("description", sa.String(length=2000), server_default="", nullable=False),
        sa.Column("default_agent_id", sa.Uuid(), nullable=True),
        sa.Column(
            "after_work",
            sa.Enum(
                "return_to_user",
                "terminate",
                "continue",
                name="after_work",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="return_to_user",
            nullable=False,
        ),
        sa.Column("flags", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("context_variables", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("trusted_only_roles", postgresql.JSONB(astext_type=sa.Text()), server_default="[]", nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name=op.f("ck_team_slug")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_team")),
        sa.UniqueConstraint("slug", name=op.f("uq_team_slug")),
    )
    op.create_table(
        "agent",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("tagline", sa.String(length=200), server_default="", nullable=False),
        sa.Column("role", sa.String(length=500), server_default="", nullable=False),
        sa.Column("personality", sa.Text(), server_default="", nullable=False),
        sa.Column("formality", sa.Double(), server_default="0.5", nullable=False),
        sa.Column("humor", sa.Double(), server_default="0.5", nullable=False),
        sa.Column("technical_depth", sa.Double(), server_default="0.5", nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "active",
                "paused",
                "archived",
                name="agent_status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="active",
            nullable=False,
        ),
        sa.Column(
            "type",
            sa.Enum(
                "general",
                "architect",
                "developer",
                "reviewer",
                "tester",
                "documenter",
                "security",
                "optimizer",
                "custom",
                name="agent_type",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="general",
            nullable=False,
        ),
        sa.Column("custom_type", sa.String(length=63), nullable=True),
        sa.Column("tools", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("model_tier", sa.SmallInteger(), server_default="1", nullable=False),
        sa.Column(
            "runtime",
            sa.Enum("managed", "external", name="agent_runtime", native_enum=False, create_constraint=True, length=32),
            server_default="managed",
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(status = 'archived') = (archived_at is not null)", name=op.f("ck_agent_archived_at")),
        sa.CheckConstraint("(type = 'custom') = (custom_type is not null)", name=op.f("ck_agent_custom_type")),
        sa.CheckConstraint("slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name=op.f("ck_agent_slug")),
        sa.CheckConstraint("formality between 0 and 1", name=op.f("ck_agent_formality")),
        sa.CheckConstraint("humor between 0 and 1", name=op.f("ck_agent_humor")),
        sa.CheckConstraint("model_tier between 0 and 2", name=op.f("ck_agent_model_tier")),
        sa.CheckConstraint("technical_depth between 0 and 1", name=op.f("ck_agent_technical_depth")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_agent_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_agent_team_id_id")),
        sa.UniqueConstraint("team_id", "slug", name=op.f("uq_agent_team_id_slug")),
    )
    op.create_foreign_key(
        "fk_team_default_agent",
        "team",
        "agent",
        ["id", "default_agent_id"],
        ["team_id", "id"],
        deferrable=True,
        initially="DEFERRED",
    )
    op.create_index("ix_agent_team_created", "agent", ["team_id", "created_at", "id"], unique=False)
    op.create_index("ix_agent_team_name", "agent", ["team_id", "name", "id"], unique=False)
    op.create_table(
        "trusted_document",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_trusted_document_team_id")),
        sa.PrimaryKeyConstraint("team_id", "id", name=op.f("pk_trusted_document")),
    )
    op.create_table(
        "agent_skill",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("description", sa.String(length=1000), server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id", "agent_id"],
            ["agent.team_id", "agent.id"],
            name=op.f("fk_agent_skill_team_id_agent_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", "position", name=op.f("pk_agent_skill")),
    )
    op.create_table(
        "api_key",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column(
            "role",
            sa.Enum(
                "admin",
                "operator",
                "integrator",
                "analyst",
                "agent",
                name="role",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("prefix", sa.String(length=24), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("(role = 'agent') = (agent_id is not null)", name=op.f("ck_api_key_agent_role")),
        sa.ForeignKeyConstraint(
            ["team_id", "agent_id"], ["agent.team_id", "agent.id"], name=op.f("fk_api_key_team_id_agent_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_api_key_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_key_hash")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_api_key_team_id_id")),
    )
    op.create_index("ix_api_key_team_created", "api_key", ["team_id", "created_at", "id"], unique=False)
    op.create_table(
        "handoff_rule",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("from_agent_id", sa.Uuid(), nullable=True),
        sa.Column("to_agent_id", sa.Uuid(), nullable=True),
        sa.Column("condition", sa.String(length=2000), nullable=False),
        sa.Column("priority", sa.Integer(), server_default="1", nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "from_agent_id is distinct from to_agent_id or from_agent_id is null",
            name=op.f("ck_handoff_rule_two_agents"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "from_agent_id"],
            ["agent.team_id", "agent.id"],
            name=op.f("fk_handoff_rule_team_id_from_agent_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "to_agent_id"], ["agent.team_id", "agent.id"], name=op.f("fk_handoff_rule_team_id_to_agent_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_handoff_rule_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_handoff_rule")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_handoff_rule_team_id_id")),
    )
    op.create_index("ix_handoff_rule_team_priority", "handoff_rule", ["team_id", "priority", "id"], unique=False)
    op.create_table(
        "idempotency_record",
        sa.Column("api_key_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("mutation", sa.String(length=80), nullable=False),
        sa.Column("input_hash", sa.LargeBinary(), nullable=False),
        sa.Column("outcome", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["api_key_id"], ["api_key.id"], name=op.f("fk_idempotency_record_api_key_id")),
        sa.PrimaryKeyConstraint("api_key_id", "key", name=op.f("pk_idempotency_record")),
    )
    op.create_index("ix_idempotency_record_created_at", "idempotency_record", ["created_at"], unique=False)


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_table("idempotency_record")
    op.drop_table("handoff_rule")
    op.drop_table("api_key")
    op.drop_table("agent_skill")
    op.drop_table("trusted_document")
    op.drop_constraint("fk_team_default_agent", "team")
    op.drop_table("agent")
    op.drop_table("team")
    op.drop_table("event")
    op.execute("drop function event_position()")
    op.execute("drop function event_horizon()")
    op.drop_table("event_clock")
