"""Carries out a claimed task of a managed agent: briefs its model, lends it the tools, and reports while it works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from app.config import Settings
from app.consultations.preparation import Consulting
from app.contracts.check import check
from app.conversations.partials import Speaker, Speech
from app.conversations.reading import asked_by
from app.conversations.sight import see, user_of
from app.db.engine import Database
from app.events.log import Actor
from app.inference import prompt
from app.inference.failures import InferenceFailed, Sort
from app.inference.providers import Providers
from app.inference.request import Limits, Request, Tool, Used
from app.inference.run import run as infer
from app.managed import briefing
from app.managed.attention_tools import ATTENTION_TOOLS
from app.managed.briefing import Briefing
from app.managed.collaboration_tools import COLLABORATION_TOOLS
from app.managed.consultation_tools import CONSULTATION_TOOLS
from app.managed.memory_tools import MEMORY_TOOLS
from app.managed.message_tools import MESSAGE_TOOLS, mail_notice
from app.managed.report_tools import REPORT_TOOLS
from app.managed.second_look import second_look
from app.managed.task_tools import TASK_TOOLS
from app.managed.tool import Desk
from app.memories.library import Library
from app.memories.recall import Recalled
from app.tasks.errors import ClaimLost
from app.tasks.failures import Failure, Usage
from app.tasks.models import Task, TaskPurpose, TaskStatus
from app.tasks.run import Made, Run, RunFailed


@dataclass(frozen=True, slots=True)
class Execution:
    settings: Settings
    database: Database
    providers: Providers
    library: Library | None = None  # without one, agents work without memories
    speaker: Speaker | None = None  # without one, replies are heard only when they are done
    consulting: Consulting | None = None  # without one, agents ask for no consultations

    async def __call__(self, run: Run) -> Made:
        """Raises RunFailed, or ClaimLost when the claim counts no more."""
        briefed = await self._brief(run)
        speech = _speech(run.task, briefed)
        try:
            made = await self._infer(run, briefed, speech)
            if briefed.reply_id is not None:
                await self._look_again(run, briefed, made)
            return made
        finally:
            if self.speaker is not None and speech is not None:
                self.speaker.end(speech)

    async def _infer(self, run: Run, briefed: Briefing, speech: Speech | None) -> Made:
        run.actor = Actor(briefed.identity.name)
        tools = self._tools(run, briefed)
        request = Request(
            model=self.providers.name_of(briefed.tier),
            instructions=prompt.identity(briefed.identity),
            prompt=prompt.assignment(briefed.assignment) + mail_notice(briefed.unread, tools),
            limits=briefed.limits,
            facts=briefed.assignment,
            tools=tools,
            output_schema=briefed.output_schema,
            output_check=partial(_problems, briefed.output_schema) if briefed.output_schema else None,
        )
        run.usage = _usage(Used(), request.model)
        try:
            answer = await infer(request, _Reporting(run, request.model, self.speaker, speech), self.providers)
        except InferenceFailed as failed:
            run.usage = _usage(failed.used, request.model)
            raise RunFailed(_failure(failed)) from failed
        run.usage = _usage(answer.used, answer.model, answer.metadata)
        return Made(answer.text, answer.output)

    async def _look_again(self, run: Run, briefed: Briefing, made: Made) -> None:
        """What it costs belongs to the reply."""
        limits, usage = briefed.limits, run.usage
        left = Limits(limits.max_tokens - usage.tokens, 0, limits.max_cost_usd - usage.cost)
        used = await second_look(run, made.result, self.settings, self.providers, left)
        run.usage = usage.model_copy(update={"tokens": usage.tokens + used.tokens, "cost": usage.cost + used.cost})

    async def _brief(self, run: Run) -> Briefing:
        if run.task.purpose is TaskPurpose.REPLY and run.task.conversation_id is not None:
            return await self._brief_reply(run)
        remembered = await self._recall(run)
        async with run.transaction() as session:
            return await briefing.read(session, run.task, self.settings, remembered)

    async def _brief_reply(self, run: Run) -> Briefing:
        task = run.task
        async with run.transaction() as session:
            reply, question = await asked_by(session, team_id=task.team_id, task_id=task.id)
        seen = await see(
            run.transaction, self.library, question=question, agent_id=task.assignee_id, max_tokens=task.max_tokens
        )
        async with run.transaction() as session:
            return await briefing.read(session, task, self.settings, seen=seen, reply_id=reply.id)

    async def _recall(self, run: Run) -> Sequence[Recalled]:
        if self.library is None:
            return ()
        task = run.task
        async with run.transaction() as session:
            user = await user_of(session, task.conversation_id) if task.conversation_id else None
        return await self.library.recall(
            team_id=task.team_id, agent_id=task.assignee_id, text=briefing.recalled_by(task), subject=user
        )

    def _tools(self, run: Run, briefed: Briefing) -> list[Tool]:
        desk = Desk(run, self.settings, self.database, consulting=self.consulting)
        allowed = run.task.allowed_tools
        tools = (
            *((*TASK_TOOLS, *REPORT_TOOLS) if briefed.may_delegate else ()),
            *(CONSULTATION_TOOLS if briefed.may_consult and self.consulting is not None else ()),
            *(COLLABORATION_TOOLS if briefed.may_collaborate else ()),
            *(MEMORY_TOOLS if self.library is not None else ()),
            *MESSAGE_TOOLS,
            *ATTENTION_TOOLS,
        )
        return [
            tool.bound(desk) for tool in tools if tool.offered(run.task) and (allowed is None or tool.name in allowed)
        ]


class _Reporting:
    """Passes on what a run says of itself while it works."""

    def __init__(self, run: Run, model: str, speaker: Speaker | None, speech: Speech | None) -> None:
        self._run = run
        self._model = model
        self._speaker, self._speech = speaker, speech

    async def text(self, partial: str) -> None:
        if self._speaker is not None and self._speech is not None:
            self._speaker.say(self._speech, partial)
        await self._run.progressed(partial)

    def counted(self, used: Used) -> None:
        self._run.usage = _usage(used, self._model)

    async def used(self, used: Used) -> None:
        """Costs are charged as they arise, so that a budget shows them at once."""
        before, self._run.usage = self._run.usage, _usage(used, self._model)
        if self._run.usage.cost > before.cost and await self._run.tell() is not TaskStatus.IN_PROGRESS:
            raise ClaimLost


def _speech(task: Task, briefed: Briefing) -> Speech | None:
    if briefed.reply_id is None or task.conversation_id is None:
        return None
    return Speech(task.team_id, task.conversation_id, briefed.reply_id, task.assignee_id, task.id)


def _problems(schema: dict[str, Any], output: dict[str, Any]) -> list[str]:
    """By the check that completing will make, so that a model can mend its output before."""
    return [f"{problem['path'] or 'the whole'}: {problem['message']}" for problem in check(schema, output)]


def _usage(used: Used, model: str, metadata: dict[str, Any] | None = None) -> Usage:
    return Usage(tokens=used.tokens, cost=used.cost, model=model, metadata=metadata)


def _failure(failed: InferenceFailed) -> Failure:
    wait = timedelta(seconds=failed.retry_after_s or 0) if failed.sort is Sort.WAIT else None
    return Failure(failed.code, failed.message, may_pass=failed.sort is not Sort.FINAL, wait=wait)
