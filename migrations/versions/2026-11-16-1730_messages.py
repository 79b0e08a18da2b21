"""Messages between agents, their inboxes, and a team's policy on messages."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

CHANNELS = ("direct", "team", "task", "collab")
TYPES = (
    "task_request", "task_result", "task_status", "info_request", "info_response", "notification", "collab_invite",
    "collab_update", "handoff_request", "feedback", "review_request", "review_result",
)  # fmt: skip
POLICIES = ("open", "hub_and_spoke")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column("team", sa.Column("message_policy", sa.String(32), server_default="open", nullable=False))
    op.create_check_constraint(op.f("ck_team_message_policy"), "team", _among("message_policy", POLICIES))
    _create_messages()
    _create_inboxes()


def _create_messages() -> None:
    op.create_table(
        "agent_message",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("sender_id", sa.Uuid(), nullable=False),
        sa.Column("channel_kind", sa.String(32), nullable=False),
        sa.Column("recipient_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("collaboration_id", sa.Uuid(), nullable=True),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(200), server_default="", nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("reply_to_id", sa.Uuid(), nullable=True),
        sa.Column("recipient_count", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(_among("channel_kind", CHANNELS), name=op.f("ck_agent_message_channel_kind")),
        sa.CheckConstraint(_among("type", TYPES), name=op.f("ck_agent_message_agent_message_type")),
        sa.CheckConstraint(
            "(channel_kind = 'direct') = (recipient_id is not null)", name=op.f("ck_agent_message_recipient")
        ),
        sa.CheckConstraint("channel_kind <> 'task' or task_id is not null", name=op.f("ck_agent_message_task")),
        sa.CheckConstraint(
            "(channel_kind = 'collab') = (collaboration_id is not null)", name=op.f("ck_agent_message_collaboration")
        ),
        sa.CheckConstraint("sender_id <> recipient_id", name=op.f("ck_agent_message_not_itself")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name="fk_agent_message_team_id"),
        _link("agent_message", "sender_id", "agent"),
        _link("agent_message", "recipient_id", "agent"),
        _link("agent_message", "task_id", "task"),
        _link("agent_message", "reply_to_id", "agent_message"),
        sa.PrimaryKeyConstraint("id", name="pk_agent_message"),
        sa.UniqueConstraint("team_id", "id", name="uq_agent_message_team_id_id"),
    )
    op.create_index("ix_agent_message_sender", "agent_message", ["team_id", "sender_id", "id"])
    for name in ("task", "reply_to", "collaboration"):
        where = sa.text(f"{name}_id is not null")
        op.create_index(f"ix_agent_message_{name}", "agent_message", [f"{name}_id", "id"], postgresql_where=where)


def _create_inboxes() -> None:
    op.create_table(
        "inbox_entry",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("sender_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("position", sa.BigInteger(), server_default=sa.text("event_position()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("unread", sa.Boolean(), sa.Computed("read_at is null", persisted=True), nullable=False),
        sa.CheckConstraint(_among("type", TYPES), name=op.f("ck_inbox_entry_agent_message_type")),
        _link("inbox_entry", "agent_id", "agent"),
        _link("inbox_entry", "sender_id", "agent"),
        _link("inbox_entry", "message_id", "agent_message"),
        sa.PrimaryKeyConstraint("id", name="pk_inbox_entry"),
        sa.UniqueConstraint("team_id", "id", name="uq_inbox_entry_team_id_id"),
    )
    op.create_index("uq_inbox_entry_message", "inbox_entry", ["message_id", "agent_id"], unique=True)
    op.create_index("ix_inbox_entry_place", "inbox_entry", ["agent_id", "position", "id"])
    op.create_index("ix_inbox_entry_newest", "inbox_entry", ["agent_id", "unread", "received_at", "id"])
    unread = sa.text("read_at is null")
    op.create_index("ix_inbox_entry_unread", "inbox_entry", ["agent_id", "expires_at"], postgresql_where=unread)


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_table("inbox_entry")
    op.drop_table("agent_message")
    op.drop_column("team", "message_policy")


def _among(column: str, values: tuple[str, ...]) -> str:
    return f"{column} in ({', '.join(repr(one) for one in values)})"


def _link(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["team_id", column], [f"{to}.team_id", f"{to}.id"], name=f"fk_{table}_team_id_{column}"
    )
