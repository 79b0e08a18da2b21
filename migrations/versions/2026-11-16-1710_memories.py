"""What agents remember, by meaning, and the versions of it; groups of agents, and tasks that are given to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

KINDS = ("private", "shared", "episodic", "procedural", "user_profile")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "memory",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(*KINDS, name="memory_kind", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("owner_id", sa.Uuid(), sa.Computed("coalesce(agent_id, team_id)", persisted=True), nullable=False),
        sa.Column("subject", sa.String(200), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.LargeBinary(), nullable=False),
        sa.Column("learned_by_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("embedding", VECTOR(256), nullable=True),
        sa.Column("embedder", sa.String(120), nullable=True),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("reason", sa.String(300), nullable=True),
        sa.Column("times_told", sa.Integer(), server_default="1", nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind <> 'private' or agent_id is not null", name=op.f("ck_memory_owner")),
        sa.CheckConstraint(
            "kind not in ('shared', 'user_profile') or agent_id is null", name=op.f("ck_memory_of_the_team")
        ),
        sa.CheckConstraint("(kind = 'user_profile') = (subject is not null)", name=op.f("ck_memory_subject")),
        sa.CheckConstraint("importance between 0 and 1", name=op.f("ck_memory_importance")),
        sa.CheckConstraint("(embedding is null) = (embedder is null)", name=op.f("ck_memory_embedder")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_memory_team_id")),
        *(
            sa.ForeignKeyConstraint(
                ["team_id", column], [f"{table}.team_id", f"{table}.id"], name=op.f(f"fk_memory_team_id_{column}")
            )
            for column, table in (("agent_id", "agent"), ("learned_by_id", "agent"), ("task_id", "task"))
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_memory_team_id_id")),
    )
    op.create_index(
        "uq_memory_text",
        "memory",
        ["team_id", "owner_id", "kind", "subject", "text_hash"],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )
    op.create_index("ix_memory_embedder", "memory", ["team_id", "embedder"])
    op.create_index(
        "ix_memory_expires_at", "memory", ["expires_at"], postgresql_where=sa.text("expires_at is not null")
    )
    op.create_table(
        "memory_shelf",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_memory_shelf_team_id")),
        sa.PrimaryKeyConstraint("team_id", "owner_id", name=op.f("pk_memory_shelf")),
    )
    _create_groups()


def _create_groups() -> None:
    op.create_table(
        "agent_group",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.String(63), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("purpose", sa.String(2_000), server_default="", nullable=False),
        sa.Column("required_skills", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("coordinator_id", sa.Uuid(), nullable=True),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("dissolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name=op.f("ck_agent_group_slug")),
        sa.CheckConstraint("parent_id <> id", name=op.f("ck_agent_group_parent")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_agent_group_team_id")),
        *(
            sa.ForeignKeyConstraint(
                ["team_id", column], [f"{table}.team_id", f"{table}.id"], name=op.f(f"fk_agent_group_team_id_{column}")
            )
            for column, table in (("coordinator_id", "agent"), ("parent_id", "agent_group"))
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_group")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_agent_group_team_id_id")),
    )
    live = sa.text("dissolved_at is null")
    op.create_index("uq_agent_group_slug", "agent_group", ["team_id", "slug"], unique=True, postgresql_where=live)
    op.create_index("ix_agent_group_parent", "agent_group", ["parent_id"], postgresql_where=live)
    op.create_table(
        "agent_group_member",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("group_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id", "group_id"],
            ["agent_group.team_id", "agent_group.id"],
            name=op.f("fk_agent_group_member_team_id_group_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "agent_id"],
            ["agent.team_id", "agent.id"],
            name=op.f("fk_agent_group_member_team_id_agent_id"),
        ),
        sa.PrimaryKeyConstraint("group_id", "agent_id", name=op.f("pk_agent_group_member")),
    )
    op.create_index("ix_agent_group_member_agent", "agent_group_member", ["agent_id"])
    op.add_column("task", sa.Column("group_id", sa.Uuid(), nullable=True))
    op.add_column("task", sa.Column("picked_because", sa.String(500), nullable=True))
    op.create_foreign_key(
        op.f("fk_task_team_id_group_id"), "task", "agent_group", ["team_id", "group_id"], ["team_id", "id"]
    )
    op.create_check_constraint(op.f("ck_task_group"), "task", "(group_id is null) = (picked_because is null)")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_constraint(op.f("ck_task_group"), "task")
    op.drop_constraint(op.f("fk_task_team_id_group_id"), "task")
    op.drop_column("task", "picked_because")
    op.drop_column("task", "group_id")
    op.drop_table("agent_group_member")
    op.drop_table("agent_group")
    op.drop_table("memory_shelf")
    op.drop_table("memory")
