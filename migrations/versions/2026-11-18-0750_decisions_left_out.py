"""A routing decision keeps whom it left out.

Of older decisions that is not known and stays null, so that no row is written.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.add_column("routing_decision", sa.Column("left_out_ids", postgresql.ARRAY(sa.Uuid()), nullable=True))


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_column("routing_decision", "left_out_ids")
