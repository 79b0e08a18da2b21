"""Idempotency keys: the same key and input give the first answer again, at whatever moment they come.

The record is written in the mutation's own transaction. Its primary key makes a concurrent duplicate wait until the
first has committed (and then take its answer) or rolled back (and then do the work itself). Refusals roll back, so
they are not remembered: nothing happened.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import orjson
from sqlalchemy import Table, bindparam, delete, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.models import IdempotencyRecord
from app.auth.queries import DEAD_KEY, LIVE
from app.clock import now
from app.db.engine import Database
from app.errors import AppError, Unauthenticated, check_text

MAX_KEY = 200
# One round trip says whether the caller's key lives and takes the idempotency key. It waits for whoever has that now.
_BEGIN = text(f"""
with caller as (
    select exists (select from api_key where id = :api_key_id and {LIVE}) as lives
), first as (
    insert into idempotency_record (api_key_id, key, mutation, input_hash)
    select :api_key_id, :key, :mutation, :input_hash from caller where lives
    on conflict do nothing returning key
)
select lives, exists (select from first) from caller
""")
_KEPT = """
select exists (select from api_key where id = {caller} and {live}) as lives,
    kept.mutation, kept.input_hash, cast(kept.outcome as text)
from (select) as one left join idempotency_record as kept on kept.api_key_id = {caller} and kept.key = {key}
"""
_KEPT_NOW = text(_KEPT.format(caller=":api_key_id", key=":key", live=LIVE))
_KEPT_BEFORE = _KEPT.format(caller="$1", key="$2", live=LIVE)
# Without the mapped class, which looks at every value: it rides in nearly every mutation.
_TABLE = cast("Table", IdempotencyRecord.__table__)
_MINE = (_TABLE.c.api_key_id == bindparam("caller")) & (_TABLE.c.key == bindparam("its_key"))
_FINISH = update(_TABLE).where(_MINE).values(outcome=bindparam("kept"))


class IdempotencyConflict(AppError):
    code = "IDEMPOTENCY_CONFLICT"


@dataclass(frozen=True, slots=True)
class Call:
    """A mutation under an idempotency key."""

    api_key_id: UUID
    key: str
    mutation: str
    input_hash: bytes

    def __post_init__(self) -> None:
        check_text("idempotencyKey", self.key, least=1, most=MAX_KEY)


async def begin(session: AsyncSession, call: Call) -> dict[str, Any] | None:
    """The outcome kept under this key, or None for the first caller, who then owes `finish`; raises Unauthenticated."""
    lives, first = (await session.execute(_BEGIN, asdict(call))).one()
    if not lives:
        raise Unauthenticated(DEAD_KEY)
    if first:
        return None
    row = (await session.execute(_KEPT_NOW, {"api_key_id": call.api_key_id, "key": call.key})).one()
    kept = _outcome(call, *row)
    assert kept is not None
    return kept


async def look_up(database: Database, call: Call) -> dict[str, Any] | None:
    """The outcome kept under this key, if there is one by now; raises Unauthenticated."""
    row = await database.fetchrow(_KEPT_BEFORE, call.api_key_id, call.key)
    assert row is not None
    return _outcome(call, *row)


def _outcome(
    call: Call, lives: bool, mutation: str | None, input_hash: bytes | None, outcome: str | None
) -> dict[str, Any] | None:
    if not lives:
        raise Unauthenticated(DEAD_KEY)
    if mutation is None:
        return None
    if mutation != call.mutation or input_hash != call.input_hash:
        raise IdempotencyConflict(
            f"This idempotency key was used for {mutation} with another input. Use a new key for a new request."
        )
    assert outcome is not None
    found: dict[str, Any] = orjson.loads(outcome)
    return found


async def finish(session: AsyncSession, call: Call, outcome: dict[str, Any]) -> None:
    await session.execute(_FINISH, {"caller": call.api_key_id, "its_key": call.key, "kept": outcome})


async def forget_old(session: AsyncSession, *, hours: int) -> int:
    old = IdempotencyRecord.created_at < now() - timedelta(hours=hours)
    gone = await session.scalars(delete(IdempotencyRecord).where(old).returning(IdempotencyRecord.key))
    return len(gone.all())
