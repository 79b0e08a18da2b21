"""The vectors of routed queries in a table of their own: a kilobyte a row that only past performance reads."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import VECTOR

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    op.create_table(
        "routing_vector",
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("team_id", sa.Uuid(), nullable=False),
        sa.Column("embedder", sa.String(length=120), nullable=False),
        sa.Column("embedding", VECTOR(256), nullable=False),
    )
    op.execute("lock table routing_decision in access exclusive mode")
    op.execute(
        "insert into routing_vector (decision_id, team_id, embedder, embedding) "
        "select id, team_id, embedder, embedding from routing_decision"
    )
    op.create_primary_key(op.f("pk_routing_vector"), "routing_vector", ["decision_id"])
    op.create_foreign_key(
        op.f("fk_routing_vector_team_id_decision_id"),
        "routing_vector",
        "routing_decision",
        ["team_id", "decision_id"],
        ["team_id", "id"],
        ondelete="CASCADE",
    )
    op.drop_column("routing_decision", "embedding")
    _rewrite()


def downgrade() -> None:
    op.execute("set local lock_timeout = '5s'")
    zeros = sa.text("array_fill(0, array[256])::vector")
    op.add_column("routing_decision", sa.Column("embedding", VECTOR(256), server_default=zeros, nullable=False))
    op.execute(
        "update routing_decision set embedding = routing_vector.embedding "
        "from routing_vector where routing_vector.decision_id = routing_decision.id"
    )
    op.alter_column("routing_decision", "embedding", server_default=None)
    op.drop_table("routing_vector")


def _rewrite() -> None:
    """A dropped column keeps its room until the rows are written anew."""
    op.execute("cluster routing_decision using ix_routing_decision_team_at")
    op.execute("alter table routing_decision set without cluster")
