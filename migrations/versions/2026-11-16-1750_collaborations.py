"""Collaboration sessions, their participants, stages and votes; tasks that belong to one; accounts that pay for one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

USD = sa.Numeric(14, 6)
TIME = sa.DateTime(timezone=True)
ENDED = "('completed', 'failed', 'timed_out', 'cancelled')"
PATTERNS = ("supervisor_worker", "pipeline", "peer_review", "brainstorm", "consensus", "delegation")
STATUSES = ("planning", "active", "synthesizing", "completed", "failed", "timed_out", "cancelled")
STAGE_KINDS = ("plan", "work", "step", "contribution", "review", "revision", "vote", "synthesis", "report", "decision")
FUNDED = "('task', 'collaboration')"


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _account_checks(
        account_kind="kind in ('team_day', 'team_month', 'collaboration', 'task')",
        period=f"(kind in {FUNDED}) = (period is null)",
        closed=f"closed_at is null or (kind in {FUNDED} and reserved = 0 and held = 0)",
    )
    _create_session()
    _create_participant()
    op.add_column("task", sa.Column("collaboration_id", sa.Uuid(), nullable=True))
    op.add_column("task", sa.Column("output_schema", postgresql.JSONB(), nullable=True))
    op.create_foreign_key(
        "fk_task_team_id_collaboration_id",
        "task",
        "collaboration",
        ["team_id", "collaboration_id"],
        ["team_id", "id"],
    )
    op.create_index(
        "ix_task_collaboration",
        "task",
        ["collaboration_id", "id"],
        postgresql_where=sa.text("collaboration_id is not null"),
    )
    op.create_foreign_key(
        "fk_agent_message_team_id_collaboration_id",
        "agent_message",
        "collaboration",
        ["team_id", "collaboration_id"],
        ["team_id", "id"],
    )
    _create_stage()
    _create_vote()


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute(
        "do $$ begin if exists (select from budget_account where kind = 'collaboration') then raise exception "
        "'There are collaboration sessions, which the older version does not know.'; end if; end $$"
    )
    op.drop_constraint("fk_agent_message_team_id_collaboration_id", "agent_message")
    op.drop_table("collaboration_vote")
    op.drop_table("collaboration_stage")
    op.drop_index("ix_task_collaboration", "task")
    op.drop_constraint("fk_task_team_id_collaboration_id", "task")
    op.drop_column("task", "output_schema")
    op.drop_column("task", "collaboration_id")
    op.drop_table("collaboration_participant")
    op.drop_table("collaboration")
    _account_checks(
        account_kind="kind in ('team_day', 'team_month', 'task')",
        period="(kind = 'task') = (period is null)",
        closed="closed_at is null or (kind = 'task' and reserved = 0 and held = 0)",
    )


def _account_checks(**checks: str) -> None:
    for name, condition in checks.items():
        op.drop_constraint(op.f(f"ck_budget_account_{name}"), "budget_account")
        op.create_check_constraint(op.f(f"ck_budget_account_{name}"), "budget_account", condition)


def _one_of(column: str, name: str, *values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} in ({', '.join(repr(one) for one in values)})", name=op.f(name))


def _link(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["team_id", column], [f"{to}.team_id", f"{to}.id"], name=op.f(f"fk_{table}_team_id_{column}")
    )


def _keys(table: str) -> list[sa.Constraint]:
    return [
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("team_id", "id", name=op.f(f"uq_{table}_team_id_id")),
    ]


def _create_session() -> None:
    op.create_table(
        "collaboration",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("pattern", sa.String(32), nullable=False),
        sa.Column("template", sa.String(32), nullable=True),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), server_default="", nullable=False),
        sa.Column("options", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("on_failure", sa.String(32), nullable=False),
        sa.Column("lead_id", sa.Uuid(), nullable=True),
        sa.Column("on_behalf_of", sa.String(120), nullable=False),
        sa.Column("budget_id", sa.Uuid(), nullable=False),
        sa.Column("max_cost", USD, nullable=False),
        sa.Column("max_duration_s", sa.Integer(), nullable=False),
        sa.Column("max_rounds", sa.SmallInteger(), nullable=False),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("round", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("current_stage", sa.String(120), nullable=True),
        sa.Column("stages_completed", sa.Integer(), server_default="0", nullable=False),
        sa.Column("agreement", sa.Float(), nullable=True),
        sa.Column("converged", sa.Boolean(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("deadline", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", TIME, server_default=sa.text("now()"), nullable=False),
        _one_of("pattern", "ck_collaboration_collaboration_pattern", *PATTERNS),
        _one_of("template", "ck_collaboration_collaboration_template", "architect_developer_reviewer"),
        _one_of("on_failure", "ck_collaboration_on_failure", "ask", "abort"),
        _one_of("status", "ck_collaboration_collaboration_status", *STATUSES),
        sa.CheckConstraint(f"(status in {ENDED}) = (finished_at is not null)", name=op.f("ck_collaboration_finished")),
        sa.CheckConstraint("max_rounds >= 1 and round between 0 and max_rounds", name=op.f("ck_collaboration_rounds")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_collaboration_team_id")),
        _link("collaboration", "lead_id", "agent"),
        _link("collaboration", "budget_id", "budget_account"),
        *_keys("collaboration"),
    )
    op.create_index("ix_collaboration_team", "collaboration", ["team_id", "id"])
    op.create_index("ix_collaboration_lead", "collaboration", ["lead_id", "id"])


def _create_participant() -> None:
    table = "collaboration_participant"
    op.create_table(
        table,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("collaboration_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("slot", sa.SmallInteger(), nullable=False),
        sa.Column("role", sa.String(32), nullable=False),
        sa.Column("stage", sa.String(120), nullable=True),
        sa.Column("instructions", sa.Text(), server_default="", nullable=False),
        sa.Column("status", sa.String(32), server_default="waiting", nullable=False),
        _one_of("role", f"ck_{table}_participant_role", "lead", "worker", "reviewer", "contributor"),
        _one_of("status", f"ck_{table}_participant_status", "waiting", "working", "completed", "failed"),
        _link(table, "collaboration_id", "collaboration"),
        _link(table, "agent_id", "agent"),
        *_keys(table),
    )
    op.create_index("uq_collaboration_participant_slot", table, ["collaboration_id", "slot"], unique=True)
    op.create_index("ix_collaboration_participant_agent", table, ["agent_id", "id"])


def _create_stage() -> None:
    table = "collaboration_stage"
    op.create_table(
        table,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("collaboration_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("round", sa.SmallInteger(), nullable=False),
        sa.Column("part", sa.SmallInteger(), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("slot", sa.SmallInteger(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("superseded", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("output", sa.Text(), server_default="", nullable=False),
        sa.Column("data", postgresql.JSONB(), nullable=True),
        sa.Column("error_code", sa.String(64), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("tokens_used", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost", USD, server_default="0", nullable=False),
        sa.Column("duration_s", sa.Float(), server_default="0", nullable=False),
        sa.Column("started_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        _one_of("kind", f"ck_{table}_stage_kind", *STAGE_KINDS),
        _one_of("status", f"ck_{table}_stage_status", "working", "completed", "failed", "timed_out", "cancelled"),
        sa.CheckConstraint("(status = 'working') = (ended_at is null)", name=op.f(f"ck_{table}_ended")),
        _link(table, "collaboration_id", "collaboration"),
        _link(table, "agent_id", "agent"),
        _link(table, "task_id", "task"),
        *_keys(table),
    )
    key = ["collaboration_id", "kind", "round", "part", "attempt"]
    op.create_index("uq_collaboration_stage_key", table, key, unique=True)
    op.create_index("uq_collaboration_stage_position", table, ["collaboration_id", "position"], unique=True)
    op.create_index("ix_collaboration_stage_task", table, ["task_id"])
    op.create_index("ix_collaboration_stage_agent", table, ["agent_id", "id"])


def _create_vote() -> None:
    table = "collaboration_vote"
    op.create_table(
        table,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("collaboration_id", sa.Uuid(), nullable=False),
        sa.Column("stage_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("round", sa.SmallInteger(), nullable=False),
        sa.Column("choice", sa.String(200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        _link(table, "collaboration_id", "collaboration"),
        _link(table, "stage_id", "collaboration_stage"),
        _link(table, "agent_id", "agent"),
        *_keys(table),
    )
    op.create_index("uq_collaboration_vote_stage", table, ["stage_id"], unique=True)
    op.create_index("ix_collaboration_vote_session", table, ["collaboration_id", "id"])
