"""Versions of handoff rules, kinds and values of variables, what judges said, and handoffs of conversations."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

KINDS = ("runtime_variables", "input_variables")


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    for name in KINDS:
        op.add_column("team", sa.Column(name, postgresql.JSONB(), server_default="{}", nullable=False))
    op.add_column("handoff_rule", sa.Column("first_id", sa.Uuid(), nullable=True))
    op.add_column("handoff_rule", sa.Column("version", sa.Integer(), server_default="1", nullable=False))
    op.add_column("handoff_rule", sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True))
    op.create_foreign_key(
        "fk_handoff_rule_team_id_first_id",
        "handoff_rule",
        "handoff_rule",
        ["team_id", "first_id"],
        ["team_id", "id"],
    )
    op.create_check_constraint(
        op.f("ck_handoff_rule_version"), "handoff_rule", "version >= 1 and (version = 1) = (first_id is null)"
    )
    op.create_index(
        "ix_handoff_rule_first", "handoff_rule", ["first_id"], postgresql_where=sa.text("first_id is not null")
    )
    op.create_table(
        "clause_verdict",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("confidence between 0 and 1", name=op.f("ck_clause_verdict_confidence")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_clause_verdict_team_id")),
        sa.PrimaryKeyConstraint("team_id", "digest", name=op.f("pk_clause_verdict")),
    )
    op.create_index("ix_clause_verdict_created_at", "clause_verdict", ["created_at"])
    op.alter_column("reply", "decision_id", nullable=True)
    _create_handoffs()
    _create_decisions()
    _create_variables()


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.execute(
        "do $$ begin if exists (select from reply where decision_id is null) then raise exception "
        "'There are replies that followed a handoff, which the older version does not know.'; end if; end $$"
    )
    for name in ("context_variable", "step_decision", "conversation_handoff"):
        op.drop_table(name)
    op.alter_column("reply", "decision_id", nullable=False)
    op.drop_table("clause_verdict")
    op.drop_index("ix_handoff_rule_first", "handoff_rule")
    op.drop_constraint("fk_handoff_rule_team_id_first_id", "handoff_rule")
    op.drop_constraint(op.f("ck_handoff_rule_version"), "handoff_rule")
    op.execute("delete from handoff_rule where retired_at is not null")  # the older version takes every row for a rule
    for name in ("retired_at", "version", "first_id"):
        op.drop_column("handoff_rule", name)
    for name in reversed(KINDS):
        op.drop_column("team", name)


def _create_handoffs() -> None:
    op.create_table(
        "conversation_handoff",
        *_common(),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("from_agent_id", sa.Uuid(), nullable=False),
        sa.Column("to_agent_id", sa.Uuid(), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("summary", sa.String(4_000), server_default="", nullable=False),
        sa.Column("return_policy", sa.String(32), nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=True),
        sa.Column("message_id", sa.Uuid(), nullable=True),
        sa.Column("requested_by", sa.String(120), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(32), nullable=True),
        sa.Column("outcome_reason", sa.String(500), nullable=True),
        sa.Column("returned_to_id", sa.Uuid(), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        *_links(
            "conversation_handoff",
            conversation_id="conversation",
            from_agent_id="agent",
            to_agent_id="agent",
            returned_to_id="agent",
            rule_id="handoff_rule",
            message_id="message",
        ),
        sa.UniqueConstraint("conversation_id", "number", name=op.f("uq_conversation_handoff_conversation_id_number")),
        _one_of("conversation_handoff", "return_policy", ("caller", "orchestrator", "human", "none")),
        _one_of(
            "conversation_handoff",
            "outcome",
            ("returned", "timed_out", "failed", "agent_unavailable", "cancelled"),
            check="handoff_outcome",
        ),
        sa.CheckConstraint("from_agent_id <> to_agent_id", name=op.f("ck_conversation_handoff_two_agents")),
        sa.CheckConstraint("(outcome is null) = (ended_at is null)", name=op.f("ck_conversation_handoff_ended")),
        sa.CheckConstraint("(return_policy = 'none') = (due_at is null)", name=op.f("ck_conversation_handoff_due")),
    )
    op.create_index(
        "ix_conversation_handoff_open",
        "conversation_handoff",
        ["team_id", "to_agent_id"],
        postgresql_where=sa.text("ended_at is null and return_policy <> 'none'"),
    )


def _create_decisions() -> None:
    op.create_table(
        "step_decision",
        *_common(),
        sa.Column("message_id", sa.Uuid(), nullable=False),
        sa.Column("decided_by", sa.String(32), nullable=False),
        sa.Column("reason", sa.String(2_000), nullable=False),
        sa.Column("rule_id", sa.Uuid(), nullable=True),
        sa.Column("to_agent_id", sa.Uuid(), nullable=True),
        sa.Column("after_work", sa.String(32), nullable=True),
        sa.Column("judge", sa.String(200), nullable=False),
        sa.Column("tried", postgresql.JSONB(), nullable=False),
        *_links(
            "step_decision",
            conversation_id="conversation",
            message_id="message",
            rule_id="handoff_rule",
            to_agent_id="agent",
        ),
        sa.UniqueConstraint("message_id", name=op.f("uq_step_decision_message_id")),
        _one_of("step_decision", "decided_by", ("rule", "analysis", "after_work")),
        _one_of("step_decision", "after_work", ("return_to_user", "terminate", "continue")),
        sa.CheckConstraint("(decided_by = 'rule') = (rule_id is not null)", name=op.f("ck_step_decision_rule")),
        sa.CheckConstraint(
            "(to_agent_id is null) = (after_work is not null)", name=op.f("ck_step_decision_what_follows")
        ),
    )
    op.create_index("ix_step_decision_conversation", "step_decision", ["conversation_id", "id"])


def _create_variables() -> None:
    op.create_table(
        "context_variable",
        *_common(),
        sa.Column("name", sa.String(63), nullable=False),
        sa.Column("value", postgresql.JSONB(), nullable=False),
        sa.Column("source", sa.String(32), nullable=False),
        sa.Column("message_id", sa.Uuid(), nullable=True),
        sa.Column("set_by", sa.String(120), nullable=False),
        *_links("context_variable", conversation_id="conversation", message_id="message"),
        _one_of("context_variable", "source", ("system", "team", "input", "runtime"), check="variable_source"),
    )
    op.create_index("ix_context_variable_conversation", "context_variable", ["conversation_id", "name", "id"])


def _common() -> list[sa.Column[Any]]:
    return [
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
    ]


def _links(table: str, **targets: str) -> list[sa.Constraint]:
    """The key, the team, and links that carry the team."""
    return [
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("team_id", "id", name=op.f(f"uq_{table}_team_id_id")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f(f"fk_{table}_team_id")),
        *(
            sa.ForeignKeyConstraint(
                ["team_id", column],
                [f"{target}.team_id", f"{target}.id"],
                name=op.f(f"fk_{table}_team_id_{column}"),
            )
            for column, target in targets.items()
        ),
    ]


def _one_of(table: str, column: str, values: tuple[str, ...], *, check: str | None = None) -> sa.CheckConstraint:
    named = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} in ({named})", name=op.f(f"ck_{table}_{check or column}"))
