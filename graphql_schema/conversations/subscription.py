"""Subscription to what happens in a conversation."""

from __future__ import annotations

from typing import Annotated, Any, Union

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Permission, Role
from app.conversations import queries
from app.db.engine import Database
from app.errors import Forbidden
from app.events.reading import Topic
from app.ids import Prefix, from_global
from graphql_schema.events.subscription import AFTER, CaughtUp, Gap
from graphql_schema.events.types import Event
from graphql_schema.streams.field import stream


@strawberry.type(
    description="What an agent is saying, while its model streams. Not in the event log and never replayed: a client "
    "that joins late gets the text so far with the next piece, and one that is slow may miss pieces. After the reply's "
    "message no more come. Sent only where one of its fields is selected."
)
class PartialText:
    reply_id: strawberry.ID = strawberry.field(description="Which reply it will be part of.")
    agent_id: strawberry.ID = strawberry.field(description="Who is speaking.")
    task_id: strawberry.ID = strawberry.field(description="The task that it is working on.")
    text: str = strawberry.field(description="All that it has said so far; it may begin anew after a tool call.")
    delta: str = strawberry.field(description="What is new in `text` since the piece before.")
    offset: int = strawberry.field(description="Where in `text` the delta starts, in characters; 0: begun anew.")


ConversationStreamItem = Annotated[
    Union[Event, CaughtUp, Gap, PartialText],  # noqa: UP007  Strawberry needs a union that it can name
    strawberry.union(
        "ConversationStreamItem",
        description="An event, a piece of what is being said, or a word about the stream itself.",
    ),
]


async def _topic(principal: Principal, database: Database, arguments: dict[str, Any]) -> Topic:
    """An agent's own key may follow conversations that the agent takes part in; others read events."""
    conversation_id = from_global(Prefix.CONVERSATION, arguments["conversationId"], path="conversationId")
    if principal.role is not Role.AGENT:
        principal.require(Permission.READ_EVENTS)
    known = await queries.known(
        database, team_id=principal.team_id, conversation_id=conversation_id, agent_id=principal.agent_id
    )
    if principal.role is Role.AGENT and not known.takes_part:
        raise Forbidden("This key acts as one agent and may follow only conversations that this agent takes part in.")
    return Topic(principal.team_id, conversation_id=conversation_id)


conversation_events = stream(
    ConversationStreamItem,
    {
        "conversation_id": Annotated[
            strawberry.ID, strawberry.argument(description="The conversation's id, `conversation_0190…`.")
        ],
        "after": AFTER,
    },
    "What happens in a conversation, in one order, without gap or repeat: messages, who joins and leaves, routing "
    "decisions, replies, and the tasks behind them; between these, what agents are saying. An agent's key may follow "
    "conversations that its agent takes part in; the stream ends with FORBIDDEN when that agent is removed.",
    _topic,
)
