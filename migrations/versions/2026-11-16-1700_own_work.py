"""Agents' own work, what Parley owes, and the conversation or collaboration that an event is about."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

PURPOSES = ("delegation", "reply", "stage", "report", "consultation")
SUBJECTS = ("conversation_id", "collaboration_id")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "errand",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name="fk_errand_team_id"),
        sa.PrimaryKeyConstraint("id", name="pk_errand"),
    )
    op.create_index("ix_errand_due", "errand", ["due_at", "id"])
    op.add_column("event", sa.Column("grandparent_task_id", sa.Uuid(), nullable=True))
    for name in SUBJECTS:
        op.add_column("event", sa.Column(name, sa.Uuid(), nullable=True))
        where = sa.text(f"{name} is not null")
        op.create_index(
            f"ix_event_{name.removesuffix('_id')}", "event", [name, "position", "id"], postgresql_where=where
        )
    op.add_column("task", sa.Column("purpose", sa.String(32), server_default="delegation", nullable=False))
    op.add_column("task", sa.Column("grandparent_id", sa.Uuid(), nullable=True))
    op.execute(
        "update task set grandparent_id = parent.parent_id from task as parent "
        "where parent.id = task.parent_id and parent.parent_id is not null"
    )
    op.create_foreign_key(
        "fk_task_team_id_grandparent_id", "task", "task", ["team_id", "grandparent_id"], ["team_id", "id"]
    )
    op.alter_column("task", "creator_id", nullable=True)
    _check_again(
        task_purpose=f"purpose in ({', '.join(repr(one) for one in PURPOSES)})",
        depth="depth between 0 and 3",
        parent="(depth = 0 and parent_id is null) or depth = 1 or parent_id is not null",
        purpose="(purpose = 'delegation') = (depth > 0)",
        creator="(purpose = 'delegation') = (creator_id is not null)",
    )


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute(
        "do $$ begin if exists (select from task where depth = 0) then raise exception "
        "'There is work that agents do of their own, which the older version does not know.'; end if; end $$"
    )
    for name in ("task_purpose", "purpose", "creator"):
        op.drop_constraint(op.f(f"ck_task_{name}"), "task")
    _check_again(depth="depth between 1 and 3", parent="(parent_id is null) = (depth = 1)")
    op.alter_column("task", "creator_id", nullable=False)
    op.drop_constraint("fk_task_team_id_grandparent_id", "task")
    op.drop_column("task", "grandparent_id")
    op.drop_column("task", "purpose")
    for name in reversed(SUBJECTS):
        op.drop_index(f"ix_event_{name.removesuffix('_id')}", "event")
        op.drop_column("event", name)
    op.drop_column("event", "grandparent_task_id")
    op.drop_table("errand")


def _check_again(**checks: str) -> None:
    for name, condition in checks.items():
        if name in ("depth", "parent"):
            op.drop_constraint(op.f(f"ck_task_{name}"), "task")
        op.create_check_constraint(op.f(f"ck_task_{name}"), "task", condition)
