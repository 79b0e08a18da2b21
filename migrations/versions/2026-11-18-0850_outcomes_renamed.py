"""Kept answers of mutations have the names that the schema has now, so that a retry after the upgrade is answered.

They are kept for a day; nothing else holds the table.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

COLLABORATIONS = ["startCollaboration", "cancelCollaboration", "extendCollaboration", "decideSubtaskFailure"]
ROUTING = ["routeMessage", "rateResponse", "recordRoutingOutcome", "overrideRouting"]
RENAMED = (
    ("session", "collaboration", COLLABORATIONS),
    ("decision", "routing_decision", ROUTING),
    ("unread", "unread_count", ["acknowledgeInbox"]),
)
RENAME = """
    update idempotency_record
    set outcome = (outcome - cast(:before as text)) || jsonb_build_object(cast(:after as text), outcome -> :before)
    where mutation = any(:mutations) and outcome ? :before
"""


def upgrade() -> None:
    for before, after, mutations in RENAMED:
        _rename(before, after, mutations)


def downgrade() -> None:
    for before, after, mutations in RENAMED:
        _rename(after, before, mutations)


def _rename(before: str, after: str, mutations: list[str]) -> None:
    op.execute(sa.text(RENAME).bindparams(before=before, after=after, mutations=mutations))
