"""The conversation in which something was learned is one of the same team."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_foreign_key(
        op.f("fk_memory_team_id_conversation_id"),
        "memory",
        "conversation",
        ["team_id", "conversation_id"],
        ["team_id", "id"],
    )


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_constraint(op.f("fk_memory_team_id_conversation_id"), "memory")
