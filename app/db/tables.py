"""Imports every slice's tables, so that Alembic and the planner see them all."""

from app.agents import models as agents
from app.attention import models as attention
from app.auth import models as auth
from app.budgets import models as budgets
from app.collaborations import models as collaborations
from app.consultations import models as consultations
from app.contracts import models as contracts
from app.conversations import models as conversations
from app.conversations.handoffs import models as conversation_handoffs
from app.db.base import Base
from app.documents import models as documents
from app.events import models as events
from app.follow_ups import models as follow_ups
from app.groups import models as groups
from app.handoffs import models as handoffs
from app.memories import models as memories
from app.messages import models as messages
from app.reports import models as reports
from app.routing import models as routing
from app.tasks import models as tasks
from app.teams import models as teams

metadata = Base.metadata

__all__ = [
    "agents",
    "attention",
    "auth",
    "budgets",
    "collaborations",
    "consultations",
    "contracts",
    "conversation_handoffs",
    "conversations",
    "documents",
    "events",
    "follow_ups",
    "groups",
    "handoffs",
    "memories",
    "messages",
    "metadata",
    "reports",
    "routing",
    "tasks",
    "teams",
]
