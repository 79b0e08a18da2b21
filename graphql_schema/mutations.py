"""How a mutation runs: permission, idempotency, one transaction, refusals as data.

@mutation("Creates an agent.", needs=Permission.WRITE_AGENTS, refusals=(Conflict,))
async def create_agent(work: Work, input: CreateAgentInput) -> AgentPayload:
    agent = await agents.create(work.session, team_id=work.team_id, …)
    return AgentPayload(agent=agent.id)
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from operator import or_
from typing import Annotated, Any, get_type_hints
from uuid import UUID

import orjson
import strawberry
from sqlalchemy.ext.asyncio import AsyncSession
from strawberry.utils.str_converters import to_camel_case

from app.auth import at_once, idempotency
from app.auth.at_once import Write
from app.auth.idempotency import Call
from app.auth.principal import Principal
from app.auth.queries import require_active_agent, require_live
from app.auth.roles import Permission
from app.errors import AppError
from app.events.log import Actor, own_cursor
from graphql_schema.context import Context, Info
from graphql_schema.planner.mapping import NEEDS
from graphql_schema.refusals import Forbidden, IdempotencyConflict, InvalidInput, Refusal, refusal_of
from graphql_schema.scalars import Cursor

_ALWAYS: tuple[type[Refusal], ...] = (InvalidInput, Forbidden, IdempotencyConflict)


@dataclass(frozen=True, slots=True)
class Work:
    """What a mutation works with, inside its transaction."""

    session: AsyncSession
    context: Context
    prepared: Any = None

    @property
    def principal(self) -> Principal:
        return self.context.principal

    @property
    def team_id(self) -> UUID:
        return self.principal.team_id

    @property
    def actor(self) -> Actor:
        return self.principal.actor


@dataclass(slots=True)
class AtOnce:
    """What a mutation works with that is one statement: it leaves what is to be written, and has no transaction."""

    context: Context
    prepared: Any
    write: Write | None = None

    @property
    def actor(self) -> Actor:
        return self.context.principal.actor


@strawberry.interface(description="What a mutation answers when it happened.")
class Payload:
    event_cursor: Cursor = strawberry.field(
        default=Cursor(""),
        description="The place of this write in the event log: subscribe with it as `after` to miss nothing that "
        "follows. While an older write is still under way, the place is before both, and this one's event comes again.",
    )

    def to_outcome(self) -> dict[str, Any]:
        """What is kept for a retry under the same idempotency key."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_outcome(cls, outcome: dict[str, Any], principal: Principal) -> Payload:
        return cls(**outcome)


@strawberry.input(description="What every mutation's input may carry.")
class MutationInput:
    idempotency_key: str | None = strawberry.field(
        default=None,
        description="Makes the call safe to retry: the same key and input give the first answer again. Up to 200 "
        "characters, yours alone, kept for 24 hours by default.",
    )


Function = Callable[[Any, Any], Awaitable[Payload]]
Prepare = Callable[[Context, Any], Awaitable[Any]]
Act = Callable[[Function, type[Payload], Context, Call | None, Any, Any], Awaitable[Payload]]


def mutation(
    description: str,
    *,
    needs: Permission,
    refusals: tuple[type[Refusal], ...] = (),
    prepare: Prepare | None = None,
) -> Callable[[Function], Any]:
    """Declares a mutation. Its result is a union of the payload and the refusals that it may answer with.

    `prepare` runs when the permission is checked and no transaction is open yet: there a mutation may wait, or do what
    takes long. A transaction that stays open holds every team's events back. What it returns is `work.prepared`.
    A function whose `work` is AtOnce writes by one statement.
    """

    def declare(function: Function) -> Any:
        hints = get_type_hints(function)
        act = _write_at_once if hints["work"] is AtOnce else _work
        payload, among = hints["return"], (*_ALWAYS, *refusals)
        name = to_camel_case(function.__name__)
        union_name = name[0].upper() + name[1:] + "Result"
        text = f"What {name} answers: {payload.__name__}, or why it did not happen."
        result: Any = Annotated[reduce(or_, (payload, *among)), strawberry.union(union_name, description=text)]

        async def resolver(info: Info, input: Any) -> Any:
            try:
                return await _perform(function, act, name, payload, needs, prepare, info.context, input)
            except AppError as error:
                refusal = refusal_of(error, among)
                if refusal is None:
                    raise
                return refusal

        taken: Any = Annotated[hints["input"], strawberry.argument(description="What to do.")]
        resolver.__annotations__ = {"info": Info, "input": taken, "return": result | None}
        parameters = [
            inspect.Parameter("info", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Info),
            inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=taken),
        ]
        resolver.__signature__ = inspect.Signature(parameters, return_annotation=result | None)  # type: ignore[attr-defined]
        return strawberry.mutation(resolver=resolver, name=name, description=description, metadata={NEEDS: needs})

    return declare


async def _perform(
    function: Function,
    act: Act,
    name: str,
    payload: type[Payload],
    needs: Permission,
    prepare: Prepare | None,
    context: Context,
    input: Any,
) -> Payload:
    principal, call = context.principal, None
    principal.require(needs)
    if input.idempotency_key is not None:
        call = Call(principal.key_id, input.idempotency_key, name, _hash(input))
    prepared = None
    if prepare is not None:
        # Looked for before anything can refuse: the world may have changed since then, but what was done is done.
        if call is not None and (kept := await idempotency.look_up(context.services.database, call)) is not None:
            return payload.from_outcome(kept, principal)
        prepared = await prepare(context, input)
    return await act(function, payload, context, call, prepared, input)


async def _work(
    function: Function, payload: type[Payload], context: Context, call: Call | None, prepared: Any, input: Any
) -> Payload:
    principal = context.principal
    async with context.services.transaction() as session:
        if call is None:
            await require_live(session, principal.key_id)
        elif (kept := await idempotency.begin(session, call)) is not None:
            return payload.from_outcome(kept, principal)
        await require_active_agent(session, principal)
        done = await function(Work(session, context, prepared), input)
        done.event_cursor = Cursor((await own_cursor(session, principal.team_id)).encode())
        if call is not None:
            await idempotency.finish(session, call, _outcome(done))
    return done


async def _write_at_once(
    function: Function, payload: type[Payload], context: Context, call: Call | None, prepared: Any, input: Any
) -> Payload:
    services, work = context.services, AtOnce(context, prepared)
    done = await function(work, input)
    assert work.write is not None
    kept = await at_once.perform(
        services.transaction,
        services.database,
        work.write,
        api_key_id=context.principal.key_id,
        call=call,
        outcome=_outcome(done),
    )
    return payload.from_outcome(kept, context.principal)


def _outcome(done: Payload) -> dict[str, Any]:
    """As it comes back from the database."""
    outcome: dict[str, Any] = orjson.loads(orjson.dumps(done.to_outcome(), default=str))
    return outcome


def _hash(input: Any) -> bytes:
    text = orjson.dumps(_plain(input), default=str, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).digest()


def _plain(value: Any) -> Any:
    """An input as plain values, absent fields left out."""
    if is_dataclass(value):
        pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {
            name: _plain(item) for name, item in pairs if item is not strawberry.UNSET and name != "idempotency_key"
        }
    return [_plain(item) for item in value] if isinstance(value, list) else value
