"""What follows an agent's reply: the rules decide, the decision is kept with its reasons, and it is carried out, all in
the transaction that adds the reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.agents.models import Agent, AgentStatus
from app.config import Settings
from app.conversations import replies
from app.conversations.handoffs import service, stack, values
from app.conversations.handoffs.models import (
    MAX_REASON,
    ConversationHandoff,
    HandoffOutcome,
    ReturnPolicy,
    StepDecision,
)
from app.conversations.models import (
    Contribution,
    Conversation,
    Message,
    MessageAuthor,
    Reply,
)
from app.conversations.narration import tell
from app.conversations.service import close_held
from app.events.kinds import EventKind
from app.events.log import SYSTEM, Actor
from app.handoffs import service as rules
from app.handoffs import to_group as groups_of_rules
from app.handoffs.condition.evaluation import Verdict
from app.handoffs.decision import (
    DecidedBy,
    Decision,
    GroupPick,
    Rule,
    RuleOutcome,
    Situation,
    asked,
    completed,
    decide,
    groups_asked,
    in_play,
    target_of,
)
from app.handoffs.judging import kept
from app.handoffs.judging.judge import NOBODY, Judge, model_judge, next_agent
from app.handoffs.variables import VariableSource
from app.ids import Prefix, to_global
from app.teams.models import AfterWork, Team

MOST_TRIED = 100  # rules whose outcome is kept with a decision
_REASON = 2_000


@dataclass(frozen=True, slots=True)
class _Stage:
    """A held conversation after a reply, with what deciding needs."""

    conversation: Conversation
    reply: Message
    team: Team
    holder: Agent
    agents: Mapping[UUID, Agent]
    handoffs: Sequence[ConversationHandoff]

    @property
    def speaker(self) -> Agent:
        assert self.reply.agent_id is not None
        return self.agents[self.reply.agent_id]

    @property
    def previous(self) -> Agent | None:
        """Who had the conversation before the speaker, or has it now if the speaker is only a guest."""
        if self.holder.id != self.speaker.id:
            return self.agents.get(self.holder.id)
        last = stack.last_to(self.handoffs, self.speaker.id)
        return None if last is None else self.agents.get(last.from_agent_id)

    def by_slug(self, slug: str) -> Agent:
        return next(agent for agent in self.agents.values() if agent.slug == slug)


class Steps:
    """The judge runs inside a transaction, so it must be one that needs no network: the one by embedding."""

    def __init__(self, settings: Settings, judge: Judge) -> None:
        self._settings, self._judge = settings, judge

    async def after_reply(
        self, session: AsyncSession, conversation: Conversation, reply: Reply, message: Message, output: Any
    ) -> None:
        """Decide and carry out what follows a message that an agent has just added to a held conversation."""
        team = await session.get_one(Team, conversation.team_id, populate_existing=True)
        found = await session.scalars(select(Agent).where(Agent.team_id == team.id))
        stage = _Stage(
            conversation=conversation,
            reply=message,
            team=team,
            holder=await session.get_one(Agent, conversation.primary_agent_id),
            agents={agent.id: agent for agent in found if agent.status is not AgentStatus.ARCHIVED},
            handoffs=await stack.unended(session, conversation),
        )
        if message.agent_id not in stage.agents:
            return
        await values.take_reported(session, conversation, team, message, output)
        decision = await self._decided(session, stage, reply)
        await self._carry_out(session, stage, decision, reply)

    async def after_failure(
        self, session: AsyncSession, conversation: Conversation, chosen: Sequence[Contribution], why: str
    ) -> None:
        """Nobody could answer: if the conversation was handed to one of them, it comes back. What a rule passed on
        stays with who took over from its first reply on."""
        away = stack.last_to(await stack.unended(session, conversation), conversation.primary_agent_id)
        if away is None or away.to_agent_id not in {one.agent_id for one in chosen}:
            return
        by_rule = away.message_id is not None
        if away.return_policy is ReturnPolicy.NONE and (not by_rule or await stack.spoke_since(session, away)):
            return
        agent = await session.get_one(Agent, away.to_agent_id)
        active = agent.status is AgentStatus.ACTIVE
        outcome = HandoffOutcome.FAILED if active else HandoffOutcome.AGENT_UNAVAILABLE
        await service.bring_back(session, conversation, away, outcome, why)

    async def _decided(self, session: AsyncSession, stage: _Stage, reply: Reply) -> Decision:
        conversation, speaker = stage.conversation, stage.speaker
        slugs = {agent.slug: agent.id for agent in stage.agents.values()}
        known = rules.variables_of(stage.team, slugs)
        found = await rules.rules_of(session, stage.team.id, at=reply.started_at)
        tried = in_play(found, known, speaker.slug)
        current = await values.all_values(session, conversation, stage.team, stage.reply)
        verdicts, analysis = await self._verdicts(session, stage, asked(tried, current))
        done = completed(tried, current.trusted, verdicts)
        await values.keep(
            session,
            conversation,
            done,
            VariableSource.RUNTIME,
            set_by=speaker.name,
            message_id=stage.reply.id,
        )
        previous = stage.previous
        picks = await groups_of_rules.picks(
            session,
            stage.team.id,
            groups_asked(tried, current, verdicts),
            text=stage.reply.text,
            exclude={speaker.id, stage.holder.id},
        )
        situation = Situation(
            agent=speaker.slug,
            previous=previous.slug if previous else None,
            available={one.slug for one in stage.agents.values() if one.status is AgentStatus.ACTIVE},
            values=current,
            verdicts=verdicts,
            blocked=await self._blocked(session, stage, tried, picks),
            holder=stage.holder.slug,
            picks=picks,
        )
        decision = decide(tried, situation, after_work=stage.team.after_work, analysis=analysis)
        steps, limit = int(current.trusted["step_count"]), self._settings.handoff_steps
        return _stopped(decision, limit) if steps >= limit and _goes_on(decision) else decision

    async def _verdicts(
        self, session: AsyncSession, stage: _Stage, statements: Sequence[str]
    ) -> tuple[dict[str, Verdict], str | None]:
        """Of the model that read the reply when it was made, if one did; else of the judge. And whom it named."""
        about: dict[str, Any] = {"team_id": stage.team.id, "reply": stage.reply.text}
        model = model_judge(self._settings)
        following, read = next_agent(stage.speaker.slug), {}
        if model is not None:
            read = await kept.known(session, model, **about, statements=[*statements, following])
        named = read.pop(following, None)
        rest = [statement for statement in statements if statement not in read]
        found = {**await kept.judged(session, self._judge, **about, statements=rest), **read}
        return found, named.reason if named is not None and named.reason != NOBODY else None

    async def _blocked(
        self, session: AsyncSession, stage: _Stage, tried: Sequence[Rule], picks: Mapping[str, GroupPick]
    ) -> dict[UUID, str]:
        """Rules that would only pass the conversation to and fro."""
        before = await stack.repeats(session, stage.conversation, stage.holder.id)
        by_slug = {agent.slug: agent for agent in stage.agents.values()}
        previous = stage.previous.slug if stage.previous else None
        blocked: dict[UUID, str] = {}
        for rule in tried if before else ():
            target = by_slug.get(target_of(rule.spec, previous, picks) or "")
            reason = rule.spec.condition[:MAX_REASON].lower()
            count = before.get((target.id, reason), 0) if target is not None else 0
            if target is not None and count >= self._settings.handoff_repeats:
                blocked[rule.id] = f"it handed over to {target.slug} {count} times since the user last spoke"
        return blocked

    async def _carry_out(self, session: AsyncSession, stage: _Stage, decision: Decision, reply: Reply) -> None:
        conversation, message, speaker = stage.conversation, stage.reply, stage.speaker
        taker = stage.by_slug(decision.to_agent) if decision.to_agent else None
        message.handoff_triggered = taker is not None
        message.handoff_target_id = taker.id if taker else None
        self._keep(session, stage, decision, taker)
        actor = Actor(speaker.name)
        if taker is not None:
            await self._pass_on(session, stage, decision, taker, reply, actor)
        elif decision.after_work is AfterWork.TERMINATE:
            await close_held(session, conversation, reason="The work is done.", actor=SYSTEM)
        elif decision.after_work is AfterWork.CONTINUE and await self._has_more_to_say(session, stage):
            await replies.open_own(session, message, speaker.id, reply.timeout_s, actor)

    async def _pass_on(
        self, session: AsyncSession, stage: _Stage, decision: Decision, taker: Agent, reply: Reply, actor: Actor
    ) -> None:
        """To somebody who handed it over before it is a return."""
        conversation = stage.conversation
        reason = decision.rule.spec.condition if decision.rule else decision.reason
        if any(one.from_agent_id == taker.id for one in stage.handoffs):
            ended = await service.returned(
                session, conversation, to_agent_id=taker.id, result="", reason=reason, actor=actor
            )
            if ended.return_policy is ReturnPolicy.HUMAN:
                return
        else:
            await service.hand_over(
                session,
                conversation,
                giver=stage.holder,
                taker=taker,
                by=stage.speaker,
                reason=reason,
                policy=ReturnPolicy.NONE,
                rule_id=decision.rule.id if decision.rule else None,
                message_id=stage.reply.id,
                actor=actor,
            )
        announced = await service.announcement(session, conversation)
        await replies.open_own(session, announced, taker.id, reply.timeout_s, actor)

    async def _has_more_to_say(self, session: AsyncSession, stage: _Stage) -> bool:
        """Not when it asks the user something, or only says again what it said before."""
        if stage.reply.text.rstrip().endswith("?"):
            return False
        same = select(func.count()).where(
            Message.conversation_id == stage.conversation.id,
            Message.agent_id == stage.speaker.id,
            Message.author == MessageAuthor.AGENT,
            Message.text == stage.reply.text,
        )
        return (await session.scalar(same) or 0) <= 1

    def _keep(self, session: AsyncSession, stage: _Stage, decision: Decision, taker: Agent | None) -> None:
        session.add(
            StepDecision(
                team_id=stage.team.id,
                conversation_id=stage.conversation.id,
                message_id=stage.reply.id,
                decided_by=decision.by,
                reason=decision.reason[:_REASON],
                rule_id=decision.rule.id if decision.rule else None,
                to_agent_id=taker.id if taker else None,
                after_work=decision.after_work,
                judge=(model_judge(self._settings) or self._judge.name)[:200],
                tried=[_told(outcome) for outcome in decision.outcomes[:MOST_TRIED]],
            )
        )
        told: dict[str, Any] = {
            "messageId": to_global(Prefix.MESSAGE, stage.reply.id),
            "decidedBy": decision.by,
            "reason": decision.reason[:500],
            "toAgent": decision.to_agent,
            "afterWork": decision.after_work,
        }
        tell(session, EventKind.STEP_DECIDED, stage.conversation, SYSTEM, agent_id=stage.speaker.id, **told)


def _stopped(decision: Decision, limit: int) -> Decision:
    """The same with the user's word at the end of it."""
    reason = f"{limit} replies followed each other, the most there may be: the user has the word. ({decision.reason})"
    return Decision(DecidedBy.AFTER_WORK, reason, after_work=AfterWork.RETURN_TO_USER, outcomes=decision.outcomes)


def _goes_on(decision: Decision) -> bool:
    return decision.to_agent is not None or decision.after_work is AfterWork.CONTINUE


def _told(outcome: RuleOutcome) -> dict[str, Any]:
    return {
        "ruleId": to_global(Prefix.HANDOFF_RULE, outcome.rule.id),
        "condition": outcome.rule.spec.condition,
        "holds": outcome.holds,
        "fired": outcome.fired,
        "reason": outcome.reason[:_REASON],
        "clauses": [
            {
                "clause": clause.clause,
                "kind": clause.kind.name,
                "holds": clause.holds,
                "confidence": clause.confidence,
                "reason": clause.reason,
            }
            for clause in outcome.clauses
        ],
    }
