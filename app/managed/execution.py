"""Carries out a claimed task of a managed agent: briefs its model, lends it the tools, and reports while it works."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from app.config import Settings
from app.contracts.check import check
from app.db.engine import Database
from app.events.log import Actor
from app.inference import prompt
from app.inference.failures import InferenceFailed, Sort
from app.inference.providers import Providers
from app.inference.request import Request, Tool, Used
from app.inference.run import run as infer
from app.managed import briefing
from app.managed.briefing import Briefing
from app.managed.task_tools import TASK_TOOLS
from app.managed.tool import Desk
from app.tasks.errors import ClaimLost
from app.tasks.failures import Failure, Usage
from app.tasks.models import TaskStatus
from app.tasks.run import Made, Run, RunFailed

TOOLS = TASK_TOOLS


@dataclass(frozen=True, slots=True)
class Execution:
    settings: Settings
    database: Database
    providers: Providers

    async def __call__(self, run: Run) -> Made:
        """Raises RunFailed, or ClaimLost when the claim counts no more."""
        briefed = await self._brief(run)
        run.actor = Actor(briefed.identity.name)
        request = Request(
            model=self.providers.name_of(briefed.tier),
            instructions=prompt.identity(briefed.identity),
            prompt=prompt.assignment(briefed.assignment),
            limits=briefed.limits,
            facts=briefed.assignment,
            tools=self._tools(run, briefed),
            output_schema=briefed.output_schema,
            output_check=partial(_problems, briefed.output_schema) if briefed.output_schema else None,
        )
        run.usage = _usage(Used(), request.model)
        try:
            answer = await infer(request, _Reporting(run, request.model), self.providers)
        except InferenceFailed as failed:
            run.usage = _usage(failed.used, request.model)
            raise RunFailed(_failure(failed)) from failed
        run.usage = _usage(answer.used, answer.model, answer.metadata)
        return Made(answer.text, answer.output)

    async def _brief(self, run: Run) -> Briefing:
        async with run.transaction() as session:
            return await briefing.read(session, run.task, self.settings)

    def _tools(self, run: Run, briefed: Briefing) -> list[Tool]:
        if not briefed.may_delegate:
            return []
        desk, allowed = Desk(run, self.settings, self.database), run.task.allowed_tools
        return [
            tool.bound(desk) for tool in TOOLS if tool.offered(run.task) and (allowed is None or tool.name in allowed)
        ]


class _Reporting:
    """Passes on what a run says of itself while it works."""

    def __init__(self, run: Run, model: str) -> None:
        self._run = run
        self._model = model

    async def text(self, partial: str) -> None:
        await self._run.progressed(partial)

    def counted(self, used: Used) -> None:
        self._run.usage = _usage(used, self._model)

    async def used(self, used: Used) -> None:
        """Costs are charged as they arise, so that a budget shows them at once."""
        before, self._run.usage = self._run.usage, _usage(used, self._model)
        if self._run.usage.cost > before.cost and await self._run.tell() is not TaskStatus.IN_PROGRESS:
            raise ClaimLost


def _problems(schema: dict[str, Any], output: dict[str, Any]) -> list[str]:
    """By the check that completing will make, so that a model can mend its output before."""
    return [f"{problem['path'] or 'the whole'}: {problem['message']}" for problem in check(schema, output)]


def _usage(used: Used, model: str, metadata: dict[str, Any] | None = None) -> Usage:
    return Usage(tokens=used.tokens, cost=used.cost, model=model, metadata=metadata)


def _failure(failed: InferenceFailed) -> Failure:
    wait = timedelta(seconds=failed.retry_after_s or 0) if failed.sort is Sort.WAIT else None
    return Failure(failed.code, failed.message, may_pass=failed.sort is not Sort.FINAL, wait=wait)
