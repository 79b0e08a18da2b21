"""A session may be for a conversation, and keeps to what the task may from which it was started."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

TABLE = "collaboration"


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column(TABLE, sa.Column("conversation_id", sa.Uuid(), nullable=True))
    op.add_column(TABLE, sa.Column("allowed_tools", postgresql.ARRAY(sa.Text()), nullable=True))
    op.add_column(TABLE, sa.Column("allowed_agents", postgresql.ARRAY(sa.Uuid()), nullable=True))
    op.create_foreign_key(
        "fk_collaboration_team_id_conversation_id",
        TABLE,
        "conversation",
        ["team_id", "conversation_id"],
        ["team_id", "id"],
    )
    op.create_index(
        "ix_collaboration_conversation",
        TABLE,
        ["conversation_id", "id"],
        postgresql_where=sa.text("conversation_id is not null"),
    )


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for name in ("allowed_agents", "allowed_tools", "conversation_id"):
        op.drop_column(TABLE, name)
