"""Finds trusted documents, and together with them whether a role may run nothing else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from app.auth.roles import Role
from app.db.engine import Database

# One statement, so that the restriction and the document are of the same moment.
_FIND = """
select team.trusted_only_roles ? $2 as restricted,
       (select body from trusted_document where team_id = team.id and id = any($3::text[]) limit 1) as body
from team where team.id = $1
"""


@dataclass(frozen=True, slots=True)
class Trust:
    """`restricted`: the role may run trusted documents only. `body`: what was asked for, if it is trusted."""

    restricted: bool
    body: str | None


async def find_trust(database: Database, *, team_id: UUID, role: Role, document_ids: Collection[str]) -> Trust:
    row = await database.fetchrow(_FIND, team_id, role.value, list(document_ids))
    return Trust(True, None) if row is None else Trust(row["restricted"], row["body"])
