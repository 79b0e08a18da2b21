"""Workers take the due tasks of all teams and extend claims by their tokens; attempts know their model."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column("task_attempt", sa.Column("model", sa.String(120), nullable=True))
    op.add_column("task_attempt", sa.Column("metadata", postgresql.JSONB(none_as_null=True), nullable=True))
    op.add_column("task", sa.Column("waits", sa.SmallInteger(), server_default="0", nullable=False))
    op.create_index("ix_tool_call_attempt", "tool_call", ["attempt_id", "id"])
    op.create_index(
        "ix_task_next",
        "task",
        ["due_at", "id"],
        postgresql_where=sa.text("status = 'pending' and waiting_for = 0"),
    )
    op.create_index(
        "uq_task_claim_token",
        "task",
        ["claim_token"],
        unique=True,
        postgresql_where=sa.text("claim_token is not null"),
    )


def downgrade() -> None:
    op.drop_index("uq_task_claim_token", "task")
    op.drop_index("ix_task_next", "task")
    op.drop_index("ix_tool_call_attempt", "tool_call")
    op.drop_column("task", "waits")
    op.drop_column("task_attempt", "metadata")
    op.drop_column("task_attempt", "model")
