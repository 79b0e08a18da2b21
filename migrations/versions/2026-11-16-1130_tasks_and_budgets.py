"""Tasks with their dependencies, attempts, tool calls and dead letters; budgets; the task that an event concerns."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "budget_account",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "team_day",
                "team_month",
                "task",
                name="account_kind",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("period", sa.Date(), nullable=True),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("cap", sa.Numeric(precision=14, scale=6), nullable=False),
        sa.Column("held", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False),
        sa.Column("reserved", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False),
        sa.Column("spent", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False),
        sa.Column("settled", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False),
        sa.Column("alerted", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(kind = 'task') = (period is null)", name=op.f("ck_budget_account_period")),
        sa.CheckConstraint("(kind = 'team_month') = (parent_id is null)", name=op.f("ck_budget_account_parent")),
        sa.CheckConstraint(
            "closed_at is null or (kind = 'task' and reserved = 0 and held = 0)", name=op.f("ck_budget_account_closed")
        ),
        sa.CheckConstraint(
            "cap >= 0 and held >= 0 and reserved >= 0 and settled >= 0 and spent >= settled",
            name=op.f("ck_budget_account_not_negative"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "parent_id"],
            ["budget_account.team_id", "budget_account.id"],
            name=op.f("fk_budget_account_team_id_parent_id"),
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_budget_account_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_budget_account")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_budget_account_team_id_id")),
    )
    op.create_index(
        "uq_budget_account_period",
        "budget_account",
        ["team_id", "kind", "period"],
        unique=True,
        postgresql_where=sa.text("kind <> 'task'"),
    )
    op.create_table(
        "task",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("creator_id", sa.Uuid(), nullable=False),
        sa.Column("assignee_id", sa.Uuid(), nullable=False),
        sa.Column("on_behalf_of", sa.String(length=120), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("root_id", sa.Uuid(), nullable=False),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column(
            "type",
            sa.Enum(
                "research",
                "review",
                "analyze",
                "generate",
                "summarize",
                "validate",
                "plan",
                "execute",
                name="task_type",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), server_default="", nullable=False),
        sa.Column("expected_output", sa.Text(), server_default="", nullable=False),
        sa.Column("input_artifacts", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column(
            "priority",
            sa.Enum(
                "low",
                "normal",
                "high",
                "urgent",
                name="task_priority",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="normal",
            nullable=False,
        ),
        sa.Column("max_tokens", sa.Integer(), server_default="4000", nullable=False),
        sa.Column("max_tool_calls", sa.Integer(), server_default="10", nullable=False),
        sa.Column("timeout_s", sa.Integer(), server_default="120", nullable=False),
        sa.Column("model_tier", sa.SmallInteger(), nullable=True),
        sa.Column("allowed_tools", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("allowed_agents", postgresql.ARRAY(sa.Uuid()), nullable=True),
        sa.Column("budget_id", sa.Uuid(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "pending",
                "in_progress",
                "completed",
                "failed",
                "timed_out",
                "cancelled",
                name="task_status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="pending",
            nullable=False,
        ),
        sa.Column("waiting_for", sa.Integer(), server_default="0", nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("attempts_made", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("attempts_allowed", sa.SmallInteger(), nullable=False),
        sa.Column("claim_token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("progress", sa.Text(), server_default="", nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("output", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("result_artifacts", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("tokens_used", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(status = 'in_progress') = (claim_token is not null)", name=op.f("ck_task_claim")),
        sa.CheckConstraint(
            "(status in ('completed', 'failed', 'timed_out', 'cancelled')) = (finished_at is not null)",
            name=op.f("ck_task_finished"),
        ),
        sa.CheckConstraint("status <> 'in_progress' or waiting_for = 0", name=op.f("ck_task_started")),
        sa.CheckConstraint("(claim_token is null) = (lease_until is null)", name=op.f("ck_task_lease")),
        sa.CheckConstraint("(parent_id is null) = (depth = 1)", name=op.f("ck_task_parent")),
        sa.CheckConstraint("creator_id <> assignee_id", name=op.f("ck_task_no_self_delegation")),
        sa.CheckConstraint("depth between 1 and 3", name=op.f("ck_task_depth")),
        sa.CheckConstraint("waiting_for >= 0", name=op.f("ck_task_waiting_for")),
        sa.ForeignKeyConstraint(
            ["team_id", "assignee_id"], ["agent.team_id", "agent.id"], name=op.f("fk_task_team_id_assignee_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "budget_id"],
            ["budget_account.team_id", "budget_account.id"],
            name=op.f("fk_task_team_id_budget_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "creator_id"], ["agent.team_id", "agent.id"], name=op.f("fk_task_team_id_creator_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "parent_id"], ["task.team_id", "task.id"], name=op.f("fk_task_team_id_parent_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "root_id"],
            ["task.team_id", "task.id"],
            name=op.f("fk_task_team_id_root_id"),
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_task_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_task_team_id_id")),
    )
    op.create_index(
        "ix_task_assignee_open",
        "task",
        ["assignee_id"],
        unique=False,
        postgresql_where=sa.text("status in ('pending', 'in_progress')"),
    )
    op.create_index(
        "ix_task_due",
        "task",
        ["assignee_id", "due_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'pending' and waiting_for = 0"),
    )
    op.create_index(
        "ix_task_lease",
        "task",
        [sa.literal_column("least(lease_until, deadline)")],
        unique=False,
        postgresql_where=sa.text("status = 'in_progress'"),
    )
    op.create_index("ix_task_team_assignee", "task", ["team_id", "assignee_id", "id"], unique=False)
    op.create_index("ix_task_team_creator", "task", ["team_id", "creator_id", "id"], unique=False)
    op.create_index("ix_task_team_parent", "task", ["team_id", "parent_id", "id"], unique=False)
    op.create_index("ix_task_team_root", "task", ["team_id", "root_id", "id"], unique=False)
    op.create_table(
        "dead_letter",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "open",
                "replayed",
                "discarded",
                name="dead_letter_state",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="open",
            nullable=False,
        ),
        sa.Column("resolved_by", sa.String(length=120), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("replay_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("(state = 'open') = (resolved_at is null)", name=op.f("ck_dead_letter_resolved")),
        sa.CheckConstraint("(state = 'replayed') = (replay_id is not null)", name=op.f("ck_dead_letter_replayed")),
        sa.ForeignKeyConstraint(
            ["team_id", "replay_id"], ["task.team_id", "task.id"], name=op.f("fk_dead_letter_team_id_replay_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "task_id"], ["task.team_id", "task.id"], name=op.f("fk_dead_letter_team_id_task_id")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_dead_letter_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dead_letter")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_dead_letter_team_id_id")),
    )
    op.create_index("ix_dead_letter_team_state", "dead_letter", ["team_id", "state", "id"], unique=False)
    op.create_index(
        "uq_dead_letter_open", "dead_letter", ["task_id"], unique=True, postgresql_where=sa.text("state = 'open'")
    )
    op.create_table(
        "task_attempt",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.SmallInteger(), nullable=False),
        sa.Column(
            "outcome",
            sa.Enum(
                "running",
                "completed",
                "failed",
                "timed_out",
                "lost",
                "cancelled",
                "released",
                name="attempt_outcome",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            server_default="running",
            nullable=False,
        ),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("tokens_used", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost", sa.Numeric(precision=14, scale=6), server_default="0", nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("(outcome = 'running') = (ended_at is null)", name=op.f("ck_task_attempt_ended")),
        sa.ForeignKeyConstraint(
            ["team_id", "agent_id"], ["agent.team_id", "agent.id"], name=op.f("fk_task_attempt_team_id_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "task_id"], ["task.team_id", "task.id"], name=op.f("fk_task_attempt_team_id_task_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_attempt")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_task_attempt_team_id_id")),
    )
    op.create_index("uq_task_attempt_number", "task_attempt", ["task_id", "number"], unique=True)
    op.create_table(
        "task_dependency",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("needs_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("task_id <> needs_id", name=op.f("ck_task_dependency_not_itself")),
        sa.ForeignKeyConstraint(
            ["team_id", "needs_id"], ["task.team_id", "task.id"], name=op.f("fk_task_dependency_team_id_needs_id")
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "task_id"], ["task.team_id", "task.id"], name=op.f("fk_task_dependency_team_id_task_id")
        ),
        sa.PrimaryKeyConstraint("task_id", "needs_id", name=op.f("pk_task_dependency")),
    )
    op.create_index("ix_task_dependency_needs", "task_dependency", ["needs_id"], unique=False)
    op.create_table(
        "tool_call",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("attempt_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("arguments", postgresql.JSONB(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_task_id", sa.Uuid(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["team_id", "attempt_id"],
            ["task_attempt.team_id", "task_attempt.id"],
            name=op.f("fk_tool_call_team_id_attempt_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "created_task_id"],
            ["task.team_id", "task.id"],
            name=op.f("fk_tool_call_team_id_created_task_id"),
        ),
        sa.ForeignKeyConstraint(
            ["team_id", "task_id"], ["task.team_id", "task.id"], name=op.f("fk_tool_call_team_id_task_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_call")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_tool_call_team_id_id")),
    )
    op.create_index("ix_tool_call_task", "tool_call", ["task_id", "id"], unique=False)
    op.add_column("event", sa.Column("task_id", sa.Uuid(), nullable=True))
    op.create_index("ix_event_team_at", "event", ["team_id", "at", "id"])
    op.create_index(
        "ix_event_task",
        "event",
        ["task_id", "position", "id"],
        unique=False,
        postgresql_where=sa.text("task_id is not null"),
    )
    op.add_column("team", sa.Column("day_budget_usd", sa.Numeric(precision=14, scale=6), nullable=True))
    op.add_column("team", sa.Column("month_budget_usd", sa.Numeric(precision=14, scale=6), nullable=True))
    op.create_check_constraint(op.f("ck_team_budgets"), "team", "day_budget_usd >= 0 and month_budget_usd >= 0")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_constraint(op.f("ck_team_budgets"), "team")
    op.drop_column("team", "month_budget_usd")
    op.drop_column("team", "day_budget_usd")
    op.drop_index("ix_event_team_at", table_name="event")
    op.drop_index("ix_event_task", table_name="event")
    op.drop_column("event", "task_id")
    op.drop_table("tool_call")
    op.drop_table("task_dependency")
    op.drop_table("task_attempt")
    op.drop_table("dead_letter")
    op.drop_table("task")
    op.drop_table("budget_account")
