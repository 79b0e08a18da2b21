"""What needs a person: one queue, who did what about it, and whom people chose otherwise."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

KINDS = (
    "question", "clarification", "approval", "escalation", "budget_raise", "dead_letter", "failed_subtask",
)  # fmt: skip
STATES = ("open", "answered", "expired", "withdrawn")
ACTIONS = ("opened", "assigned", "answered", "expired", "withdrawn")


NOW = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _create_items()
    _create_steps()
    _create_overrides()
    _open_items()


def _create_items() -> None:
    op.create_table(
        "attention_item",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("state", sa.String(32), server_default="open", nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("options", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("opened_by", sa.String(120), nullable=False),
        sa.Column("assignee", sa.String(120), nullable=True),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("default_answer", sa.Text(), nullable=True),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("dead_letter_id", sa.Uuid(), nullable=True),
        sa.Column("conversation_id", sa.Uuid(), nullable=True),
        sa.Column("collaboration_id", sa.Uuid(), nullable=True),
        sa.Column("stage_id", sa.Uuid(), nullable=True),
        sa.Column("budget_id", sa.Uuid(), nullable=True),
        sa.Column("holds_task", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("question_hash", sa.LargeBinary(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("option", sa.String(100), nullable=True),
        sa.Column("closed_by", sa.String(120), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=NOW, nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(_among("kind", KINDS), name=op.f("ck_attention_item_attention_kind")),
        sa.CheckConstraint(_among("state", STATES), name=op.f("ck_attention_item_attention_state")),
        sa.CheckConstraint("(state = 'open') = (closed_at is null)", name=op.f("ck_attention_item_closed")),
        sa.CheckConstraint("state = 'open' or closed_by is not null", name=op.f("ck_attention_item_closed_by")),
        sa.CheckConstraint("not holds_task or task_id is not null", name=op.f("ck_attention_item_held_task")),
        sa.CheckConstraint("default_answer is null or deadline is not null", name=op.f("ck_attention_item_default")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name="fk_attention_item_team_id"),
        _link("attention_item", "agent_id", "agent"),
        _link("attention_item", "task_id", "task"),
        _link("attention_item", "dead_letter_id", "dead_letter"),
        _link("attention_item", "conversation_id", "conversation"),
        _link("attention_item", "collaboration_id", "collaboration"),
        _link("attention_item", "stage_id", "collaboration_stage"),
        _link("attention_item", "budget_id", "budget_account"),
        sa.PrimaryKeyConstraint("id", name="pk_attention_item"),
        sa.UniqueConstraint("team_id", "id", name="uq_attention_item_team_id_id"),
    )
    op.create_index("ix_attention_item_team", "attention_item", ["team_id", "state", "id"])
    links = {
        "letter": ["dead_letter_id"],
        "task": ["task_id", "id"],
        "conversation": ["conversation_id", "id"],
        "stage": ["stage_id"],
        "collaboration": ["collaboration_id", "id"],
        "budget": ["budget_id"],
    }
    for name, columns in links.items():
        where = sa.text(f"{columns[0]} is not null")
        op.create_index(f"ix_attention_item_{name}", "attention_item", columns, postgresql_where=where)
    op.create_index(
        "uq_attention_item_question",
        "attention_item",
        ["task_id", "question_hash"],
        unique=True,
        postgresql_where=sa.text("question_hash is not null and state <> 'withdrawn'"),
    )


def _create_steps() -> None:
    op.create_table(
        "attention_step",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("item_id", sa.Uuid(), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("actor", sa.String(120), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=NOW, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(_among("action", ACTIONS), name=op.f("ck_attention_step_attention_action")),
        _link("attention_step", "item_id", "attention_item"),
        sa.PrimaryKeyConstraint("id", name="pk_attention_step"),
        sa.UniqueConstraint("team_id", "id", name="uq_attention_step_team_id_id"),
    )
    op.create_index("ix_attention_step_item", "attention_step", ["item_id", "id"])


def _create_overrides() -> None:
    op.create_table(
        "routing_override",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("overridden_by", sa.String(120), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name="fk_routing_override_team_id"),
        _link("routing_override", "decision_id", "routing_decision", ondelete="CASCADE"),
        _link("routing_override", "agent_id", "agent"),
        sa.PrimaryKeyConstraint("id", name="pk_routing_override"),
        sa.UniqueConstraint("team_id", "id", name="uq_routing_override_team_id_id"),
    )
    op.create_index("ix_routing_override_decision", "routing_override", ["decision_id", "id"])


def _open_items() -> None:
    """For the dead letters that are open already: their ids are of the same kind, so that they keep their order."""
    op.execute("""
        insert into attention_item (id, team_id, kind, title, detail, options, opened_by, task_id, dead_letter_id,
            conversation_id, created_at)
        select letter.id, letter.team_id,
            case when task.parent_id is null then 'dead_letter' else 'failed_subtask' end,
            left('Failed for good: ' || task.title, 200), letter.reason, '{replay,discard}', 'parley', task.id,
            letter.id, task.conversation_id, letter.created_at
        from dead_letter as letter join task on task.id = letter.task_id where letter.state = 'open'
    """)
    op.execute("""
        insert into attention_step (id, team_id, item_id, action, actor, at)
        select id, team_id, id, 'opened', opened_by, created_at from attention_item
    """)


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    # What waits for a person would wait for ever.
    op.execute("""
        update task set waiting_for = waiting_for - 1 from attention_item as item
        where item.task_id = task.id and item.holds_task and item.state = 'open' and task.status = 'pending'
    """)
    op.execute("delete from errand where kind = 'attention_due'")
    op.drop_table("routing_override")
    op.drop_table("attention_step")
    op.drop_table("attention_item")


def _among(column: str, values: tuple[str, ...]) -> str:
    return f"{column} in ({', '.join(repr(one) for one in values)})"


def _link(table: str, column: str, to: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["team_id", column], [f"{to}.team_id", f"{to}.id"], name=f"fk_{table}_team_id_{column}", ondelete=ondelete
    )
