"""Follow-up jobs replace errands, attempts know their arq job, and teams take turns in the queue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

KINDS = {
    "collaboration_deadline": "session_deadline",
    "consultation_stopped": "specialist_stopped",
    "task_begun": "consultation_task_started",
}
OWNED = ("reply", "stage", "report", "consultation")
WAITING = sa.text("status = 'pending' and waiting_for = 0")


def upgrade() -> None:
    op.rename_table("errand", "follow_up")
    op.execute("alter index ix_errand_due rename to ix_follow_up_due")
    op.execute("alter index pk_errand rename to pk_follow_up")
    op.execute("alter table follow_up rename constraint fk_errand_team_id to fk_follow_up_team_id")
    for before, after in KINDS.items():
        _rename(before, after)
    for purpose in OWNED:
        op.execute(
            sa.text(
                "update follow_up set kind = :kind from task "
                "where task.id = follow_up.subject_id and follow_up.kind = 'task_ended' and task.purpose = :purpose"
            ).bindparams(kind=f"{purpose}_task_ended", purpose=purpose)
        )
    op.add_column("task_attempt", sa.Column("job_id", sa.String(64)))
    op.create_index("ix_task_team_next", "task", ["team_id", "due_at"], postgresql_where=WAITING)


def downgrade() -> None:
    op.drop_index("ix_task_team_next", "task")
    op.drop_column("task_attempt", "job_id")
    for purpose in OWNED:
        _rename(f"{purpose}_task_ended", "task_ended")
    for before, after in KINDS.items():
        _rename(after, before)
    op.execute("alter table follow_up rename constraint fk_follow_up_team_id to fk_errand_team_id")
    op.execute("alter index pk_follow_up rename to pk_errand")
    op.execute("alter index ix_follow_up_due rename to ix_errand_due")
    op.rename_table("follow_up", "errand")


def _rename(before: str, after: str) -> None:
    op.execute(
        sa.text("update follow_up set kind = :after where kind = :before").bindparams(before=before, after=after)
    )
