"""Conversations: participants, messages, and the answering of each message."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

NOW = sa.text("now()")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _conversations()
    op.add_column("task", sa.Column("conversation_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        "fk_task_team_id_conversation_id", "task", "conversation", ["team_id", "conversation_id"], ["team_id", "id"]
    )
    where = sa.text("conversation_id is not null")
    op.create_index("ix_task_conversation", "task", ["conversation_id", "id"], postgresql_where=where)
    _messages()
    _replies()


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table in ("contribution", "reply", "message"):
        op.drop_table(table)
    op.drop_index("ix_task_conversation", "task")
    op.drop_constraint("fk_task_team_id_conversation_id", "task")
    op.drop_column("task", "conversation_id")
    op.drop_table("conversation_participant")
    op.drop_table("conversation")
    op.execute("delete from errand where kind in ('start_reply', 'contribution_overdue')")


def _conversations() -> None:
    op.create_table(
        "conversation",
        _team(),
        sa.Column("title", sa.String(200), server_default="", nullable=False),
        sa.Column("status", sa.String(32), server_default="open", nullable=False),
        sa.Column("primary_agent_id", sa.Uuid(), nullable=False),
        sa.Column("user_name", sa.String(120), nullable=False),
        sa.Column("created_by", sa.String(120), nullable=False),
        sa.Column("last_number", sa.Integer(), server_default="0", nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        _id(),
        _at("created_at", NOW),
        _at("updated_at", NOW),
        _check("conversation", "conversation_status", _among("status", "open", "closed")),
        _check("conversation", "closed", "(status = 'closed') = (closed_at is not null)"),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name="fk_conversation_team_id"),
        *_keys("conversation", primary_agent_id="agent"),
    )
    op.create_index("ix_conversation_team_status", "conversation", ["team_id", "status", "id"])
    op.create_index("ix_conversation_primary_agent", "conversation", ["team_id", "primary_agent_id", "id"])
    op.create_table(
        "conversation_participant",
        _team(),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.String(32), nullable=False),
        _at("joined_at", NOW),
        sa.Column("left_at", sa.DateTime(timezone=True), nullable=True),
        _id(),
        _check("conversation_participant", "participant_role", _among("role", "primary", "invited", "handoff_source")),
        *_keys("conversation_participant", conversation_id="conversation", agent_id="agent"),
        _unique("conversation_participant", "conversation_id", "agent_id"),
    )
    op.create_index(
        "uq_conversation_participant_primary",
        "conversation_participant",
        ["conversation_id"],
        unique=True,
        postgresql_where=sa.text("role = 'primary'"),
    )
    op.create_index("ix_conversation_participant_agent", "conversation_participant", ["team_id", "agent_id", "id"])


def _messages() -> None:
    op.create_table(
        "message",
        _team(),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(32), nullable=False),
        sa.Column("author_name", sa.String(120), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("parts", JSONB(), nullable=False),
        sa.Column("artifacts", ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("in_reply_to_id", sa.Uuid(), nullable=True),
        sa.Column("decision_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("cost", sa.Numeric(14, 6), server_default="0", nullable=False),
        sa.Column("handoff_triggered", sa.Boolean(), nullable=True),
        sa.Column("handoff_target_id", sa.Uuid(), nullable=True),
        _at("created_at", sa.text("clock_timestamp()")),
        _id(),
        _check("message", "message_author", _among("author", "user", "agent", "system")),
        _check("message", "agent", "(author = 'agent') = (agent_id is not null)"),
        *_keys(
            "message",
            conversation_id="conversation",
            agent_id="agent",
            in_reply_to_id="message",
            decision_id="routing_decision",
            task_id="task",
            handoff_target_id="agent",
        ),
        _unique("message", "conversation_id", "number"),
    )
    for name, columns, filled in (
        ("ix_message_agent", ["team_id", "agent_id", "id"], "agent_id"),
        ("ix_message_in_reply_to", ["in_reply_to_id"], "in_reply_to_id"),
    ):
        op.create_index(name, "message", columns, postgresql_where=sa.text(f"{filled} is not null"))


def _replies() -> None:
    op.create_table(
        "reply",
        _team(),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("strategy", sa.String(32), nullable=False),
        sa.Column("status", sa.String(32), server_default="pending", nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("on_behalf_of", sa.String(120), nullable=False),
        sa.Column("model_tier", sa.SmallInteger(), nullable=True),
        sa.Column("timeout_s", sa.Integer(), nullable=False),
        sa.Column("answer_id", sa.Uuid(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("cost", sa.Numeric(14, 6), server_default="0", nullable=False),
        _at("created_at", NOW),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        _id(),
        _check("reply", "strategy", _among("strategy", "top_1", "top_k", "ensemble", "cascade")),
        _check("reply", "reply_status", _among("status", "pending", "running", "completed", "failed", "cancelled")),
        _check("reply", "finished", "(status in ('pending', 'running')) = (finished_at is null)"),
        _check("reply", "answer", "(answer_id is not null) = (status in ('completed', 'failed'))"),
        *_keys(
            "reply",
            conversation_id="conversation",
            message_id="message",
            decision_id="routing_decision",
            answer_id="message",
        ),
        _unique("reply", "message_id"),
    )
    running, unfinished = sa.text("status = 'running'"), sa.text("status in ('pending', 'running')")
    op.create_index("uq_reply_running", "reply", ["conversation_id"], unique=True, postgresql_where=running)
    op.create_index("ix_reply_unfinished", "reply", ["conversation_id", "number"], postgresql_where=unfinished)
    op.create_index("ix_reply_conversation", "reply", ["conversation_id", "number"])
    op.create_index("ix_reply_team_status", "reply", ["team_id", "status", "id"])
    statuses = ("waiting", "running", "completed", "failed", "timed_out", "cancelled")
    op.create_table(
        "contribution",
        _team(),
        sa.Column("reply_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("place", sa.SmallInteger(), nullable=False),
        sa.Column("status", sa.String(32), server_default="waiting", nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("relevance", sa.Double(), nullable=True),
        sa.Column("use", sa.String(32), nullable=True),
        _id(),
        _check("contribution", "contribution_status", _among("status", *statuses)),
        _check("contribution", "contribution_use", _among("use", "answer", "merged", "duplicate", "unused")),
        *_keys("contribution", reply_id="reply", agent_id="agent", task_id="task"),
        _unique("contribution", "reply_id", "place"),
        _unique("contribution", "reply_id", "agent_id"),
        _unique("contribution", "task_id"),
    )
    op.create_index("ix_contribution_agent", "contribution", ["team_id", "agent_id", "id"])


def _id() -> sa.Column[object]:
    return sa.Column("id", sa.Uuid(), nullable=False)


def _team() -> sa.Column[object]:
    return sa.Column("team_id", sa.Uuid(), nullable=False)


def _at(name: str, default: sa.TextClause) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), server_default=default, nullable=False)


def _among(column: str, *values: str) -> str:
    return f"{column} in ({', '.join(repr(value) for value in values)})"


def _check(table: str, name: str, condition: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(condition, name=op.f(f"ck_{table}_{name}"))


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=f"uq_{table}_{'_'.join(columns)}")


def _keys(table: str, **links: str) -> list[sa.Constraint]:
    """The primary key, the team's key, and links into other tables of the same team."""
    foreign = [
        sa.ForeignKeyConstraint(
            ["team_id", column], [f"{other}.team_id", f"{other}.id"], name=f"fk_{table}_team_id_{column}"
        )
        for column, other in links.items()
    ]
    return [sa.PrimaryKeyConstraint("id", name=f"pk_{table}"), _unique(table, "team_id", "id"), *foreign]
