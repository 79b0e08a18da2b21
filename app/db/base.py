"""What every table shares: the declarative base, constraint names, keys, times, and the team in every foreign key."""

from __future__ import annotations

from datetime import datetime
from enum import Enum as PyEnum
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import DateTime, Enum, ForeignKeyConstraint, MetaData, UniqueConstraint, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.ids import new_id

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map: ClassVar = {datetime: DateTime(timezone=True), dict[str, Any]: JSONB, list[Any]: JSONB}


class Identified:
    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)


class Timestamped:
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


def text_enum(kind: type[PyEnum], *, checked: bool = True, length: int = 32) -> Enum:
    """An enum kept as its value in a text column with a check: adding a value is a cheap migration.

    Unchecked for a table that gains kinds with every version and is too large to check again.
    """
    return Enum(
        kind,
        native_enum=False,
        create_constraint=checked,
        length=length,
        name=_snake(kind.__name__),
        values_callable=lambda e: [member.value for member in e],
    )


def team_key() -> UniqueConstraint:
    """What `team_link` points at."""
    return UniqueConstraint("team_id", "id")


def team_link(column: str, table: str, **options: Any) -> ForeignKeyConstraint:
    """A foreign key that carries the team, so that the database refuses a link into another team."""
    return ForeignKeyConstraint(["team_id", column], [f"{table}.team_id", f"{table}.id"], **options)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
