"""What a message may look like: the one definition of its fields and limits, for the API and for agents' tools."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime

from app.agents.spec import Strict, text
from app.errors import InvalidInput
from app.messages.models import MAX_BODY, MAX_SUBJECT, AgentMessageType

LONGEST_LIFE = timedelta(days=365)


class MessageSpec(Strict):
    body: Annotated[str, text(MAX_BODY, 1)]
    type: AgentMessageType = AgentMessageType.NOTIFICATION
    subject: Annotated[str, text(MAX_SUBJECT)] = ""
    task_id: UUID | None = None
    reply_to_id: UUID | None = None
    expires_at: AwareDatetime | None = None


def check_expiry(expires_at: datetime | None, at: datetime) -> None:
    if expires_at is not None and not at < expires_at <= at + LONGEST_LIFE:
        raise InvalidInput.of("expiresAt", f"must lie in the future, at most {LONGEST_LIFE.days} days ahead")
