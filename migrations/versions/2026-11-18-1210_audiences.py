"""Reports and memories know the conversation or consultation that they were made in, which limits who reads them.

Memories of consultations learn it from the link that consultations have to them. Of reports nothing says what they were
asked in, so those that exist stay readable by the whole team.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

LINKS = (("memory", "consultation"), ("report", "conversation"), ("report", "consultation"))


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table, other in LINKS:
        column = f"{other}_id"
        op.add_column(table, sa.Column(column, sa.Uuid(), nullable=True))
        op.create_foreign_key(f"fk_{table}_team_id_{column}", table, other, ["team_id", column], ["team_id", "id"])
    op.execute(
        """
        update memory set consultation_id = consultation.id from consultation
        where consultation.team_id = memory.team_id and consultation.memory_id = memory.id
        """
    )


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for table, other in reversed(LINKS):
        op.drop_column(table, f"{other}_id")
