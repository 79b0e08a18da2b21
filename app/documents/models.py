"""Trusted GraphQL documents, registered ahead of time and called by their hash."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, String, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base


class TrustedDocument(Base):
    __tablename__ = "trusted_document"

    team_id: Mapped[UUID] = mapped_column(ForeignKey("team.id"), primary_key=True)
    id: Mapped[str] = mapped_column(String(128), primary_key=True)
    body: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
