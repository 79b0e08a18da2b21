"""The teams of `examples/`, each from its file to a finished conversation on the offline model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import select

from app.agents.models import Agent
from app.config import ScriptedReply, Settings
from app.conversations.handoffs.models import StepDecision
from app.conversations.models import Conversation, ConversationStatus, Message, MessageAuthor, Reply
from app.conversations.service import NewConversation, start
from app.db.engine import Database
from app.embeddings.static import StaticEmbedder
from app.inference.providers import Providers
from app.managed.execution import Execution
from app.routing.service import Routing
from app.routing.team_indexes import TeamIndexes
from app.team_files import service as team_files
from app.teams.models import AfterWork
from tests.fixtures.desk import ACTOR, Desk
from tests.fixtures.hall import Hall
from tests.jobs.conftest import Workers

EXAMPLES = Path(__file__).parents[2] / "examples" / "teams"
CONTENT = """Write an article about electric ferries.
researcher: The research is complete. | source_count: 7
writer: The draft is complete and all sections are included. | word_count: 850
writer: The draft is complete again, all sections are included. | word_count: 920
reviewer: Revisions are needed in the second part.
reviewer: The article is approved for publication.
publisher: It is on line now."""
SUPPORT = """My invoice shows a charge that I do not know.
triager: The question is about money. | confidence_score: 0.9
billing: An error was detected in the invoice.
billing: The refund is arranged. Anything else?
error handler: The error is resolved. A retry is possible."""
QUALITY = """Add a dark mode.
coordinator: Code is needed.
coordinator: All is shipped.
developer b: The change is complete.
quality checker: I measured it. | quality_score: 0.7 | coverage: 85
quality checker: I measured it again. | quality_score: 0.9 | coverage: 88
reviewer: The change is approved."""


def script_of(text: str) -> tuple[str, tuple[ScriptedReply, ...]]:
    """What the user says, and what the agents then say; ` | ` begins a new line."""
    message, *lines = text.splitlines()
    pairs = (line.split(": ", 1) for line in lines)
    return message, tuple(ScriptedReply(agent=agent, say=say.replace(" | ", "\n")) for agent, say in pairs)


@pytest.fixture
def routing(settings: Settings, database: Database, desk: Desk) -> Routing:
    embedder = StaticEmbedder()
    return Routing(database, desk.transaction, settings, embedder, TeamIndexes(database, embedder))


async def begin(desk: Desk, routing: Routing, file: str, text: str, first: str) -> Hall:
    async with desk.transaction() as session:
        applied = await team_files.apply(session, team_id=desk.team_id, text=(EXAMPLES / file).read_text(), actor=ACTOR)
        assert applied.changed
        desk.agents.update({agent.slug: agent for agent in await session.scalars(select(Agent))})
        made = await start(session, team_id=desk.team_id, wanted=NewConversation(user_name="Mia"), actor=ACTOR)
    hall = Hall(desk, routing, made.id)
    await hall.say(text, first)
    return hall


async def until_done(desk: Desk, conversation_id: UUID) -> Conversation:
    """Nothing of it is left to do, and somebody said something."""
    async with asyncio.timeout(40):
        while True:
            async with desk.transaction() as session:
                conversation = await session.get_one(Conversation, conversation_id)
                mine = select(Reply.id).where(Reply.conversation_id == conversation_id, Reply.finished_at.is_(None))
                if conversation.last_number > 1 and await session.scalar(mine) is None:
                    return conversation
            await asyncio.sleep(0.05)


async def spoken(desk: Desk, conversation_id: UUID) -> list[tuple[str, str]]:
    async with desk.transaction() as session:
        mine = select(Message.author_name, Message.text).where(
            Message.conversation_id == conversation_id, Message.author == MessageAuthor.AGENT
        )
        return [(name, text.splitlines()[0]) for name, text in await session.execute(mine.order_by(Message.number))]


@pytest.mark.parametrize(
    ("file", "text", "first", "said", "after_work"),
    [
        ("content_team.yaml", CONTENT, "researcher",
         ["researcher", "writer", "reviewer", "writer", "reviewer", "publisher"], AfterWork.RETURN_TO_USER),
        ("support_triage.yaml", SUPPORT, "triager",
         ["triager", "billing", "error_handler", "billing"], AfterWork.CONTINUE),
        ("quality_gate.yaml", QUALITY, "coordinator",
         ["coordinator", "developer_b", "quality_checker", "developer_b", "quality_checker", "reviewer", "coordinator"],
         AfterWork.TERMINATE),
    ],
    ids=["content", "support", "quality"],
)  # fmt: skip
async def test_a_team_from_its_file_to_a_finished_conversation(
    desk: Desk,
    settings: Settings,
    database: Database,
    workers: Workers,
    routing: Routing,
    file: str,
    text: str,
    first: str,
    said: list[str],
    after_work: AfterWork,
) -> None:
    message, script = script_of(text)
    hall = await begin(desk, routing, file, message, first)
    scripted = settings.model_copy(update={"offline_script": script})
    async with workers(Execution(scripted, database, Providers(settings))):
        conversation = await until_done(desk, hall.conversation_id)

    found = await spoken(desk, hall.conversation_id)
    assert [name for name, _ in found] == said
    async with desk.transaction() as session:
        last = (await session.scalars(select(StepDecision).order_by(StepDecision.id.desc()).limit(1))).one()
    assert last.after_work is after_work
    assert (conversation.status is ConversationStatus.CLOSED) is (after_work is AfterWork.TERMINATE)
    assert await desk.open_count() == 0
    assert await desk.reserved() == 0
