"""What an agent would see in a conversation, as the graph shows it to people."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import strawberry

from app.auth.principal import Principal
from app.auth.roles import Role
from app.conversations import queries
from app.conversations.context import MOST_ASKED, MOST_CONDENSED, MOST_OF_ONE, MOST_RECENT, Turn, wording
from app.conversations.models import MessageAuthor
from app.conversations.sight import MAX_MEMORIES, Sight, newest_question, see
from app.db.engine import Database
from app.errors import Forbidden
from app.ids import Prefix, from_global
from app.inference.sizes import tokens_of
from graphql_schema.context import Info
from graphql_schema.planner.mapping import python
from graphql_schema.scalars import JSON

_TEXT = (
    f"What was said; of a longer one the first {MOST_OF_ONE:,} characters, of the question {MOST_ASKED:,}, and its id."
)
_CONVERSATION = strawberry.argument(description="Which conversation, `conversation_0190…`.")


@strawberry.type(description="A message as an agent sees it.")
class SeenMessage:
    id: strawberry.ID = strawberry.field(description="The message's id, under which it can be read whole.")
    number: int = strawberry.field(description="Its place in the conversation, from 1.")
    author: MessageAuthor = strawberry.field(description="Who speaks.")
    name: str = strawberry.field(description="Who said it.")
    text: str = strawberry.field(description=_TEXT)
    length: int = strawberry.field(description="How many characters the whole has.")

    @classmethod
    def of(cls, turn: Turn) -> SeenMessage:
        return cls(
            id=strawberry.ID(turn.id),
            number=turn.number,
            author=MessageAuthor(turn.author),
            name=turn.name,
            text=turn.text,
            length=turn.length,
        )


@strawberry.type(description="How large the parts of a context are, in tokens, reckoned at four characters each.")
class ContextSizes:
    memories: int = strawberry.field(description="Of the memories.")
    history: int = strawberry.field(description="Of what was said before, condensed or whole.")
    question: int = strawberry.field(description="Of the message to be answered.")
    instructions: int = strawberry.field(description="Of the instructions as a whole, the memories among them.")
    prompt: int = strawberry.field(description="Of the prompt as a whole, history and question among it.")
    total: int = strawberry.field(description="Of instructions and prompt together.")


@strawberry.type(
    description="What an agent sees when it answers. It is made by the function that makes it for the agent's model, "
    "from what is so now."
)
class AgentContext:
    question: SeenMessage = strawberry.field(description="The message to be answered: what a user said last.")
    memories: list[str] = strawberry.field(
        description=f"What the message calls to mind, best first: the agent's own, the team's and what is known of the "
        f"user; at most 8 and {MAX_MEMORIES:,} characters in all."
    )
    condensed: list[str] = strawberry.field(
        description=f"Older messages, a line each; at most {MOST_CONDENSED:,} characters in all."
    )
    history: list[SeenMessage] = strawberry.field(
        description=f"The newest messages as they are; at most {MOST_RECENT:,} characters in all."
    )
    variables: JSON = strawberry.field(description="What is known besides, by name.")
    instructions: str = strawberry.field(
        description="Who the agent is and what it remembers, word for word as its model is told."
    )
    prompt: str = strawberry.field(description="What was said and what is asked, word for word as its model is told.")
    tokens: ContextSizes = strawberry.field(description="How large it is.")

    @classmethod
    def of(cls, seen: Sight) -> AgentContext:
        context, instructions, prompt = seen.context, seen.instructions, seen.prompt
        sizes = ContextSizes(
            memories=sum(map(tokens_of, context.memories)),
            history=tokens_of(wording(context)),
            question=tokens_of(context.question.text),
            instructions=tokens_of(instructions),
            prompt=tokens_of(prompt),
            total=tokens_of(instructions) + tokens_of(prompt),
        )
        return cls(
            question=SeenMessage.of(context.question),
            memories=list(context.memories),
            condensed=list(context.condensed),
            history=[SeenMessage.of(turn) for turn in context.history],
            variables=JSON(dict(context.variables)),
            instructions=instructions,
            prompt=prompt,
            tokens=sizes,
        )


@python(
    "What the agent would see if it answered what a user said last in a conversation. Null while no user has said "
    "anything. An agent's key may look only through that agent's own eyes, and only at conversations in which it takes "
    "part.",
    requires=("id",),
    cost=10,
)
async def context_for(
    self: Any, info: Info, conversation_id: Annotated[strawberry.ID, _CONVERSATION]
) -> AgentContext | None:
    principal, services = info.context.principal, info.context.services
    agent_id = UUID(self["$id"])
    if principal.role is Role.AGENT and principal.agent_id != agent_id:
        raise Forbidden("This key acts as one agent and may see only what that agent sees.")
    wanted = from_global(Prefix.CONVERSATION, conversation_id, path="conversationId")
    if principal.role is Role.AGENT:
        await _require_part(services.database, principal, wanted)
    async with services.transaction() as session:
        question = await newest_question(session, team_id=principal.team_id, conversation_id=wanted)
    if question is None:
        return None
    seen = await see(
        services.transaction,
        services.library,
        question=question,
        agent_id=agent_id,
        max_tokens=services.settings.reply_max_tokens,
    )
    return AgentContext.of(seen)


async def _require_part(database: Database, principal: Principal, conversation_id: UUID) -> None:
    known = await queries.known(
        database, team_id=principal.team_id, conversation_id=conversation_id, agent_id=principal.agent_id
    )
    if not known.takes_part:
        raise Forbidden("This key acts as one agent and may see only conversations that this agent takes part in.")
