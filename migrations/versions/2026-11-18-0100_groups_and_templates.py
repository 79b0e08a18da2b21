"""Rules and seats of sessions may name a group; a team keeps templates for sessions; stages have times of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

TIMES = {"work_time": "work_timeout_s", "review_time": "review_timeout_s"}


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    templates = sa.Column("collaboration_templates", postgresql.JSONB(), server_default="[]", nullable=False)
    op.add_column("team", templates)
    op.add_column("handoff_rule", sa.Column("to_group_id", sa.Uuid(), nullable=True))
    _link("handoff_rule", "to_group_id")
    op.create_check_constraint("one_target", "handoff_rule", "to_agent_id is null or to_group_id is null")
    op.add_column("collaboration", sa.Column("team_template", sa.String(63), nullable=True))
    for check, name in TIMES.items():
        op.add_column("collaboration", sa.Column(name, sa.Integer(), nullable=True))
        op.create_check_constraint(check, "collaboration", f"{name} >= 1")
    op.add_column("collaboration_participant", sa.Column("group_id", sa.Uuid(), nullable=True))
    op.add_column("collaboration_participant", sa.Column("picked_because", sa.String(500), nullable=True))
    _link("collaboration_participant", "group_id")
    op.create_check_constraint("group", "collaboration_participant", "(group_id is null) = (picked_because is null)")


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    # Without its group a rule would hand back to the previous agent, which nobody asked for.
    op.execute("update handoff_rule set retired_at = now() where to_group_id is not null and retired_at is null")
    for table, names in (
        ("collaboration_participant", ("picked_because", "group_id")),
        ("collaboration", (*TIMES.values(), "team_template")),
        ("handoff_rule", ("to_group_id",)),
        ("team", ("collaboration_templates",)),
    ):
        for name in names:
            op.drop_column(table, name)


def _link(table: str, name: str) -> None:
    op.create_foreign_key(f"fk_{table}_team_id_{name}", table, "agent_group", ["team_id", name], ["team_id", "id"])
