"""Money and authority: claimed costs, the origin of own work, daily allowances, and what may be obeyed and trusted.

Handoff rules that exist keep working: they go on trusting what a reply says of its variables.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

USD = sa.Numeric(14, 6)
NEW_ATTENTION_KIND = "cost_claim"
ATTENTION_KINDS = (
    "question", "clarification", "approval", "escalation", "budget_raise", "dead_letter", "failed_subtask"
)  # fmt: skip
VARIABLE_SOURCES = ("system", "team", "input", "runtime")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    _add_links()
    for table in ("task", "task_attempt"):
        op.add_column(table, sa.Column("claimed_cost", USD, nullable=False, server_default="0"))
    for table in ("task", "collaboration"):
        op.add_column(table, sa.Column("obeys_directives", sa.Boolean(), nullable=False, server_default="false"))
    op.add_column("agent", sa.Column("day_allowance_usd", USD))
    op.create_check_constraint("day_allowance", "agent", "day_allowance_usd >= 0")
    op.add_column("handoff_rule", sa.Column("trusts_text", sa.Boolean(), nullable=False, server_default="true"))
    op.alter_column("handoff_rule", "trusts_text", server_default="false")
    _allow("attention_item", "kind", "attention_kind", (*ATTENTION_KINDS, NEW_ATTENTION_KIND))
    _allow("context_variable", "source", "variable_source", (*VARIABLE_SOURCES, "text"))


def downgrade() -> None:
    """Claims that wait for a person become questions, and what texts said counts as what replies set."""
    op.execute("set local lock_timeout = '5s'")
    op.execute(f"update attention_item set kind = 'question' where kind = '{NEW_ATTENTION_KIND}'")
    op.execute("update context_variable set source = 'runtime' where source = 'text'")
    _allow("attention_item", "kind", "attention_kind", ATTENTION_KINDS)
    _allow("context_variable", "source", "variable_source", VARIABLE_SOURCES)
    op.drop_column("handoff_rule", "trusts_text")
    op.drop_column("agent", "day_allowance_usd")
    for table in ("task", "collaboration"):
        op.drop_column(table, "obeys_directives")
    for table in ("task", "task_attempt"):
        op.drop_column(table, "claimed_cost")
    op.drop_index("ix_budget_account_parent_open", "budget_account")
    op.drop_index("ix_task_creator_first", "task")
    for table, column in (
        ("task", "origin_id"), ("task", "chain_root_id"), ("collaboration", "origin_task_id"),
        ("budget_account", "granted_to_id"),
    ):  # fmt: skip
        op.drop_column(table, column)


def _add_links() -> None:
    _add_link("task", "origin_id", "task", "ix_task_origin", "id")
    _add_link("task", "chain_root_id", "task", "ix_task_chain_root", "id")
    _add_link("collaboration", "origin_task_id", "task", "ix_collaboration_origin")
    _add_link("budget_account", "granted_to_id", "agent", "ix_budget_account_granted", "created_at")
    op.create_index(
        "ix_task_creator_first",
        "task",
        ["creator_id"],
        postgresql_where=sa.text("parent_id is null and status in ('pending', 'in_progress')"),
    )
    op.create_index(
        "ix_budget_account_parent_open", "budget_account", ["parent_id"], postgresql_where=sa.text("closed_at is null")
    )


def _add_link(table: str, column: str, target: str, index: str, *more: str) -> None:
    op.add_column(table, sa.Column(column, sa.Uuid()))
    op.create_foreign_key(f"fk_{table}_team_id_{column}", table, target, ["team_id", column], ["team_id", "id"])
    op.create_index(index, table, [column, *more], postgresql_where=sa.text(f"{column} is not null"))


def _allow(table: str, column: str, name: str, values: tuple[str, ...]) -> None:
    op.drop_constraint(name, table, type_="check")
    quoted = ", ".join(f"'{value}'" for value in values)
    op.create_check_constraint(name, table, f"{column} in ({quoted})")
