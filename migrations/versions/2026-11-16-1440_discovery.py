"""An agent's ended tasks and its attempts are found by time, for its availability and its track record."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_index(
        "ix_task_finished",
        "task",
        ["team_id", "assignee_id", "finished_at"],
        postgresql_where=sa.text("finished_at is not null"),
    )
    op.create_index("ix_task_attempt_agent", "task_attempt", ["team_id", "agent_id", "started_at"])


def downgrade() -> None:
    op.drop_index("ix_task_attempt_agent", "task_attempt")
    op.drop_index("ix_task_finished", "task")
