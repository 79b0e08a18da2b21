"""Reports and their sections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TYPES = (
    "code_review", "security_audit", "research_summary", "data_analysis", "risk_assessment", "performance_report",
    "comparison", "action_plan",
)  # fmt: skip


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "report",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("parameters", postgresql.JSONB(), nullable=False),
        sa.Column("required_sections", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("max_sections", sa.SmallInteger(), nullable=False),
        sa.Column("format", sa.String(32), nullable=False),
        sa.Column("assignee_id", sa.Uuid(), nullable=False),
        sa.Column("requester_id", sa.Uuid(), nullable=True),
        sa.Column("on_behalf_of", sa.String(120), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("repair_task_id", sa.Uuid(), nullable=True),
        sa.Column("decision_id", sa.Uuid(), nullable=True),
        sa.Column("memory_id", sa.Uuid(), nullable=True),
        sa.Column("status", sa.String(32), nullable=False),
        sa.Column("missing_sections", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("problems", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", TIME, server_default=sa.text("now()"), nullable=False),
        _one_of("type", "ck_report_report_type", *TYPES),
        _one_of("format", "ck_report_report_format", "markdown", "json", "bullet_points"),
        _one_of("status", "ck_report_report_status", "working", "repairing", "valid", "invalid", "failed"),
        sa.CheckConstraint(
            "(status in ('valid', 'invalid', 'failed')) = (finished_at is not null)", name=op.f("ck_report_finished")
        ),
        sa.CheckConstraint("max_sections between 1 and 20", name=op.f("ck_report_max_sections")),
        sa.CheckConstraint("status <> 'repairing' or repair_task_id is not null", name=op.f("ck_report_repair")),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_report_team_id")),
        _link("report", "assignee_id", "agent"),
        _link("report", "requester_id", "agent"),
        _link("report", "task_id", "task"),
        _link("report", "repair_task_id", "task"),
        _link("report", "decision_id", "routing_decision"),
        *_keys("report"),
    )
    op.create_index("ix_report_team", "report", ["team_id", "id"])
    op.create_index("ix_report_assignee", "report", ["assignee_id", "id"])
    op.create_index("ix_report_requester", "report", ["requester_id", "id"])
    op.create_index("uq_report_task", "report", ["task_id"], unique=True)
    op.create_index("uq_report_repair_task", "report", ["repair_task_id"], unique=True)
    op.create_table(
        "report_section",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("report_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        _one_of("kind", "ck_report_section_section_kind", "required", "optional", "additional"),
        _link("report_section", "report_id", "report"),
        *_keys("report_section"),
    )
    op.create_index("uq_report_section_position", "report_section", ["report_id", "position"], unique=True)


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_table("report_section")
    op.drop_table("report")


def _one_of(column: str, name: str, *values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} in ({', '.join(repr(one) for one in values)})", name=op.f(name))


def _link(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["team_id", column], [f"{to}.team_id", f"{to}.id"], name=op.f(f"fk_{table}_team_id_{column}")
    )


def _keys(table: str) -> list[sa.Constraint]:
    return [
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("team_id", "id", name=op.f(f"uq_{table}_team_id_id")),
    ]
