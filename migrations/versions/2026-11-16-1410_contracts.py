"""Contracts; the contract that a task keeps to and what it is given by it; what a task was given, to know it again."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "contract",
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("description", sa.String(length=2000), server_default="", nullable=False),
        sa.Column("built_in", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("input_schema", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("output_schema", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'", name=op.f("ck_contract_name")),
        sa.CheckConstraint("version >= 1", name=op.f("ck_contract_version")),
        sa.CheckConstraint(
            "input_schema is not null or output_schema is not null", name=op.f("ck_contract_says_something")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["team.id"], name=op.f("fk_contract_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contract")),
        sa.UniqueConstraint("team_id", "id", name=op.f("uq_contract_team_id_id")),
        sa.UniqueConstraint("team_id", "name", "version", name=op.f("uq_contract_team_id_name_version")),
    )
    op.create_index(
        "uq_contract_current",
        "contract",
        ["team_id", "name"],
        unique=True,
        postgresql_where=sa.text("retired_at is null"),
    )
    op.add_column("task", sa.Column("contract_id", sa.Uuid(), nullable=True))
    op.add_column("task", sa.Column("contract_input", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column("task", sa.Column("input_hash", sa.LargeBinary(), nullable=True))
    op.create_check_constraint(op.f("ck_task_contract"), "task", "contract_input is null or contract_id is not null")
    op.create_foreign_key(
        op.f("fk_task_team_id_contract_id"),
        "task",
        "contract",
        ["team_id", "contract_id"],
        ["team_id", "id"],
    )
    op.create_index(
        "ix_task_contract",
        "task",
        ["contract_id", "id"],
        unique=False,
        postgresql_where=sa.text("contract_id is not null"),
    )


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.drop_index("ix_task_contract", table_name="task")
    op.drop_constraint(op.f("fk_task_team_id_contract_id"), "task")
    op.drop_constraint(op.f("ck_task_contract"), "task")
    op.drop_column("task", "input_hash")
    op.drop_column("task", "contract_input")
    op.drop_column("task", "contract_id")
    op.drop_table("contract")
