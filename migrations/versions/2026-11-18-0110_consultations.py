"""Consultations between agents, their exchanges, what these took, and the loops that were found."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
USD = sa.Numeric(14, 6)
NOW = sa.text("clock_timestamp()")
REASONS = (
    "data_structure", "security_review", "api_contract", "bug_debugging", "requirements", "infrastructure", "other",
)  # fmt: skip


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column("task", sa.Column("redacts", sa.String(32), nullable=True))
    op.create_check_constraint(op.f("ck_task_redaction"), "task", "redacts in ('secrets', 'secrets_and_emails')")
    _create_consultations()
    _create_exchanges()
    _create_uses()
    _create_loops()
    op.add_column("event", sa.Column("consultation_id", sa.Uuid(), nullable=True))
    known = sa.text("consultation_id is not null")
    op.create_index("ix_event_consultation", "event", ["consultation_id", "position", "id"], postgresql_where=known)
    op.add_column("attention_item", sa.Column("consultation_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        op.f("fk_attention_item_team_id_consultation_id"),
        "attention_item",
        "consultation",
        ["team_id", "consultation_id"],
        ["team_id", "id"],
    )
    op.create_index(
        "ix_attention_item_consultation", "attention_item", ["consultation_id", "id"], postgresql_where=known
    )


def _create_consultations() -> None:
    op.create_table(
        "consultation",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("requester_id", sa.Uuid(), nullable=False),
        sa.Column("specialist_id", sa.Uuid(), nullable=True),
        sa.Column("suggested_agent_id", sa.Uuid(), nullable=True),
        sa.Column("suggestion_followed", sa.Boolean(), nullable=True),
        sa.Column("chosen_because", sa.String(1_000), nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("urgency", sa.String(32), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("given", postgresql.JSONB(), nullable=False),
        sa.Column("on_behalf_of", sa.String(120), nullable=False),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("asking_task_id", sa.Uuid(), nullable=True),
        sa.Column("decision_id", sa.Uuid(), nullable=True),
        sa.Column("memory_id", sa.Uuid(), nullable=True),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("escalation_reason", sa.String(1_000), nullable=True),
        sa.Column("loop_detected", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("exchange_count", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("tokens", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost", USD, server_default="0", nullable=False),
        sa.Column("response_seconds", sa.Float(), nullable=True),
        sa.Column("outcome", sa.String(32), nullable=True),
        sa.Column("successful", sa.Boolean(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("rating", sa.SmallInteger(), nullable=True),
        sa.Column("lessons", sa.String(2_000), nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", TIME, server_default=sa.text("now()"), nullable=False),
        _one_of("reason", "ck_consultation_consultation_reason", *REASONS),
        _one_of("urgency", "ck_consultation_urgency", "low", "normal", "high", "critical"),
        _one_of(
            "status",
            "ck_consultation_consultation_status",
            *("pending", "in_progress", "completed", "escalated", "closed"),
        ),
        _one_of(
            "outcome",
            "ck_consultation_consultation_outcome",
            *("successful", "escalated", "loop_detected", "closed"),
        ),
        sa.CheckConstraint("specialist_id <> requester_id", name=op.f("ck_consultation_two_agents")),
        sa.CheckConstraint(
            "(status in ('completed', 'closed')) = (finished_at is not null)", name=op.f("ck_consultation_finished")
        ),
        sa.CheckConstraint("(outcome is null) = (finished_at is null)", name=op.f("ck_consultation_outcome")),
        sa.CheckConstraint(
            "status not in ('pending', 'in_progress') or (specialist_id is not null and task_id is not null)",
            name=op.f("ck_consultation_asked"),
        ),
        sa.CheckConstraint("rating between 1 and 5", name=op.f("ck_consultation_rating")),
        sa.CheckConstraint("depth between 1 and 3", name=op.f("ck_consultation_depth")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_consultation_team_id")),
        *(_link("consultation", column, "agent") for column in ("requester_id", "specialist_id", "suggested_agent_id")),
        _link("consultation", "task_id", "task"),
        _link("consultation", "asking_task_id", "task"),
        _link("consultation", "decision_id", "routing_decision"),
        *_keys("consultation"),
    )
    op.create_index("ix_consultation_team", "consultation", ["team_id", "id"])
    op.create_index("ix_consultation_requester", "consultation", ["requester_id", "created_at"])
    op.create_index("ix_consultation_specialist", "consultation", ["specialist_id", "id"])
    op.create_index(
        "ix_consultation_memory", "consultation", ["memory_id"], postgresql_where=sa.text("memory_id is not null")
    )
    op.create_index("uq_consultation_task", "consultation", ["task_id"], unique=True)
    active = sa.text("status in ('pending', 'in_progress')")
    op.create_index("ix_consultation_active", "consultation", ["team_id"], postgresql_where=active)


def _create_exchanges() -> None:
    table = "consultation_exchange"
    op.create_table(
        table,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("consultation_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.SmallInteger(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("author", sa.String(120), nullable=False),
        sa.Column("from_agent_id", sa.Uuid(), nullable=True),
        sa.Column("to_agent_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("additional_context", sa.Text(), server_default="", nullable=False),
        sa.Column("references", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("next_steps", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("package", postgresql.JSONB(), nullable=True),
        sa.Column("created_at", TIME, server_default=NOW, nullable=False),
        _one_of("kind", "ck_consultation_exchange_exchange_kind", "question", "response", "clarification"),
        _link(table, "consultation_id", "consultation"),
        _link(table, "from_agent_id", "agent"),
        _link(table, "to_agent_id", "agent"),
        _link(table, "task_id", "task"),
        *_keys(table),
    )
    op.create_index("uq_consultation_exchange_number", table, ["consultation_id", "number"], unique=True)
    op.create_index("ix_consultation_exchange_team", table, ["team_id", "id"])


def _create_uses() -> None:
    table = "consultation_use"
    op.create_table(
        table,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("consultation_id", sa.Uuid(), nullable=False),
        sa.Column("exchange_id", sa.Uuid(), nullable=False),
        sa.Column("phase", sa.String(32), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cost", USD, nullable=False),
        sa.Column("at", TIME, server_default=NOW, nullable=False),
        _one_of("phase", "ck_consultation_use_consultation_phase", "request", "routing", "answer", "delivery"),
        _link(table, "consultation_id", "consultation"),
        _link(table, "exchange_id", "consultation_exchange"),
        *_keys(table),
    )
    op.create_index("uq_consultation_use_phase", table, ["exchange_id", "phase"], unique=True)
    op.create_index("ix_consultation_use_consultation", table, ["consultation_id", "id"])


def _create_loops() -> None:
    table = "consultation_loop"
    op.create_table(
        table,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("consultation_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("description", sa.String(1_000), nullable=False),
        sa.Column("evidence", postgresql.JSONB(), nullable=False),
        sa.Column("resolution", sa.String(32), server_default="escalated", nullable=False),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.Column("detected_at", TIME, server_default=NOW, nullable=False),
        _one_of("kind", "ck_consultation_loop_loop_kind", "identical", "circular", "stall", "too_many"),
        _one_of("resolution", "ck_consultation_loop_loop_resolution", "escalated", "resolved", "continued", "closed"),
        _link(table, "consultation_id", "consultation"),
        *_keys(table),
    )
    op.create_index("ix_consultation_loop_consultation", table, ["consultation_id", "id"])
    op.create_index("ix_consultation_loop_team", table, ["team_id", "id"])


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute(
        "do $$ begin if exists (select from task where purpose = 'consultation' and status in ('pending', 'in_progress'"
        ")) then raise exception 'There are open consultations, which the older version cannot end.'; end if; end $$"
    )
    op.execute(
        "delete from errand where kind in ('task_begun', 'consultation_stopped') or (kind = 'task_ended' and subject_id"
        " in (select id from task where purpose = 'consultation'))"
    )
    op.execute(
        "delete from attention_step where item_id in (select id from attention_item where consultation_id is not null)"
    )
    op.execute("delete from attention_item where consultation_id is not null")
    op.drop_index("ix_attention_item_consultation", "attention_item")
    op.drop_constraint("fk_attention_item_team_id_consultation_id", "attention_item")
    op.drop_column("attention_item", "consultation_id")
    op.drop_index("ix_event_consultation", "event")
    op.drop_column("event", "consultation_id")
    for table in ("consultation_loop", "consultation_use", "consultation_exchange", "consultation"):
        op.drop_table(table)
    op.drop_constraint("ck_task_redaction", "task")
    op.drop_column("task", "redacts")


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
