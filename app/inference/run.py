"""Runs one managed agent on one model until it has an answer, is over a limit, or fails.

Knows neither tasks nor the database: tools, limits and the listener to its progress are given to it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic_ai import Agent, ModelRetry, StructuredDict
from pydantic_ai.agent import AgentRun
from pydantic_ai.exceptions import AgentRunError, ContentFilterError
from pydantic_ai.messages import ModelMessage, ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRunResult
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from app.inference.clean import clean
from app.inference.failures import InferenceFailed, Sort, failure
from app.inference.fit import problems, weight
from app.inference.meter import Meter
from app.inference.offline.model import NOTE, OfflineModel
from app.inference.providers import PROVIDERS, Providers
from app.inference.request import OFFLINE, Answer, Progress, Request
from app.inference.toolbox import CORRECTIONS, Toolbox
from app.observability import metrics

_REPAIRS = 1  # times that a model is told why its output does not fit
_SPARE_REQUESTS = 3 + CORRECTIONS + _REPAIRS  # beyond one per tool call, so that no model can go in circles for ever

_HEAVIEST_SCHEMA = 2_000  # parts: all of them are sent with every request


async def run(request: Request, progress: Progress, providers: Providers) -> Answer:
    """The answer, or InferenceFailed with what was used. Cancelling it ends the request to the model at once."""
    provider = request.model.partition(":")[0]
    running = _Run(request, Meter(request.limits, provider, progress), progress)
    outcome = "stopped"
    try:
        answer = await running.through(_model(request, providers), providers.request_timeout_s)
        outcome = "answered"
        return answer
    except InferenceFailed as failed:
        failed.used = running.meter.used
        outcome = failed.sort.value
        raise
    finally:
        metrics.MODEL_RUNS.labels(provider if provider in {OFFLINE, *PROVIDERS} else "unknown", outcome).inc()


def _model(request: Request, providers: Providers) -> Model:
    return OfflineModel(request.facts) if request.model == OFFLINE else providers.connect(request.model)


class _Run:
    def __init__(self, request: Request, meter: Meter, progress: Progress) -> None:
        self.meter = meter
        self._request = request
        self._progress = progress
        self._misfits: Sequence[str] = []

    async def through(self, model: Model, timeout_s: float) -> Answer:
        """pydantic-ai's errors become ours, without a chain: a provider's answer may repeat the key it was sent."""
        try:
            return await self._loop(self._agent(model, timeout_s))
        except AgentRunError as error:
            if self._misfits:
                raise InferenceFailed(
                    "CONTRACT_VIOLATED",
                    "The output does not fit, also after the model was told why: " + "; ".join(self._misfits),
                    Sort.FINAL,
                ) from None
            raise self._sorted(error) from None

    def _agent(self, model: Model, timeout_s: float) -> Agent[None, Any]:
        agent: Agent[None, Any] = Agent(
            model,
            name="parley",
            deps_type=type(None),
            instructions=self._request.instructions,
            output_type=self._output_type(),
            toolsets=[Toolbox(self._request.tools, self.meter)],
            retries={"tools": CORRECTIONS, "output": _REPAIRS},
            model_settings=lambda _: ModelSettings(
                max_tokens=self.meter.tokens_left, request_timeout=timeout_s, max_retries=0
            ),
        )
        if self._request.output_schema is not None:
            agent.output_validator(self._fitting)
        return agent

    def _output_type(self) -> Any:
        schema = self._request.output_schema
        if schema is None:
            return str
        if schema.get("type") != "object" or weight(schema) > _HEAVIEST_SCHEMA:
            raise InferenceFailed(
                "OUTPUT_SCHEMA_UNSUPPORTED",
                f"A model can only be asked for an object, by a schema that does not refer to itself and has at most "
                f"{_HEAVIEST_SCHEMA} parts with its references replaced.",
                Sort.FINAL,
            )
        return StructuredDict(schema, name="result", description=schema.get("description") or "The task's result.")

    def _fitting(self, output: dict[str, Any]) -> dict[str, Any]:
        check = self._request.output_check or partial(problems, self._request.output_schema or {})
        self._misfits = check(output)
        if self._misfits:
            raise ModelRetry("The result does not fit: " + "; ".join(self._misfits))
        return output

    async def _loop(self, agent: Agent[None, Any]) -> Answer:
        limits = UsageLimits(request_limit=self._request.limits.max_tool_calls + _SPARE_REQUESTS)
        async with agent.iter(self._request.prompt, usage_limits=limits) as running:
            async for node in running:
                if Agent.is_model_request_node(node):
                    self.meter.before_request()
                    await self._respond(node, running)
        result = running.result
        assert result is not None, "a run that ended without an error has a result"
        return self._answer(result)

    async def _respond(self, node: Any, running: AgentRun[None, Any]) -> None:
        said: list[str] = []
        begun = False
        async with node.stream(running.ctx) as stream:
            try:
                async for event in stream:
                    begun = True
                    if piece := _piece(event):
                        said.append(clean(piece))
                        await self._progress.text("".join(said))
            except BaseException:
                if begun:  # what was refused outright costs nothing
                    self.meter.broke_off(_before(running.all_messages()), stream.response)
                raise
            response: ModelResponse = stream.response
        await self.meter.after_response([*_before(running.all_messages()), response], response)
        if response.finish_reason == "content_filter":
            raise ContentFilterError("The answer was stopped midway.")

    def _answer(self, result: AgentRunResult[Any]) -> Answer:
        output = None if self._request.output_schema is None else clean(dict(result.output))
        text = clean(result.response.text or "")
        provider = self._request.model.partition(":")[0]
        about: dict[str, Any] = {"provider": provider, "priced": self.meter.priced, "measured": self.meter.measured}
        if provider == OFFLINE:
            about = {"offline": True, "note": NOTE, **about}
        return Answer(
            text=text if output is None or text else json.dumps(output, ensure_ascii=False, indent=1),
            output=output,
            used=self.meter.used,
            model=self._request.model,
            metadata=about,
        )

    def _sorted(self, error: AgentRunError) -> InferenceFailed:
        variables = PROVIDERS.get(self._request.model.partition(":")[0])
        return failure(
            error,
            model=self._request.model,
            key=variables.key if variables else "",
            url=variables.url if variables else "",
            used=self.meter.used,
        )


def _before(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """What the last response answered; whether it already stands among the messages is the library's affair."""
    return messages[:-1] if isinstance(messages[-1], ModelResponse) else messages


def _piece(event: object) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=content)):
            return content
        case PartDeltaEvent(delta=TextPartDelta(content_delta=content)):
            return content
        case _:
            return ""
