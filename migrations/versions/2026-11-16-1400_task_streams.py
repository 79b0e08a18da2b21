"""What those who follow tasks need to know of an event: the task's place in its tree, and whom it concerns."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

NEW = ("parent_task_id", "root_task_id", "creator_id", "former_assignee_id")
INDEXED = {
    "ix_event_tree": "root_task_id",
    "ix_event_creator": "creator_id",
    "ix_event_former_assignee": "former_assignee_id",
}
FILL = """
update event set parent_task_id = task.parent_id, root_task_id = task.root_id, creator_id = task.creator_id,
    former_assignee_id = substr(event.changes->>'fromAgentId', length('agent_') + 1)::uuid
from task where task.id = event.task_id
"""


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for name in NEW:
        op.add_column("event", sa.Column(name, sa.Uuid(), nullable=True))
    op.execute(FILL)
    for index, column in INDEXED.items():
        where = sa.text(f"{column} is not null")
        op.create_index(index, "event", [column, "position", "id"], unique=False, postgresql_where=where)


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for index in INDEXED:
        op.drop_index(index, table_name="event")
    for name in reversed(NEW):
        op.drop_column("event", name)
