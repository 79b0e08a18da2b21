"""Declares a subscription over the event log: its arguments, and the topic that they name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import strawberry

from app.auth.principal import Principal
from app.db.engine import Database
from app.events.reading import Topic
from graphql_schema.planner.mapping import PLAN
from graphql_schema.planner.signature import give_signature

TopicOf = Callable[[Principal, Database, dict[str, Any]], Awaitable[Topic]]


@dataclass(frozen=True, slots=True)
class Stream:
    """`topic` checks the caller's rights and raises AppError to refuse."""

    topic: TopicOf


def stream(item: Any, arguments: Mapping[str, Any], description: str, topic: TopicOf) -> Any:
    async def resolver(**_: Any) -> AsyncGenerator[Any, None]:
        raise AssertionError("streams are served by graphql_schema.streams")
        yield

    give_signature(resolver, arguments, AsyncGenerator[item, None])
    return strawberry.subscription(resolver=resolver, description=description, metadata={PLAN: Stream(topic)})
