"""Imports every slice's tables, so that Alembic and the planner see them all."""

from app.agents import models as agents
from app.auth import models as auth
from app.budgets import models as budgets
from app.contracts import models as contracts
from app.db.base import Base
from app.documents import models as documents
from app.events import models as events
from app.handoffs import models as handoffs
from app.routing import models as routing
from app.tasks import models as tasks
from app.teams import models as teams

metadata = Base.metadata

__all__ = [
    "agents",
    "auth",
    "budgets",
    "contracts",
    "documents",
    "events",
    "handoffs",
    "metadata",
    "routing",
    "tasks",
    "teams",
]
