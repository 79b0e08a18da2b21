"""A mutation as one statement that commits itself, for what many callers do many times a second.

It asks whether the caller's key lives, takes the idempotency key, writes what the mutation writes, tells of it and
keeps the outcome: what `idempotency` and `events.log` do with a session in six round trips.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from app.auth import idempotency
from app.auth.idempotency import Call
from app.auth.queries import DEAD_KEY, LIVE
from app.db.engine import Database
from app.db.transaction import Transactions, WakeUp
from app.errors import Unauthenticated
from app.events.cursor import encoded
from app.events.models import Event
from app.events.reading import END

OWN = 14  # the number of the first parameter of what the mutation writes

# A concurrent duplicate waits at `kept` until the first has committed or rolled back, as with a session. The place is
# that of `events.log.own_cursor`: its own event, unless an older transaction is still running. The statement sees what
# was committed when it began, so an event that is newer than that lies behind the place as well.
_STATEMENT = f"""
with caller as materialized (
    select exists (select from api_key where id = $1 and {LIVE}) as lives
), place as materialized (
    select {encoded("$6::uuid", "coalesce(end_position, own)", "coalesce(end_id, $7::uuid)")} as cursor
    from (select event_position() as own, event_horizon() as horizon offset 0) as clock
    left join lateral (select * from ({END}) as ending where horizon <> own) as ending on true
), kept as (
    insert into idempotency_record (api_key_id, key, mutation, input_hash, outcome)
    select $1, $2::text, $3::text, $4::bytea, $5::text::jsonb || jsonb_build_object('event_cursor', cursor)
    from caller, place where lives and $2 is not null
    on conflict do nothing returning key
), first as materialized (
    select from kept union all select from caller where lives and $2 is null
), told as (
    insert into event (id, team_id, kind, actor, api_key_id, agent_id, conversation_id, changes)
    select $7, $6, $8::text, $9::text, $10::uuid, $11::uuid, $12::uuid, $13::text::jsonb from first
), {{writes}}
select lives, exists (select from first), cursor from caller, place
"""


@dataclass(frozen=True, slots=True)
class Write:
    """What `statement` made, the values of its parameters from `OWN` on, and the one event that tells of it."""

    sql: str
    values: list[Any]
    event: Event


def statement(writes: str) -> str:
    """`writes`: common table expressions that write only where `first` has a row."""
    return _STATEMENT.replace("{writes}", writes)


async def perform(
    transactions: Transactions,
    database: Database,
    write: Write,
    *,
    api_key_id: UUID,
    call: Call | None,
    outcome: dict[str, Any],
) -> dict[str, Any]:
    """Write, unless the call's key was used before. The outcome with its event's cursor, or that of the first time.

    Raises Unauthenticated and, for a key that was used for something else, IdempotencyConflict.
    """
    event = write.event
    once = (None, "", b"") if call is None else (call.key, call.mutation, call.input_hash)
    told = (event.team_id, event.id, event.kind.value, event.actor, event.api_key_id, event.agent_id,
            event.conversation_id, orjson.dumps(event.changes).decode())  # fmt: skip
    values = (api_key_id, *once, orjson.dumps(outcome).decode(), *told, *write.values)
    async with transactions.of_one_statement() as sent:
        ((lives, first, cursor),) = await sent.fetch(write.sql, *values)
        if first:
            sent.after_commit.wake_ups.add(WakeUp.EVENTS)
    if not lives:
        raise Unauthenticated(DEAD_KEY)
    if first:
        return outcome | {"event_cursor": cursor}
    assert call is not None
    kept = await idempotency.look_up(database, call)
    assert kept is not None  # whoever had the key has committed: its insertion was waited for
    return kept
