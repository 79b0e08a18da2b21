"""Answers messages: asks the chosen agents in their turn, takes their replies, and makes one message of them.

Every step is a follow-up job that runs in one transaction under the lock of the conversation's row. So each step
happens once, however many workers there are and whenever one is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent
from app.config import Settings
from app.conversations import aggregator, contributions, messages, participants, reading, replies
from app.conversations.aggregator import Answer, Voice
from app.conversations.context import Context, wording
from app.conversations.handoffs.steps import Steps
from app.conversations.held import Held, hold
from app.conversations.models import (
    UNFINISHED,
    Contribution,
    ContributionStatus,
    ContributionUse,
    ConversationStatus,
    Message,
    MessageAuthor,
    ReplyStatus,
)
from app.conversations.narration import tell_reply
from app.conversations.participants import REMOVED
from app.conversations.sight import title_of
from app.conversations.spec import in_words
from app.conversations.turns import Step, next_step
from app.embeddings.static import StaticEmbedder
from app.errors import AppError, Unavailable
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.follow_ups import service as follow_ups
from app.follow_ups.models import FollowUpKind
from app.handoffs.judging.embedding import EmbeddingJudge
from app.ids import Prefix, to_global
from app.routing import feedback
from app.routing.models import RoutingOutcome
from app.routing.select import Strategy
from app.tasks import assignment
from app.tasks.assignment import Assignment
from app.tasks.models import OPEN, Task, TaskPurpose, TaskType
from app.tasks.spec import TaskSpec, parse_task


class Answering:
    """Texts are compared by the embedder of the default install, whatever routing uses: it needs no network, so that
    no transaction waits for one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedder = StaticEmbedder()
        self._steps = Steps(settings, EmbeddingJudge(self._embedder))

    async def start(self, session: AsyncSession, team_id: UUID, reply_id: UUID) -> None:
        """Begin with a reply whose turn it is."""
        held = await hold(session, team_id, reply_id)
        if held is None or held.reply.status is not ReplyStatus.PENDING:
            return
        if held.conversation.status is ConversationStatus.CLOSED:
            await replies.cancel_unfinished(session, held.conversation, reason="It was closed.", actor=SYSTEM)
            return
        first = (await replies.unfinished(session, held.conversation))[0]
        if first.id != reply_id:
            return  # whoever ends the one before asks again
        held.reply.status, held.reply.started_at = ReplyStatus.RUNNING, func.clock_timestamp()
        agents = [to_global(Prefix.AGENT, one.agent_id) for one in held.chosen]
        tell_reply(session, EventKind.REPLY_STARTED, held.conversation, held.reply, SYSTEM, agents=agents)
        await self._go_on(session, held)

    async def task_ended(self, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        """Take what an agent's task came to."""
        row = await contributions.find(session, team_id, Contribution.task_id == task_id)
        held = await hold(session, team_id, row.reply_id) if row else None
        if row is not None and held is not None:
            await self._take(session, held, row.id)

    async def overdue(self, session: AsyncSession, team_id: UUID, contribution_id: UUID) -> None:
        """Stop an agent that takes too long, whatever it is waiting for."""
        row = await contributions.find(session, team_id, Contribution.id == contribution_id)
        held = await hold(session, team_id, row.reply_id) if row else None
        if held is None:
            return
        one = held.by_id(contribution_id)
        if one.status is not ContributionStatus.RUNNING or one.task_id is None:
            return
        reason = f"It took longer than {held.reply.timeout_s} seconds."
        await assignment.call_off(session, team_id=team_id, task_ids=[one.task_id], reason=reason, actor=SYSTEM)
        await self._take(session, held, contribution_id, called_off=ContributionStatus.TIMED_OUT)

    async def abandon(self, session: AsyncSession, team_id: UUID, reply_id: UUID) -> None:
        """A step of this reply fails again and again: end it with a message that says so. The next takes its turn."""
        held = await hold(session, team_id, reply_id)
        if held is None or held.reply.status not in UNFINISHED:
            return
        said = "This message could not be answered: Parley itself failed at it, again and again. Its log says why."
        tasks = [one.task_id for one in held.chosen if one.task_id is not None]
        await assignment.call_off(session, team_id=team_id, task_ids=tasks, reason=said, actor=SYSTEM)
        for one in held.chosen:
            if one.status is ContributionStatus.RUNNING:
                contributions.settle(one, await contributions.task_of(session, one))
            elif one.status is ContributionStatus.WAITING:
                one.status, one.error = ContributionStatus.CANCELLED, said
        await self._fail(session, held, said)
        await replies.ask_for_next(session, held.conversation)

    async def abandon_task(self, session: AsyncSession, team_id: UUID, task_id: UUID) -> None:
        if row := await contributions.find(session, team_id, Contribution.task_id == task_id):
            await self.abandon(session, team_id, row.reply_id)

    async def abandon_contribution(self, session: AsyncSession, team_id: UUID, contribution_id: UUID) -> None:
        if row := await contributions.find(session, team_id, Contribution.id == contribution_id):
            await self.abandon(session, team_id, row.reply_id)

    async def _take(
        self,
        session: AsyncSession,
        held: Held,
        contribution_id: UUID,
        called_off: ContributionStatus = ContributionStatus.CANCELLED,
    ) -> None:
        one = held.by_id(contribution_id)
        if one.status is not ContributionStatus.RUNNING:
            return
        task = await contributions.task_of(session, one)
        if task.status in OPEN:
            return
        contributions.settle(one, task, called_off)
        await self._go_on(session, held)

    async def _go_on(self, session: AsyncSession, held: Held) -> None:
        while True:
            step = next_step(held.reply.strategy, [one.status for one in held.chosen])
            waiting = [one for one in held.chosen if one.status is ContributionStatus.WAITING]
            if step is Step.ASK_ALL or step is Step.ASK_NEXT:
                for one in waiting if step is Step.ASK_ALL else waiting[:1]:
                    await self._ask(session, held, one)
                continue
            if step is Step.WAIT:
                return
            await (self._answer if step is Step.ANSWER else self._give_up)(session, held)
            await replies.ask_for_next(session, held.conversation)
            return

    async def _ask(self, session: AsyncSession, held: Held, one: Contribution) -> None:
        reply = held.reply
        if not await participants.takes_part(session, held.conversation, one.agent_id):
            one.status, one.error = ContributionStatus.CANCELLED, REMOVED
            return
        context = await reading.context_of(session, question=held.question, agent_id=one.agent_id)
        try:
            wanted = Assignment(
                purpose=TaskPurpose.REPLY,
                spec=self._spec(held, context),
                assignee_id=one.agent_id,
                on_behalf_of=reply.on_behalf_of,
                conversation_id=reply.conversation_id,
            )
            async with session.begin_nested():
                task = await assignment.assign(
                    session, team_id=reply.team_id, wanted=wanted, settings=self._settings, actor=SYSTEM
                )
        except Unavailable:
            raise
        except AppError as refusal:
            one.status, one.error = ContributionStatus.FAILED, refusal.message
            return
        one.task_id, one.status = task.id, ContributionStatus.RUNNING
        at = await session.scalar(select(func.clock_timestamp()))
        assert at is not None
        due_at = at + timedelta(seconds=reply.timeout_s)
        follow_ups.schedule(
            session, FollowUpKind.CONTRIBUTION_OVERDUE, team_id=reply.team_id, subject_id=one.id, due_at=due_at
        )

    def _spec(self, held: Held, context: Context) -> TaskSpec:
        """Raises InvalidInput."""
        return parse_task(
            {
                "type": TaskType.GENERATE,
                "title": title_of(held.question),
                "instructions": context.question.text,
                "context": wording(context),
                "input_artifacts": tuple(held.question.artifacts),
                "max_tokens": self._settings.reply_max_tokens,
                "timeout_seconds": held.reply.timeout_s,
                "model_tier": held.reply.model_tier,
            }
        )

    async def _answer(self, session: AsyncSession, held: Held) -> None:
        done = [one for one in held.chosen if one.status is ContributionStatus.COMPLETED]
        answer = await self._judged(session, held, done)
        for one, use, relevance in zip(done, answer.uses, answer.relevances, strict=True):
            one.use, one.relevance = use, relevance if len(done) > 1 else None
        lead = done[answer.lead]
        task = (await session.scalars(select(Task).where(Task.id == lead.task_id))).one()
        author = (await session.scalars(select(Agent).where(Agent.id == task.assignee_id))).one()
        alone = ContributionUse.MERGED not in answer.uses
        held.reply.cost = await replies.cost_of(session, held.chosen)
        message = messages.add(
            session,
            held.conversation,
            in_words(answer.text, task.result_artifacts, task.output if alone else None),
            author=MessageAuthor.AGENT,
            author_name=author.name,
            agent_id=author.id,
            in_reply_to_id=held.question.id,
            decision_id=held.reply.decision_id,
            task_id=task.id if alone else None,
            cost=held.reply.cost,
            actor=Actor(author.name),
        )
        await _finish(session, held, ReplyStatus.COMPLETED, message)
        await self._steps.after_reply(session, held.conversation, held.reply, message, task.output)

    async def _judged(self, session: AsyncSession, held: Held, done: Sequence[Contribution]) -> Answer:
        if len(done) == 1:
            return Answer(done[0].text or "", 0, (ContributionUse.ANSWER,), (0.0,))
        asked, judge = held.question.text, aggregator.merged
        if held.reply.strategy is not Strategy.ENSEMBLE:
            judge = aggregator.best
        said = [await contributions.said(session, held.reply, one) for one in done]

        def compared() -> Answer:
            (question,) = self._embedder.embed_now(aggregator.weighed(asked)[:1])
            voices = [Voice(*one, self._embedder.embed_now(aggregator.weighed(one[-1]))) for one in said]
            return judge(question, voices)

        return await asyncio.to_thread(compared)  # others are served meanwhile

    async def _give_up(self, session: AsyncSession, held: Held) -> None:
        """Say what happened, so that the user need not wonder; the conversation goes on."""
        names = await session.execute(
            select(Agent.id, Agent.name).where(Agent.id.in_([one.agent_id for one in held.chosen]))
        )
        known = {agent_id: name for agent_id, name in names}
        why = [f"{known[one.agent_id]}: {one.error or 'stopped'}" for one in held.chosen]
        said = "Nobody could answer this message. " + (" ".join(why) if why else "No agent is active that could.")
        await self._fail(session, held, said)
        await self._steps.after_failure(session, held.conversation, held.chosen, said)

    async def _fail(self, session: AsyncSession, held: Held, said: str) -> None:
        held.reply.cost, held.reply.error = await replies.cost_of(session, held.chosen), said
        message = messages.add(
            session,
            held.conversation,
            in_words(said),
            author=MessageAuthor.SYSTEM,
            author_name=SYSTEM.name,
            in_reply_to_id=held.question.id,
            decision_id=held.reply.decision_id,
            cost=held.reply.cost,
            actor=SYSTEM,
        )
        await _finish(session, held, ReplyStatus.FAILED, message)


async def _finish(session: AsyncSession, held: Held, status: ReplyStatus, message: Message) -> None:
    await session.flush()
    reply = held.reply
    at = await session.scalar(select(func.clock_timestamp()))
    assert at is not None
    reply.status, reply.answer_id, reply.finished_at = status, message.id, at
    done = status is ReplyStatus.COMPLETED
    kind = EventKind.REPLY_COMPLETED if done else EventKind.REPLY_FAILED
    told = {"answerId": to_global(Prefix.MESSAGE, message.id), "number": message.number, "cost": float(reply.cost)}
    tell_reply(session, kind, held.conversation, reply, SYSTEM, **told, **({} if done else {"error": reply.error}))
    if reply.decision_id is None:
        return
    await feedback.record_outcome(
        session,
        team_id=reply.team_id,
        decision_id=reply.decision_id,
        outcome=RoutingOutcome.ANSWERED if done else RoutingOutcome.FAILED,
        actual_cost=reply.cost,
        response_ms=max(round((at - reply.created_at).total_seconds() * 1000), 0),
        actor=SYSTEM,
    )
