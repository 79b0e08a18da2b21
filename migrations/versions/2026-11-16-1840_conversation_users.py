"""Users of conversations have an id of their own, which is not their name.

Profiles that were told under a name stay; they are used once a conversation's user has that text as its id.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column("conversation", sa.Column("user_id", sa.String(length=200), nullable=True))
    known = sa.text("user_id is not null")
    op.create_index("ix_conversation_user", "conversation", ["team_id", "user_id", "id"], postgresql_where=known)


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_index("ix_conversation_user", "conversation")
    op.drop_column("conversation", "user_id")
